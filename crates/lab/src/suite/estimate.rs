//! What a suite will take, before it is run: time, memory and disk, from short measurements with as many runs side by side
//! as the suite would have.

use super::SuiteError;
use super::expand::{Suite, SuiteRun};
use super::file::EvaluationNoise;
use super::memory::memory_need;
use super::scheduler::Crew;
use crate::LabError;
use crate::config::{RunConfig, to_toml};
use crate::machine::free_memory;
use crate::plan::Plan;
use crate::threads::pool;
use crate::world::{WorldKind, WorldSource};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;

/// What a suite will take.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// Runs in all.
    pub runs: usize,
    /// Interactions of training in all.
    pub interactions: u64,
    /// Seconds until the last run is done.
    pub seconds: f64,
    /// Memory of the runs side by side, at most.
    pub memory_bytes: u64,
    /// Memory that is free now, where the system says.
    pub free_memory_bytes: Option<u64>,
    /// Disk at the end.
    pub disk_bytes: u64,
    /// The same, by kind of run.
    pub shares: Vec<Share>,
}

/// Runs that differ in seed and game alone: measured once, in the first game.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// The variant, where the suite names some.
    pub variant: Option<String>,
    /// The agent.
    pub agent: String,
    /// The game it was measured in.
    pub measured_in: String,
    /// How many runs.
    pub runs: usize,
    /// Interactions of each.
    pub interactions: u64,
    /// Speed of each, with the others beside it.
    pub interactions_per_second: f64,
    /// Length of each, evaluation included.
    pub seconds: f64,
    /// Memory of the largest of them.
    pub memory_bytes: u64,
    /// Disk of each.
    pub disk_bytes: u64,
}

impl Estimate {
    /// Measures for a few seconds per kind of run; `progress` hears how many of how many kinds are done, `news` what
    /// worlds say when they are opened.
    pub fn measure(
        suite: &Suite,
        crew: &Crew,
        news: &mut dyn FnMut(String),
        progress: &mut dyn FnMut(usize, usize),
    ) -> Result<Self, SuiteError> {
        let mut kinds: Vec<(String, Vec<&SuiteRun>)> = Vec::new();
        for run in &suite.runs {
            let key = kind(run)?;
            match kinds.iter_mut().find(|(known, _)| *known == key) {
                Some((_, runs)) => runs.push(run),
                None => kinds.push((key, vec![run])),
            }
        }
        let mut worlds = BTreeMap::new();
        let (mut shares, mut seconds, mut needs) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (done, (_, runs)) in kinds.iter().enumerate() {
            progress(done, kinds.len());
            for run in runs {
                let world = &run.config.world;
                if let Entry::Vacant(place) = worlds.entry(world.identity()) {
                    place.insert(WorldSource::open(world, crew.roms.as_deref(), news)?);
                }
            }
            let mut share = measure(suite, crew, runs, &worlds[&runs[0].config.world.identity()])?;
            let mut by_world: BTreeMap<String, u64> = BTreeMap::new();
            for run in runs {
                let world = run.config.world.identity();
                if !by_world.contains_key(&world) {
                    by_world.insert(world.clone(), memory_need(&run.config, &worlds[&world])?);
                }
                needs.push(suite.resources.memory_gb.map_or(by_world[&world], |gigabytes| (gigabytes * 1e9) as u64));
                seconds.insert(run.id.as_str(), share.seconds);
            }
            share.memory_bytes = by_world.into_values().max().unwrap_or(0);
            shares.push(share);
        }
        progress(kinds.len(), kinds.len());
        needs.sort_unstable();
        Ok(Self {
            runs: suite.runs.len(),
            interactions: suite.runs.iter().map(|run| run.config.training.total_interactions.0).sum(),
            seconds: makespan(suite.runs.iter().map(|run| seconds[run.id.as_str()]), crew.jobs),
            memory_bytes: needs.iter().rev().take(crew.jobs).sum(),
            free_memory_bytes: free_memory(),
            disk_bytes: shares.iter().map(|share| share.runs as u64 * share.disk_bytes).sum(),
            shares,
        })
    }
}

