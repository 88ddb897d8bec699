//! The memory budget of a suite: whether a run fits into free memory, beside what active runs will still allocate.

use crate::expand::Suite;
use crate::scheduler::SchedulerOptions;
use sane_lab::{WorldConfig, WorldSource, free_memory, memory_need, resident_bytes_of, to_toml};
use std::collections::BTreeMap;

/// Memory of the machine and of the runs of a suite.
pub struct MemoryBudget<'a> {
    suite: &'a Suite,
    options: &'a SchedulerOptions,
    /// Opened worlds by their settings, or the error of opening them.
    worlds: BTreeMap<String, Result<WorldSource, String>>,
    /// Memory of runs by their settings.
    needs: BTreeMap<String, Result<u64, String>>,
}

/// A run that does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OverBudget {
    pub reason: String,
    /// True if waiting for other runs to end cannot help.
    pub is_final: bool,
}

impl<'a> MemoryBudget<'a> {
    pub fn new(suite: &'a Suite, options: &'a SchedulerOptions) -> Self {
        Self { suite, options, worlds: BTreeMap::new(), needs: BTreeMap::new() }
    }

    /// Whether the run at `index` can be started beside the active ones, given as index and process id.
    /// The first run of a world opens it, which downloads a missing ROM; `message` reports that.
    pub fn check(
        &mut self,
        index: usize,
        active: &[(usize, u32)],
        message: &mut dyn FnMut(String),
    ) -> Result<(), OverBudget> {
        let need = self.need(index, message).map_err(|reason| OverBudget { reason, is_final: true })?;
        let Some(free) = free_memory() else { return Ok(()) };
        let mut reserved = 0;
        for &(other, process) in active {
            // What an active run has already allocated is no longer part of the free memory.
            let whole = self.need(other, message).unwrap_or(0);
            reserved += whole.saturating_sub(resident_bytes_of(process).unwrap_or(0));
        }
        let left = free.saturating_sub(reserved);
        if need <= left {
            return Ok(());
        }
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        let reason = format!(
            "it needs {:.1} GB of memory and {:.1} GB are free; a smaller replay.capacity needs less",
            gigabytes(need),
            gigabytes(left)
        );
        Err(OverBudget { reason, is_final: false })
    }

    /// Bytes the run at `index` needs; opens its world.
    pub fn need(&mut self, index: usize, message: &mut dyn FnMut(String)) -> Result<u64, String> {
        let mut config = self.suite.runs[index].config.clone();
        config.seed = 0;
        let key = to_toml(&config);
        if let Some(known) = self.needs.get(&key) {
            return known.clone();
        }
        let (given, roms) = (self.suite.resources.memory_gb, self.options.roms.as_deref());
        let mut open = |world: &WorldConfig| WorldSource::open(world, roms, message).map_err(|error| error.to_string());
        let source = self.worlds.entry(config.world.identity()).or_insert_with(|| open(&config.world));
        let measured = match (source, given) {
            (Err(reason), _) => Err(reason.clone()),
            (Ok(_), Some(gigabytes)) => Ok((gigabytes * 1e9) as u64),
            (Ok(source), None) => memory_need(&config, source).map_err(|error| error.to_string()),
        };
        self.needs.insert(key, measured.clone());
        measured
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::suite;

    fn check(resources: &str, game: &str) -> Result<(), OverBudget> {
        let text = format!(
            "name = 's'\nbudget = 500\ngames = ['{game}']\nagents = ['sane']\nseeds = [1]\n[resources]\n{resources}"
        );
        let suite = suite(&text).unwrap();
        let options = SchedulerOptions { program: "sane".into(), jobs: 1, threads: 1, retries: 0, roms: None };
        MemoryBudget::new(&suite, &options).check(0, &[], &mut |_| ())
    }

    #[test]
    fn a_small_run_fits_and_one_larger_than_the_machine_does_not() {
        assert_eq!(check("", "minatar/breakout"), Ok(()));
        let refused = check("memory_gb = 1e9", "minatar/breakout").unwrap_err();
        assert!(!refused.is_final && refused.reason.contains("needs 1000000000.0 GB"), "{refused:?}");
    }
}
