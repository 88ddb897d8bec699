//! Why a small world could not be made.

/// What is wrong with the name of a world.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MinigameError {
    /// There is no such world.
    #[error("no small world is called {name:?}{}", hint(.suggestion))]
    UnknownWorld {
        /// The name typed.
        name: String,
        /// A known name that looks like it.
        suggestion: Option<String>,
    },
    /// A world of many sizes, without a size that is a number in its range.
    #[error("{world} needs a size from {smallest} to {largest}, not {found:?}: write for example {world}/20")]
    BadSize {
        /// The world.
        world: String,
        /// What stood in the place of the size.
        found: String,
        /// Smallest size.
        smallest: usize,
        /// Largest size.
        largest: usize,
    },
    /// A difficulty that is neither a known word nor a number in range.
    #[error(
        "risky-road has the difficulties 1 to 9, easy (2), normal (5) and hard (8), not {found:?}: write for example risky-road/4"
    )]
    BadDifficulty {
        /// What stood in the place of the difficulty.
        found: String,
    },
    /// An option the world does not have.
    #[error("{world} has no option {option:?}{}; it takes {known}", hint(.suggestion))]
    UnknownOption {
        /// The world.
        world: String,
        /// The option typed.
        option: String,
        /// A known option that looks like it.
        suggestion: Option<String>,
        /// All options of the world.
        known: String,
    },
    /// An option with a value it cannot take.
    #[error("the option {option} of {world} must be {expected}, not {found:?}")]
    BadOption {
        /// The world.
        world: String,
        /// The option.
        option: String,
        /// The value typed.
        found: String,
        /// What it may be.
        expected: &'static str,
    },
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!(", did you mean {name:?}"))
}
