//! `sane risk audit`: does low σ mean high risk? Tries every action in sampled states and continues with the policy.

use super::{InspectedRun, Noise, write_all};
use crate::args::{CheckpointOption, LoadedRun, RomsOption, count_in, probability};
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use sane_lab::risk::{Audit, audit};
use sane_lab::{available, stop_on_signals};
use sane_record::RiskAudit;
use sane_report::risk::{AuditedRun, RiskAnalysis, SeedAudits, audit_files, audit_json, remarks};
use sane_report::{ReportError, SetAside, read_run_config, search_runs};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Measure whether low σ means high risk: try every action in sampled states, then continue with the policy
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk audit runs/risky-road/sane/seed-1         # this world also knows its true risk\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --states 400 --continuations 8 --horizon 60\n  \
    sane risk audit runs/boxing/q-sane/seed-1 --json | jq .analysis.measures\n  \
    sane risk audit runs/risky-road/sane-elbo runs/risky-road/sane -o figures   # every seed of two agents\n\n\
    risk(s) = mean discounted return of the best action − mean over all actions; and the probability of losing a life that the \
    best action avoids. Reported: rank correlation and AUC of −|σ| with both, with 95 % intervals, compared with shuffled \
    σ, with the spread of Q, and with what many draws of the noise do: change the action, move Q; and, \
    where one σ(s) scales the noise, how well the laws of the bound predict it. Written: index.html, audit.md, audit.json, states.csv, and scatter, predictors and laws as SVG and PNG, in the \
    run's folder risk/audit. Of several runs each is audited so, and the result over seeds (audit.csv, audit-runs.csv, laws.csv, intervals over seeds, a figure of the laws per agent) \
    is written to risk-audit. Results do not depend on --threads. docs/risk.md explains the numbers.")]
pub struct Args {
    /// Folder of a run; or several, or folders with runs at any depth, for a result over seeds
    #[arg(required = true, value_name = "RUN_OR_DIR")]
    places: Vec<PathBuf>,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    #[command(flatten)]
    roms: RomsOption,
    /// Seed from which the starts of the episodes are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
    /// Folder for the result [default: risk/audit in the run folder, risk-audit for several runs]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// States to sample
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(2..=100_000))]
    states: u32,
    /// Interactions of the evaluation from which the states are sampled [default: 20 per state]
    #[arg(long, value_name = "N", value_parser = count_in(2..))]
    interactions: Option<u64>,
    /// Continuations played after each action of each state
    #[arg(long, value_name = "K", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    continuations: u32,
    /// Maximum length of a continuation in interactions, the tried action included
    #[arg(long, value_name = "H", default_value_t = 40, value_parser = count_in(1..=1_000_000))]
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
    /// States processed in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print states, measures and findings as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let stop = stop_on_signals()?;
    if let [place] = &args.places[..]
        && (!place.is_dir() || place.join("config.toml").exists())
    {
        let Some(Audited { audit, analysis }) = audit_run(&args, place, &stop, output)? else { return stopped(output) };
        let folder = args.output.clone().unwrap_or_else(|| place.join("risk/audit"));
        write_all(&folder, &audit_files(&audit, &analysis)?)?;
        if args.json {
            output.result(serde_json::to_string_pretty(&audit_json(&audit, &analysis))?);
        } else {
            remarks(&analysis).iter().for_each(|remark| output.result(remark));
            output.result(folder.join("index.html").display());
        }
        return Ok(());
    }
    let (folders, mut set_aside) = search_runs(&args.places)?;
    let mut runs = Vec::new();
    for (i, folder) in folders.iter().enumerate() {
        output.note(format!("{} of {}: {}", i + 1, folders.len(), folder.display()));
        match audit_run(&args, folder, &stop, output) {
            Ok(Some(Audited { audit, analysis })) => {
                // Each at once, since the next may fail or be stopped.
                write_all(&folder.join("risk/audit"), &audit_files(&audit, &analysis)?)?;
                runs.push(AuditedRun::new(audit, analysis, read_run_config(folder)?));
            }
            Ok(None) => return stopped(output),
            Err(failure) => {
                let reason = failure.to_string();
                output.note(format!("set aside: {}: {reason}", folder.display()));
                set_aside.push(SetAside { folder: folder.display().to_string(), reason });
            }
        }
    }
    if let (true, Some(first)) = (runs.is_empty(), set_aside.first()) {
        return Err(ReportError::NoneUsable { count: set_aside.len(), first: first.reason.clone() }.into());
    }
    let audits = SeedAudits::of(runs, set_aside);
    let folder = args.output.clone().unwrap_or_else(|| "risk-audit".into());
    write_all(&folder, &audits.files()?)?;
    if args.json {
        output.result(serde_json::to_string_pretty(&audits.json())?);
    } else {
        audits.findings().iter().for_each(|finding| output.result(finding));
        output.result(folder.join("index.html").display());
    }
    Ok(())
}

/// The audit of a run and what it says.
struct Audited {
    audit: RiskAudit,
    analysis: RiskAnalysis,
}

/// Audits one run; none if stopped.
fn audit_run(args: &Args, folder: &Path, stop: &Arc<AtomicBool>, output: &Output) -> Result<Option<Audited>, Failure> {
    let run = LoadedRun::read(folder, args.checkpoint.choice(), &args.roms, output)?;
    let inspected = InspectedRun { run, start_seed: args.start_seed, stop: stop.clone() };
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
    let found = found.map_err(classify)?;
    Ok(found.map(|audit| Audited { analysis: RiskAnalysis::of(&audit), audit }))
}

fn stopped(output: &Output) -> Outcome {
    output.note("stopped; nothing more was written");
    Ok(())
}
