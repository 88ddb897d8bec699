//! One run as a report needs it: what it was, how far it came, its curve, its evaluations, its machine.

use crate::settings::Settings;
use sane_record::{EvaluationFinished, ModuleHealth, SigmaRange};
use std::path::PathBuf;

/// A run read from its folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// Its folder, as found.
    pub folder: PathBuf,
    /// The world it acts in.
    pub world: String,
    /// The agent's name.
    pub agent: String,
    /// Its seed.
    pub seed: u64,
    /// Interactions it is to have.
    pub budget_interactions: u64,
    /// Interactions of its last record.
    pub reached_interactions: u64,
    /// Whole episodes of its last record.
    pub episodes: u64,
    /// Whether it reached its budget.
    pub finished: bool,
    /// Whether the last line of its events was torn.
    pub torn: bool,
    /// Its resolved configuration.
    pub settings: Settings,
    /// Why it may differ from a run never interrupted if it was stopped and resumed; none where it never does.
    pub not_bit_exact: Option<String>,
    /// Trainable numbers of its network; 0 before its first record.
    pub parameters: u64,
    /// Whether its records show random actions (ε) and no σ: its policy has no noise that could be switched on.
    pub explores_by_chance: bool,
    /// One point per interval record.
    pub points: Vec<Point>,
    /// Mean return of the last 100 episodes at the end of a finished run.
    pub final_return: Option<f64>,
    /// The perturbation module in its last interval.
    pub module: Option<ModuleHealth>,
    /// All its evaluations, in the order they were made.
    pub evaluations: Vec<EvaluationFinished>,
    /// Where and how fast it ran.
    pub process: Process,
    /// Digest of the whole state at the end of a finished run, as `sane runs hash` prints it.
    pub digest: Option<String>,
    /// BLAKE3 of `events.jsonl`, in hexadecimal; empty before its first record.
    pub events_digest: String,
}

/// What an interval record says, as far as curves need it.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    /// Interactions so far.
    pub interactions: u64,
    /// Mean return of the last 100 episodes.
    pub return_mean: Option<f64>,
    /// |σ| of the states acted in.
    pub sigma: Option<SigmaRange>,
    /// Share of interactions in which exploration changed the action.
    pub exploration: Option<f64>,
}

/// The processes that worked on a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Process {
    /// Versions of the program, in order of appearance.
    pub versions: Vec<String>,
    /// Processors it ran on, in order of appearance.
    pub machines: Vec<String>,
    /// Worker threads of the last process.
    pub threads: Option<u64>,
    /// Interactions per second over all recorded stretches.
    pub interactions_per_second: Option<f64>,
    /// Seconds of all recorded stretches.
    pub seconds: f64,
    /// How many processes worked on it.
    pub starts: usize,
}

impl Run {
    /// How the run is named in sentences.
    pub fn name(&self) -> String {
        format!("{} {} seed {}", self.world, self.agent, self.seed)
    }

    /// Whether its perturbation module gives every state the same σ in its last interval: it is no longer state-aware.
    pub fn has_dead_module(&self) -> bool {
        // Equal numbers leave a spread of rounding errors only.
        let rounding = 1e-6;
        self.module.is_some_and(|module| {
            module.live_units_share <= 0.0 || module.sigma_spread_abs <= rounding * module.sigma_mean_abs
        })
    }
}
