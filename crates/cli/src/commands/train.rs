//! `sane train`: a run, new or continued, with a live line about how it goes.

mod live;

use super::config::{Settings, sorted};
use crate::output::{Outcome, Output};
use live::Live;
use sane_lab::{OpenRun, Plan, Start, StopReason, WorldSource, default_folder, open_run, pool, stop_on_signals, train};
use std::path::PathBuf;

/// Trains an agent in a world; the same command again goes on where it stopped
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane train road_runner --agent q-sane --preset quick    # minutes on two cores\n  \
    sane train seaquest --agent sane                        # the paper's settings: 25 million interactions\n  \
    sane train minatar/breakout --agent noisynet --steps 1000000\n  \
    sane train boxing --agent sane --dry-run                # memory, disk and time, without training\n  \
    sane train boxing --agent eps-greedy --set learner.exploration.epsilon.last=0.01 --seed 2\n\n\
    Ctrl-C saves a checkpoint and stops. The run folder is runs/<game>/<agent>/seed-<S> unless --out names another.")]
pub struct Args {
    /// The world: an Atari game (`sane roms list`), `minatar/GAME`, `deep-sea/SIZE`, `risky-road`, `gym:ID`
    game: String,
    #[command(flatten)]
    settings: Settings,
    /// Folder of the run
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Folder with Atari ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
    /// Worker threads; results do not depend on them [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Begin anew; an old run in the folder is moved aside, not deleted
    #[arg(long)]
    fresh: bool,
    /// Print what the run will take (memory, disk, time) and stop
    #[arg(long)]
    dry_run: bool,
    /// Write every event as a line of JSON to standard output
    #[arg(long)]
    json: bool,
}

/// Trains.
pub fn run(args: Args, output: &Output) -> Outcome {
    let stop = stop_on_signals()?;
    let config = args.settings.resolve(&args.game, None)?;
    let folder = args.out.unwrap_or_else(|| default_folder(&config));
    let source =
        WorldSource::open(&config.world, args.roms.as_deref(), &mut |news| output.note(news)).map_err(sorted)?;
    let pool = pool(args.threads.map(usize::from))?;
    if args.dry_run {
        let plan = pool.install(|| Plan::measure(&config, &source))?;
        output.result(plan);
        return Ok(());
    }
    let start = if args.fresh { Start::Fresh } else { Start::Continue };
    let OpenRun { mut run, mut files, notes } = open_run(&folder, &config, &source, start).map_err(sorted)?;
    notes.iter().for_each(|note| output.note(note));
    let from = run.clock.steps().0;
    let (game, agent) = (&config.world.name, &config.agent);
    if 0 < from {
        output.note(format_args!("{game}, {agent}: going on at interaction {from} in {}", folder.display()));
    } else {
        output.note(format_args!("{game}, {agent}: a new run in {}", folder.display()));
    }
    let mut live = Live::new(*output, args.json, from, config.training.total_interactions.0);
    files.begin(&run, &mut live)?;
    let reason = pool.install(|| train(&mut run, &mut files, &mut live, &stop));
    live.clear();
    let now = run.clock.steps().0;
    match reason? {
        StopReason::Asked | StopReason::Fault => output
            .note(format_args!("stopped at interaction {now}, checkpoint saved; the same command goes on from there")),
        StopReason::Finished => {
            let mean = run.statistics.mean_return().map_or("no whole episode".into(), |mean| format!("{mean:.2}"));
            output.note(format_args!(
                "done: {now} interactions, {} episodes, mean return of the last 100: {mean}; next: sane eval {}",
                run.clock.episodes,
                folder.display()
            ));
        }
    }
    Ok(())
}
