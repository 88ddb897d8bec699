//! Time, memory and disk of a suite before it is run, estimated from short measurements with as many parallel runs as the
//! suite would have.

use crate::SuiteError;
use crate::expand::{Suite, SuiteRun};
use crate::file::EvaluationNoise;
use crate::scheduler::SchedulerOptions;
use sane_lab::{LabError, Plan, RunConfig, WorldKind, WorldSource, free_memory, memory_need, pool, to_toml};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::thread;

/// Time, memory and disk of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    pub runs: usize,
    /// Training interactions of all runs.
    pub interactions: u64,
    /// Seconds until the last run is done.
    pub seconds: f64,
    /// Memory of the largest runs that can be active at once.
    pub memory_bytes: u64,
    /// Free memory now, where the system reports it.
    pub free_memory_bytes: Option<u64>,
    /// Disk space at the end.
    pub disk_bytes: u64,
    pub kinds: Vec<KindEstimate>,
}

/// Estimate for the runs that differ in seed and game alone; measured once, in the first game.
#[derive(Debug, Clone, PartialEq)]
pub struct KindEstimate {
    /// The variant, where the suite has variants.
    pub variant: Option<String>,
    pub agent: String,
    /// The game it was measured in.
    pub measured_in: String,
    /// Number of runs.
    pub runs: usize,
    /// Training interactions of each run.
    pub interactions: u64,
    /// Training speed of each run while the others run.
    pub interactions_per_second: f64,
    /// Duration of each run, evaluation included.
    pub seconds: f64,
    /// Memory of the largest run.
    pub memory_bytes: u64,
    /// Disk space of each run.
    pub disk_bytes: u64,
}

impl Estimate {
    /// Measures a few seconds per kind of run. `progress` gets the number of finished kinds and of all kinds, `message`
    /// the messages of worlds that are opened.
    pub fn measure(
        suite: &Suite,
        options: &SchedulerOptions,
        message: &mut dyn FnMut(String),
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
        let (mut estimates, mut seconds, mut needs) = (Vec::new(), BTreeMap::new(), Vec::new());
        for (done, (_, runs)) in kinds.iter().enumerate() {
            progress(done, kinds.len());
            for run in runs {
                let world = &run.config.world;
                if let Entry::Vacant(entry) = worlds.entry(world.identity()) {
                    entry.insert(WorldSource::open(world, options.roms.as_deref(), message)?);
                }
            }
            let mut estimate = measure(suite, options, runs, &worlds[&runs[0].config.world.identity()])?;
            let mut by_world: BTreeMap<String, u64> = BTreeMap::new();
            for run in runs {
                let world = run.config.world.identity();
                if !by_world.contains_key(&world) {
                    by_world.insert(world.clone(), memory_need(&run.config, &worlds[&world])?);
                }
                needs.push(suite.resources.memory_gb.map_or(by_world[&world], |gigabytes| (gigabytes * 1e9) as u64));
                seconds.insert(run.id.as_str(), estimate.seconds);
            }
            estimate.memory_bytes = by_world.into_values().max().unwrap_or(0);
            estimates.push(estimate);
        }
        progress(kinds.len(), kinds.len());
        needs.sort_unstable();
        Ok(Self {
            runs: suite.runs.len(),
            interactions: suite.runs.iter().map(|run| run.config.training.total_interactions.0).sum(),
            seconds: makespan(suite.runs.iter().map(|run| seconds[run.id.as_str()]), options.jobs),
            memory_bytes: needs.iter().rev().take(options.jobs).sum(),
            free_memory_bytes: free_memory(),
            disk_bytes: estimates.iter().map(|kind| kind.runs as u64 * kind.disk_bytes).sum(),
            kinds: estimates,
        })
    }
}

