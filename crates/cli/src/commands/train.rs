//! `sane train`: a run, new or resumed, with a progress line.

mod ending;

use super::config::Settings;
use crate::args::RomsOption;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use crate::version;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_lab::{
    EvaluatedWhileTraining, Event, Observer, OpenRun, Plan, Progress, RunConfig, Start, StopReason, WorldKind,
    WorldSource, default_folder, name_patterns, open_run_from, pool, resident_bytes, stop_on_signals, train,
};
use sane_nn::Kernel;
use sane_stats::number_format::{duration, grouped};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "Examples:\n  \
    sane train crazy_climber --agent q-sane --preset quick   # minutes on two cores\n  \
    sane train seaquest --agent sane                        # the paper: 25 million interactions\n  \
    sane train minatar/breakout --agent noisynet --steps 1M\n  \
    sane train boxing --agent sane --dry-run                # memory, disk and time, without training\n  \
    sane train boxing --agent eps-greedy --set learner.exploration.epsilon.last=0.01 --seed 2\n\n\
    An interaction is one decision of the agent: 4 frames on Atari.\n\
    Ctrl-C, SIGTERM and a closed terminal save a checkpoint and stop. Exit codes: 0 done or stopped, 1 failed, 2 wrong \
    usage, 3 diverged. The run folder is runs/<game>/<agent>/seed-<S> unless --out names another.\n\
    On a terminal, a finished run is filmed: film.gif in its folder; elsewhere --film asks for it.";

/// Train an agent in a world; the same command again resumes a stopped run
#[derive(Debug, clap::Args)]
#[command(after_help = after_help())]
pub struct Args {
    #[arg(help = format!("The world: {}", name_patterns()))]
    game: String,
    #[command(flatten)]
    settings: Settings,
    /// Folder of the run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    #[command(flatten)]
    roms: RomsOption,
    /// Worker threads; results do not depend on them [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Instructions to compute with: avx512, avx2, portable; results do not depend on them [default: the fastest]
    #[arg(long, value_name = "NAME")]
    kernel: Option<String>,
    /// Start a new run; an old run in the folder is renamed, not deleted
    #[arg(long)]
    fresh: bool,
    /// Film the final policy of the finished run, film.gif in its folder [default: on a terminal, without --quiet and --json]
    #[arg(long)]
    film: bool,
    /// Print the memory, disk and time the run will take, and stop
    #[arg(long)]
    dry_run: bool,
    /// Write every event as a line of JSON to standard output
    #[arg(long)]
    json: bool,
}

/// Examples, then the built-in worlds as they register themselves.
fn after_help() -> String {
    let worlds = sane_minigames::known_worlds().map(|world| format!("  {:<24}{}", world.name, world.description));
    format!("{EXAMPLES}\n\nBuilt-in worlds:\n{}", worlds.collect::<Vec<_>>().join("\n"))
}

