//! What each run was: how far it came, what it scored, where and how fast it ran, its digest.

use crate::paper::Noise;
use crate::run::Run;
use crate::section::Section;
use crate::table::Table;
use sane_stats::number_format::{grouped, percent, scientific, score};

/// Letters of the digest that are shown.
const DIGEST_SHOWN: usize = 12;

/// One row per run.
pub fn run_table(section: &Section) -> Table {
    let columns = [
        "run",
        "state",
        "interactions",
        "episodes",
        "score, noise off",
        "score, noise on",
        "last 100 returns",
        "mean |σ|",
        "live units",
        "parameters",
        "interactions/s",
        "hours",
        "threads",
        "version",
        "machine",
        "digest",
        "folder",
    ];
    let mut table = Table {
        caption: "Every run".into(),
        columns: columns.map(str::to_owned).to_vec(),
        notes: vec![
            "Digest: the first letters of what `sane runs hash` prints for the end of a finished run, its whole state; \
             two runs with the same digest are the same, bit for bit. Interactions/s: over all recorded stretches. Live units: share of the \
             perturbation module's hidden units that some state of a batch activates, in the last interval."
                .into(),
        ],
        ..Table::default()
    };
    for (agent, run) in section.all_runs() {
        table.push(cells(section, agent, run));
        if let Some(why) = &run.not_bit_exact {
            let note = format!("Not bit-exact where it was stopped and resumed: {why}.");
            if !table.notes.contains(&note) {
                table.notes.push(note);
            }
        }
    }
    table
}

fn cells(section: &Section, agent: usize, run: &Run) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let evaluated = |noise| or_dash(section.evaluation(run, noise).map(|evaluation| score(evaluation.return_mean)));
    let last = run.points.last();
    let returns = run.final_return.or_else(|| last?.return_mean);
    let listed = |list: &[String]| or_dash((!list.is_empty()).then(|| list.join("; ")));
    let digest = run.digest.as_ref().and_then(|digest| digest.get(..DIGEST_SHOWN)).map(str::to_owned);
    vec![
        format!("{} · {} · seed {}", run.world, section.agents[agent].label, run.seed),
        state(run),
        grouped(run.reached_interactions),
        grouped(run.episodes),
        evaluated(Noise::Off),
        evaluated(Noise::On),
        or_dash(returns.map(score)),
        or_dash(last.and_then(|point| point.sigma).map(|sigma| scientific(sigma.mean_abs))),
        or_dash(run.module.map(|module| percent(module.live_units_share))),
        or_dash((0 < run.parameters).then(|| grouped(run.parameters))),
        or_dash(run.process.interactions_per_second.map(score)),
        or_dash((0.0 < run.process.seconds).then(|| score(run.process.seconds / 3600.0))),
        or_dash(run.process.threads.map(grouped)),
        listed(&run.process.versions),
        listed(&run.process.machines),
        or_dash(digest),
        run.folder.display().to_string(),
    ]
}

fn state(run: &Run) -> String {
    let share = run.reached_interactions as f64 / run.budget_interactions.max(1) as f64;
    let state = match run.reached_interactions {
        _ if run.finished => "finished".to_owned(),
        0 => "nothing recorded yet".to_owned(),
        _ => format!("unfinished, {}", percent(share)),
    };
    let state = if run.not_bit_exact.is_some() { format!("{state}; not bit-exact") } else { state };
    if run.torn { format!("{state}; last line torn") } else { state }
}
