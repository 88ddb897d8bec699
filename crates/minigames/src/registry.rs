//! Names of worlds as they are typed, and the worlds they stand for.

use crate::MinigameError;
use crate::deep_sea::{DeepSea, DeepSeaConfig, DeepSeaVariant};
use crate::minatar::{ActionSet, Game, MinatarOptions, MinatarWorld, Ramping};
use crate::risky_road::{Difficulty, RiskyRoad};
use sane_env::{Environment, closest_name};
use std::str::FromStr;

/// A world that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWorld {
    /// A name that [`make`] takes.
    pub name: &'static str,
    /// What it is, in one line.
    pub description: &'static str,
}

const WORLDS: [KnownWorld; 10] = [
    world("minatar/asterix", "collect gold, evade enemies, ever faster"),
    world("minatar/breakout", "knock out the wall, keep the ball"),
    world("minatar/freeway", "cross the road as often as time allows"),
    world("minatar/seaquest", "shoot fish, bring divers up, breathe"),
    world("minatar/space_invaders", "shoot the aliens before they land"),
    world("deep-sea/20", "bsuite's test of exploration; any size from 2 to 100"),
    world("deep-sea-stochastic/20", "the same with slips and noisy rewards"),
    world("risky-road", "a car among cars, whose true risk is known; also risky-road/1 to risky-road/9"),
    world("risky-road/easy", "difficulty 2"),
    world("risky-road/hard", "difficulty 8"),
];

const fn world(name: &'static str, description: &'static str) -> KnownWorld {
    KnownWorld { name, description }
}

/// The small worlds there are; of those that come in many sizes, one as an example.
pub fn names() -> &'static [KnownWorld] {
    &WORLDS
}

/// Whether a name is meant for a small world, though it may be misspelt after its first part.
pub fn is_small_world(name: &str) -> bool {
    let family = name.split(['/', ':']).next().unwrap_or_default();
    ["minatar", "deep-sea", "deep-sea-stochastic", "risky-road"].contains(&family)
}

/// Makes the world of a name; it must be reset before its first step. Options follow a colon:
/// `minatar/asterix:actions=minimal,sticky=0,ramping=off,limit=5000`, `deep-sea/20:mapping=7`.
pub fn make(name: &str, seed: u64) -> Result<Box<dyn Environment>, MinigameError> {
    let (path, options) = name.split_once(':').map_or((name, ""), |(path, options)| (path, options));
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["minatar", game] => {
            let game = Game::ALL.into_iter().find(|known| known.name() == game).ok_or_else(|| unknown(name))?;
            Ok(Box::new(MinatarWorld::new(game, minatar_options(path, options)?, seed)))
        }
        ["deep-sea", ref size @ ..] => deep_sea(DeepSeaVariant::Deterministic, size, options, seed),
        ["deep-sea-stochastic", ref size @ ..] => deep_sea(DeepSeaVariant::Stochastic, size, options, seed),
        ["risky-road"] => risky_road("normal", path, options, seed),
        ["risky-road", difficulty] => risky_road(difficulty, path, options, seed),
        _ => Err(unknown(name)),
    }
}

fn unknown(name: &str) -> MinigameError {
    let suggestion = closest_name(name, WORLDS.iter().map(|world| world.name));
    MinigameError::UnknownWorld { name: name.into(), suggestion: suggestion.map(Into::into) }
}

fn deep_sea(
    variant: DeepSeaVariant,
    size: &[&str],
    options: &str,
    seed: u64,
) -> Result<Box<dyn Environment>, MinigameError> {
    let world = variant.name();
    let found = size.join("/");
    let size = found.parse().ok().filter(|size| DeepSeaConfig::SIZES.contains(size));
    let Some(size) = size else {
        let (smallest, largest) = (*DeepSeaConfig::SIZES.start(), *DeepSeaConfig::SIZES.end());
        return Err(MinigameError::BadSize { world: world.into(), found, smallest, largest });
    };
    let mut config = DeepSeaConfig { size, variant, mapping_seed: DeepSeaConfig::MAPPING_SEED };
    for (option, value) in pairs(options) {
        match option {
            "mapping" => config.mapping_seed = value_of(world, option, value, "a seed from 0 to 4294967295")?,
            _ => return Err(unknown_option(world, option, &["mapping"])),
        }
    }
    Ok(Box::new(DeepSea::new(config, seed)))
}

fn risky_road(difficulty: &str, world: &str, options: &str, seed: u64) -> Result<Box<dyn Environment>, MinigameError> {
    let difficulty = Difficulty::parse(difficulty)?;
    if let Some((option, _)) = pairs(options).next() {
        return Err(unknown_option(world, option, &[]));
    }
    Ok(Box::new(RiskyRoad::new(difficulty, seed)))
}