pub fn run(args: Args, output: &Output) -> Outcome {
    // Before anything computes, which a check of the settings may already do.
    if let Some(name) = &args.kernel {
        Kernel::named(name).and_then(Kernel::use_in_process).map_err(Failure::usage)?;
    }
    let stop = stop_on_signals()?;
    let resolved = args.settings.resolve(&args.game, None)?;
    let origin =
        version::sign(resolved.origin(std::env::args_os().map(|word| word.to_string_lossy().into()).collect()));
    let config = resolved.config;
    let folder = args.out.unwrap_or_else(|| default_folder(&config));
    let source =
        WorldSource::open(&config.world, args.roms.folder(), &mut |message| output.note(message)).map_err(classify)?;
    let pool = pool(args.threads.map(usize::from))?;
    if args.dry_run {
        let plan = pool.install(|| Plan::measure(&config, &source))?;
        output.result(plan);
        return Ok(());
    }
    let start = if args.fresh { Start::Fresh } else { Start::Resume };
    let OpenRun { mut run, mut files, notes, warnings } =
        pool.install(|| open_run_from(&origin, &folder, &config, &source, start)).map_err(classify)?;
    warnings.iter().for_each(|warning| output.warn(warning));
    notes.iter().for_each(|note| output.note(note));
    let from = run.clock.steps().0;
    if !output.is_quiet() && !args.settings.from_suite {
        announce_long_run(&config, from, &source, &pool, *output)?;
    }
    let (game, agent) = (&config.world.name, &config.agent);
    if 0 < from {
        output.note(format_args!("{game}, {agent}: resuming at interaction {from} in {}", folder.display()));
    } else {
        output.note(format_args!("{game}, {agent}: a new run in {}", folder.display()));
    }
    let mut line = ProgressLine::new(*output, args.json, from, config.training.total_interactions.0);
    files.begin(&run, &mut line)?;
    let reason = pool.install(|| train(&mut run, &mut files, &mut line, &stop));
    line.clear();
    let now = run.clock.steps().0;
    match reason.map_err(classify)? {
        StopReason::Asked | StopReason::Fault | StopReason::Diverged => output
            .note(format_args!("stopped at interaction {now}, checkpoint saved; the same command resumes the run")),
        StopReason::Finished => {
            let mean = run.statistics.mean_return().map_or("no whole episode".into(), |mean| format!("{mean:.2}"));
            output.note(format_args!(
                "done: {now} interactions, {} episodes, mean return of the last 100: {mean}",
                run.clock.episodes
            ));
            // Before the film is drawn, which may take seconds: the folder is free for others.
            drop(files);
            if !output.is_quiet() && !args.json {
                ending::show_curve(&folder, *output);
            }
            let films = args.film || (std::io::stderr().is_terminal() && !output.is_quiet() && !args.json);
            let filmed = if films {
                ending::film_final_policy(&folder, &config, args.roms.folder(), &stop, output)
            } else {
                Ok(None)
            };
            match &filmed {
                Ok(Some(film)) => output.note(format_args!("its final policy: {}", film.display())),
                Ok(None) => {}
                // The training is done and saved.
                Err(error) => output.warn(format_args!("the final policy could not be filmed: {error}")),
            }
            ending::show_next_commands(&folder, matches!(filmed, Ok(Some(_))), *output);
        }
    }
    match line.unwritten {
        None => Ok(()),
        Some(error) => Err(anyhow::anyhow!(
            "events could not be written to standard output: {error}; all of them are in {}",
            folder.join("events.jsonl").display()
        )
        .into()),
    }
}

/// Interactions that take less than an hour on any machine; their time is not measured before they begin.
const SHORT_RUN: u64 = 100_000;
const HOUR: f64 = 3_600.0;

/// Says that a run will take more than an hour, and how to make a short one of it. Measures about two seconds.
fn announce_long_run(
    config: &RunConfig,
    from: u64,
    source: &WorldSource,
    pool: &rayon::ThreadPool,
    output: Output,
) -> Outcome {
    let left = config.training.total_interactions.0.saturating_sub(from);
    if left <= SHORT_RUN {
        return Ok(());
    }
    let plan = pool.install(|| Plan::measure(config, source))?;
    let seconds = left as f64 / plan.interactions_per_second;
    if HOUR < seconds {
        let is_atari = matches!(WorldKind::of(&config.world.name), Ok(WorldKind::Atari(_)));
        let shorter = if is_atari { "--preset quick, or --steps 200k" } else { "--steps 100k" };
        output.note(format_args!(
            "this will take about {} for {} interactions; for a short run: {shorter}; Ctrl-C stops it, the same command \
             resumes it",
            duration(seconds),
            grouped(left)
        ));
    }
    Ok(())
}

/// How often the bar is drawn, and how often a log line is written where standard error is not a terminal.
const DRAW_INTERVAL: Duration = Duration::from_millis(200);
const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Observes the run: a progress bar on a terminal, log lines elsewhere, events as JSON if asked for.
struct ProgressLine {
    output: Output,
    events_as_json: bool,
    /// Why events can no longer be written to standard output; training continues without.
    unwritten: Option<std::io::Error>,
    bar: Option<ProgressBar>,
    shown: Instant,
    speed: Speed,
}

