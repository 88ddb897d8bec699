//! Suite file → runs: every game with every agent and seed, for every variant, resolved and checked; and the command line
//! that makes one of the runs by hand.

use crate::SuiteError;
use crate::cluster::{ClusterFile, RayFile, SlurmFile};
use crate::file::{Document, EvaluationFile, EvaluationNoise, KeyStep, Location, Resources, SuiteFile, Variant};
use crate::rounds::Rounds;
use crate::search::{Metric, Search};
use crate::seeds::{Seeds, SequentialSeeds};
use sane_lab::{
    ConfigError, Layers, Preset, RunConfig, WorldKind, flatten_table, merge_tables, table_of_one, value_at,
};
use std::path::Path;
use toml::{Table, Value};

/// A suite, ready to be run.
#[derive(Debug, Clone)]
pub struct Suite {
    pub name: String,
    /// The question it answers.
    pub about: String,
    /// Its runs: variant by variant; within one, the first seed of all games and agents comes first.
    pub runs: Vec<SuiteRun>,
    pub evaluation: EvaluationFile,
    pub resources: Resources,
    pub cluster: ClusterFile,
    pub slurm: SlurmFile,
    pub ray: RayFile,
    /// Its searches, whose points are variants.
    pub searches: Vec<Search>,
    /// The rule by which seeds are added, if there is one.
    pub sequential: Option<SequentialSeeds>,
    /// The file it was read from, as written.
    pub text: String,
}

/// One run of a suite.
#[derive(Debug, Clone, PartialEq)]
pub struct SuiteRun {
    /// Its name, and its folder below the suite's: `[variant/]game/agent/seed-S`.
    pub id: String,
    /// The variant, where the suite names some; the point, in a search.
    pub variant: Option<String>,
    /// The search that it is part of.
    pub search: Option<String>,
    pub preset: Preset,
    /// Settings on top of the preset, in the form `--set` takes.
    pub assignments: Vec<String>,
    /// The resolved configuration.
    pub config: RunConfig,
    /// The place of its seed in the list of seeds: runs start in this order, so that a suite that is stopped early has whole
    /// seeds of all variants.
    turn: usize,
}

impl Suite {
    /// Reads and expands a suite file; errors name the line.
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        Self::of(&Document::read(path)?)
    }

    pub(crate) fn of(document: &Document) -> Result<Self, SuiteError> {
        Self::after(document, &Rounds::default())
    }

    /// The suite after these decisions: points that were kept have longer budgets, games that need them have more seeds.
    pub(crate) fn after(document: &Document, rounds: &Rounds) -> Result<Self, SuiteError> {
        let file = SuiteFile::parse(document)?;
        let mut runs = Vec::new();
        let plain = Expansion { document, file: &file, rounds, owner: None, search: None };
        if file.variants.is_empty() && file.searches.is_empty() {
            plain.clone().expand(&mut runs)?;
        }
        for (i, variant) in file.variants.iter().enumerate() {
            let owner = Some((vec!["variant".into(), i.into()], variant));
            Expansion { owner, ..plain.clone() }.expand(&mut runs)?;
        }
        runs.sort_by_key(|run| run.turn);
        for (i, search) in file.searches.iter().enumerate() {
            let path: Vec<KeyStep> = vec!["search".into(), i.into()];
            if matches!(file.seeds, Seeds::Sequential(_)) && search.seeds.is_none() {
                let reason = "a search has a list of `seeds` of its own where those of the suite follow a rule".into();
                return Err(SuiteError::Format { location: document.location(&path), reason });
            }
            check_metric(search.metric, &file, || document.location(&path))?;
            for mut variant in search.variants(i, document)? {
                if let Some(halving) = search.halving() {
                    let rung = rounds.passed(&search.name, &variant.name).min(halving.rungs - 1);
                    let Some(whole) = search.budget.or(file.budget) else {
                        let reason = "halving needs a `budget`, which its last rung has".into();
                        return Err(SuiteError::Format { location: document.location(&path), reason });
                    };
                    variant.budget = Some(whole / u64::from(halving.keep).pow(halving.rungs - 1 - rung));
                }
                let owner = Some((path.clone(), &variant));
                Expansion { owner, search: Some(search), ..plain.clone() }.expand(&mut runs)?;
            }
        }
        let sequential = match &file.seeds {
            Seeds::List(_) => None,
            Seeds::Sequential(rule) => Some(rule.clone()),
        };
        let SuiteFile { name, about, evaluation, resources, cluster, slurm, ray, searches, .. } = file.clone();
        let text = document.text.clone();
        let suite = Self { name, about, runs, evaluation, resources, cluster, slurm, ray, searches, sequential, text };
        if let Some(rule) = &suite.sequential {
            let location = || document.location(&["seeds".into()]);
            check_metric(Some(rule.metric), &file, location)?;
            for game in suite.sequential_games() {
                let mut agents = suite.runs.iter().filter(|run| run.config.world.name == game).map(SuiteRun::contender);
                let first = agents.next();
                if agents.all(|agent| Some(&agent) == first.as_ref()) {
                    let reason =
                        format!("seeds until agents can be told apart need two agents in {game}; there is one");
                    return Err(SuiteError::Format { location: location(), reason });
                }
            }
        }
        Ok(suite)
    }

    /// The games whose seeds follow a rule.
    pub(crate) fn sequential_games(&self) -> Vec<String> {
        let mut games: Vec<String> = Vec::new();
        for run in self.runs.iter().filter(|run| self.sequential.is_some() && run.search.is_none()) {
            if !games.contains(&run.config.world.name) {
                games.push(run.config.world.name.clone());
            }
        }
        games
    }

    /// Whether results decide about further runs.
    pub fn has_rounds(&self) -> bool {
        self.sequential.is_some() || self.searches.iter().any(|search| search.halving().is_some())
    }
}

