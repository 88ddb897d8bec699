//! In what the agents of a section differ, and what they share.

use crate::section::Section;
use crate::settings::{Settings, differing_keys};
use crate::table::Table;

/// One row per key in which the agents differ; none if they agree in all.
pub fn settings_table(section: &Section) -> Option<Table> {
    let all = || section.agents.iter().map(|agent| agent.settings());
    let differing = differing_keys(all().collect::<Vec<_>>());
    if differing.is_empty() {
        return None;
    }
    let mut table = Table {
        caption: "Settings in which the agents differ".into(),
        columns: std::iter::once("key".to_owned())
            .chain(section.agents.iter().map(|agent| agent.label.clone()))
            .collect(),
        ..Table::default()
    };
    for key in differing {
        let values = all().map(|settings| settings.get(&key).cloned().unwrap_or_else(|| "–".into()));
        table.push(std::iter::once(key.clone()).chain(values).collect());
    }
    Some(table)
}

/// Keys and values that all runs of the section share.
pub fn common_settings(section: &Section) -> Settings {
    let runs: Vec<&Settings> = section.all_runs().map(|(_, run)| &run.settings).collect();
    let differing = differing_keys(runs.clone());
    let first = runs.first().map(|settings| (*settings).clone()).unwrap_or_default();
    first.into_iter().filter(|(key, _)| !differing.contains(key)).collect()
}
