//! What can go wrong with a Python worker, each with the way out.

use std::io;

/// An environment that cannot be had, or that stopped answering.
#[derive(Debug, thiserror::Error)]
pub enum GymError {
    /// The name cannot be an environment's.
    #[error("{name} names no Gymnasium environment: {problem}; expected gym:ID, gym:NAMESPACE/ID or gym:MODULE:ID")]
    Name {
        /// As typed.
        name: String,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// There is no such interpreter.
    #[error(
        "no Python interpreter `{python}`; install one (`apt install python3`), or name yours by SANE_PYTHON=… or \
         --set world.python=…"
    )]
    NoPython {
        /// As it was looked for.
        python: String,
    },
    /// The worker could not be started.
    #[error("cannot start `{python}` for {world}: {source}")]
    Start {
        /// The interpreter.
        python: String,
        /// The world.
        world: String,
        /// What the system said.
        source: io::Error,
    },
    /// Gymnasium, or something it needs, is not installed.
    #[error("`{python}` has no package {package}; `{python} -m pip install {cure}` installs it")]
    NoPackage {
        /// The interpreter.
        python: String,
        /// What is missing.
        package: String,
        /// What pip calls it.
        cure: String,
    },
    /// The module before the colon is nowhere.
    #[error(
        "`{python}` finds no module {module} for {world}; start from the folder that holds it, add that folder to \
         PYTHONPATH, or install it with `{python} -m pip install …`"
    )]
    NoModule {
        /// The interpreter.
        python: String,
        /// What is missing.
        module: String,
        /// The world.
        world: String,
    },
    /// Gymnasium does not know the id.
    #[error(
        "{world}: {reason}{}; an environment of a package of its own is named gym:PACKAGE:ID",
        did_you_mean(.suggestion)
    )]
    UnknownId {
        /// The world.
        world: String,
        /// What Gymnasium said.
        reason: String,
        /// What was probably meant.
        suggestion: Option<String>,
    },
    /// The environment needs something that is not installed.
    #[error("{world} needs more than Gymnasium itself: {reason} (pip is `{python} -m pip`)")]
    Dependency {
        /// The world.
        world: String,
        /// What Gymnasium said; it names the package.
        reason: String,
        /// The interpreter.
        python: String,
    },
    /// The environment does not take these arguments.
    #[error("{world} does not take what world.kwargs says: {reason}")]
    Kwargs {
        /// The world.
        world: String,
        /// What Python said.
        reason: String,
    },
    /// An argument that the profile decides.
    #[error(
        "world.kwargs.{key} of {world} is decided by world.profile; leave it out, or set world.kwargs.obs_type to take \
         the environment as it is, without a profile"
    )]
    DecidedByProfile {
        /// The world.
        world: String,
        /// The argument.
        key: &'static str,
    },
    /// Actions are not a list to choose from.
    #[error(
        "{world} has {what} {space}; these agents choose among a list of actions: wrap the environment so that it \
         offers a Discrete space, register that and name it gym:MODULE:ID (docs/gym.md shows how)"
    )]
    Actions {
        /// The world.
        world: String,
        /// `the continuous action space`, or another one.
        what: &'static str,
        /// As Gymnasium prints it.
        space: String,
    },
    /// Observations are not numbers in a box.
    #[error(
        "{world} shows {space}, which is no vector and no image; wrap the environment so that it shows a Box, register \
         that and name it gym:MODULE:ID (docs/gym.md shows how)"
    )]
    Observations {
        /// The world.
        world: String,
        /// As Gymnasium prints it.
        space: String,
    },
    /// The environment raised an exception.
    #[error("{world} failed on {doing}: {reason}")]
    Raised {
        /// The world.
        world: String,
        /// `step`, `reset`, `make`.
        doing: &'static str,
        /// The exception and its place.
        reason: String,
    },
    /// A number that cannot be learnt from.
    #[error("{world} gave {what} on {doing}; every number it gives must be finite")]
    NotFinite {
        /// The world.
        world: String,
        /// `step` or `reset`.
        doing: &'static str,
        /// Which number, and what it was.
        what: String,
    },
    /// The process ended.
    #[error("the worker of {world} (`{python}`, process {process}) died on {doing}: {how}{}", last_lines(.lines))]
    Died {
        /// The world.
        world: String,
        /// The interpreter.
        python: String,
        /// Its number.
        process: u32,
        /// What it was asked to do.
        doing: &'static str,
        /// Exit code or signal.
        how: String,
        /// The last it wrote to standard error.
        lines: Vec<String>,
    },
    /// The process does not answer.
    #[error(
        "the worker of {world} (`{python}`, process {process}) did not answer {doing} for {seconds} s and was ended; \
         world.timeout_seconds says how long is waited{}",
        last_lines(.lines)
    )]
    Hangs {
        /// The world.
        world: String,
        /// The interpreter.
        python: String,
        /// Its number.
        process: u32,
        /// What it was asked to do.
        doing: &'static str,
        /// How long was waited.
        seconds: f64,
        /// The last it wrote to standard error.
        lines: Vec<String>,
    },
    /// A copy was asked for.
    #[error("{world} cannot be copied: the inner state of a Python environment is its own")]
    Fork {
        /// The world.
        world: String,
    },
}

impl GymError {
    /// Whether another command line would have avoided it.
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