/// The settings that runs of one kind share.
fn kind(run: &SuiteRun) -> Result<String, LabError> {
    let kind = WorldKind::of(&run.config.world.name)?.label();
    let mut config: RunConfig = run.config.clone();
    config.seed = 0;
    // Deep seas of different depth have different budgets, which tells them apart.
    config.world.name = kind.into();
    Ok(to_toml(&config))
}

/// Measures as many copies in parallel as the suite would run.
fn measure(
    suite: &Suite,
    options: &SchedulerOptions,
    runs: &[&SuiteRun],
    source: &WorldSource,
) -> Result<KindEstimate, LabError> {
    let config = &runs[0].config;
    let copies = options.jobs.min(suite.runs.len());
    let plans: Vec<Plan> = thread::scope(|scope| {
        let work = || pool(Some(options.threads))?.install(|| Plan::measure(config, source));
        let copies: Vec<_> = (0..copies).map(|_| scope.spawn(work)).collect();
        copies.into_iter().map(|copy| copy.join().expect("a measurement does not panic")).collect::<Result<_, _>>()
    })?;
    let mean = |of: fn(&Plan) -> f64| plans.iter().map(of).sum::<f64>() / plans.len() as f64;
    let (training, acting) = (mean(|plan| plan.interactions_per_second), mean(|plan| plan.acting_per_second));
    let modes = match suite.evaluation.noise {
        EvaluationNoise::None => 0,
        EvaluationNoise::Both if config.learner.exploration.is_noisy() => 2,
        _ => 1,
    };
    // Episodes of an evaluation are played in parallel on the threads of the run.
    let evaluation = (modes * suite.evaluation.interactions) as f64 / (acting * options.threads as f64);
    let total = config.training.total_interactions.0;
    Ok(KindEstimate {
        variant: runs[0].variant.clone(),
        agent: config.agent.clone(),
        measured_in: config.world.name.clone(),
        runs: runs.len(),
        interactions: total,
        interactions_per_second: training,
        seconds: total as f64 / training + evaluation,
        memory_bytes: 0,
        disk_bytes: plans[0].disk_bytes,
    })
}

/// Time at which the last run ends if each, in order, starts in the first free slot.
fn makespan(seconds: impl Iterator<Item = f64>, jobs: usize) -> f64 {
    let mut slots = vec![0.0; jobs];
    for length in seconds {
        let first = slots.iter_mut().min_by(|a: &&mut f64, b| a.total_cmp(b)).expect("at least one job");
        *first += length;
    }
    slots.into_iter().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::suite;

    #[test]
    fn runs_fill_the_slots_in_order() {
        assert_eq!(makespan([3.0, 1.0, 1.0, 1.0].into_iter(), 2), 3.0);
        assert_eq!(makespan([1.0, 1.0, 3.0].into_iter(), 2), 4.0);
        assert_eq!(makespan([2.0, 2.0].into_iter(), 1), 4.0);
    }

    #[test]
    fn games_and_seeds_share_a_measurement_and_agents_do_not() {
        let text = "name = 's'\nbudget = 2000\ngames = ['minatar/breakout', 'minatar/asterix']\n\
            agents = ['sane', 'eps-greedy']\nseeds = [1, 2]\n[evaluation]\ninteractions = 100\n";
        let options = SchedulerOptions { program: "sane".into(), jobs: 1, threads: 1, retries: 0, roms: None };
        let estimate = Estimate::measure(&suite(text).unwrap(), &options, &mut |_| (), &mut |_, _| ()).unwrap();
        let kinds: Vec<_> = estimate.kinds.iter().map(|kind| (kind.agent.as_str(), kind.runs)).collect();
        assert_eq!((kinds, estimate.runs, estimate.interactions), (vec![("sane", 4), ("eps-greedy", 4)], 8, 16_000));
        assert!(estimate.kinds.iter().all(|kind| kind.seconds * 8.0 < 8.0 * estimate.seconds));
        assert!(0 < estimate.memory_bytes && 0 < estimate.disk_bytes);
    }
}
