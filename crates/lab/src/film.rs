//! Records a film of the run at an interval, for the live page: the pictures of its latest episode, each with the chosen
//! action and σ. Filming only reads the run: no random stream, event or checkpoint depends on it.

use crate::machine::unix_seconds;
use crate::run::Run;
use sane_agent::Decision;
use sane_record::{FILM_VERSION, FilmFrames, FilmHeader, write_film};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A film ends with the first episode that ends after this many interactions …
const MIN_LENGTH: usize = 200;

/// … or at this length within an episode: more than a minute of an Atari game.
const MAX_LENGTH: usize = 1_000;

/// Wider pictures are subsampled.
const MAX_WIDTH: usize = 160;

/// The pause after a film is at least this many times its cost: films take at most 0.4 % of the time.
const PAUSE_FACTOR: u32 = 250;

/// Records the films of a run.
pub struct FilmRecorder {
    path: PathBuf,
    interval: Option<Duration>,
    due: Instant,
    film: Option<Film>,
}

/// A film being recorded.
struct Film {
    head: FilmHeader,
    pictures: FilmFrames,
    spent: Duration,
}

impl FilmRecorder {
    /// Films into `folder` every `seconds`, the first time immediately; 0 disables films.
    pub fn new(folder: &Path, seconds: u64) -> Self {
        let interval = (0 < seconds).then(|| Duration::from_secs(seconds));
        Self { path: folder.join("film.bin"), interval, due: Instant::now(), film: None }
    }

    /// Adds the current picture of the world and the decision made in it.
    pub fn record(&mut self, run: &Run, decision: &Decision) {
        let Some(interval) = self.interval else { return };
        let begins = run.statistics.episode_interactions() == 0;
        if let Some(film) = self.film.take_if(|film| film.is_over(begins)) {
            let (start, spent) = (Instant::now(), film.spent);
            // Films are for display only: one that cannot be written is dropped and training continues.
            let _ = film.write(&self.path, begins);
            self.due = Instant::now() + interval.max(PAUSE_FACTOR * (spent + start.elapsed()));
        }
        if self.film.is_none() && begins && self.due <= Instant::now() {
            self.film = Some(Film::new(run));
        }
        if let Some(film) = &mut self.film {
            film.add(run, decision, begins);
        }
    }
}

impl Film {
    fn new(run: &Run) -> Self {
        let head = FilmHeader {
            version: FILM_VERSION,
            interactions: run.clock.steps().0,
            episode: run.clock.episodes + 1,
            actions: run.spec().actions.clone(),
            ..FilmHeader::default()
        };
        Self { head, pictures: FilmFrames::new(), spent: Duration::ZERO }
    }

    fn is_over(&self, begins: bool) -> bool {
        let length = self.head.action.len();
        MAX_LENGTH <= length || (begins && MIN_LENGTH <= length)
    }

    fn add(&mut self, run: &Run, decision: &Decision, begins: bool) {
        let start = Instant::now();
        let picture = run.rollout.world.picture();
        // Every n-th pixel of every n-th row, at the centre of the block it represents.
        let every = picture.width.div_ceil(MAX_WIDTH).max(1);
        let (columns, rows) = (picture.width / every, picture.height / every);
        let at = |row: usize, column: usize| {
            let offset = 3 * ((row * every + every / 2) * picture.width + column * every + every / 2);
            [picture.rgb[offset], picture.rgb[offset + 1], picture.rgb[offset + 2]]
        };
        self.pictures
            .add((0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))).map(|(r, c)| at(r, c)));
        if begins {
            self.head.episode_starts.push(self.head.action.len());
        }
        (self.head.width, self.head.height) = (columns, rows);
        self.head.action.push(decision.action.0);
        self.head.sigma.extend(decision.sigma);
        self.head.explored.push(decision.noise_changed_action || decision.random);
        self.head.return_so_far.push(run.statistics.episode_return());
        self.spent += start.elapsed();
    }

    fn write(self, path: &Path, ended: bool) -> Result<(), sane_record::RecordError> {
        let start = Instant::now();
        let pictures = self.pictures.pack();
        let spent_seconds = (self.spent + start.elapsed()).as_secs_f64();
        write_film(path, FilmHeader { unix_seconds: unix_seconds(), cut: !ended, spent_seconds, ..self.head }, pictures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{OpenRun, Start, open_run};
    use crate::preset::Preset;
    use crate::run::Digest;
    use crate::train::train;
    use sane_env::AgentSteps;
    use sane_record::read_film;
    use std::fs;
    use std::sync::atomic::AtomicBool;

    fn trained(seconds: u64, agent: &str) -> (tempfile::TempDir, Digest) {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Preset::Minatar.config("minatar/breakout", agent).unwrap();
        config.training.total_interactions = AgentSteps(1_500);
        config.training.learning_starts = AgentSteps(400);
        config.record.interval = AgentSteps(500);
        config.record.film_interval = seconds;
        let source = crate::world::tests::source("minatar/breakout").unwrap();
        let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume).unwrap();
        files.begin(&run, &mut ()).unwrap();
        train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).unwrap();
        let digest = Digest::of(&run);
        (folder, digest)
    }

    #[test]
    fn filming_changes_neither_the_events_nor_the_state() {
        let (filmed, digest) = trained(3_600, "sane");
        let (unfilmed, expected) = trained(0, "sane");
        assert_eq!(digest, expected);
        let events = |folder: &tempfile::TempDir| fs::read(folder.path().join("events.jsonl")).unwrap();
        assert_eq!(events(&filmed), events(&unfilmed));
        assert!(filmed.path().join("film.bin").exists() && !unfilmed.path().join("film.bin").exists());
    }

    #[test]
    fn a_film_shows_whole_episodes_with_an_entry_for_each_picture() {
        let (folder, _) = trained(3_600, "sane");
        let (head, rgb) = read_film(&folder.path().join("film.bin")).unwrap();
        let length = head.action.len();
        assert!((MIN_LENGTH..=MAX_LENGTH).contains(&length) && !head.cut);
        assert_eq!((head.episode, head.interactions, head.episode_starts[0]), (1, 0, 0));
        assert_eq!((head.sigma.len(), head.explored.len(), head.return_so_far.len()), (length, length, length));
        assert!(head.episode_starts.iter().all(|&start| head.return_so_far[start] == 0.0));
        assert_eq!((head.width, head.height, rgb.len()), (160, 160, 3 * 160 * 160 * length));
        assert!(head.explored.contains(&true) && head.sigma.iter().all(|sigma| sigma.is_finite()));
        assert!(0.0 < head.spent_seconds);
        assert_ne!(rgb[..3 * 160 * 160], rgb[rgb.len() - 3 * 160 * 160..]);
    }

    #[test]
    fn an_agent_without_sigma_has_none_in_its_film() {
        let (folder, _) = trained(3_600, "eps-greedy");
        let (head, _) = read_film(&folder.path().join("film.bin")).unwrap();
        assert!(head.sigma.is_empty() && head.explored.contains(&true));
    }
}
