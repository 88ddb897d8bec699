//! Trains with a way of exploring of one's own: `cargo run --release -p sane-lab --example own_exploration`
//!
//! The idea: act at random in states seen fewer than `TRUSTED` times, greedily elsewhere. It needs a memory, which is part of
//! the checkpoint, and an action rule; the network stays a plain DQN. A way that perturbs the network implements
//! `Explorer::build` besides.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_agent::{Behaviour, Exploration, Explorer};
use sane_env::{Action, AgentSteps, Stream};
use sane_lab::{OpenRun, Preset, Start, WorldSource, open_run, train};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const TRUSTED: u32 = 5;
const COUNTERS: usize = 1 << 16;

#[derive(Debug, Clone)]
struct CuriousOfTheNew;

impl Explorer for CuriousOfTheNew {
    fn behaviour(&self) -> Box<dyn Behaviour> {
        Box::new(Visits { counters: vec![0; COUNTERS], visits: 0 })
    }
}

#[derive(Debug, Clone)]
struct Visits {
    counters: Vec<u32>,
    /// Visits of the state that is being decided on.
    visits: u32,
}

impl Behaviour for Visits {
    fn visit(&mut self, state: &[u8]) {
        // FNV-1a: the same on every machine, as a memory in checkpoints should be.
        let hash = state
            .iter()
            .fold(0xcbf2_9ce4_8422_2325, |hash: u64, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
        let counter = &mut self.counters[hash as usize % COUNTERS];
        *counter += 1;
        self.visits = *counter;
    }

    fn choose(&mut self, _now: AgentSteps, actions: usize, noise: &mut Stream) -> Option<Action> {
        // All chance comes from `noise`, so that the run can be repeated; none leaves the decision to the network.
        (self.visits < TRUSTED).then(|| Action(noise.below(actions as u64) as u16))
    }

    fn memory(&self) -> &[u32] {
        &self.counters
    }

    fn restore(&mut self, memory: &[u32]) {
        self.counters.copy_from_slice(memory);
    }
}

pub fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let mut config = Preset::DeepSea.config("deep-sea/6", "eps-greedy")?;
    config.agent = "curious".into();
    config.learner.exploration = Exploration::custom("curious", Arc::new(CuriousOfTheNew));
    config.training.total_interactions = AgentSteps(3_000);
    let source = WorldSource::open(&config.world, None, &mut |message| eprintln!("{message}"))?;

    let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume)?;
    files.begin(&run, &mut ())?;
    train(&mut run, &mut files, &mut (), &AtomicBool::new(false))?;
    let memory = run.learner.save_state().behaviour;
    let trusted = memory.iter().filter(|&&visits| TRUSTED <= visits).count();
    println!("{} episodes; {trusted} states were seen at least {TRUSTED} times", run.clock.episodes);
    assert!(0 < trusted);
    Ok(())
}
