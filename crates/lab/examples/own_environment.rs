//! Trains in a world of one's own, with checkpoints and records: `cargo run --release -p sane-lab --example own_environment`
//!
//! The world is a corridor: the agent starts at one end, each step costs a little, the other end pays 1.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_env::{
    Action, AgentSteps, Ending, EnvFrames, EnvSpec, Environment, FrameSkip, FrameSpace, Picture, Reward, SnapshotError,
    Step, Stream, WorldFault,
};
use sane_lab::{
    CheckpointChoice, Evaluation, NoiseMode, OpenRun, Preset, RunConfig, Start, WorldSource, evaluate, open_run,
    read_trained, train,
};
use std::path::Path;
use std::sync::atomic::AtomicBool;

const LENGTH: usize = 8;
const TIME_LIMIT: u32 = 60;

#[derive(Clone)]
struct Corridor {
    spec: EnvSpec,
    position: usize,
    time: u32,
}

impl Corridor {
    fn new() -> Self {
        let spec = EnvSpec {
            name: "corridor".into(),
            frame: FrameSpace::vector(LENGTH),
            history: 1,
            actions: vec!["left".into(), "right".into()],
            frame_skip: FrameSkip(1),
        };
        Self { spec, position: 0, time: 0 }
    }

    /// One-hot position, as little-endian `f32`.
    fn write(&self, frame: &mut [u8]) {
        for (i, bytes) in frame.chunks_exact_mut(4).enumerate() {
            bytes.copy_from_slice(&f32::from(u8::from(i == self.position)).to_le_bytes());
        }
    }
}

impl Environment for Corridor {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        // What an episode leaves to chance comes from `starts`, so that a run can be repeated.
        (self.position, self.time) = (starts.below(2) as usize, 0);
        self.write(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        self.position = if action.0 == 1 { self.position + 1 } else { self.position.saturating_sub(1) };
        self.time += 1;
        self.write(frame);
        let ending = match () {
            () if self.position == LENGTH - 1 => Ending::GameOver,
            () if self.time == TIME_LIMIT => Ending::Truncated,
            () => Ending::Continues,
        };
        let reward = Reward(if ending == Ending::GameOver { 1.0 } else { -0.01 });
        Ok(Step { reward, ending, frames: EnvFrames(1) })
    }

    fn snapshot(&self) -> Vec<u8> {
        [&[self.position as u8][..], &self.time.to_le_bytes()].concat()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let unreadable = || SnapshotError::Unreadable { world: self.spec.name.clone(), reason: "not 5 bytes".into() };
        let [position, time @ ..]: [u8; 5] = snapshot.try_into().map_err(|_| unreadable())?;
        (self.position, self.time) = (position.into(), u32::from_le_bytes(time));
        Ok(())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn picture(&self) -> Picture {
        let rgb = (0..LENGTH).flat_map(|i| [if i == self.position { 255 } else { 40 }; 3]).collect();
        Picture { width: LENGTH, height: 1, rgb }
    }
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let stop = AtomicBool::new(false);
    // A new world per call: training has one, each episode of an evaluation another. This one draws nothing by itself.
    let source = WorldSource::custom("corridor", |_seed| Ok(Box::new(Corridor::new())))?;

    // The network is chosen by the shape of the frames; everything else is the preset's.
    let mut config = Preset::Gym.config_in(&source, "sane")?;
    config.training.total_interactions = AgentSteps(2_000);
    config.training.learning_starts = AgentSteps(500);
    config.learner.network.hidden = vec![32];
    println!("first half:  {} interactions", train_here(folder.path(), &config, &source, &stop)?);

    // The same folder again with a longer budget: the run resumes from its last checkpoint, bit for bit.
    config.training.total_interactions = AgentSteps(4_000);
    println!("second half: {} interactions", train_here(folder.path(), &config, &source, &stop)?);

    let trained = read_trained(folder.path(), &source, CheckpointChoice::Newest)?;
    let evaluation = Evaluation { noise: NoiseMode::Off, interactions: AgentSteps(500), start_seed: 1, threads: 1 };
    let result = evaluate(&trained, &source, &evaluation, |_| (), &stop)?.expect("not stopped");
    println!("mean return {:.2} over {} episodes (the best is about 0.94)", result.return_mean, result.episodes);
    Ok(())
}

fn train_here(
    folder: &Path,
    config: &RunConfig,
    source: &WorldSource,
    stop: &AtomicBool,
) -> Result<u64, Box<dyn std::error::Error>> {
    let OpenRun { mut run, mut files, .. } = open_run(folder, config, source, Start::Resume)?;
    files.begin(&run, &mut ())?;
    train(&mut run, &mut files, &mut (), stop)?;
    Ok(run.clock.steps().0)
}
