//! What can go wrong with a Python worker, each with what to do about it.

use std::io;

/// An environment that cannot be made, or that stopped replying.
#[derive(Debug, thiserror::Error)]
pub enum GymError {
    #[error("{name} names no Gymnasium environment: {problem}; expected gym:ID, gym:NAMESPACE/ID or gym:MODULE:ID")]
    Name { name: String, problem: &'static str },
    #[error(
        "no Python interpreter `{python}`; install one (`apt install python3`), or name yours by SANE_PYTHON=… or \
         --set world.python=…"
    )]
    NoPython { python: String },
    #[error("cannot start `{python}` for {world}: {source}")]
    Start { python: String, world: String, source: io::Error },
    /// Gymnasium, or a package it needs, is not installed.
    #[error("`{python}` has no package {package}; `{python} -m pip install {cure}` installs it")]
    NoPackage { python: String, package: String, cure: String },
    /// The module before the colon is not found.
    #[error(
        "`{python}` finds no module {module} for {world}; start from the folder that holds it, add that folder to \
         PYTHONPATH, or install it with `{python} -m pip install …`"
    )]
    NoModule { python: String, module: String, world: String },
    #[error(
        "{world}: {reason}{}; an environment of a package of its own is named gym:PACKAGE:ID",
        did_you_mean(.suggestion)
    )]
    UnknownId { world: String, reason: String, suggestion: Option<String> },
    /// The environment needs a package that is not installed.
    #[error("{world} needs more than Gymnasium itself: {reason} (pip is `{python} -m pip`)")]
    Dependency { world: String, reason: String, python: String },
    #[error("{world} does not take what world.kwargs says: {reason}")]
    Kwargs { world: String, reason: String },
    #[error(
        "world.kwargs.{key} of {world} is decided by world.profile; leave it out, or set world.kwargs.obs_type to take \
         the environment as it is, without a profile"
    )]
    DecidedByProfile { world: String, key: &'static str },
    /// The action space is not discrete.
    #[error(
        "{world} has {what} {space}; these agents choose among a list of actions: wrap the environment so that it \
         offers a Discrete space, register that and name it gym:MODULE:ID (docs/gym.md shows how)"
    )]
    Actions { world: String, what: &'static str, space: String },
    /// The observation space is not a box.
    #[error(
        "{world} shows {space}, which is no vector and no image; wrap the environment so that it shows a Box, register \
         that and name it gym:MODULE:ID (docs/gym.md shows how)"
    )]
    Observations { world: String, space: String },
    #[error("{world} failed on {doing}: {reason}")]
    Raised { world: String, doing: &'static str, reason: String },
    #[error("{world} gave {what} on {doing}; every number it gives must be finite")]
    NotFinite { world: String, doing: &'static str, what: String },
    #[error("the worker of {world} (`{python}`, process {process}) died on {doing}: {how}{}", last_lines(.lines))]
    Died { world: String, python: String, process: u32, doing: &'static str, how: String, lines: Vec<String> },
    #[error(
        "the worker of {world} (`{python}`, process {process}) did not answer {doing} for {seconds} s and was ended; \
         world.timeout_seconds says how long is waited{}",
        last_lines(.lines)
    )]
    Hangs { world: String, python: String, process: u32, doing: &'static str, seconds: f64, lines: Vec<String> },
    #[error("{world} cannot be copied: the state of a Python environment is not accessible")]
    Fork { world: String },
}

impl GymError {
    /// Whether it is an error in the command line.
    pub fn is_usage(&self) -> bool {
        matches!(
            self,
            Self::Name { .. }
                | Self::UnknownId { .. }
                | Self::Kwargs { .. }
                | Self::DecidedByProfile { .. }
                | Self::Actions { .. }
                | Self::Observations { .. }
        )
    }
}

fn did_you_mean(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map(|name| format!("; did you mean gym:{name}?")).unwrap_or_default()
}

fn last_lines(lines: &[String]) -> String {
    if lines.is_empty() {
        return "; it wrote nothing to standard error".into();
    }
    format!("; its last lines:\n  {}", lines.join("\n  "))
}
