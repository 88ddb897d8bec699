//! What is shown when a run is complete: its learning curve, a film of its final policy, and the next commands.

use crate::commands::film::{FilmPart, film_into};
use crate::curve::curve;
use crate::failure::Failure;
use crate::output::Output;
use sane_lab::{CheckpointChoice, RunConfig, open_to_film, read_trained};
use sane_record::{Event, event_kind, read_evaluations_in_training, scan_jsonl};
use sane_stats::number_format::grouped;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Width of the curve.
const COLUMNS: usize = 80;

/// Interactions of the film at most: 20 seconds of an Atari game, a few seconds of drawing.
const FILMED: u64 = 300;

/// Prints the learning curve of the run in `folder`, and what its evaluations say.
pub fn show_curve(folder: &Path, output: Output) {
    let mut points = Vec::new();
    // A curve that cannot be drawn is no reason to fail at the end of a training.
    let read = scan_jsonl(folder.join("events.jsonl"), |line| {
        if event_kind(line) == Some("episode_finished")
            && let Event::EpisodeFinished(episode) = serde_json::from_slice(line)?
        {
            points.push((episode.interactions as f64, episode.return_mean_last_100));
        }
        Ok(())
    });
    if read.is_ok()
        && let Some(lines) = curve(&points, COLUMNS)
    {
        output.note("mean return of the last 100 episodes, over the interactions of training:");
        lines.iter().for_each(|line| output.note(line));
    }
    let evaluations = read_evaluations_in_training(folder).map(|read| read.records).unwrap_or_default();
    let best = evaluations.iter().rev().find(|evaluation| evaluation.best);
    if let (Some(first), Some(last), Some(best)) = (evaluations.first(), evaluations.last(), best) {
        output.note(format_args!(
            "evaluated without noise: {:.2} after {} interactions, {:.2} after {}; best {:.2} after {} (--checkpoint best)",
            first.mean,
            grouped(first.interactions),
            last.mean,
            grouped(last.interactions),
            best.mean,
            grouped(best.interactions)
        ));
    }
}

/// Films the final policy into the run folder; where the film is, or `None` if stopped.
pub fn film_final_policy(
    folder: &Path,
    config: &RunConfig,
    roms: Option<&Path>,
    stop: &AtomicBool,
    output: &Output,
) -> Result<Option<PathBuf>, Failure> {
    let path = folder.join("film.gif");
    let source = open_to_film(&config.world, roms, &mut |message| output.note(message))?;
    let trained = read_trained(folder, &source, CheckpointChoice::Newest)?;
    let filmed = film_into(&path, &trained, &source, &FilmPart::beginning(FILMED), stop, output)?;
    Ok(filmed.map(|_| path))
}

/// Prints the next commands.
pub fn show_next_commands(folder: &Path, has_film: bool, output: Output) {
    let name = quoted(folder);
    let second = if has_film { ("play", "watch it play in the terminal") } else { ("film", "a film of an episode") };
    output.note("next:");
    for (command, purpose) in [
        (format!("sane eval {name}"), "scores with and without noise"),
        (format!("sane {} {name}", second.0), second.1),
        (format!("sane report {name} -o report"), "curves and tables on one page"),
    ] {
        output.note(format_args!("  {command:<52}  # {purpose}"));
    }
}

/// The folder as a word of a shell.
fn quoted(folder: &Path) -> String {
    let text = folder.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=+,@%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_blanks_is_one_word_of_a_shell() {
        assert_eq!(quoted(Path::new("runs/gym:CartPole-v1/sane/seed-1")), "runs/gym:CartPole-v1/sane/seed-1");
        assert_eq!(quoted(Path::new("my runs/it's")), r"'my runs/it'\''s'");
    }
}
