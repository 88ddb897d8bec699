//! Which values a run can have.

use super::{ConfigError, RunConfig, WorldConfig};
use sane_agent::Exploration;
use sane_env::AgentSteps;

impl RunConfig {
    /// Refuses what cannot be run, naming the key, its value and what it may be.
    pub fn check(&self) -> Result<(), ConfigError> {
        let training = &self.training;
        at_least_one("training.total_interactions", training.total_interactions)?;
        at_least_one("training.train_period", training.train_period)?;
        at_least_one("training.target_period", training.target_period)?;
        at_least_one("record.interval", self.record.interval)?;
        at_least_one("record.histogram_interval", self.record.histogram_interval)?;
        at_least_one("record.checkpoint_interval", self.record.checkpoint_interval)?;
        within("seed", self.seed, 0, i64::MAX as u64)?;
        within("replay.capacity", self.replay.capacity as u64, 1, u64::from(u32::MAX))?;
        within("training.learning_starts", training.learning_starts.0, 1, self.replay.capacity as u64)?;
        within("training.batch_size", training.batch_size as u64, 1, training.learning_starts.0.min(65_536))?;
        self.check_agent()?;
        self.world.check()?;
        Ok(self.learner.check()?)
    }

    /// The catalogue's name and the exploration in force must be of one kind.
    fn check_agent(&self) -> Result<(), ConfigError> {
        let exploration = &self.learner.exploration;
        let expected = match exploration {
            Exploration::Custom(_) => self.agent.clone(),
            _ => match Exploration::named(&self.agent) {
                Some(named) => named.kind().to_owned(),
                None => return Err(super::layers::unknown_agent(&self.agent)),
            },
        };
        if exploration.kind() == expected {
            return Ok(());
        }
        Err(ConfigError::OutOfRange {
            key: "learner.exploration.kind",
            value: exploration.kind().to_owned(),
            expected: format!("the kind of the agent {}", self.agent),
        })
    }
}

impl WorldConfig {
    /// Refuses a waiting time that cannot be, and what only Gymnasium's environments have in worlds that are none.
    fn check(&self) -> Result<(), ConfigError> {
        let refused = |key, value: String, expected: &str| {
            Err(ConfigError::OutOfRange { key, value, expected: expected.to_owned() })
        };
        if let Some(seconds) = self.timeout_seconds.filter(|seconds| !(0.001..=1e6).contains(seconds)) {
            return refused("world.timeout_seconds", seconds.to_string(), "seconds from 0.001 to 1000000");
        }
        if let Some(history) = self.history.filter(|history| !(1..=256).contains(history)) {
            return refused("world.history", history.to_string(), "a whole number from 1 to 256");
        }
        if !sane_gym::is_gym_world(&self.name) && !self.kwargs.is_empty() {
            let expected = format!("nothing, since {} is no gym: world", self.name);
            return refused("world.kwargs", self.kwargs.to_string().trim().to_owned(), &expected);
        }
        Ok(())
    }
}

fn at_least_one(key: &'static str, value: AgentSteps) -> Result<(), ConfigError> {
    within(key, value.0, 1, i64::MAX as u64)
}

fn within(key: &'static str, value: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let because = match key {
        "training.learning_starts" => " (replay.capacity)",
        "training.batch_size" => " (training.learning_starts)",
        _ => "",
    };
    let expected = format!("a whole number from {least} to {most}{because}");
    Err(ConfigError::OutOfRange { key, value: value.to_string(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    fn check_refused(change: impl Fn(&mut RunConfig), start: &str) {
        let mut config = Preset::Paper.config("boxing", "sane").unwrap();
        assert!(config.check().is_ok());
        change(&mut config);
        let text = config.check().unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn nonsense_is_refused_by_its_key() {
        check_refused(|config| config.training.train_period = AgentSteps(0), "training.train_period = 0");
        check_refused(|config| config.training.target_period = AgentSteps(0), "training.target_period = 0");
        check_refused(|config| config.record.interval = AgentSteps(0), "record.interval = 0");
        check_refused(|config| config.training.batch_size = 50_001, "training.batch_size = 50001");
        check_refused(|config| config.training.batch_size = 0, "training.batch_size = 0");
        check_refused(|config| config.replay.capacity = 100, "training.learning_starts = 50000");
        check_refused(|config| config.learner.optimiser.learning_rate = -1.0, "learner: optimiser.learning_rate = -1");
        check_refused(|config| config.agent = "eps-greedy".into(), "learner.exploration.kind = Sane");
    }
}
