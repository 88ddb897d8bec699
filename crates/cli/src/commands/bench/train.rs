//! `sane bench train`: interactions per second of each agent with a full replay, and the share of each phase.

use crate::args::{RomsOption, count_in};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use sane_lab::{Preset, TrainingBench, TrainingSpeed, WorldSource, pool};
use serde_json::{Map, Value, json};

/// Interactions per second of each agent with preset `paper`, and the share of each phase
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane bench train boxing\n  \
    sane bench train seaquest --agents sane --fill 100000 --json\n\n\
    The replay is filled by random play, then each agent trains in the loop of `sane train`. The checkpoint's share is the \
    measured time of one checkpoint, spread over the default interval.")]
pub struct Args {
    /// The world
    game: String,
    /// Agents to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_value = "eps-greedy,noisynet,sane,q-sane")]
    agents: Vec<String>,
    /// Transitions in the replay before timing begins
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = count_in(1_000..=1_000_000))]
    fill: u64,
    /// Interactions to time per agent, after as many of warm-up
    #[arg(long, value_name = "N", default_value_t = 2_000, value_parser = count_in(100..=1_000_000))]
    interactions: u64,
    /// Worker threads [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    roms: RomsOption,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    for agent in &args.agents {
        Preset::Paper.config(&args.game, agent).map_err(Failure::usage)?;
    }
    let world = Preset::Paper.config(&args.game, "eps-greedy").map_err(Failure::usage)?.world;
    let source = WorldSource::open(&world, args.roms.folder(), &mut |message| output.note(message))?;
    let folder = tempfile::tempdir()?;
    let pool = pool(args.threads.map(usize::from))?;
    let speeds = pool.install(|| -> Result<Vec<(String, TrainingSpeed)>, Failure> {
        let bar = output.progress_bar(args.fill, "filling the replay");
        let mut bench = TrainingBench::new(folder.path(), &source, args.fill, &mut || bar.inc(1))?;
        bar.finish_and_clear();
        let mut speeds = Vec::new();
        for agent in &args.agents {
            output.note(format_args!("timing {agent}"));
            speeds.push((agent.clone(), bench.measure(agent, args.interactions)?));
        }
        Ok(speeds)
    })?;
    if args.json {
        output.result(serde_json::to_string_pretty(&as_value(&args, &speeds))?);
    } else {
        table(&speeds, *output);
    }
    Ok(())
}

fn as_value(args: &Args, speeds: &[(String, TrainingSpeed)]) -> Value {
    let agents: Map<String, Value> = speeds
        .iter()
        .map(|(agent, speed)| {
            let value = json!({
                "interactions_per_second": speed.interactions_per_second,
                "share": speed.share,
                "replay_bytes": speed.replay_bytes,
            });
            (agent.clone(), value)
        })
        .collect();
    json!({ "world": args.game, "replay_transitions": args.fill, "agents": agents })
}

fn table(speeds: &[(String, TrainingSpeed)], output: Output) {
    output.result(format_args!(
        "{:<14}{:>15}{:>12}{:>8}{:>10}{:>8}{:>12}{:>8}",
        "agent", "interactions/s", "train step", "act", "emulator", "replay", "checkpoint", "rest"
    ));
    for (agent, speed) in speeds {
        let share = speed.share;
        let percent = |value: f64| format!("{:.1} %", 100.0 * value);
        output.result(format_args!(
            "{:<14}{:>15.1}{:>12}{:>8}{:>10}{:>8}{:>12}{:>8}",
            agent,
            speed.interactions_per_second,
            percent(share.train_step),
            percent(share.act),
            percent(share.emulator),
            percent(share.replay),
            percent(share.checkpoint),
            percent(share.rest),
        ));
    }
}