/// An evaluation that is not made is nothing to decide by.
fn check_metric(metric: Option<Metric>, file: &SuiteFile, location: impl Fn() -> Location) -> Result<(), SuiteError> {
    let is_made = match metric.unwrap_or_default() {
        Metric::Training => true,
        Metric::Evaluation => matches!(file.evaluation.noise, EvaluationNoise::Off | EvaluationNoise::Both),
        Metric::EvaluationWithNoise => matches!(file.evaluation.noise, EvaluationNoise::On | EvaluationNoise::Both),
    };
    let reason = "the metric is an evaluation that this suite does not make; set `noise` of [evaluation]".into();
    if is_made { Ok(()) } else { Err(SuiteError::Format { location: location(), reason }) }
}

impl SuiteRun {
    /// Agent and variant: what seeds of a game are compared by.
    pub(crate) fn contender(&self) -> String {
        let agent = &self.config.agent;
        self.variant.as_ref().map_or_else(|| agent.clone(), |variant| format!("{variant}/{agent}"))
    }

    /// `sane train` with the arguments that make this run.
    pub fn train_arguments(&self) -> Vec<String> {
        let config = &self.config;
        let mut arguments = vec!["train".to_owned(), config.world.name.clone()];
        for (flag, value) in [
            ("--agent", config.agent.clone()),
            ("--seed", config.seed.to_string()),
            ("--steps", config.training.total_interactions.0.to_string()),
            ("--preset", self.preset.name().to_owned()),
        ] {
            arguments.extend([flag.to_owned(), value]);
        }
        arguments.extend(self.assignments.iter().flat_map(|text| ["--set".to_owned(), text.clone()]));
        arguments
    }
}

/// Runs of the largest suite: ten thousand times as many as any table of the paper needs.
const MOST_RUNS: usize = 100_000;

/// Configuration keys that the suite sets itself, and the key of the suite file that does.
const DECIDED: [(&str, &str); 4] =
    [("agent", "agents"), ("seed", "seeds"), ("world.name", "games"), ("training.total_interactions", "budget")];

/// Expands one variant, one point of a search, or a suite without either.
#[derive(Clone)]
struct Expansion<'a> {
    document: &'a Document,
    file: &'a SuiteFile,
    rounds: &'a Rounds,
    /// The table that the variant, or the search it is a point of, is in; and the variant.
    owner: Option<(Vec<KeyStep>, &'a Variant)>,
    search: Option<&'a Search>,
}

/// The table that holds a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Suite,
    Variant,
}

