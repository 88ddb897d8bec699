//! Errors of configurations.

use sane_agent::AgentError;
use sane_minigames::MinigameError;
use std::path::PathBuf;

/// A configuration that cannot be run, by key.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    #[error("unknown key {key} in {place}{}; `sane config keys` lists them", did_you_mean(.suggestion))]
    UnknownKey {
        /// The key as written.
        key: String,
        /// Where it was written: a file, `--set`.
        place: String,
        /// The key that was probably meant.
        suggestion: Option<&'static str>,
    },
    /// A name that is not known.
    #[error("unknown {kind} {name}{}", did_you_mean_or(.suggestion, .kind))]
    UnknownName {
        /// What was named: `agent`, `preset`, `world`.
        kind: &'static str,
        name: String,
        /// The name that was probably meant, and what to say with it.
        suggestion: Option<String>,
    },
    /// A value outside its range.
    #[error("{key} = {value} is not possible; expected {expected}")]
    OutOfRange { key: &'static str, value: String, expected: String },
    /// A value of the wrong type, or a key that this agent does not have.
    #[error("{place}: {reason}")]
    Unreadable {
        /// Where it was written.
        place: String,
        reason: String,
    },
    /// An error of a value that a file gives.
    #[error("{place}: {source}")]
    At {
        /// File and line.
        place: String,
        source: Box<Self>,
    },
    /// `--set` without `=`.
    #[error("--set {text}: expected key=value, for example --set learner.gamma=0.99")]
    NotAnAssignment { text: String },
    /// The file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    /// The agent's own settings.
    #[error("{}", of_learner(.0))]
    Learner(#[from] AgentError),
    /// A built-in world whose name is wrong after its first part.
    #[error("world.name: {0}")]
    BuiltInWorld(Box<MinigameError>),
}

impl ConfigError {
    /// The key whose value is out of its range.
    pub fn key(&self) -> Option<String> {
        match self {
            Self::OutOfRange { key, .. } => Some((*key).to_owned()),
            Self::Learner(AgentError::OutOfRange { key, .. }) => Some(format!("learner.{key}")),
            Self::Learner(AgentError::ShareOfActions { .. }) => Some("learner.exploration.q_noise".into()),
            _ => None,
        }
    }
}

/// The agent names a key within its own settings; in a run's configuration they stand below `learner`.
fn of_learner(error: &AgentError) -> String {
    match error {
        AgentError::OutOfRange { .. } | AgentError::ShareOfActions { .. } => format!("learner.{error}"),
        _ => format!("learner: {error}"),
    }
}

/// The name that was probably meant, or else where all of them are listed.
fn did_you_mean_or(suggestion: &Option<String>, kind: &str) -> String {
    if suggestion.is_some() {
        return did_you_mean(suggestion);
    }
    match kind {
        "agent" => "; `sane agents` lists them".into(),
        "preset" => "; `sane config keys` lists them".into(),
        "world" => format!("; expected {}", crate::world::name_patterns()),
        _ => String::new(),
    }
}

fn did_you_mean(suggestion: &Option<impl AsRef<str>>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean {}?", name.as_ref())).unwrap_or_default()
}
