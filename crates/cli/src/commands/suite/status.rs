//! The state of a suite's runs: printed once by `sane suite status`, and as a table that is redrawn while a suite runs.

use crate::failure::Outcome;
use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_record::{RunState, RunStatus, SuiteStatus};
use sane_stats::number_format::{counted, duration};
use sane_suite::{SuiteFolder, Update};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

pub fn show(folder: &SuiteFolder, as_json: bool, output: Output) -> Outcome {
    let status = folder.status()?;
    let runner = folder.runner();
    if as_json {
        let mut value = serde_json::to_value(&status)?;
        value["running"] = runner.is_some().into();
        value["folder"] = folder.path.display().to_string().into();
        value["rounds"] = serde_json::to_value(folder.rounds()?)?;
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
    folder.rounds()?.sentences().iter().for_each(|sentence| output.result(sentence));
    let is_active = 0 < status.count(RunState::Training) + status.count(RunState::Evaluating);
    output.note(match runner {
        Some(runner) => format!("run by {runner}: {}", summary(&status)),
        // The jobs of a cluster work without a process that runs the suite.
        None if is_active => summary(&status),
        None => format!("not running: {}", summary(&status)),
    });
    Ok(())
}

/// The number of runs in each state, and the estimated time until all are done.
fn summary(status: &SuiteStatus) -> String {
    let mut parts = vec![format!("{} of {} done", status.count(RunState::Done), counted(status.runs.len(), "run"))];
    for state in RunState::ALL.into_iter().filter(|state| *state != RunState::Done) {
        let count = status.count(state);
        if 0 < count {
            parts.push(format!("{count} {}", state.name()));
        }
    }
    parts.extend(status.seconds_left().map(|seconds| format!("ETA {}", duration(seconds))));
    parts.join(", ")
}

/// With more runs than fit on a screen, only the active ones have a bar.
const MAX_BARS: usize = 24;

/// How often the table is drawn, and how often a log line is written where standard error is not a terminal.
const DRAW_INTERVAL: Duration = Duration::from_millis(250);
const LOG_INTERVAL: Duration = Duration::from_secs(30);

/// `wide_msg` truncates: a line that wraps would not be erased when the table is redrawn.
const TEMPLATE: &str = "{bar:12} {percent:>3} % {wide_msg}";

/// A bar per run and one for all of them on a terminal, log lines elsewhere.
pub struct ProgressTable {
    output: Output,
    bars: Option<MultiProgress>,
    total: ProgressBar,
    by_run: BTreeMap<String, ProgressBar>,
    only_running: bool,
    shown: Instant,
}

impl ProgressTable {
    pub fn new(output: Output, runs: usize) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !output.is_quiet();
        let bars = on_terminal.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        let total = bars.as_ref().map_or_else(ProgressBar::hidden, |bars| bars.add(ProgressBar::new(1)));
        total.set_style(style());
        let only_running = MAX_BARS < runs;
        Self { output, bars, total, by_run: BTreeMap::new(), only_running, shown: Instant::now() }
    }

    /// Prints the update, if there is one, and redraws the table when it is due.
    pub fn show(&mut self, status: &SuiteStatus, update: Option<&Update>) {
        if let Some(update) = update {
            let print = || match update {
                Update::Failed { .. } | Update::SetAside { .. } => self.output.warn(update),
                _ => self.output.note(update),
            };
            match &self.bars {
                Some(bars) => bars.suspend(print),
                None => print(),
            }
        }
        let interval = if self.bars.is_some() { DRAW_INTERVAL } else { LOG_INTERVAL };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        if self.bars.is_none() {
            self.output.note(summary(status));
            return;
        }
        for run in &status.runs {
            self.draw(run);
        }
        let (now, total) = status.runs.iter().fold((0, 0), |(now, total), run| {
            (now + run.interactions.min(run.total_interactions), total + run.total_interactions)
        });
        self.total.set_length(total.max(1));
        self.total.set_position(now);
        self.total.set_message(summary(status));
    }

    pub fn clear(&self) {
        if let Some(bars) = &self.bars {
            // Not worth an error: the table stays on the screen.
            let _ = bars.clear();
        }
    }

    fn draw(&mut self, run: &RunStatus) {
        let Some(bars) = &self.bars else { return };
        if self.only_running && !run.state.is_running() {
            if let Some(bar) = self.by_run.remove(&run.run) {
                bar.finish_and_clear();
                bars.remove(&bar);
            }
            return;
        }
        let bar = self.by_run.entry(run.run.clone()).or_insert_with(|| {
            let bar = bars.insert_before(&self.total, ProgressBar::new(run.total_interactions));
            bar.set_style(style());
            bar
        });
        bar.set_length(run.total_interactions);
        bar.set_position(run.interactions);
        bar.set_message(run_text(run));
    }
}

fn style() -> ProgressStyle {
    ProgressStyle::with_template(TEMPLATE).expect("the template is valid")
}

fn run_text(run: &RunStatus) -> String {
    let mut parts = vec![run.run.clone(), run.state.name().to_owned()];
    if run.state == RunState::Training
        && let Some(speed) = run.interactions_per_second
    {
        let left = run.total_interactions.saturating_sub(run.interactions) as f64;
        parts.push(format!("ETA {} · {speed:.0}/s", duration(left / speed.max(1e-9))));
    }
    parts.extend(run.return_mean_last_100.map(|mean| format!("return {mean:.2}")));
    parts.extend(run.reason.clone());
    parts.join(" · ")
}
