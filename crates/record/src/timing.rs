//! Records that depend on clock and machine, kept apart from the events: one line of `timings.jsonl` each.

use serde::{Deserialize, Serialize};

/// One line of `timings.jsonl`. The file is only appended to: it lists every process that worked on the run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "timing", rename_all = "snake_case")]
pub enum Timing {
    /// A process began to work on the run.
    ProcessStarted {
        unix_seconds: u64,
        /// Interactions of the checkpoint it continued from; 0 for a new run.
        from_interactions: u64,
        threads: u64,
        /// Of the program.
        version: String,
        /// Instruction set of the engine's kernels; the results do not depend on it. Empty in older records.
        #[serde(default)]
        kernel: String,
    },
    /// The machine of the process started last.
    Machine {
        processor: String,
        logical_cores: u64,
        /// Memory of the machine.
        memory_bytes: u64,
        /// Operating system and architecture.
        system: String,
    },
    /// Speed over the interactions since the last such line.
    Speed {
        /// Interactions of the run so far.
        interactions: u64,
        /// Without the time of evaluations.
        interactions_per_second: f64,
        /// Memory of the process.
        resident_bytes: u64,
        /// How the time was spent.
        share: Shares,
    },
    /// A process stopped.
    ProcessStopped {
        unix_seconds: u64,
        /// Interactions of the run.
        interactions: u64,
        reason: StopReason,
    },
}

/// How time was spent; the shares add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Shares {
    /// Forward, backward, optimiser.
    pub train_step: f64,
    /// Choosing actions.
    pub act: f64,
    /// Steps of the environment.
    pub emulator: f64,
    /// Storing transitions and drawing batches.
    pub replay: f64,
    /// Writing checkpoints.
    pub checkpoint: f64,
    /// Evaluating the policy.
    #[serde(default)]
    pub evaluation: f64,
    /// Everything else.
    pub rest: f64,
}

/// Why a process stopped working on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The run reached its number of interactions.
    Finished,
    /// Ctrl-C, SIGTERM, or a terminal that was closed.
    Asked,
    /// The environment failed.
    Fault,
    /// Numbers of the agent were no longer finite.
    Diverged,
}