fn minatar_options(world: &str, options: &str) -> Result<MinatarOptions, MinigameError> {
    let mut chosen = MinatarOptions::default();
    for (option, value) in pairs(options) {
        let bad = |expected| bad_option(world, option, value, expected);
        match option {
            "actions" => {
                chosen.actions = match value {
                    "full" => ActionSet::Full,
                    "minimal" => ActionSet::Minimal,
                    _ => return Err(bad("full or minimal")),
                }
            }
            "ramping" => {
                chosen.ramping = match value {
                    "on" => Ramping::On,
                    "off" => Ramping::Off,
                    _ => return Err(bad("on or off")),
                }
            }
            "sticky" => {
                chosen.sticky = value_of(world, option, value, "a number from 0 to 1")?;
                if !(0.0..=1.0).contains(&chosen.sticky) {
                    return Err(bad("a number from 0 to 1"));
                }
            }
            "limit" => {
                chosen.limit = Some(value_of(world, option, value, "a number of steps, at least 1")?);
                if chosen.limit == Some(0) {
                    return Err(bad("a number of steps, at least 1"));
                }
            }
            _ => return Err(unknown_option(world, option, &["actions", "sticky", "ramping", "limit"])),
        }
    }
    Ok(chosen)
}

fn pairs(options: &str) -> impl Iterator<Item = (&str, &str)> {
    options.split(',').filter(|option| !option.is_empty()).map(|option| option.split_once('=').unwrap_or((option, "")))
}

fn value_of<T: FromStr>(world: &str, option: &str, found: &str, expected: &'static str) -> Result<T, MinigameError> {
    found.parse().map_err(|_| bad_option(world, option, found, expected))
}

fn bad_option(world: &str, option: &str, found: &str, expected: &'static str) -> MinigameError {
    MinigameError::BadOption { world: world.into(), option: option.into(), found: found.into(), expected }
}

fn unknown_option(world: &str, option: &str, known: &[&'static str]) -> MinigameError {
    MinigameError::UnknownOption {
        world: world.into(),
        option: option.into(),
        suggestion: closest_name(option, known.iter().copied()).map(Into::into),
        known: if known.is_empty() { "none".into() } else { known.join(", ") },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str) -> String {
        make(name, 0).err().unwrap_or_else(|| panic!("{name} was made")).to_string()
    }

    #[test]
    fn every_listed_world_is_made_and_calls_itself_so() {
        for world in names() {
            assert_eq!(make(world.name, 0).unwrap().spec().name, world.name);
            assert!(is_small_world(world.name));
        }
    }

    #[test]
    fn a_world_with_options_is_made_again_from_the_name_it_gives_itself() {
        for name in [
            "minatar/asterix:actions=minimal,sticky=0.25,ramping=off,limit=100",
            "minatar/freeway:sticky=0",
            "deep-sea/7:mapping=3",
            "risky-road/9",
        ] {
            assert_eq!(make(name, 0).unwrap().spec().name, name);
        }
        assert_eq!(make("risky-road/normal", 0).unwrap().spec().name, "risky-road");
        assert_eq!(make("minatar/breakout:actions=minimal", 0).unwrap().spec().actions, ["nothing", "left", "right"]);
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        assert!(message("minatar/asterx").ends_with("did you mean \"minatar/asterix\""));
        assert!(message("risky_roads").ends_with("did you mean \"risky-road\""));
        assert_eq!(message("xyzzy"), "no small world is called \"xyzzy\"");
        assert!(message("minatar/asterix:stiky=0.1").contains("did you mean \"sticky\""));
    }

    #[test]
    fn sizes_difficulties_and_options_out_of_range_say_what_the_range_is() {
        for name in ["deep-sea", "deep-sea/1", "deep-sea/101", "deep-sea/-3", "deep-sea/ten", "deep-sea-stochastic/0"] {
            assert!(message(name).contains("a size from 2 to 100"), "{name}: {}", message(name));
        }
        for name in ["risky-road/0", "risky-road/10", "risky-road/medium"] {
            assert!(message(name).contains("1 to 9"), "{name}: {}", message(name));
        }
        for name in ["minatar/asterix:sticky=1.5", "minatar/asterix:sticky=NaN", "minatar/asterix:sticky=x"] {
            assert!(message(name).contains("a number from 0 to 1"), "{name}: {}", message(name));
        }
        for name in ["minatar/asterix:limit=0", "minatar/asterix:actions=all", "deep-sea/9:mapping=-1"] {
            assert!(message(name).contains("must be"), "{name}: {}", message(name));
        }
        assert!(message("risky-road:lanes=4").contains("has no option"));
    }
}
