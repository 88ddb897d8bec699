//! `sane risk audit`: does low σ mean high risk? Tries every action in sampled states and continues with the policy.

use super::{Inspection, Noise, write_all};
use crate::args::probability;
use crate::failure::{Outcome, classify};
use crate::output::Output;
use sane_lab::available;
use sane_lab::risk::{Audit, audit};
use sane_report::risk::{RiskAnalysis, audit_files, audit_json, remarks};
use std::path::PathBuf;

/// Measure whether low σ means high risk: try every action in sampled states, then continue with the policy
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk audit runs/risky-road/sane/seed-1         # this world also knows its true risk\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --states 400 --continuations 8 --horizon 60\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --json | jq .judgement.measures\n\n\
    risk(s) = mean discounted return of the best action − mean over all actions; and the probability of losing a life that the \
    best action avoids. Reported: rank correlation and AUC of −|σ| with both, with 95 % intervals, compared with shuffled \
    σ, with the spread of Q, and with what many draws of the noise do: change the action, move Q. Written: index.html, audit.md, audit.json, scatter and predictors as SVG and PNG, in the \
    run's folder risk/audit. Results do not depend on --threads. docs/risk.md explains the numbers.")]
pub struct Args {
    /// Folder for the result [default: risk/audit in the run folder]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// States to sample
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    states: u32,
    /// Interactions of the evaluation from which the states are sampled [default: 20 per state]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    interactions: Option<u64>,
    /// Continuations played after each action of each state
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    continuations: u32,
    /// Maximum length of a continuation in interactions, the tried action included
    #[arg(long, value_name = "H", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    horizon: u64,
    /// Probability of a random action in a continuation [default: 0 in stochastic worlds, else 0.05]
    #[arg(long, value_name = "P", value_parser = probability)]
    epsilon: Option<f32>,
    /// Draws of the noise in each state, which show how often it changes the action and how far it moves Q
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    draws: u32,
    /// Whether the evaluation from which the states are sampled is played with noise
    #[arg(long, value_enum, default_value_t = Noise::Off)]
    noise: Noise,
    #[command(flatten)]
    inspection: Inspection,
    /// States processed in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print states, measures and findings as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let inspected = args.inspection.load(output)?;
    let wanted = Audit {
        states: args.states as usize,
        interactions: args.interactions.unwrap_or(20 * u64::from(args.states)),
        continuations: args.continuations as usize,
        horizon: args.horizon,
        epsilon: args.epsilon,
        draws: args.draws as usize,
        threads: args.threads.map_or_else(available, usize::from),
    };
    let bar = output.progress_bar(0, "states");
    let found = audit(&inspected.probe(args.noise), &wanted, |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let Some(found) = found.map_err(classify)? else {
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let analysis = RiskAnalysis::of(&found);
    let folder = args.output.unwrap_or_else(|| args.inspection.folder().join("risk/audit"));
    write_all(&folder, &audit_files(&found, &analysis)?)?;
    if args.json {
        output.result(serde_json::to_string_pretty(&audit_json(&found, &analysis))?);
    } else {
        remarks(&analysis).iter().for_each(|remark| output.result(remark));
        output.result(folder.join("index.html").display());
    }
    Ok(())
}
