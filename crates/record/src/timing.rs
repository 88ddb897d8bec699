//! What depends on clock and machine, kept apart from the events: one line of `timings.jsonl` each.

use serde::{Deserialize, Serialize};

/// One line of `timings.jsonl`. The file only grows: each process that worked on the run leaves its trace.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "timing", rename_all = "snake_case")]
pub enum Timing {
    /// A process began to work on the run.
    ProcessStarted {
        /// Seconds since 1970 by the machine's clock.
        unix_seconds: u64,
        /// Where it went on; 0 for a new run.
        from_interactions: u64,
        /// Worker threads.
        threads: u64,
        /// Version of the program.
        version: String,
    },
    /// The machine that the process started last works on.
    Machine {
        /// Name of the processor.
        processor: String,
        /// Cores as the system counts them.
        logical_cores: u64,
        /// Memory of the machine.
        memory_bytes: u64,
        /// Operating system and architecture.
        system: String,
    },
    /// A stretch of interactions and how long it took.
    Speed {
        /// Interactions of the run at the end of the stretch.
        interactions: u64,
        /// Interactions per second over the stretch.
        interactions_per_second: f64,
        /// Memory of the process.
        resident_bytes: u64,
        /// Where the time of the stretch went.
        share: Shares,
    },
    /// A process stopped.
    ProcessStopped {
        /// Seconds since 1970 by the machine's clock.
        unix_seconds: u64,
        /// Interactions of the run.
        interactions: u64,
        /// Why.
        reason: StopReason,
    },
}

/// Where time goes; the shares add up to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Shares {
    /// Forward, backward, optimiser.
    pub train_step: f64,
    /// Choosing actions.
    pub act: f64,
    /// The world.
    pub emulator: f64,
    /// Storing transitions and drawing batches.
    pub replay: f64,
    /// Writing checkpoints.
    pub checkpoint: f64,
    /// Everything else.
    pub rest: f64,
}

/// Why a process stopped working on a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The run is complete.
    Finished,
    /// Ctrl-C or SIGTERM.
    Asked,
    /// The world stopped working.
    Fault,
}
