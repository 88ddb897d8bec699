//! The built-in worlds by name: `minatar/asterix:actions=minimal` in, an environment out.
//!
//! A world is described by one [`Family`] in its own file and registered by one entry of [`FAMILIES`]. Everything that
//! other crates need to know about it (names for help texts and suggestions, preset, network, length of an episode,
//! when it counts as solved) is read from there.

use crate::{MinigameError, SolvedRule, deep_sea, minatar, risky_road};
use sane_env::{Environment, closest_name};
use std::str::FromStr;

/// All built-in worlds. A new world is one more entry.
static FAMILIES: [Family; 4] = [minatar::FAMILY, deep_sea::DETERMINISTIC, deep_sea::STOCHASTIC, risky_road::FAMILY];

/// Worlds that share the first part of their name and their implementation.
#[derive(Debug)]
pub struct Family {
    /// First part of the name: `deep-sea` in `deep-sea/20`.
    pub name: &'static str,
    /// How a name is written, for help texts: `deep-sea/SIZE`.
    pub pattern: &'static str,
    /// Its worlds; examples where there are too many to list.
    pub worlds: &'static [KnownWorld],
    /// Name of the preset for runs that ask for none.
    pub preset: &'static str,
    /// Network that suits its frames.
    pub network: SuitableNetwork,
    /// When a run counts as solved, in worlds that mark bad episodes and define it.
    pub solved: Option<SolvedRule>,
    /// Steps of an episode, where all episodes of a world have the same length.
    pub(crate) episode_length: fn(&WorldName<'_>) -> Option<u64>,
    /// Makes the world of a name. It must be reset before its first step.
    pub(crate) make: fn(&WorldName<'_>, seed: u64) -> Made,
}

/// The world of a name, or what is wrong with the name.
pub(crate) type Made = Result<Box<dyn Environment>, MinigameError>;

/// A name that [`make`] accepts, with a description of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownWorld {
    pub name: &'static str,
    pub description: &'static str,
}

/// The kind of network that suits the frames of a world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SuitableNetwork {
    /// One small convolution before the dense layers, for planes in which neighbourhood matters.
    Convolutional,
    /// Dense layers only.
    Dense,
}

/// All families, in the order of help texts.
pub fn families() -> &'static [Family] {
    &FAMILIES
}

/// The family whose name is the first part of `name`; the rest may be misspelt, which [`make`] reports.
pub fn family_of(name: &str) -> Option<&'static Family> {
    FAMILIES.iter().find(|family| family.name == WorldName::parse(name).family)
}

/// Every listed world of every family.
pub fn known_worlds() -> impl Iterator<Item = &'static KnownWorld> + Clone {
    FAMILIES.iter().flat_map(|family| family.worlds)
}

/// Makes the world of this name; it must be reset before its first step. Options follow a colon:
/// `minatar/asterix:actions=minimal,sticky=0,ramping=off,limit=5000`, `deep-sea/20:mapping=7`.
pub fn make(name: &str, seed: u64) -> Result<Box<dyn Environment>, MinigameError> {
    let parsed = WorldName::parse(name);
    let family = family_of(name).filter(|_| parsed.is_complete()).ok_or_else(|| parsed.unknown())?;
    if let Some(option) = parsed.repeated_option() {
        return Err(MinigameError::RepeatedOption { world: parsed.path.into(), option: option.into() });
    }
    (family.make)(&parsed, seed)
}

impl Family {
    /// Steps of an episode of the world of this name, if all its episodes have the same length.
    pub fn episode_length(&self, name: &str) -> Option<u64> {
        (self.episode_length)(&WorldName::parse(name))
    }
}

/// A name in its parts, `FAMILY[/VARIANT][:OPTION=VALUE,…]`, and the errors about them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WorldName<'a> {
    text: &'a str,
    /// Everything before the options.
    path: &'a str,
    family: &'a str,
    /// What follows the family's name; empty if nothing does.
    pub variant: &'a str,
    options: &'a str,
}

impl<'a> WorldName<'a> {
    fn parse(text: &'a str) -> Self {
        let (path, options) = text.split_once(':').unwrap_or((text, ""));
        let (family, variant) = path.split_once('/').unwrap_or((path, ""));
        Self { text, path, family, variant, options }
    }

    /// Whether something follows the `/` and the `:`, where they are written.
    fn is_complete(&self) -> bool {
        !self.path.ends_with('/') && !self.text.ends_with(':')
    }

