//! Every key of the configuration and what it means: `sane config keys`, and the list unknown keys are compared with.

use sane_agent::exploration_settings;
use std::sync::LazyLock;

/// A key that may stand in a file or behind `--set`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Key {
    /// Dotted name.
    pub name: &'static str,
    /// What it means, with unit and range.
    pub meaning: &'static str,
}

/// All keys, in the order of the file: the run's own, then those that the ways of exploring register.
pub fn keys() -> &'static [Key] {
    static KEYS: LazyLock<Vec<Key>> = LazyLock::new(|| {
        let registered = exploration_settings().iter().map(|setting| Key {
            name: format!("learner.exploration.{}", setting.key).leak(),
            meaning: setting.meaning,
        });
        OWN_KEYS.into_iter().chain(registered).collect()
    });
    &KEYS
}

const OWN_KEYS: [Key; 37] = [
    key("agent", "name of the agent; `sane agents` lists them"),
    key("seed", "seed of all random streams, 0 to 2^63 − 1"),
    key("world.name", "the world: an Atari game, minatar/<game>, deep-sea/<size>, risky-road, gym:<id>"),
    key("world.profile", "how an Atari game becomes a world: paper, nature or machado"),
    key("world.history", "gym: worlds: frames per state, 1 to 256; left out: 1"),
    key("world.python", "gym: worlds: the Python interpreter; left out: SANE_PYTHON, then python3"),
    key("world.timeout_seconds", "gym: worlds: how long an answer of the environment is waited for; left out: 60"),
    key("world.kwargs", "gym: worlds: arguments of the environment, as in world.kwargs.gravity=9.8"),
    key("training.total_interactions", "length of the run in interactions (decisions), at least 1"),
    key("training.learning_starts", "interactions before the first train step, 1 to replay.capacity"),
    key("training.train_period", "interactions from one train step to the next, at least 1"),
    key("training.batch_size", "transitions per train step, 1 to training.learning_starts"),
    key("training.target_period", "interactions from one copy into the target network to the next, at least 1"),
    key(
        "training.evaluate_every",
        "interactions from one evaluation while training to the next; 0: none; never changes what is learned",
    ),
    key("replay.capacity", "transitions remembered"),
    key("replay.rewards", "rewards as learnt from: clipped (into [−1, 1]) or raw; reports are always raw"),
    key("record.interval", "interactions from one interval record to the next"),
    key("record.histogram_interval", "interactions from one set of parameter histograms to the next"),
    key("record.checkpoint_interval", "interactions from one checkpoint to the next; never changes results"),
    key("record.film_interval", "seconds from one film of the newest episode (film.bin) to the next; 0: no films"),
    key("learner.gamma", "discount γ, in [0, 1]"),
    key("learner.double_q", "whether the online network chooses the action the target network values: true, false"),
    key(
        "learner.random_start.hold",
        "agents without ε: interactions at the beginning that are random alone; left out: 0",
    ),
    key(
        "learner.random_start.decay",
        "agents without ε: over how many more the random share falls to none; left out: 0",
    ),
    key("learner.clip_gradient_norm", "largest norm of the gradient, above 0; left out: not clipped"),
    key("learner.optimiser.learning_rate", "step size of Adam, at least 0"),
    key("learner.optimiser.beta_1", "decay of Adam's first moment, in [0, 1)"),
    key("learner.optimiser.beta_2", "decay of Adam's second moment, in [0, 1)"),
    key("learner.optimiser.epsilon", "added to the root of Adam's second moment, above 0"),
    key("learner.objective.kind", "what is minimised: td-error, elbo or penalties"),
    key("learner.objective.kl_weight", "elbo: weight of the KL term, 2σₑ²/N"),
    key("learner.objective.parameters", "penalties: weight of ½‖θ‖²"),
    key("learner.objective.sigma", "penalties: weight of mean(σ²/2 − log|σ|)"),
    key("learner.network.convolutions", "list of {filters, kernel, stride}; empty: the state itself is h(s)"),
    key("learner.network.hidden", "list of widths of the hidden dense layers"),
    key("learner.network.conv_bias", "whether convolutions have biases: true, false"),
    key("learner.exploration.kind", "how the agent explores; follows from the agent's name"),
];

const fn key(name: &'static str, meaning: &'static str) -> Key {
    Key { name, meaning }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::flat;
    use crate::preset::Preset;
    use sane_agent::catalogue;
    use std::collections::BTreeSet;

    #[test]
    fn every_key_of_every_agent_has_its_meaning_and_every_meaning_its_key() {
        let known: BTreeSet<&str> = keys().iter().map(|key| key.name).collect();
        let mut used: BTreeSet<String> = catalogue()
            .iter()
            .flat_map(|entry| flat(&Preset::Paper.config("boxing", entry.name).unwrap()).into_keys())
            .collect();
        // Keys that only other objectives have, and those that are absent unless set.
        used.extend(
            ["objective.kl_weight", "objective.parameters", "objective.sigma", "clip_gradient_norm"]
                .map(|key| format!("learner.{key}")),
        );
        used.extend(["hold", "decay"].map(|key| format!("learner.random_start.{key}")));
        used.extend(["history", "python", "timeout_seconds", "kwargs"].map(|key| format!("world.{key}")));
        used.insert("training.evaluate_every".into());
        assert_eq!(known, used.iter().map(String::as_str).collect());
    }
}
