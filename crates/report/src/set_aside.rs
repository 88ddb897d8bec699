//! Runs that are in no table, and why; among them those that repeat another run.

use crate::recorded_run::RecordedRun;
use crate::settings::{Settings, is_result_key, part};
use sane_stats::number_format::counted;
use serde::Serialize;
use std::collections::BTreeMap;

/// A run that is in no table, and why.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SetAside {
    pub folder: String,
    pub reason: String,
}

/// A sentence names up to this many runs.
const MOST_NAMED: usize = 3;

impl SetAside {
    /// `2 runs: runs/a (its reason); runs/b (its reason)`.
    pub(crate) fn listed(all: &[Self]) -> String {
        let named: Vec<String> =
            all.iter().take(MOST_NAMED).map(|run| format!("{} ({})", run.folder, run.reason)).collect();
        let more = if named.len() < all.len() { " …" } else { "" };
        format!("{}: {}{more}", counted(all.len(), "run"), named.join("; "))
    }
}

/// Each run once: of runs that repeat world, agent, settings and seed, the one with most interactions is kept. `recorded` is
/// what a run's folder says about it.
pub(crate) fn without_repeats<T>(mut runs: Vec<T>, recorded: fn(&T) -> &RecordedRun) -> (Vec<T>, Vec<SetAside>) {
    runs.sort_by(|a, b| {
        let (a, b) = (recorded(a), recorded(b));
        (b.reached_interactions, &a.folder).cmp(&(a.reached_interactions, &b.folder))
    });
    let mut kept: Vec<T> = Vec::new();
    let mut seen: BTreeMap<(String, String, u64, Settings), usize> = BTreeMap::new();
    let mut set_aside = Vec::new();
    for item in runs {
        let run = recorded(&item);
        let identity = (run.world.clone(), run.agent.clone(), run.seed, part(&run.settings, is_result_key));
        if let Some(&first) = seen.get(&identity) {
            let first = recorded(&kept[first]).folder.display();
            let reason = format!("repeats {first}: same world, agent, settings and seed");
            set_aside.push(SetAside { folder: run.folder.display().to_string(), reason });
        } else {
            seen.insert(identity, kept.len());
            kept.push(item);
        }
    }
    (kept, set_aside)
}