impl Expansion<'_> {
    /// Appends its runs: the first seed of all games and agents, then the next seed.
    fn expand(&self, runs: &mut Vec<SuiteRun>) -> Result<(), SuiteError> {
        let variant = self.variant();
        let (games, games_of) = owned(variant.and_then(|v| v.games.as_ref()), &self.file.games);
        let (agents, agents_of) = owned(variant.and_then(|v| v.agents.as_ref()), &self.file.agents);
        let own_seeds = variant.and_then(|v| v.seeds.as_ref());
        let seeds_of = if own_seeds.is_some() { Owner::Variant } else { Owner::Suite };
        let seeds = |game: &str| match (own_seeds, &self.file.seeds) {
            (Some(list), _) | (None, Seeds::List(list)) => list.clone(),
            (None, Seeds::Sequential(rule)) => (1..=self.rounds.seed_count(game, rule)).collect(),
        };
        self.check_list(games, "games", games_of)?;
        self.check_list(agents, "agents", agents_of)?;
        let most = games.iter().map(|game| seeds(game)).max_by_key(Vec::len).unwrap_or_default();
        self.check_list(&most, "seeds", seeds_of)?;
        let mut set = self.file.set.clone();
        self.check_set(&self.file.set, Owner::Suite)?;
        if let Some(variant) = variant {
            self.check_set(&variant.set, Owner::Variant)?;
            merge_tables(&mut set, &variant.set);
        }
        let count = most.len().saturating_mul(games.len()).saturating_mul(agents.len());
        if MOST_RUNS < runs.len().saturating_add(count) {
            let location = self.document.location(&self.key_path("seeds", seeds_of, None));
            let reason = format!("a suite of more than {MOST_RUNS} runs: divide it");
            return Err(SuiteError::Format { location, reason });
        }
        for turn in 0..most.len() {
            for (g, game) in games.iter().enumerate() {
                let Some(&seed) = seeds(game).get(turn) else { continue };
                let of_game = self.key_path("games", games_of, Some(g));
                let preset = self.preset(game, &of_game)?;
                for (a, agent) in agents.iter().enumerate() {
                    let base = preset.config(game, agent).map_err(|error| match &error {
                        ConfigError::UnknownName { kind: "agent", .. } => {
                            self.at(&self.key_path("agents", agents_of, Some(a)), error)
                        }
                        _ => self.at(&of_game, error),
                    })?;
                    let run = SuiteRun {
                        id: self.id(game, agent, seed),
                        variant: variant.map(|variant| variant.name.clone()),
                        search: self.search.map(|search| search.name.clone()),
                        preset,
                        assignments: assignments("", &set),
                        config: self.resolve(&base, &set, seed)?,
                        turn,
                    };
                    self.push(runs, run)?;
                }
            }
        }
        Ok(())
    }

    fn variant(&self) -> Option<&Variant> {
        self.owner.as_ref().map(|(_, variant)| *variant)
    }

    /// The table of the variant, or the top of the file.
    fn table(&self) -> Vec<KeyStep> {
        self.owner.as_ref().map(|(path, _)| path.clone()).unwrap_or_default()
    }

    /// The path of a key: within the variant if the variant has its own.
    fn key_path(&self, key: &str, owner: Owner, index: Option<usize>) -> Vec<KeyStep> {
        let mut key_path = if owner == Owner::Variant { self.table() } else { Vec::new() };
        key_path.push(key.into());
        key_path.extend(index.map(KeyStep::Index));
        key_path
    }

    /// The path of a setting: a search names some under `over`.
    fn setting_path(&self, key: &str, owner: Owner) -> Vec<KeyStep> {
        let under = |table: &str| {
            let mut key_path = self.key_path(table, owner, None);
            key_path.extend(key.split('.').map(KeyStep::from));
            key_path
        };
        let is_searched = |search: &Search| !flatten_table(&search.set).contains_key(key);
        under(if owner == Owner::Variant && self.search.is_some_and(is_searched) { "over" } else { "set" })
    }

    fn at(&self, key_path: &[KeyStep], source: ConfigError) -> SuiteError {
        SuiteError::Config { location: self.document.location(key_path), source }
    }

    fn check_list<T: PartialEq + ToString>(
        &self,
        list: &[T],
        key: &'static str,
        owner: Owner,
    ) -> Result<(), SuiteError> {
        if list.is_empty() {
            let key_path = if self.owner.is_some() { self.table() } else { vec![key.into()] };
            return Err(SuiteError::Empty { location: self.document.location(&key_path), what: key });
        }
        match (1..list.len()).find(|&i| list[..i].contains(&list[i])) {
            Some(i) => Err(SuiteError::Repeated {
                location: self.document.location(&self.key_path(key, owner, Some(i))),
                what: format!("the {} {}", key.trim_end_matches('s'), list[i].to_string()),
            }),
            None => Ok(()),
        }
    }

    fn check_set(&self, set: &Table, owner: Owner) -> Result<(), SuiteError> {
        for key in flatten_table(set).into_keys() {
            let key_path = self.setting_path(&key, owner);
            if let Some((_, list)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                let reason = format!("{key} is not for `set`: the suite sets it by `{list}`");
                return Err(SuiteError::Format { location: self.document.location(&key_path), reason });
            }
            let one = table_of_one(&key, Value::Boolean(true));
            Layers::default().table("set".into(), one).map_err(|error| self.at(&key_path, error))?;
        }
        Ok(())
    }

    fn preset(&self, game: &str, key_path: &[KeyStep]) -> Result<Preset, SuiteError> {
        WorldKind::of(game).map_err(|error| self.at(key_path, error))?;
        let own = self.variant().and_then(|variant| variant.preset.as_ref());
        match own.or(self.file.preset.as_ref()) {
            Some(name) => {
                let owner = if own.is_some() { Owner::Variant } else { Owner::Suite };
                Preset::named(name).map_err(|error| self.at(&self.key_path("preset", owner, None), error))
            }
            None => Preset::default_for(game).map_err(|error| self.at(key_path, error)),
        }
    }

    fn resolve(&self, base: &RunConfig, set: &Table, seed: u64) -> Result<RunConfig, SuiteError> {
        let budget = self.variant().and_then(|variant| variant.budget);
        let mut layers = Layers::default();
        let add = |layers: &mut Layers, key: &str, value: u64| {
            let value = Value::Integer(i64::try_from(value).unwrap_or(i64::MAX));
            layers.table("the suite".into(), table_of_one(key, value))
        };
        let resolved = layers
            .table("set".into(), set.clone())
            .and_then(|()| add(&mut layers, "seed", seed))
            .and_then(|()| match budget.or(self.file.budget) {
                Some(budget) => add(&mut layers, "training.total_interactions", budget),
                None => Ok(()),
            })
            .and_then(|()| layers.apply(base));
        resolved.map_err(|error| self.at(&self.cause(&error, base), error))
    }

    /// The key of the file that causes a resolution error.
    fn cause(&self, error: &ConfigError, base: &RunConfig) -> Vec<KeyStep> {
        let own = self.variant();
        if let ConfigError::OutOfRange { key: "training.total_interactions", .. } = error {
            let is_own = own.is_some_and(|variant| variant.budget.is_some());
            return self.key_path("budget", if is_own { Owner::Variant } else { Owner::Suite }, None);
        }
        let sets =
            own.map(|variant| (&variant.set, Owner::Variant)).into_iter().chain([(&self.file.set, Owner::Suite)]);
        for (set, owner) in sets {
            for key in flatten_table(set).into_keys() {
                let is_cause = error.key().map_or_else(|| is_refused_alone(base, set, &key), |named| named == key);
                if is_cause {
                    return self.setting_path(&key, owner);
                }
            }
        }
        // None of the settings: the agent itself.
        if self.owner.is_some() { self.table() } else { vec!["agents".into()] }
    }

    fn id(&self, game: &str, agent: &str, seed: u64) -> String {
        let variant = self.variant().map(|variant| format!("{}/", variant.name)).unwrap_or_default();
        format!("{variant}{game}/{agent}/seed-{seed}")
    }

    /// Appends a run; a duplicate is an error.
    fn push(&self, runs: &mut Vec<SuiteRun>, run: SuiteRun) -> Result<(), SuiteError> {
        let location = || self.document.location(&self.key_path("name", Owner::Variant, None));
        if runs.iter().any(|other| other.id == run.id) {
            return Err(SuiteError::Repeated { location: location(), what: format!("the run {}", run.id) });
        }
        if let Some(same) = runs.iter().find(|other| other.config == run.config) {
            let name = |run: &SuiteRun| run.variant.clone().unwrap_or_default();
            let config = &run.config;
            return Err(SuiteError::SameRun {
                location: location(),
                first: name(same),
                second: name(&run),
                run: format!("{} {} seed {}", config.world.name, config.agent, config.seed),
            });
        }
        runs.push(run);
        Ok(())
    }
}

