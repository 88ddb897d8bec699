//! `sane suite status`: every run of a suite, how far it has come, and the whole in a sentence.

use crate::failure::Outcome;
use crate::output::Output;
use sane_record::{RunState, SuiteStatus};
use sane_suite::SuiteFolder;

/// Prints how the suite in this folder stands.
pub fn show(folder: &SuiteFolder, as_json: bool, output: Output) -> Outcome {
    let status = folder.status()?;
    let runner = folder.runner();
    if as_json {
        let mut value = serde_json::to_value(&status)?;
        value["running"] = runner.is_some().into();
        value["folder"] = folder.path.display().to_string().into();
        output.result(serde_json::to_string_pretty(&value)?);
        return Ok(());
    }
    let width = status.runs.iter().map(|run| run.run.chars().count()).max().unwrap_or(0).max(3);
    output.result(format_args!(
        "{:<width$}  {:<11}{:>12}{:>12}{:>9}{:>10}{:>8}",
        "run", "state", "interactions", "of", "per s", "return", "ETA"
    ));
    for run in &status.runs {
        let number = |value: Option<f64>, digits: usize| value.map_or("-".into(), |value| format!("{value:.digits$}"));
        let left = run.total_interactions.saturating_sub(run.interactions) as f64;
        let eta = run.interactions_per_second.filter(|_| run.state == RunState::Training);
        output.result(format_args!(
            "{:<width$}  {:<11}{:>12}{:>12}{:>9}{:>10}{:>8}{}",
            run.run,
            run.state.name(),
            run.interactions,
            run.total_interactions,
            number(run.interactions_per_second, 0),
            number(run.return_mean_last_100, 2),
            eta.map_or("-".into(), |speed| duration(left / speed.max(1e-9))),
            run.reason.as_ref().map(|reason| format!("  {reason}")).unwrap_or_default(),
        ));
    }
    let at_work = 0 < status.count(RunState::Training) + status.count(RunState::Evaluating);
    output.note(match runner {
        Some(runner) => format!("run by {runner}: {}", summary(&status)),
        // The jobs of a cluster work without anybody who runs the suite.
        None if at_work => summary(&status),
        None => format!("not running: {}", summary(&status)),
    });
    Ok(())
}

/// How many runs are in which state, and when all will be done.
pub fn summary(status: &SuiteStatus) -> String {
    let mut words = vec![format!("{} of {} runs done", status.count(RunState::Done), status.runs.len())];
    for state in RunState::ALL.into_iter().filter(|state| *state != RunState::Done) {
        let count = status.count(state);
        if 0 < count {
            words.push(format!("{count} {}", state.name()));
        }
    }
    words.extend(status.seconds_left().map(|seconds| format!("ETA {}", duration(seconds))));
    words.join(", ")
}

/// For people: `3:07`, `2h05`, `4d03h`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (0, hours, minutes, _) => format!("{hours}h{minutes:02}"),
        (days, hours, ..) => format!("{days}d{hours:02}h"),
    }
}
