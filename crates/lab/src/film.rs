//! Films the run now and then, for people who watch: the pictures of its latest episode, each with the action chosen in
//! it and its σ. It looks at the run and changes nothing: no stream, no event, no checkpoint knows of it.

use crate::run::Run;
use sane_agent::Decision;
use sane_record::{FILM_VERSION, FilmFrames, FilmHeader, write_film};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

/// A film ends with the first episode that ends after so many interactions …
const LEAST: usize = 200;

/// … or here, in the middle of an episode: more than a minute of an Atari game.
const MOST: usize = 1_000;

/// Wider pictures are thinned out.
const WIDEST: usize = 160;

/// No film is begun before the last one's cost, so many times, has passed: at most 0.4 % of the time is spent on them.
const REST: u32 = 250;

/// The camera of a run.
pub struct Camera {
    path: PathBuf,
    interval: Option<Duration>,
    due: Instant,
    reel: Option<Reel>,
}

/// A film being made.
struct Reel {
    head: FilmHeader,
    pictures: FilmFrames,
    spent: Duration,
}

impl Camera {
    /// Films into `folder` every `seconds`, at first at once; with 0, never.
    pub fn new(folder: &Path, seconds: u64) -> Self {
        let interval = (0 < seconds).then(|| Duration::from_secs(seconds));
        Self { path: folder.join("film.bin"), interval, due: Instant::now(), reel: None }
    }

    /// The agent decided this in the state the world shows now.
    pub fn decided(&mut self, run: &Run, decision: &Decision) {
        let Some(interval) = self.interval else { return };
        let begins = run.statistics.episode_interactions() == 0;
        if let Some(reel) = self.reel.take_if(|reel| reel.is_over(begins)) {
            let (start, spent) = (Instant::now(), reel.spent);
            // A film is for the eye: one that cannot be written is left out, and the run goes on.
            let _ = reel.write(&self.path, begins);
            self.due = Instant::now() + interval.max(REST * (spent + start.elapsed()));
        }
        if self.reel.is_none() && begins && self.due <= Instant::now() {
            self.reel = Some(Reel::new(run));
        }
        if let Some(reel) = &mut self.reel {
            reel.add(run, decision, begins);
        }
    }
}

impl Reel {
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
        MOST <= length || (begins && LEAST <= length)
    }

    fn add(&mut self, run: &Run, decision: &Decision, begins: bool) {
        let start = Instant::now();
        let picture = run.rollout.world.picture();
        // Every n-th pixel of every n-th row, from the middle of what it stands for.
        let every = picture.width.div_ceil(WIDEST).max(1);
        let (columns, rows) = (picture.width / every, picture.height / every);
        let at = |row: usize, column: usize| {
            let place = 3 * ((row * every + every / 2) * picture.width + column * every + every / 2);
            [picture.rgb[place], picture.rgb[place + 1], picture.rgb[place + 2]]
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
        let unix_seconds = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
        write_film(path, FilmHeader { unix_seconds, cut: !ended, spent_seconds, ..self.head }, pictures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::digest::Digest;
    use crate::folder::{OpenRun, Start, open_run};
    use crate::preset::Preset;
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
        let (filmed, digest) = trained(1, "sane");
        let (unfilmed, expected) = trained(0, "sane");
        assert_eq!(digest, expected);
        let events = |folder: &tempfile::TempDir| fs::read(folder.path().join("events.jsonl")).unwrap();
        assert_eq!(events(&filmed), events(&unfilmed));
        assert!(filmed.path().join("film.bin").exists() && !unfilmed.path().join("film.bin").exists());
    }

    #[test]
    fn a_film_shows_whole_episodes_with_an_entry_for_each_picture() {
        let (folder, _) = trained(1, "sane");
        let (head, rgb) = read_film(&folder.path().join("film.bin")).unwrap();
        let length = head.action.len();
        assert!((LEAST..=MOST).contains(&length) && !head.cut);
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
        let (folder, _) = trained(1, "eps-greedy");
        let (head, _) = read_film(&folder.path().join("film.bin")).unwrap();
        assert!(head.sigma.is_empty() && head.explored.contains(&true));
    }
}
