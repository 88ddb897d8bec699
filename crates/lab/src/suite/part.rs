//! The part of a suite that one variant is: every game with every agent and seed, resolved, checked and different.

use super::SuiteError;
use super::document::{Document, Step};
use super::expand::{SuiteRun, assignments};
use super::file::{SuiteFile, Variant};
use crate::config::{ConfigError, Layers, RunConfig, flat_table, merge};
use crate::preset::Preset;
use crate::world::WorldKind;
use toml::{Table, Value};

/// Keys that the suite itself decides, and by what.
const DECIDED: [(&str, &str); 4] =
    [("agent", "agents"), ("seed", "seeds"), ("world.name", "games"), ("training.total_interactions", "budget")];

/// The part of a suite that one variant is, or the whole of a suite without variants.
pub struct Part<'a> {
    /// For places.
    pub document: &'a Document,
    /// The suite's own keys.
    pub file: &'a SuiteFile,
    /// Number and keys of the variant.
    pub variant: Option<(usize, &'a Variant)>,
}

/// Whose key it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Owner {
    Suite,
    Variant,
}

impl Part<'_> {
    /// Adds its runs: the first seed of all games and agents, then the next.
    pub fn expand(&self, runs: &mut Vec<SuiteRun>) -> Result<(), SuiteError> {
        let variant = self.variant.map(|(_, variant)| variant);
        let (games, games_of) = owned(variant.and_then(|v| v.games.as_ref()), &self.file.games);
        let (agents, agents_of) = owned(variant.and_then(|v| v.agents.as_ref()), &self.file.agents);
        let (seeds, seeds_of) = owned(variant.and_then(|v| v.seeds.as_ref()), &self.file.seeds);
        self.check_list(games, "games", games_of)?;
        self.check_list(agents, "agents", agents_of)?;
        self.check_list(seeds, "seeds", seeds_of)?;
        let mut set = self.file.set.clone();
        self.check_set(&self.file.set, Owner::Suite)?;
        if let Some(variant) = variant {
            self.check_set(&variant.set, Owner::Variant)?;
            merge(&mut set, &variant.set);
        }
        for &seed in seeds {
            for (g, game) in games.iter().enumerate() {
                let of_game = self.way("games", games_of, Some(g));
                let preset = self.preset(game, &of_game)?;
                for (a, agent) in agents.iter().enumerate() {
                    let base = preset.config(game, agent).map_err(|error| match &error {
                        ConfigError::UnknownName { kind: "agent", .. } => {
                            self.at(&self.way("agents", agents_of, Some(a)), error)
                        }
                        _ => self.at(&of_game, error),
                    })?;
                    let run = SuiteRun {
                        id: self.id(game, agent, seed),
                        variant: variant.map(|variant| variant.name.clone()),
                        preset,
                        assignments: assignments("", &set),
                        config: self.resolve(&base, &set, seed)?,
                    };
                    self.push(runs, run)?;
                }
            }
        }
        Ok(())
    }

    /// Where a key of this part stands: in the variant if it is the variant's own.
    fn way(&self, key: &str, owner: Owner, index: Option<usize>) -> Vec<Step> {
        let mut way: Vec<Step> = match self.variant {
            Some((i, _)) if owner == Owner::Variant => vec!["variant".into(), i.into()],
            _ => Vec::new(),
        };
        way.push(key.into());
        way.extend(index.map(Step::Index));
        way
    }

    fn at(&self, way: &[Step], source: ConfigError) -> SuiteError {
        SuiteError::Config { place: self.document.place(way), source }
    }

    fn check_list<T: PartialEq + ToString>(
        &self,
        list: &[T],
        key: &'static str,
        owner: Owner,
    ) -> Result<(), SuiteError> {
        if list.is_empty() {
            let way = self.variant.map_or(vec![key.into()], |(i, _)| vec!["variant".into(), i.into()]);
            return Err(SuiteError::Empty { place: self.document.place(&way), what: key });
        }
        match (1..list.len()).find(|&i| list[..i].contains(&list[i])) {
            Some(i) => Err(SuiteError::Repeated {
                place: self.document.place(&self.way(key, owner, Some(i))),
                what: format!("the {} {}", key.trim_end_matches('s'), list[i].to_string()),
            }),
            None => Ok(()),
        }
    }

    fn check_set(&self, set: &Table, owner: Owner) -> Result<(), SuiteError> {
        for key in flat_table(set).into_keys() {
            let mut way = self.way("set", owner, None);
            way.extend(key.split('.').map(Step::from));
            if let Some((_, list)) = DECIDED.iter().find(|(decided, _)| *decided == key) {
                let reason = format!("{key} is not for `set`: the suite says it in `{list}`");
                return Err(SuiteError::Format { place: self.document.place(&way), reason });
            }
            let mut one = Table::new();
            insert(&mut one, &key, Value::Boolean(true));
            Layers::default().table("set".into(), one).map_err(|error| self.at(&way, error))?;
        }
        Ok(())
    }

    fn preset(&self, game: &str, way: &[Step]) -> Result<Preset, SuiteError> {
        check_world(game).map_err(|error| self.at(way, error))?;
        let own = self.variant.and_then(|(_, variant)| variant.preset.as_ref());
        match own.or(self.file.preset.as_ref()) {
            Some(name) => {
                let owner = if own.is_some() { Owner::Variant } else { Owner::Suite };
                Preset::named(name).map_err(|error| self.at(&self.way("preset", owner, None), error))
            }
            None => Preset::default_for(game).map_err(|error| self.at(way, error)),
        }
    }

    fn resolve(&self, base: &RunConfig, set: &Table, seed: u64) -> Result<RunConfig, SuiteError> {
        let budget = self.variant.and_then(|(_, variant)| variant.budget);
        let mut layers = Layers::default();
        let add = |layers: &mut Layers, key: &str, value: u64| {
            let mut one = Table::new();
            insert(&mut one, key, Value::Integer(i64::try_from(value).unwrap_or(i64::MAX)));
            layers.table("the suite".into(), one)
        };
        let resolved = layers
            .table("set".into(), set.clone())
            .and_then(|()| add(&mut layers, "seed", seed))
            .and_then(|()| match budget.or(self.file.budget) {
                Some(budget) => add(&mut layers, "training.total_interactions", budget),
                None => Ok(()),
            })
            .and_then(|()| layers.apply(base));
        resolved.map_err(|error| self.at(&self.blame(&error, base), error))
    }

    /// The key of the file that an error of resolving is about.
    fn blame(&self, error: &ConfigError, base: &RunConfig) -> Vec<Step> {
        let own = self.variant.map(|(_, variant)| variant);
        if let ConfigError::OutOfRange { key: "training.total_interactions", .. } = error {
            let is_own = own.is_some_and(|variant| variant.budget.is_some());
            return self.way("budget", if is_own { Owner::Variant } else { Owner::Suite }, None);
        }
        let sets =
            own.map(|variant| (&variant.set, Owner::Variant)).into_iter().chain([(&self.file.set, Owner::Suite)]);
        for (set, owner) in sets {
            for key in flat_table(set).into_keys() {
                let is_it = match error {
                    ConfigError::OutOfRange { key: named, .. } => *named == key,
                    _ => is_refused_alone(base, set, &key),
                };
                if is_it {
                    let mut way = self.way("set", owner, None);
                    way.extend(key.split('.').map(Step::from));
                    return way;
                }
            }
        }
        self.variant.map_or(vec!["set".into()], |(i, _)| vec!["variant".into(), i.into()])
    }

    fn id(&self, game: &str, agent: &str, seed: u64) -> String {
        let variant = self.variant.map(|(_, variant)| format!("{}/", variant.name)).unwrap_or_default();
        format!("{variant}{game}/{agent}/seed-{seed}")
    }

    /// Adds a run unless the suite has it already.
    fn push(&self, runs: &mut Vec<SuiteRun>, run: SuiteRun) -> Result<(), SuiteError> {
        let place = || self.document.place(&self.way("name", Owner::Variant, None));
        if runs.iter().any(|other| other.id == run.id) {
            return Err(SuiteError::Repeated { place: place(), what: format!("the run {}", run.id) });
        }
        if let Some(same) = runs.iter().find(|other| other.config == run.config) {
            let name = |run: &SuiteRun| run.variant.clone().unwrap_or_default();
            let config = &run.config;
            return Err(SuiteError::SameRun {
                place: place(),
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

/// Atari games are known by name; small worlds are made, to hear what they say to their name.
fn check_world(name: &str) -> Result<(), ConfigError> {
    match WorldKind::of(name)? {
        WorldKind::Minatar | WorldKind::DeepSea { .. } | WorldKind::RiskyRoad => sane_minigames::make(name, 0)
            .map(drop)
            .map_err(|error| ConfigError::Unreadable { place: format!("world {name}"), reason: error.to_string() }),
        _ => Ok(()),
    }
}

/// Whether this key of the table, alone on top of the preset, cannot be read.
fn is_refused_alone(base: &RunConfig, set: &Table, key: &str) -> bool {
    let Some(value) = key.split('.').try_fold(Value::Table(set.clone()), |value, part| value.get(part).cloned()) else {
        return false;
    };
    let mut one = Table::new();
    insert(&mut one, key, value);
    let mut layers = Layers::default();
    layers.table("set".into(), one).and_then(|()| layers.apply(base)).is_err()
}

fn insert(table: &mut Table, key: &str, value: Value) {
    match key.split_once('.') {
        Some((first, rest)) => {
            let inner = table.entry(first).or_insert_with(|| Value::Table(Table::new()));
            if let Value::Table(inner) = inner {
                insert(inner, rest, value);
            }
        }
        None => drop(table.insert(key.into(), value)),
    }
}