/// What runs of one kind have in common.
fn kind(run: &SuiteRun) -> Result<String, LabError> {
    let kind = std::mem::discriminant(&WorldKind::of(&run.config.world.name)?);
    let mut config: RunConfig = run.config.clone();
    config.seed = 0;
    // Deep seas of different depth have different budgets, which tells them apart.
    config.world.name = format!("{kind:?}");
    Ok(to_toml(&config))
}

/// As many copies side by side as the suite would have runs.
fn measure(suite: &Suite, crew: &Crew, runs: &[&SuiteRun], source: &WorldSource) -> Result<Share, LabError> {
    let config = &runs[0].config;
    let copies = crew.jobs.min(suite.runs.len());
    let plans: Vec<Plan> = thread::scope(|scope| {
        let work = || pool(Some(crew.threads))?.install(|| Plan::measure(config, source));
        let copies: Vec<_> = (0..copies).map(|_| scope.spawn(work)).collect();
        copies.into_iter().map(|copy| copy.join().expect("a measurement does not panic")).collect::<Result<_, _>>()
    })?;
    let mean = |of: fn(&Plan) -> f64| plans.iter().map(of).sum::<f64>() / plans.len() as f64;
    let (training, acting) = (mean(|plan| plan.interactions_per_second), mean(|plan| plan.acting_per_second));
    let modes = match suite.evaluation.noise {
        EvaluationNoise::None => 0,
        EvaluationNoise::Both if config.learner.exploration.noise().is_some() => 2,
        _ => 1,
    };
    // Episodes of an evaluation are played side by side on the run's threads.
    let measured = (modes * suite.evaluation.interactions) as f64 / (acting * crew.threads as f64);
    let total = config.training.total_interactions.0;
    Ok(Share {
        variant: runs[0].variant.clone(),
        agent: config.agent.clone(),
        measured_in: config.world.name.clone(),
        runs: runs.len(),
        interactions: total,
        interactions_per_second: training,
        seconds: total as f64 / training + measured,
        memory_bytes: 0,
        disk_bytes: plans[0].disk_bytes,
    })
}

/// When the last run ends if each goes, in order, to the place that is free first.
fn makespan(seconds: impl Iterator<Item = f64>, jobs: usize) -> f64 {
    let mut places = vec![0.0; jobs];
    for length in seconds {
        let first = places.iter_mut().min_by(|a: &&mut f64, b| a.total_cmp(b)).expect("at least one job");
        *first += length;
    }
    places.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::super::expand::tests::suite;
    use super::*;

    #[test]
    fn runs_fill_the_places_in_their_order() {
        assert_eq!(makespan([3.0, 1.0, 1.0, 1.0].into_iter(), 2), 3.0);
        assert_eq!(makespan([1.0, 1.0, 3.0].into_iter(), 2), 4.0);
        assert_eq!(makespan([2.0, 2.0].into_iter(), 1), 4.0);
    }

    #[test]
    fn games_and_seeds_share_a_measurement_and_agents_do_not() {
        let text = "name = 's'\nbudget = 2000\ngames = ['minatar/breakout', 'minatar/asterix']\n\
            agents = ['sane', 'eps-greedy']\nseeds = [1, 2]\n[evaluation]\ninteractions = 100\n";
        let crew = Crew { program: "sane".into(), jobs: 1, threads: 1, retries: 0, roms: None };
        let estimate = Estimate::measure(&suite(text).unwrap(), &crew, &mut |_| (), &mut |_, _| ()).unwrap();
        let kinds: Vec<_> = estimate.shares.iter().map(|share| (share.agent.as_str(), share.runs)).collect();
        assert_eq!((kinds, estimate.runs, estimate.interactions), (vec![("sane", 4), ("eps-greedy", 4)], 8, 16_000));
        assert!(estimate.shares.iter().all(|share| share.seconds * 8.0 < 8.0 * estimate.seconds));
        assert!(0 < estimate.memory_bytes && 0 < estimate.disk_bytes);
    }
}
