//! Name → world. The only place that knows all kinds of them.

use crate::LabError;
use crate::config::{ConfigError, WorldConfig};
use sane_arcade::{AtariEnv, AtariOptions, Game, Profile, Roms};
use sane_env::{Environment, Stream, WorldFault, closest_name};
use sane_gym::{GymOptions, GymSource};
use sane_minigames::Family;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The kind of a world.
#[derive(Debug, Clone, Copy)]
pub enum WorldKind {
    /// An Atari game.
    Atari(&'static Game),
    /// A world of crate `minigames`, whose registry describes it.
    BuiltIn(&'static Family),
    /// `gym:<id>`: the Gymnasium environment of that id.
    Gym,
}

impl WorldKind {
    /// The kind of this world; an unknown name gets a suggestion.
    pub fn of(name: &str) -> Result<Self, ConfigError> {
        if let Some(family) = sane_minigames::family_of(name) {
            // Only a world that can be made has a valid name: each family checks its sizes, variants and options.
            sane_minigames::make(name, 0).map_err(|error| ConfigError::BuiltInWorld(Box::new(error)))?;
            return Ok(Self::BuiltIn(family));
        }
        if sane_gym::is_gym_world(name) {
            return Ok(Self::Gym);
        }
        Game::named(name).map(Self::Atari).map_err(|_| unknown(name))
    }

    /// A name for what worlds of this kind have in common: `atari`, the family of a built-in world, `gym`.
    pub fn label(self) -> &'static str {
        match self {
            Self::Atari(_) => "atari",
            Self::BuiltIn(family) => family.name,
            Self::Gym => "gym",
        }
    }
}

/// How many actions this world has; none of a world that is not built in.
pub(crate) fn action_count(world: &WorldConfig) -> Option<usize> {
    match WorldKind::of(&world.name).ok()? {
        WorldKind::Atari(game) => Some(world.profile.spec().actions.of(game).len()),
        WorldKind::BuiltIn(_) => Some(sane_minigames::make(&world.name, 0).ok()?.spec().actions.len()),
        WorldKind::Gym => None,
    }
}

/// Whether the world of this name knows the true risk of its states; none of a world that is not built in.
pub(crate) fn knows_true_risk(name: &str) -> Option<bool> {
    match WorldKind::of(name).ok()? {
        WorldKind::Atari(_) | WorldKind::Gym => Some(false),
        WorldKind::BuiltIn(_) => {
            let mut world = sane_minigames::make(name, 0).ok()?;
            let mut frame = vec![0; world.spec().frame.bytes()];
            world.reset(&mut Stream::named(0, "asked only"), &mut frame).ok()?;
            Some(world.ground_truth().is_some_and(|truth| truth.true_risk().is_some()))
        }
    }
}

/// How the names of worlds are written, for help texts and errors.
pub fn name_patterns() -> String {
    let built_in = sane_minigames::families().iter().map(|family| family.pattern);
    let patterns: Vec<&str> = built_in.collect();
    format!("an Atari game (`sane roms list`), {} or gym:ID", patterns.join(", "))
}

/// Environments of Gymnasium that people name without the prefix; others are recognised by their version.
const GYM_NAMES: [&str; 5] = ["CartPole", "Acrobot", "MountainCar", "LunarLander", "FrozenLake"];

/// A name as Gymnasium, ALE or Gym would have it (`CartPole-v1`, `ALE/Breakout-v5`, `BreakoutNoFrameskip-v4`): what it is here.
fn named_elsewhere(name: &str) -> Option<String> {
    let id = name.strip_prefix("ALE/").unwrap_or(name);
    let (id, version) = match id.rsplit_once("-v") {
        Some((before, number)) if number.parse::<u32>().is_ok() => (before, true),
        _ => (id, id != name),
    };
    let plain = |text: &str| text.to_lowercase().replace(['_', '-'], "");
    let wanted = plain(id.trim_end_matches("NoFrameskip").trim_end_matches("Deterministic").trim_end_matches("-ram"));
    let game = Game::all().iter().find(|game| plain(game.name) == wanted);
    let known = GYM_NAMES.iter().find(|known| plain(known) == wanted);
    match (game, known) {
        (Some(game), _) if version => Some(game.name.into()),
        (_, Some(known)) if !version => Some(format!("gym:{known}-v1")),
        _ if version && !id.is_empty() => Some(format!("gym:{name}")),
        _ => None,
    }
}

fn unknown(name: &str) -> ConfigError {
    let atari = Game::all().iter().map(|game| game.name);
    let known = atari.chain(sane_minigames::known_worlds().map(|world| world.name));
    ConfigError::UnknownName {
        kind: "world",
        name: name.into(),
        suggestion: named_elsewhere(name).or_else(|| closest_name(name, known).map(str::to_owned)),
    }
}

/// Makes worlds of one kind: built-in ones by name ([`open`](Self::open)), any other by a function
/// ([`custom`](Self::custom)). What has to be found once (a ROM, a Python interpreter) is found when the source is made, and
/// shared by its copies.
#[derive(Clone)]
pub struct WorldSource {
    config: WorldConfig,
    supply: Arc<Supply>,
}

/// What worlds of one kind are made from.
enum Supply {
    Rom(&'static Game, Vec<u8>),
    Name,
    Gym(Box<GymSource>),
    Custom(Box<MakeWorld>),
}

/// Makes a world; what it draws by itself follows from the seed.
type MakeWorld = dyn Fn(u64) -> Result<Box<dyn Environment>, WorldFault> + Send + Sync;

impl WorldSource {
    /// A built-in world or a Gymnasium environment. The ROM of an Atari game is searched in `roms` first and downloaded
    /// if it is found nowhere; `message` reports that.
    pub fn open(config: &WorldConfig, roms: Option<&Path>, message: &mut dyn FnMut(String)) -> Result<Self, LabError> {
        let supply = match WorldKind::of(&config.name)? {
            WorldKind::Atari(game) => {
                Supply::Rom(game, Roms::new(roms).load(game, &mut |item| message(item.to_string()))?)
            }
            WorldKind::BuiltIn(_) => Supply::Name,
            WorldKind::Gym => Supply::Gym(Box::new(GymSource::open(&gym_options(config))?)),
        };
        let source = Self { config: config.clone(), supply: Arc::new(supply) };
        source.make(0)?;
        Ok(source)
    }

