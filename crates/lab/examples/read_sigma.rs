//! Plays a trained agent state by state and reads σ(s) and the action values:
//! `cargo run --release -p sane-lab --example read_sigma -- [RUN_FOLDER]`
//!
//! Without a folder a short run is trained first.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_agent::ActMode;
use sane_env::{AgentSteps, Stream};
use sane_lab::{
    CheckpointChoice, OpenRun, Preset, Rollout, Start, WorldSource, open_run, read_config, read_trained, train,
};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let temporary = tempfile::tempdir()?;
    let given = std::env::args().nth(1).map(PathBuf::from).filter(|path| path.is_dir());
    let folder = given.unwrap_or_else(|| temporary.path().into());
    if folder == temporary.path() {
        train_briefly(&folder)?;
    }
    let config = read_config(&folder)?;
    let source = WorldSource::open(&config.world, None, &mut |message| eprintln!("{message}"))?;
    let mut policy = read_trained(&folder, &source, CheckpointChoice::Newest)?.learner.policy();

    // One episode, greedy without noise; σ(s) is what the noise would be scaled by.
    let mut rollout = Rollout::new(source.make(7)?);
    let (mut starts, mut noise) = (Stream::named(7, "starts"), Stream::named(7, "noise"));
    rollout.begin_episode(&mut starts, None)?;
    println!("{:>5}  {:>9}  {:>8}  action values", "step", "σ(s)", "action");
    for t in 0..200 {
        let decision = policy.act(rollout.state(), ActMode::Greedy, &mut noise);
        let action = &rollout.spec().actions[usize::from(decision.action.0)];
        let values: Vec<String> = policy.q_values().iter().map(|q| format!("{q:7.3}")).collect();
        let sigma = decision.sigma.map_or("–".into(), |sigma| format!("{sigma:.2e}"));
        println!("{t:>5}  {sigma:>9}  {action:>8}  {}", values.join(" "));
        if rollout.step(decision.action, None, &mut ())?.ending.ends_episode() {
            break;
        }
    }
    Ok(())
}

fn train_briefly(folder: &Path) -> Result<(), Box<dyn std::error::Error>> {
    let mut config = Preset::RiskyRoad.config("risky-road", "sane")?;
    config.training.total_interactions = AgentSteps(2_000);
    config.training.learning_starts = AgentSteps(500);
    let source = WorldSource::open(&config.world, None, &mut |message| eprintln!("{message}"))?;
    let OpenRun { mut run, mut files, .. } = open_run(folder, &config, &source, Start::Resume)?;
    files.begin(&run, &mut ())?;
    train(&mut run, &mut files, &mut (), &AtomicBool::new(false))?;
    Ok(())
}
