//! `sane risk audit`: is low σ really high risk? Every action is tried in sampled states, and the policy plays on.

use super::looking::{Looking, Noise, bar, sorted, write_all};
use crate::output::{Outcome, Output};
use sane_lab::available;
use sane_lab::risk::{Audit, audit};
use sane_report::risk::{Judgement, audit_files, audit_json, remarks};
use std::path::PathBuf;

/// Measures whether low σ means high risk: tries every action in sampled states and lets the policy play on
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk audit runs/risky-road/sane/seed-1                     # also against the world's true risk\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --states 400 --continuations 8 --horizon 60\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --json | jq .judgement.measures\n\n\
    risk(s) = mean discounted return of the best action − mean over all actions; and the chance of losing a life that the \
    best action avoids. Reported: rank correlation and AUC of −|σ| with both, with 95 % intervals, beside shuffled σ and \
    the spread of Q. What comes out: index.html, audit.md, audit.json, scatter and predictors as SVG and PNG, in the run's \
    folder risk/audit. Results do not depend on --threads. docs/risk.md explains the numbers.")]
pub struct Args {
    #[command(flatten)]
    looking: Looking,
    /// Folder for the result [default: risk/audit in the run folder]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// States to sample
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    states: u32,
    /// Interactions of the evaluation the states are sampled from [default: 20 per state]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(2..))]
    interactions: Option<u64>,
    /// Futures played after each action of each state
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    continuations: u32,
    /// Interactions a future lasts at most, the tried action included
    #[arg(long, value_name = "H", default_value_t = 40, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    horizon: u64,
    /// Probability of a random action while the policy plays on [default: 0 in worlds with chance, else 0.05]
    #[arg(long, value_name = "P", value_parser = probability)]
    epsilon: Option<f32>,
    /// Whether the evaluation the states come from is played with noise
    #[arg(long, value_enum, default_value_t = Noise::Off)]
    noise: Noise,
    /// States worked on side by side [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print states, numbers and sentences as JSON
    #[arg(long)]
    json: bool,
}

/// Measures.
pub fn run(args: Args, output: &Output) -> Outcome {
    let opened = args.looking.open(output)?;
    let wanted = Audit {
        states: args.states as usize,
        interactions: args.interactions.unwrap_or(20 * u64::from(args.states)),
        continuations: args.continuations as usize,
        horizon: args.horizon,
        epsilon: args.epsilon,
        threads: args.threads.map_or_else(available, usize::from),
    };
    let bar = bar("states", output)?;
    let found = audit(&opened.look(args.noise), &wanted, |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let Some(found) = found.map_err(sorted)? else {
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let judgement = Judgement::of(&found);
    let folder = args.output.unwrap_or_else(|| args.looking.run.join("risk/audit"));
    write_all(&folder, &audit_files(&found, &judgement)?)?;
    if args.json {
        output.result(serde_json::to_string_pretty(&audit_json(&found, &judgement))?);
    } else {
        remarks(&judgement).iter().for_each(|remark| output.result(remark));
        output.result(folder.join("index.html").display());
    }
    Ok(())
}

fn probability(text: &str) -> Result<f32, String> {
    let wrong = || format!("expected a probability from 0 to 1, found {text}");
    let value: f32 = text.parse().map_err(|_| wrong())?;
    (0.0..=1.0).contains(&value).then_some(value).ok_or_else(wrong)
}