    /// Worlds that are not built in: `make` makes one from a seed. Training, checkpoints, records and evaluation treat
    /// them like the others. `name` is written into the run's configuration and must not be that of a built-in world.
    pub fn custom(
        name: &str,
        make: impl Fn(u64) -> Result<Box<dyn Environment>, WorldFault> + Send + Sync + 'static,
    ) -> Result<Self, LabError> {
        if WorldKind::of(name).is_ok() {
            let reason = "a built-in world has this name; choose another".into();
            return Err(LabError::World { name: name.into(), reason });
        }
        let config = WorldConfig::new(name, Profile::Paper);
        Ok(Self { config, supply: Arc::new(Supply::Custom(Box::new(make))) })
    }

    /// The configuration of its worlds.
    pub fn config(&self) -> &WorldConfig {
        &self.config
    }

    /// A world; what it draws by itself follows from `seed`.
    pub fn make(&self, seed: u64) -> Result<Box<dyn Environment>, LabError> {
        let seed = Stream::named(seed, "world").next_u64() as u32;
        let refused = |reason: String| LabError::World { name: self.config.name.clone(), reason };
        match &*self.supply {
            Supply::Rom(game, rom) => {
                let options = AtariOptions { profile: self.config.profile, seed, ..AtariOptions::default() };
                let env = AtariEnv::new(game, rom, options).map_err(|error| refused(error.to_string()))?;
                Ok(Box::new(env))
            }
            Supply::Name => {
                sane_minigames::make(&self.config.name, u64::from(seed)).map_err(|error| refused(error.to_string()))
            }
            Supply::Gym(gym) => Ok(Box::new(gym.make(u64::from(seed))?)),
            Supply::Custom(make) => Ok(make(u64::from(seed))?),
        }
    }
}

fn gym_options(config: &WorldConfig) -> GymOptions {
    GymOptions {
        world: config.name.clone(),
        kwargs: config.kwargs.clone(),
        python: config.python.clone(),
        timeout: config.timeout_seconds.map_or(GymOptions::TIMEOUT, Duration::from_secs_f64),
        history: config.history,
        profile: config.profile,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn source(name: &str) -> Result<WorldSource, LabError> {
        WorldSource::open(&WorldConfig::new(name, Profile::Paper), None, &mut |_| ())
    }

    #[test]
    fn a_name_decides_the_kind_and_a_slip_gets_a_suggestion() {
        assert!(matches!(WorldKind::of("boxing").unwrap(), WorldKind::Atari(game) if game.name == "boxing"));
        assert_eq!(WorldKind::of("deep-sea/20:mapping=3").unwrap().label(), "deep-sea");
        assert_eq!(WorldKind::of("boxng").unwrap_err().to_string(), "unknown world boxng; did you mean boxing?");
        for (slip, hint) in [
            ("minatar/asterx", "did you mean \"minatar/asterix\""),
            ("deep-sea/1", "a size from 2 to 100"),
            ("deep-sea", "a size from 2 to 100"),
            ("deep-sea/9:maping=3", "did you mean \"mapping\""),
            ("risky-road/10", "a difficulty from 1 to 9"),
        ] {
            let said = WorldKind::of(slip).unwrap_err().to_string();
            assert!(said.starts_with("world.name: ") && said.contains(hint), "{slip}: {said}");
        }
    }

    #[test]
    fn names_of_gymnasium_and_ale_get_the_name_they_have_here() {
        for (name, here) in [
            ("CartPole-v1", "gym:CartPole-v1"),
            ("cartpole", "gym:CartPole-v1"),
            ("MyWorld-v0", "gym:MyWorld-v0"),
            ("Breakout-v5", "breakout"),
            ("ALE/Breakout-v5", "breakout"),
            ("breakout-v4", "breakout"),
            ("BreakoutNoFrameskip-v4", "breakout"),
            ("ALE/RoadRunner-v5", "road_runner"),
            ("Boxing", "boxing"),
        ] {
            let said = WorldKind::of(name).unwrap_err().to_string();
            assert_eq!(said, format!("unknown world {name}; did you mean {here}?"));
        }
    }

    #[test]
    fn worlds_of_one_seed_are_the_same_and_others_differ() {
        let source = source("minatar/breakout").unwrap();
        let first_frame = |seed| {
            let mut world = source.make(seed).unwrap();
            world.reset(&mut Stream::named(1, "starts"), &mut vec![0; world.spec().frame.bytes()]).unwrap();
            world.snapshot()
        };
        assert_eq!(first_frame(1), first_frame(1));
        assert_ne!(first_frame(1), first_frame(2));
    }

    #[test]
    fn a_custom_world_must_not_have_the_name_of_a_built_in_one() {
        let make = |_| sane_minigames::make("risky-road", 0).map_err(|_| unreachable!("the name is valid"));
        let taken = WorldSource::custom("risky-road", make).err().unwrap().to_string();
        assert!(taken.contains("a built-in world has this name"), "{taken}");
        let source = WorldSource::custom("my-road", make).unwrap();
        let config = crate::Preset::RiskyRoad.config_in(&source, "sane").unwrap();
        assert_eq!((config.world.name.as_str(), config.check().is_ok()), ("my-road", true));
        assert_eq!(crate::Run::new(&config, &source).unwrap().spec().name, "risky-road");
    }

    #[test]
    fn a_size_or_game_that_does_not_exist_is_refused_when_the_source_is_opened() {
        assert!(source("deep-sea/1").is_err());
        let error = WorldKind::of("deep-sea/0").unwrap_err().to_string();
        assert!(error.contains("from 2 to 100"), "{error}");
        assert!(source("minatar/pong").is_err());
    }
}
