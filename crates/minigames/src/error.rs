//! What can be wrong with the name of a built-in world.

/// A name that no world can be made from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MinigameError {
    #[error("there is no built-in world {name:?}{}", hint(.suggestion))]
    UnknownWorld { name: String, suggestion: Option<String> },
    /// The part after the family's name (a size, a difficulty) is missing or invalid.
    #[error("{family} needs {expected}, not {found:?}: write for example {example}")]
    BadVariant { family: String, found: String, expected: String, example: String },
    #[error("{world} has no option {option:?}{}; it takes {known}", hint(.suggestion))]
    UnknownOption { world: String, option: String, suggestion: Option<String>, known: String },
    #[error("the option {option} of {world} is given twice")]
    RepeatedOption { world: String, option: String },
    #[error("the option {option} of {world} must be {expected}, not {found:?}")]
    BadOption { world: String, option: String, found: String, expected: &'static str },
}

fn hint(suggestion: &Option<String>) -> String {
    suggestion.as_ref().map_or_else(String::new, |name| format!(", did you mean {name:?}"))
}
