//! The live table of a suite: a bar per run on a terminal, and one for the whole; lines elsewhere.

use super::status::{duration, summary};
use crate::output::Output;
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_record::{RunState, RunStatus, SuiteStatus};
use sane_suite::Update;
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// More runs than this do not fit on a screen: then only those at work have a bar.
const MOST_BARS: usize = 24;

/// How often the table is drawn, and how often a line says how things stand where there is no terminal.
const DRAW: Duration = Duration::from_millis(250);
const LOG: Duration = Duration::from_secs(30);

/// What does not fit beside the bar is cut off: a line that wraps would be left behind when the table is drawn anew.
const TEMPLATE: &str = "{bar:12} {percent:>3} % {wide_msg}";

/// The table.
pub struct Live {
    output: Output,
    bars: Option<MultiProgress>,
    whole: ProgressBar,
    by_run: BTreeMap<String, ProgressBar>,
    only_running: bool,
    shown: Instant,
}

impl Live {
    /// For a suite of so many runs.
    pub fn new(output: Output, runs: usize) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !output.is_quiet();
        let bars = on_terminal.then(|| MultiProgress::with_draw_target(ProgressDrawTarget::stderr()));
        let whole = ProgressBar::hidden();
        let whole = bars.as_ref().map_or(whole, |bars| bars.add(ProgressBar::new(1)));
        whole.set_style(style(TEMPLATE));
        let only_running = MOST_BARS < runs;
        Self { output, bars, whole, by_run: BTreeMap::new(), only_running, shown: Instant::now() }
    }

    /// How things stand now, and what happened.
    pub fn show(&mut self, status: &SuiteStatus, update: Option<&Update>) {
        if let Some(update) = update {
            match &self.bars {
                Some(bars) => bars.suspend(|| self.output.note(update)),
                None => self.output.note(update),
            }
        }
        let interval = if self.bars.is_some() { DRAW } else { LOG };
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
        self.whole.set_length(total.max(1));
        self.whole.set_position(now);
        self.whole.set_message(summary(status));
    }

    /// Takes the table off the screen.
    pub fn clear(&self) {
        if let Some(bars) = &self.bars {
            // A table that cannot be cleared stays where it is.
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
            let bar = bars.insert_before(&self.whole, ProgressBar::new(run.total_interactions));
            bar.set_style(style(TEMPLATE));
            bar
        });
        bar.set_length(run.total_interactions);
        bar.set_position(run.interactions);
        bar.set_message(line(run));
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).expect("the template is right")
}

fn line(run: &RunStatus) -> String {
    let mut words = vec![run.run.clone(), run.state.name().to_owned()];
    if run.state == RunState::Training
        && let Some(speed) = run.interactions_per_second
    {
        let left = run.total_interactions.saturating_sub(run.interactions) as f64;
        words.push(format!("ETA {} · {speed:.0}/s", duration(left / speed.max(1e-9))));
    }
    words.extend(run.return_mean_last_100.map(|mean| format!("return {mean:.2}")));
    words.extend(run.reason.clone());
    words.join(" · ")
}
