//! `sane train --kernel`: every agent's run has the same bytes on every instruction set that this processor has, also when it
//! changes between two processes of one run.

mod process;

use process::{TempFolder, digest, fail, small_run, small_run_in, succeed};
use sane_nn::Kernel;
use std::fs;

/// The portable kernel computes each fused product in several steps: few learn steps keep this test short. Whole learn steps
/// of every agent are compared in `crates/agent/tests/equalities.rs`.
const SETTINGS: [&str; 3] = ["training.train_period=40", "training.batch_size=8", "record.checkpoint_interval=1000000"];

/// 2,000 interactions of `agent` in a new folder, the first of them on one kernel and the rest on another.
fn digest_after(agent: &str, first: Option<(Kernel, u32)>, then: Kernel) -> String {
    let temp = TempFolder::new();
    let folder = temp.path("run");
    let exploration = sane_agent::Exploration::named(agent).unwrap();
    let module = exploration.module().map(|_| "learner.exploration.module.hidden=[8]");
    let world = if exploration.reads_true_risk() { "risky-road" } else { "minatar/breakout" };
    let train = |kernel: Kernel, interactions: u32| {
        let steps = format!("training.total_interactions={interactions}");
        let settings = SETTINGS.into_iter().chain(module).chain([steps.as_str()]);
        let mut command = small_run_in(world, agent, &folder, &["--threads", "1", "--kernel", kernel.name()]);
        succeed(command.args(settings.flat_map(|setting| ["--set", setting])));
    };
    if let Some((kernel, interactions)) = first {
        train(kernel, interactions);
    }
    train(then, 2_000);
    let timings = fs::read_to_string(folder.join("timings.jsonl")).unwrap();
    let recorded = format!("\"kernel\":\"{}\"", then.name());
    assert!(timings.contains(&recorded) && timings.contains("\"threads\":1"), "{timings}");
    digest(&folder)
}

#[test]
fn two_thousand_interactions_of_every_agent_are_the_same_bytes_on_every_kernel() {
    let kernels = Kernel::available();
    for agent in sane_agent::catalogue().iter().map(|agent| agent.name) {
        let fastest = digest_after(agent, None, kernels[0]);
        for &kernel in &kernels[1..] {
            assert_eq!(digest_after(agent, None, kernel), fastest, "{agent} on {}", kernel.name());
        }
    }
}

#[test]
fn a_run_resumed_on_another_kind_of_processor_is_the_same_run() {
    let kernels = Kernel::available();
    let (fastest, portable) = (kernels[0], kernels[kernels.len() - 1]);
    for agent in sane_agent::PAPER_AGENTS {
        let straight = digest_after(agent, None, fastest);
        assert_eq!(digest_after(agent, Some((fastest, 1_100)), portable), straight, "{agent}: then portable");
        assert_eq!(digest_after(agent, Some((portable, 1_100)), fastest), straight, "{agent}: portable first");
    }
}

#[test]
fn a_kernel_that_this_processor_cannot_run_is_refused_with_those_it_can() {
    let temp = TempFolder::new();
    let text = fail(&mut small_run("sane", &temp.path("run"), &["--kernel", "neon"]), 2);
    assert!(text.contains("neon") && text.contains("portable"), "{text}");
    assert!(!temp.path("run").exists(), "nothing is begun");
}