/// The variant's own list, or the suite's.
fn owned<'a, T>(own: Option<&'a Vec<T>>, suite: &'a [T]) -> (&'a [T], Owner) {
    own.map_or((suite, Owner::Suite), |list| (list, Owner::Variant))
}

/// Whether this key of the table, alone on top of the preset, cannot be read.
fn is_refused_alone(base: &RunConfig, set: &Table, key: &str) -> bool {
    let Some(value) = value_at(set, key) else { return false };
    let mut layers = Layers::default();
    layers.table("set".into(), table_of_one(key, value.clone())).and_then(|()| layers.apply(base)).is_err()
}

/// One assignment per key; a choice with its `kind` stays together, since its data make sense only with it.
fn assignments(prefix: &str, table: &Table) -> Vec<String> {
    let mut found = Vec::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) if !inner.contains_key("kind") => {
                found.extend(assignments(&format!("{prefix}{key}."), inner));
            }
            other => found.push(format!("{prefix}{key}={other}")),
        }
    }
    found
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    const SMALL: &str = "name = 'small'\nbudget = 500\ngames = ['minatar/breakout', 'risky-road']\n\
        agents = ['sane', 'q-sane']\nseeds = [1, 2]\n";

    pub(crate) fn suite(text: &str) -> Result<Suite, SuiteError> {
        Suite::of(&Document { path: "s.toml".into(), text: text.into() })
    }

    fn check_refused(text: &str, said: &str) {
        let error = suite(text).unwrap_err().to_string();
        assert!(error.contains(said), "{error}\nexpected: {said}");
    }

    #[test]
    fn a_suite_is_every_game_with_every_agent_and_seed() {
        let suite = suite(SMALL).unwrap();
        let ids: Vec<_> = suite.runs.iter().map(|run| run.id.as_str()).collect();
        assert_eq!(ids.len(), 8);
        assert_eq!(
            ids[..3],
            ["minatar/breakout/sane/seed-1", "minatar/breakout/q-sane/seed-1", "risky-road/sane/seed-1"]
        );
        assert!(suite.runs.iter().all(|run| run.config.training.total_interactions.0 == 500));
    }

    #[test]
    fn a_variant_has_its_own_lists_and_its_settings_win() {
        let text = format!(
            "{SMALL}[set]\nlearner.gamma = 0.9\n[[variant]]\nname = 'base'\n[[variant]]\nname = 'low'\n\
             agents = ['eps-greedy']\nseeds = [7]\nbudget = 600\nset.learner.gamma = 0.5\n"
        );
        let suite = suite(&text).unwrap();
        assert_eq!(suite.runs.len(), 8 + 2);
        let low = suite.runs.iter().find(|run| run.id == "low/risky-road/eps-greedy/seed-7").unwrap();
        assert_eq!((low.config.learner.gamma, low.config.training.total_interactions.0), (0.5, 600));
        assert_eq!(suite.runs[0].config.learner.gamma, 0.9);
    }

    #[test]
    fn the_first_seed_of_all_variants_comes_before_the_second() {
        let text =
            format!("{SMALL}[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\nseeds = [9]\nset.learner.gamma = 0.5\n");
        let seeds: Vec<_> = suite(&text)
            .unwrap()
            .runs
            .iter()
            .map(|run| (run.variant.clone().unwrap_or_default(), run.config.seed))
            .collect();
        let expected = [("a", 1), ("b", 9), ("a", 2)].map(|(variant, seed)| vec![(variant.to_owned(), seed); 4]);
        assert_eq!(seeds, expected.concat());
    }

    #[test]
    fn what_to_type_gives_the_configuration_of_the_run() {
        let text = format!(
            "{SMALL}[set]\nlearner.objective = {{ kind = 'elbo', kl_weight = 0.25 }}\n\
             learner.exploration.module.hidden = [32, 16]\nreplay.rewards = 'raw'\n"
        );
        for run in suite(&text).unwrap().runs {
            let arguments = run.train_arguments();
            let mut layers = Layers::default();
            for pair in arguments[2..].chunks(2) {
                match pair[0].as_str() {
                    "--set" => layers.assignment(&pair[1]).unwrap(),
                    "--seed" => layers.assignment(&format!("seed={}", pair[1])).unwrap(),
                    "--steps" => layers.assignment(&format!("training.total_interactions={}", pair[1])).unwrap(),
                    _ => {}
                }
            }
            let base = run.preset.config(&arguments[1], &run.config.agent).unwrap();
            assert_eq!(layers.apply(&base).unwrap(), run.config);
        }
    }

    #[test]
    fn slips_are_named_with_their_line() {
        check_refused(&SMALL.replace("'risky-road'", "'minatar/brekout'"), "s.toml:3: ");
        check_refused(&SMALL.replace("risky-road", "boxng"), "s.toml:3: unknown world boxng; did you mean boxing?");
        check_refused(&SMALL.replace("q-sane", "qsane"), "s.toml:4: unknown agent qsane; did you mean q-sane?");
        check_refused(&SMALL.replace("[1, 2]", "[1, 1]"), "s.toml:5: the seed 1 is listed twice");
        check_refused(&SMALL.replace("[1, 2]", "[]"), "s.toml:5: no seeds");
        check_refused(&SMALL.replace("500", "0"), "s.toml:2: training.total_interactions = 0");
        check_refused(&SMALL.replace("budget", "budgt"), "s.toml:2: unknown field `budgt`");
        check_refused(&format!("{SMALL}preset = 'papr'\n"), "s.toml:6: unknown preset papr; did you mean paper?");
        check_refused(&format!("{SMALL}[set]\nlearner.gama = 1\n"), "s.toml:7: unknown key learner.gama");
        check_refused(&format!("{SMALL}[set]\nlearner.gamma = 2.0\n"), "s.toml:7: ");
        check_refused(&format!("{SMALL}[set]\nseed = 3\n"), "s.toml:7: seed is not for `set`");
        let epsilon = "[set]\nlearner.gamma = 0.9\nlearner.exploration.epsilon.last = 0.1\n";
        check_refused(&format!("{SMALL}{epsilon}"), "s.toml:8: ");
        let share = "[set]\nlearner.exploration.q_noise_unit = 'share'\nlearner.exploration.q_noise = 1.2\n";
        let of = |agent: &str| SMALL.replace("'sane', 'q-sane'", agent);
        check_refused(
            &format!("{}{share}", of("'sane-elbo'")),
            "s.toml:8: learner.exploration.q_noise = 1.2 is not possible",
        );
        // Six actions in one of the games, three in the other.
        check_refused(
            &format!("{}{}", of("'sane-elbo'"), share.replace("1.2", "0.7")),
            "s.toml:8: learner.exploration.q_noise = 0.7 is not possible with 3 actions",
        );
        check_refused(&format!("{}[set]\nlearner.gamma = 0.9\n", of("'oracle'")), "s.toml:4: ");
        check_refused(&format!("{SMALL}[evaluation]\nnoise = 'loud'\n"), "s.toml:7: unknown variant `loud`");
        check_refused(&SMALL.replace("small", "../small"), "s.toml:1: the name \"../small\"");
    }

    #[test]
    fn two_variants_that_come_to_the_same_are_refused() {
        let text = format!("{SMALL}[[variant]]\nname = 'a'\n[[variant]]\nname = 'b'\nset.learner.gamma = 0.99\n");
        check_refused(&text, "s.toml:9: the variants a and b give the same run of minatar/breakout sane seed 1");
        check_refused(&text.replace("'b'", "'a'"), "s.toml:9: the run a/minatar/breakout/sane/seed-1 is listed twice");
    }
}