    /// An option that is given twice.
    fn repeated_option(&self) -> Option<&'a str> {
        let mut options = self.options().map(|(option, _)| option);
        options.find(|option| 1 < self.options().filter(|(other, _)| other == option).count())
    }

    /// The options with their values; an option without `=` has an empty value.
    pub fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let options = self.options.split(',').filter(|option| !option.is_empty());
        options.map(|option| option.split_once('=').unwrap_or((option, "")))
    }

    /// The value of an option as a number; `expected` describes the valid ones.
    pub fn value<T: FromStr>(&self, option: &str, found: &str, expected: &'static str) -> Result<T, MinigameError> {
        found.parse().map_err(|_| self.bad_option(option, found, expected))
    }

    /// There is no world of this name.
    pub fn unknown(&self) -> MinigameError {
        let suggestion = closest_name(self.text, known_worlds().map(|world| world.name));
        MinigameError::UnknownWorld { name: self.text.into(), suggestion: suggestion.map(Into::into) }
    }

    /// The family has no such variant.
    pub fn bad_variant(&self, expected: impl Into<String>, example: impl Into<String>) -> MinigameError {
        MinigameError::BadVariant {
            family: self.family.into(),
            found: self.variant.into(),
            expected: expected.into(),
            example: example.into(),
        }
    }

    /// The option cannot have this value.
    pub fn bad_option(&self, option: &str, found: &str, expected: &'static str) -> MinigameError {
        MinigameError::BadOption { world: self.path.into(), option: option.into(), found: found.into(), expected }
    }

    /// The world has no such option; `known` are those it has.
    pub fn unknown_option(&self, option: &str, known: &[&'static str]) -> MinigameError {
        MinigameError::UnknownOption {
            world: self.path.into(),
            option: option.into(),
            suggestion: closest_name(option, known.iter().copied()).map(Into::into),
            known: if known.is_empty() { "none".into() } else { known.join(", ") },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(name: &str) -> String {
        make(name, 0).err().unwrap_or_else(|| panic!("{name} was made")).to_string()
    }

    #[test]
    fn every_listed_world_is_made_and_has_the_name_it_is_listed_under() {
        for family in families() {
            for world in family.worlds {
                assert_eq!(make(world.name, 0).unwrap().spec().name, world.name);
                assert!(std::ptr::eq(family_of(world.name).unwrap(), family));
                assert!(!world.description.is_empty());
            }
            assert!(family.pattern.starts_with(family.name) && !family.worlds.is_empty());
        }
    }

    #[test]
    fn every_colour_of_a_picture_but_the_background_is_in_the_legend() {
        for world in known_worlds() {
            let mut made = make(world.name, 3).unwrap();
            let legend = made.legend();
            let mut frame = vec![0; made.spec().frame.bytes()];
            made.reset(&mut sane_env::Stream::named(3, "legend"), &mut frame).unwrap();
            let picture = made.picture();
            let background = |rgb: &[u8]| rgb == [18, 20, 26];
            for rgb in picture.rgb.chunks_exact(3).filter(|rgb| !background(rgb)) {
                assert!(legend.iter().any(|entry| entry.rgb == rgb), "{}: {rgb:?}", world.name);
            }
            assert!(legend.iter().all(|entry| !entry.meaning.is_empty()) && !legend.is_empty());
        }
    }

    #[test]
    fn a_world_with_options_is_made_again_from_its_own_name() {
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
    fn only_deep_seas_have_episodes_of_one_length() {
        let length = |name: &str| family_of(name).unwrap().episode_length(name);
        assert_eq!(length("deep-sea/20:mapping=3"), Some(20));
        assert_eq!(length("deep-sea-stochastic/8"), Some(8));
        assert_eq!(length("minatar/freeway"), None);
        assert_eq!(length("risky-road/2"), None);
    }

    #[test]
    fn a_misspelt_name_gets_a_suggestion() {
        assert!(message("minatar/asterx").ends_with("did you mean \"minatar/asterix\""));
        assert!(message("risky_roads").ends_with("did you mean \"risky-road\""));
        assert_eq!(message("xyzzy"), "there is no built-in world \"xyzzy\"");
        assert!(message("minatar/asterix:stiky=0.1").contains("did you mean \"sticky\""));
        for name in ["risky-road/", "risky-road:", "risky-road/treasure:"] {
            assert!(message(name).starts_with("there is no built-in world"), "{name}: {}", message(name));
        }
        let twice = "risky-road/treasure:toll=1,after=9,toll=2";
        assert_eq!(message(twice), "the option toll of risky-road/treasure is given twice");
    }

    #[test]
    fn sizes_difficulties_and_options_out_of_range_are_refused_with_the_range() {
        for name in ["deep-sea", "deep-sea/1", "deep-sea/101", "deep-sea/-3", "deep-sea/ten", "deep-sea-stochastic/0"] {
            assert!(message(name).contains("a size from 2 to 100"), "{name}: {}", message(name));
        }
        for name in ["risky-road/0", "risky-road/10", "risky-road/medium", "risky-road/5.0", "risky-road/2/3"] {
            assert!(message(name).contains("1 to 9"), "{name}: {}", message(name));
        }
        for name in ["minatar/asterix:sticky=1.5", "minatar/asterix:sticky=NaN", "minatar/asterix:sticky=x"] {
            assert!(message(name).contains("a number from 0 to 1"), "{name}: {}", message(name));
        }
        for name in ["minatar/asterix:limit=0", "minatar/asterix:actions=all", "deep-sea/9:mapping=-1"] {
            assert!(message(name).contains("must be"), "{name}: {}", message(name));
        }
        assert!(message("risky-road:lanes=4").contains("has no option"));
        assert!(message("risky-road/treasure:before=4").contains("has no option"));
        assert!(message("risky-road/treasure:toll=-1").contains("from 0 to 100"));
        assert!(message("risky-road/treasure:toll=NaN").contains("from 0 to 100"));
        assert!(message("risky-road/shift:after=never").contains("a number of interactions"));
        assert!(message("risky-road/shift:affter=9").contains("did you mean \"after\""));
    }
}
