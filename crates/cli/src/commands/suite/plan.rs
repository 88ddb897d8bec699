//! `sane suite plan`: what a suite will take on this machine.

use super::{plural, sorted};
use crate::failure::Outcome;
use crate::output::Output;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_lab::suite::{Crew, Estimate, Suite};
use serde_json::{Value, json};
use std::io::IsTerminal;

/// Measures and prints.
pub fn show(suite: &Suite, crew: &Crew, as_json: bool, output: Output) -> Outcome {
    let bar = ProgressBar::new(1);
    if output.is_quiet() || !std::io::stderr().is_terminal() {
        bar.set_draw_target(ProgressDrawTarget::hidden());
    }
    bar.set_style(ProgressStyle::with_template("measuring {bar:30} {pos}/{len} kinds of run, {eta} left")?);
    let mut progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let estimate = Estimate::measure(suite, crew, &mut |news| output.note(news), &mut progress).map_err(sorted)?;
    bar.finish_and_clear();
    if as_json {
        output.result(serde_json::to_string_pretty(&as_value(suite, crew, &estimate))?);
    } else {
        table(suite, crew, &estimate, output);
    }
    Ok(())
}

fn table(suite: &Suite, crew: &Crew, estimate: &Estimate, output: Output) {
    let name = |share: &sane_lab::suite::Share| {
        share.variant.as_ref().map_or(share.agent.clone(), |variant| format!("{variant}: {}", share.agent))
    };
    let width = estimate.shares.iter().map(|share| name(share).chars().count()).max().unwrap_or(0).max(5);
    output.result(format_args!(
        "{:<width$}{:>6}{:>14}{:>10}{:>11}{:>11}{:>10}  measured in",
        "agent", "runs", "interactions", "per s", "h per run", "memory GB", "disk GB"
    ));
    for share in &estimate.shares {
        output.result(format_args!(
            "{:<width$}{:>6}{:>14}{:>10.0}{:>11.2}{:>11.2}{:>10.2}  {}",
            name(share),
            share.runs,
            share.interactions,
            share.interactions_per_second,
            share.seconds / 3600.0,
            gigabytes(share.memory_bytes),
            gigabytes(share.disk_bytes),
            share.measured_in,
        ));
    }
    let free = estimate.free_memory_bytes.map_or("unknown".into(), |bytes| format!("{:.1} GB", gigabytes(bytes)));
    output.result(format_args!("\nruns          {}, {} interactions", estimate.runs, estimate.interactions));
    output.result(format_args!(
        "time          {:.1} h with {} side by side, {} each",
        estimate.seconds / 3600.0,
        plural(crew.jobs.min(suite.runs.len()), "run"),
        plural(crew.threads, "thread")
    ));
    output.result(format_args!("memory        {:.2} GB, {free} free", gigabytes(estimate.memory_bytes)));
    output.result(format_args!("disk          {:.2} GB at the end", gigabytes(estimate.disk_bytes)));
}

fn as_value(suite: &Suite, crew: &Crew, estimate: &Estimate) -> Value {
    let shares: Vec<Value> = estimate
        .shares
        .iter()
        .map(|share| {
            json!({
                "variant": share.variant,
                "agent": share.agent,
                "measured_in": share.measured_in,
                "runs": share.runs,
                "interactions": share.interactions,
                "interactions_per_second": share.interactions_per_second,
                "seconds_per_run": share.seconds,
                "memory_bytes": share.memory_bytes,
                "disk_bytes": share.disk_bytes,
            })
        })
        .collect();
    json!({
        "suite": suite.name,
        "runs": estimate.runs,
        "interactions": estimate.interactions,
        "jobs": crew.jobs,
        "threads": crew.threads,
        "seconds": estimate.seconds,
        "memory_bytes": estimate.memory_bytes,
        "free_memory_bytes": estimate.free_memory_bytes,
        "disk_bytes": estimate.disk_bytes,
        "kinds": shares,
    })
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
