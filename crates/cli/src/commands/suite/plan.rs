//! `sane suite plan`: an estimate of the time, memory and disk that a suite takes on this machine.

use crate::failure::{Outcome, classify};
use crate::output::Output;
use sane_stats::number_format::counted;
use sane_suite::{Estimate, SchedulerOptions, Suite};
use serde_json::{Value, json};

pub fn show(suite: &Suite, options: &SchedulerOptions, as_json: bool, output: Output) -> Outcome {
    let bar = output.progress_bar(1, "measuring kinds of run");
    let mut progress = |done: usize, all: usize| {
        bar.set_length(all as u64);
        bar.set_position(done as u64);
    };
    let estimate =
        Estimate::measure(suite, options, &mut |message| output.note(message), &mut progress).map_err(classify)?;
    bar.finish_and_clear();
    if suite.has_rounds() {
        output.note("this is the first round: how many runs follow, and how long they are, depends on its results");
    }
    if as_json {
        output.result(serde_json::to_string_pretty(&as_value(suite, options, &estimate))?);
    } else {
        table(suite, options, &estimate, output);
    }
    Ok(())
}

fn table(suite: &Suite, options: &SchedulerOptions, estimate: &Estimate, output: Output) {
    let name = |kind: &sane_suite::KindEstimate| {
        kind.variant.as_ref().map_or(kind.agent.clone(), |variant| format!("{variant}: {}", kind.agent))
    };
    let width = estimate.kinds.iter().map(|kind| name(kind).chars().count()).max().unwrap_or(0).max(5);
    output.result(format_args!(
        "{:<width$}{:>6}{:>14}{:>10}{:>11}{:>11}{:>10}  measured in",
        "agent", "runs", "interactions", "per s", "h per run", "memory GB", "disk GB"
    ));
    for kind in &estimate.kinds {
        output.result(format_args!(
            "{:<width$}{:>6}{:>14}{:>10.0}{:>11.2}{:>11.2}{:>10.2}  {}",
            name(kind),
            kind.runs,
            kind.interactions,
            kind.interactions_per_second,
            kind.seconds / 3600.0,
            gigabytes(kind.memory_bytes),
            gigabytes(kind.disk_bytes),
            kind.measured_in,
        ));
    }
    let free = estimate.free_memory_bytes.map_or("unknown".into(), |bytes| format!("{:.1} GB", gigabytes(bytes)));
    output.result(format_args!("\nruns          {}, {} interactions", estimate.runs, estimate.interactions));
    output.result(format_args!(
        "time          {:.1} h with {} in parallel, {} each",
        estimate.seconds / 3600.0,
        counted(options.jobs.min(suite.runs.len()), "run"),
        counted(options.threads, "thread")
    ));
    output.result(format_args!("memory        {:.2} GB, {free} free", gigabytes(estimate.memory_bytes)));
    output.result(format_args!("disk          {:.2} GB at the end", gigabytes(estimate.disk_bytes)));
}

fn as_value(suite: &Suite, options: &SchedulerOptions, estimate: &Estimate) -> Value {
    let kinds: Vec<Value> = estimate
        .kinds
        .iter()
        .map(|kind| {
            json!({
                "variant": kind.variant,
                "agent": kind.agent,
                "measured_in": kind.measured_in,
                "runs": kind.runs,
                "interactions": kind.interactions,
                "interactions_per_second": kind.interactions_per_second,
                "seconds_per_run": kind.seconds,
                "memory_bytes": kind.memory_bytes,
                "disk_bytes": kind.disk_bytes,
            })
        })
        .collect();
    json!({
        "suite": suite.name,
        "runs": estimate.runs,
        "interactions": estimate.interactions,
        "jobs": options.jobs,
        "threads": options.threads,
        "seconds": estimate.seconds,
        "memory_bytes": estimate.memory_bytes,
        "free_memory_bytes": estimate.free_memory_bytes,
        "disk_bytes": estimate.disk_bytes,
        "kinds": kinds,
    })
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}
