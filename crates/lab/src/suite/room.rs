//! Whether a run fits into the memory that is free, beside what the runs already at work will still take.

use super::expand::Suite;
use super::memory::memory_need;
use super::scheduler::Crew;
use crate::config::{WorldConfig, to_toml};
use crate::machine::{free_memory, resident_bytes_of};
use crate::world::WorldSource;
use std::collections::BTreeMap;

/// The machine's memory as a suite sees it.
pub struct Room<'a> {
    suite: &'a Suite,
    crew: &'a Crew,
    /// Worlds that were opened, by all of their settings, or why they cannot be.
    worlds: BTreeMap<String, Result<WorldSource, String>>,
    /// Memory of runs, by their settings.
    needs: BTreeMap<String, Result<u64, String>>,
}

/// Why a run does not fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoRoom {
    /// In words.
    pub text: String,
    /// Whether waiting cannot help.
    pub is_final: bool,
}

impl<'a> Room<'a> {
    /// For the runs of this suite.
    pub fn new(suite: &'a Suite, crew: &'a Crew) -> Self {
        Self { suite, crew, worlds: BTreeMap::new(), needs: BTreeMap::new() }
    }

    /// Whether the run at `index` can be started beside those at work, each with its place in the suite and its process.
    /// The first run of a world opens it, which fetches a ROM that is missing; `news` hears of that.
    pub fn fits(&mut self, index: usize, working: &[(usize, u32)], news: &mut dyn FnMut(String)) -> Result<(), NoRoom> {
        let need = self.need(index, news).map_err(|text| NoRoom { text, is_final: true })?;
        let Some(free) = free_memory() else { return Ok(()) };
        let mut promised = 0;
        for &(other, process) in working {
            // What a run at work has already taken is no longer free.
            let whole = self.need(other, news).unwrap_or(0);
            promised += whole.saturating_sub(resident_bytes_of(process).unwrap_or(0));
        }
        let left = free.saturating_sub(promised);
        if need <= left {
            return Ok(());
        }
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        let text = format!(
            "it needs {:.1} GB of memory and {:.1} GB are free; a smaller replay.capacity needs less",
            gigabytes(need),
            gigabytes(left)
        );
        Err(NoRoom { text, is_final: false })
    }

    /// Memory that the run at `index` needs; opens its world.
    pub fn need(&mut self, index: usize, news: &mut dyn FnMut(String)) -> Result<u64, String> {
        let mut config = self.suite.runs[index].config.clone();
        config.seed = 0;
        let key = to_toml(&config);
        if let Some(known) = self.needs.get(&key) {
            return known.clone();
        }
        let (given, roms) = (self.suite.resources.memory_gb, self.crew.roms.as_deref());
        let mut open = |world: &WorldConfig| WorldSource::open(world, roms, news).map_err(|error| error.to_string());
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
    use super::super::expand::tests::suite;
    use super::*;

    fn check(resources: &str, game: &str) -> Result<(), NoRoom> {
        let text = format!(
            "name = 's'\nbudget = 500\ngames = ['{game}']\nagents = ['sane']\nseeds = [1]\n[resources]\n{resources}"
        );
        let suite = suite(&text).unwrap();
        let crew = Crew { program: "sane".into(), jobs: 1, threads: 1, retries: 0, roms: None };
        Room::new(&suite, &crew).fits(0, &[], &mut |_| ())
    }

    #[test]
    fn a_small_run_fits_and_one_larger_than_the_machine_does_not() {
        assert_eq!(check("", "minatar/breakout"), Ok(()));
        let refused = check("memory_gb = 1e9", "minatar/breakout").unwrap_err();
        assert!(!refused.is_final && refused.text.contains("needs 1000000000.0 GB"), "{refused:?}");
    }
}
