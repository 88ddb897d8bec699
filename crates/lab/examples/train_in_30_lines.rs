//! Trains an agent as a library, evaluates it, and reads σ(s): `cargo run --release -p sane-lab --example train_in_30_lines`

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_env::AgentSteps;
use sane_lab::{
    CheckpointChoice, Evaluation, NoiseMode, OpenRun, Preset, Start, WorldSource, evaluate, open_run, read_trained,
    train,
};
use std::sync::atomic::AtomicBool;

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let stop = AtomicBool::new(false);

    // A preset is a complete configuration; every field can be changed.
    let mut config = Preset::RiskyRoad.config("risky-road", "sane")?;
    config.training.total_interactions = AgentSteps(3_000);
    config.training.learning_starts = AgentSteps(500);
    let source = WorldSource::open(&config.world, None, &mut |message| eprintln!("{message}"))?;

    // Checkpoints, events and timings go to the folder; calling this again resumes the run.
    let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume)?;
    files.begin(&run, &mut ())?;
    train(&mut run, &mut files, &mut (), &stop)?;

    let trained = read_trained(folder.path(), &source, CheckpointChoice::Newest)?;
    let evaluation = Evaluation { noise: NoiseMode::Off, interactions: AgentSteps(2_000), start_seed: 1, threads: 1 };
    let result = evaluate(&trained, &source, &evaluation, |_| (), &stop)?.expect("not stopped");
    println!("mean return {:.2} over {} episodes", result.return_mean, result.episodes);
    println!("|σ(s)| of the states visited: {:?}", result.sigma);
    Ok(())
}
