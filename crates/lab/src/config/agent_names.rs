//! Unknown agents: what other programs call those that are here.

use super::ConfigError;
use sane_agent::catalogue;
use sane_env::closest_name;

/// What other programs call agents that are here under another name, or that are settings of one.
const OTHER_NAMES: [(&str, &str); 13] = [
    ("dqn", "eps-greedy"),
    ("deepqnetwork", "eps-greedy"),
    ("epsilongreedy", "eps-greedy"),
    ("egreedy", "eps-greedy"),
    ("ddqn", "eps-greedy, with --set learner.double_q=true"),
    ("doubledqn", "eps-greedy, with --set learner.double_q=true"),
    ("rainbow", "noisynet, with --set learner.double_q=true: the parts of Rainbow that are here"),
    ("noisy", "noisynet"),
    ("noisydqn", "noisynet"),
    ("noisynetdqn", "noisynet"),
    ("sanedqn", "sane"),
    ("qsanedqn", "q-sane"),
    ("bootstrappeddqn", "bootstrapped"),
];

/// The error for an unknown agent.
pub(crate) fn unknown_agent(name: &str) -> ConfigError {
    let plain: String = name.to_lowercase().chars().filter(char::is_ascii_alphanumeric).collect();
    let elsewhere = OTHER_NAMES.iter().find(|(other, _)| *other == plain).map(|(_, here)| *here);
    let suggestion = elsewhere.or_else(|| closest_name(name, catalogue().iter().map(|entry| entry.name)));
    let suggestion = suggestion.map(str::to_owned);
    ConfigError::UnknownName { kind: "agent", name: name.into(), suggestion }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_of_other_programs_are_named_as_they_are_here() {
        for (name, here) in [
            ("dqn", "eps-greedy"),
            ("DDQN", "learner.double_q=true"),
            ("rainbow", "noisynet"),
            ("noisy-dqn", "noisynet"),
            ("sane-dqn", "did you mean sane?"),
            ("SANE_DQN", "did you mean sane?"),
        ] {
            let said = unknown_agent(name).to_string();
            assert!(said.contains(here), "{name}: {said}");
        }
        for (_, here) in OTHER_NAMES {
            let agent = here.split(',').next().unwrap();
            assert!(catalogue().iter().any(|entry| entry.name == agent), "{agent}");
        }
    }
}