impl ProgressLine {
    fn new(output: Output, events_as_json: bool, from: u64, total: u64) -> Self {
        let on_terminal = std::io::stderr().is_terminal() && !output.is_quiet();
        let bar = on_terminal.then(|| {
            // `wide_msg` truncates: a line that wraps would not be erased when the bar is redrawn. What does not fit is left
            // out before, field by field.
            let style = ProgressStyle::with_template("{bar:12} {pos}/{len} {wide_msg}").expect("the template is valid");
            let bar = ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr()).with_style(style);
            bar.set_position(from);
            bar
        });
        Self { output, events_as_json, unwritten: None, bar, shown: Instant::now(), speed: Speed::new(from) }
    }

    fn clear(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Observer for ProgressLine {
    fn event(&mut self, event: &Event) {
        if self.events_as_json && self.unwritten.is_none() {
            let written = self.output.try_result(serde_json::to_string(event).expect("an event is plain data"));
            if let Err(error) = written {
                self.output
                    .warn(format_args!("standard output cannot be written: {error}; training continues without"));
                self.unwritten = Some(error);
            }
        }
    }

    fn evaluated(&mut self, _evaluation: &EvaluatedWhileTraining, spent: Duration) {
        self.speed.pause(spent);
    }

    // Called after every interaction; reading the clock takes nanoseconds.
    fn tick(&mut self, progress: &mut dyn FnMut() -> Progress) {
        let interval = if self.bar.is_some() { DRAW_INTERVAL } else { LOG_INTERVAL };
        if self.shown.elapsed() < interval {
            return;
        }
        self.shown = Instant::now();
        let progress = progress();
        let fields = progress_fields(&progress, self.speed.update(progress.interactions));
        let (now, total) = (progress.interactions, progress.total_interactions);
        let counts = format!("{now}/{total}");
        match &self.bar {
            Some(bar) => {
                let columns = crossterm::terminal::size().map_or(COLUMNS, |(columns, _)| usize::from(columns));
                bar.set_position(now);
                bar.set_message(fitting(&fields, columns.saturating_sub(BAR_COLUMNS + counts.len() + 1)));
            }
            None => {
                let text = fitting(&fields, COLUMNS - counts.len() - 1);
                self.output.note(format_args!("{counts} {text}"));
            }
        }
    }
}

/// Interactions per second, smoothed over a few seconds.
struct Speed {
    since: Instant,
    counted: u64,
    per_second: Option<f64>,
}

impl Speed {
    fn new(from: u64) -> Self {
        Self { since: Instant::now(), counted: from, per_second: None }
    }

    /// Leaves out a time in which nothing was trained.
    fn pause(&mut self, spent: Duration) {
        self.since += spent;
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

/// Columns of a line where there is no terminal.
const COLUMNS: usize = 80;
/// Columns of the bar itself and the space behind it.
const BAR_COLUMNS: usize = 13;

/// As many of the fields as fit into so many columns, from the left.
fn fitting(fields: &[String], columns: usize) -> String {
    let mut text = String::new();
    for field in fields {
        let separator = if text.is_empty() { "" } else { " · " };
        if columns < text.chars().count() + separator.chars().count() + field.chars().count() {
            break;
        }
        text.push_str(separator);
        text.push_str(field);
    }
    text
}

/// What the progress line shows, the most important first.
fn progress_fields(progress: &Progress, per_second: f64) -> Vec<String> {
    let left = progress.total_interactions.saturating_sub(progress.interactions) as f64;
    let mut parts = vec![format!("{per_second:.0}/s"), format!("ETA {}", duration(left / per_second.max(1e-9)))];
    parts.extend(progress.mean_return.map(|mean| format!("return {mean:.2}")));
    parts.extend(progress.epsilon.map(|epsilon| format!("ε {epsilon:.3}")));
    parts.extend(progress.sigma.map(|sigma| format!("|σ| {sigma:.2e}")));
    parts.extend(progress.explored_share.map(|share| format!("explores {:.1} %", 100.0 * share)));
    parts.extend(progress.loss.map(|loss| format!("loss {loss:.2e}")));
    parts.extend(resident_bytes().map(|bytes| format!("{:.2} GB", bytes as f64 / 1e9)));
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_progress_text_names_what_the_agent_has_and_omits_the_rest() {
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
        let text = progress_fields(&progress, 1.0).join(" · ");
        assert!(text.starts_with("1/s · ETA 1 h · return 1.50 · |σ| 5.00e-2 · explores 25.0 %"), "{text}");
        assert!(!text.contains('ε') && !text.contains("loss"));
    }

    #[test]
    fn a_narrow_line_drops_whole_fields_from_the_right() {
        let fields = ["266/s", "ETA 5 min", "|σ| 1.20e-2", "loss 4.51e-2"].map(str::to_owned);
        assert_eq!(fitting(&fields, 80), "266/s · ETA 5 min · |σ| 1.20e-2 · loss 4.51e-2");
        assert_eq!(fitting(&fields, 45), "266/s · ETA 5 min · |σ| 1.20e-2");
        assert_eq!(fitting(&fields, 8), "266/s");
        assert_eq!(fitting(&fields, 4), "");
    }
}
