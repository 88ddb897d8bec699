//! The live line of a run: a progress bar on a terminal, log lines elsewhere, events as JSON if wanted.

use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_lab::{Event, Observer, Progress, resident_bytes};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often the bar is drawn, and how often a log line is written where there is no terminal.
const DRAW: Duration = Duration::from_millis(200);
const LOG: Duration = Duration::from_secs(10);

/// Interactions between two looks at the clock would make fast worlds' lines late; a look costs nanoseconds.
pub struct Live {
    output: Output,
    events_as_json: bool,
    bar: Option<ProgressBar>,
    shown: Instant,
    pace: Pace,
}

impl Live {
    /// For a run that goes from `from` to `total` interactions.
    pub fn new(output: Output, events_as_json: bool, from: u64, total: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !output.is_quiet();
        let bar = on_terminal.then(|| {
            // What does not fit is cut off: a line that wraps would be left behind when the bar is drawn anew.
            let style = ProgressStyle::with_template("{bar:12} {pos}/{len} {wide_msg}").expect("the template is right");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style);
            bar.set_position(from);
            bar
        });
        Self { output, events_as_json, bar, shown: Instant::now(), pace: Pace::new(from) }
    }

    /// Takes the bar off the screen.
    pub fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for Live {
    fn event(&mut self, event: &Event) {
        if self.events_as_json {
            self.output.result(serde_json::to_string(event).expect("an event is plain data"));
        }
    }

    fn tick(&mut self, progress: &mut dyn FnMut() -> Progress) {
        let interval = if self.bar.is_some() { DRAW } else { LOG };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        let progress = progress();
        let line = line(&progress, self.pace.update(progress.interactions));
        match &self.bar {
            Some(bar) => {
                bar.set_position(progress.interactions);
                bar.set_message(line);
            }
            None => {
                let (now, total) = (progress.interactions, progress.total_interactions);
                self.output.note(format_args!("{now}/{total} {line}"));
            }
        }
    }
}

/// Interactions per second, smoothed over a few seconds.
struct Pace {
    since: Instant,
    counted: u64,
    per_second: Option<f64>,
}

impl Pace {
    fn new(from: u64) -> Self {
        Self { since: Instant::now(), counted: from, per_second: None }
    }

    fn update(&mut self, interactions: u64) -> f64 {
        let seconds = self.since.elapsed().as_secs_f64();
        let now = (interactions - self.counted) as f64 / seconds.max(1e-9);
        // The weight of the past halves every two seconds, however often the line is drawn.
        let weight = 0.5_f64.powf(seconds / 2.0);
        let smoothed = self.per_second.map_or(now, |before| weight * before + (1.0 - weight) * now);
        (self.since, self.counted, self.per_second) = (Instant::now(), interactions, Some(smoothed));
        smoothed
    }
}

fn line(progress: &Progress, per_second: f64) -> String {
    let left = progress.total_interactions.saturating_sub(progress.interactions) as f64;
    let mut words = vec![format!("{per_second:.0}/s"), format!("ETA {}", duration(left / per_second.max(1e-9)))];
    let mut say = |word: Option<String>| words.extend(word);
    say(progress.mean_return.map(|mean| format!("return {mean:.2}")));
    say(progress.epsilon.map(|epsilon| format!("ε {epsilon:.3}")));
    say(progress.sigma.map(|sigma| format!("|σ| {sigma:.2e}")));
    say(progress.explored_share.map(|share| format!("explores {:.1} %", 100.0 * share)));
    say(progress.loss.map(|loss| format!("loss {loss:.2e}")));
    say(resident_bytes().map(|bytes| format!("{:.2} GB", bytes as f64 / 1e9)));
    words.join(" · ")
}

fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (0, hours, minutes, _) => format!("{hours}h{minutes:02}"),
        (days, hours, ..) => format!("{days}d{hours:02}h"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_the_agent_has_and_leaves_out_the_rest() {
        let progress = Progress {
            interactions: 1_000,
            total_interactions: 4_600,
            episodes: 3,
            mean_return: Some(1.5),
            epsilon: None,
            sigma: Some(0.05),
            explored_share: Some(0.25),
            loss: None,
        };
        let line = line(&progress, 1.0);
        assert!(line.starts_with("1/s · ETA 1h00 · return 1.50 · |σ| 5.00e-2 · explores 25.0 %"), "{line}");
        assert!(!line.contains('ε') && !line.contains("loss"));
    }
}
