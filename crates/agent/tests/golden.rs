//! Ten-step loss traces of the paper's four agents, kept in `golden/agent`. A change here is a change of what is learned.

mod oracle;

use oracle::{check_close, learner_on, random_batch, world};
use sane_agent::{AgentConfig, PAPER_AGENTS};
use sane_env::{FrameSpace, Stream};
use sane_nn::Kernel;
use std::path::PathBuf;

/// Losses may differ by this much of the largest: more than what another order of additions does in ten steps, less than
/// what any other mathematics would.
const TOLERANCE: f64 = 1e-4;

fn losses(agent: &str, kernel: Kernel) -> Vec<f64> {
    let world = world(FrameSpace::planes(4, 10, 10), 1, 6);
    let mut config = AgentConfig::named(agent, &world).unwrap();
    config.optimiser.learning_rate = 1e-3;
    let mut learner = learner_on(&config, &world, 2021, kernel);
    let (mut batches, mut noise) = (Stream::named(2021, "batches"), Stream::named(2021, "noise"));
    let step = |_| f64::from(learner.learn(&random_batch(&world, 32, &mut batches), &mut noise).unwrap().loss);
    (0..10).map(step).collect()
}

fn path(agent: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../golden/agent/loss-trace-{agent}.txt"))
}

#[test]
fn loss_traces_equal_the_golden_files_on_every_kernel() {
    for agent in PAPER_AGENTS {
        if std::env::var_os("SANE_WRITE_GOLDEN").is_some() {
            let mut text = format!(
                "# Losses of ten learn steps: agent {}, preset minatar, 6 actions, batch 32, learning rate 1e-3, seed 2021.\n\
                 # Written by: SANE_WRITE_GOLDEN=1 cargo test --release -p sane-agent --test golden\n\
                 # Compared with a relative tolerance of {TOLERANCE:e}, on every kernel of the machine.\n",
                agent
            );
            losses(agent, Kernel::detect()).iter().for_each(|loss| text += &format!("{loss:.9e}\n"));
            std::fs::write(path(agent), text).unwrap();
        }
        let text = std::fs::read_to_string(path(agent)).unwrap();
        let golden: Vec<f64> = text.lines().filter(|line| !line.starts_with('#')).map(|l| l.parse().unwrap()).collect();
        assert_eq!(golden.len(), 10, "{}", agent);
        for kernel in Kernel::available() {
            let found = losses(agent, kernel);
            check_close(&format!("{} on {}", agent, kernel.name()), found, &golden, TOLERANCE);
        }
    }
}
