//! The environment, its arguments and its interpreter. In: a name such as `gym:ALE/Pong-v5`; out: a Gymnasium id.

use crate::error::GymError;
use sane_arcade::Profile;
use std::time::Duration;

/// Prefix of the names of these worlds.
const PREFIX: &str = "gym:";

/// Whether a name is that of a Gymnasium environment; whether there is one, only Gymnasium knows.
pub fn is_gym_world(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Whether a name is that of an Atari game of ale-py, which is presented like the built-in games.
pub fn is_ale_game(name: &str) -> bool {
    name.starts_with("gym:ALE/")
}

/// The settings of an environment.
#[derive(Debug, Clone, PartialEq)]
pub struct GymOptions {
    /// Name of the world: `gym:CartPole-v1`, `gym:ALE/Pong-v5`, `gym:mypkg:MyEnv-v0`.
    pub world: String,
    /// Arguments for the environment's constructor.
    pub kwargs: toml::Table,
    /// The interpreter; by default `SANE_PYTHON`, then `python3`.
    pub python: Option<String>,
    /// Maximum time for a reply.
    pub timeout: Duration,
    /// Frames per state; by default 1.
    pub history: Option<usize>,
    /// Preprocessing of an Atari game (`gym:ALE/…`).
    pub profile: Profile,
}

impl GymOptions {
    /// The default: importing a large package from a cold disk takes long.
    pub const TIMEOUT: Duration = Duration::from_secs(60);

    /// The defaults for this world.
    pub fn new(world: &str) -> Self {
        Self {
            world: world.into(),
            kwargs: toml::Table::new(),
            python: None,
            timeout: Self::TIMEOUT,
            history: None,
            profile: Profile::default(),
        }
    }

    /// The Gymnasium id, including its module.
    pub fn id(&self) -> Result<&str, GymError> {
        let refused = |problem| Err(GymError::Name { name: self.world.clone(), problem });
        let Some(id) = self.world.strip_prefix(PREFIX) else { return refused("it does not begin with gym:") };
        let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:/".contains(c);
        if id.split([':', '/']).any(|part| part.trim_matches('.').is_empty()) {
            return refused("a part of it is empty");
        }
        if !id.chars().all(plain) {
            return refused("it may hold letters, digits and _-.:/ only");
        }
        Ok(id)
    }

    /// Whether it is an Atari game of ale-py to be preprocessed by a profile. Setting `obs_type` selects the environment's
    /// own observations instead.
    pub fn is_presented_by_profile(&self) -> bool {
        is_ale_game(&self.world) && !self.kwargs.contains_key("obs_type")
    }

    pub fn interpreter(&self) -> String {
        let of_environment = || std::env::var("SANE_PYTHON").ok().filter(|name| !name.is_empty());
        self.python.clone().or_else(of_environment).unwrap_or_else(|| "python3".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_what_follows_the_prefix() {
        for (name, id) in [
            ("gym:CartPole-v1", "CartPole-v1"),
            ("gym:ALE/Pong-v5", "ALE/Pong-v5"),
            ("gym:my.pkg:MyEnv-v0", "my.pkg:MyEnv-v0"),
        ] {
            assert_eq!(GymOptions::new(name).id().unwrap(), id);
        }
    }

    #[test]
    fn names_that_contain_path_components_or_empty_parts_are_refused() {
        for name in ["gym:", "gym:a/../../b", "gym::x", "gym:a b", "gym:ALE/", "cartpole"] {
            let error = GymOptions::new(name).id().unwrap_err().to_string();
            assert!(error.starts_with(&format!("{name} names no Gymnasium environment")), "{error}");
        }
    }

    #[test]
    fn obs_type_selects_the_environments_own_observations() {
        let mut options = GymOptions::new("gym:ALE/Pong-v5");
        assert!(options.is_presented_by_profile());
        options.kwargs.insert("obs_type".into(), "ram".into());
        assert!(!options.is_presented_by_profile());
    }
}
