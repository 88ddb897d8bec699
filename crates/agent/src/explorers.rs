//! The ways of exploring that there are: one file and one line each. To add one, write its file and its line here; names,
//! descriptions and settings of its agents reach the command line, the configuration and the reports from there.

use crate::AgentError;
use crate::behaviour::{AlwaysGreedy, Behaviour, Thompson};
use crate::explorer::{Explorer, NamedAgent, Registered, Setting, explorers};
use crate::network::HeadBuilder;
use crate::perturbation::Perturbation;
use sane_env::AgentSteps;
use serde::{Deserialize, Serialize};
use std::ops::{Deref, DerefMut};
use std::sync::{Arc, LazyLock};

pub(crate) mod reference;

explorers! {
    bayes_head: BayesHead;
    bootstrapped: Bootstrapped;
    eps_greedy: EpsGreedy;
    ez_greedy: EzGreedy;
    langevin: Langevin;
    noisynet: Noisynet, NoisynetElbo;
    oracle: Oracle;
    sane: Sane, QSane, SaneLayerwise;
    sane_constant: SaneConstant, SaneConstantElbo, SaneFixed;
    sane_counts: SaneCounts;
    sane_elbo: SaneElbo, QSaneElbo;
    sane_gap: SaneGap;
    sane_shuffled: SaneShuffled;
    sane_weightwise: SaneWeightwise;
}

/// The paper's agents, with which every list begins.
pub const PAPER_AGENTS: [&str; 4] = ["eps-greedy", "noisynet", "sane", "q-sane"];

/// Every named agent: the paper's four first, then the variations.
pub fn catalogue() -> &'static [NamedAgent<Exploration>] {
    static CATALOGUE: LazyLock<Vec<NamedAgent<Exploration>>> = LazyLock::new(|| {
        let mut agents = Exploration::registered();
        let rank = |name: &str| PAPER_AGENTS.iter().position(|paper| *paper == name).unwrap_or(PAPER_AGENTS.len());
        agents.sort_by_key(|agent| rank(agent.name));
        agents
    });
    &CATALOGUE
}

/// Every setting of every way of exploring, once each, by its key below `learner.exploration`.
pub fn exploration_settings() -> &'static [Setting] {
    static SETTINGS: LazyLock<Vec<Setting>> = LazyLock::new(|| {
        let mut settings: Vec<Setting> = Vec::new();
        for setting in Exploration::registered_settings() {
            if settings.iter().all(|known| known.key != setting.key) {
                settings.push(setting);
            }
        }
        settings
    });
    &SETTINGS
}

impl Exploration {
    /// The agent of this catalogue name.
    pub fn named(name: &str) -> Option<Self> {
        catalogue().iter().find(|agent| agent.name == name).map(|agent| agent.settings.clone())
    }

    /// A way of exploring of your own. It trains as any other; a run folder keeps its name, and the program that resumes
    /// the run supplies the implementation again.
    pub fn custom(name: &str, explorer: Arc<dyn Explorer>) -> Self {
        Self::Custom(Custom { name: name.into(), explorer: Some(explorer) })
    }
}

/// A way of exploring from outside this crate: its name, which is saved, and its implementation, which is not.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Custom {
    name: String,
    #[serde(skip)]
    explorer: Option<Arc<dyn Explorer>>,
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Custom {
    fn explorer(&self) -> Result<&dyn Explorer, AgentError> {
        self.explorer.as_deref().ok_or_else(|| AgentError::CustomExplorer { name: self.name.clone() })
    }

    /// To be changed: copies of the configuration share one implementation until then.
    fn explorer_mut(&mut self) -> Option<&mut (dyn Explorer + 'static)> {
        let explorer = self.explorer.as_mut()?;
        if Arc::get_mut(explorer).is_none() {
            *explorer = explorer.as_ref().clone_explorer();
        }
        Arc::get_mut(explorer)
    }
}

impl Explorer for Custom {
    fn check(&self) -> Result<(), AgentError> {
        self.explorer()?.check()
    }

    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        self.explorer()?.parameter_count(dense_widths)
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        self.explorer()?.build(head)
    }

    fn is_noisy(&self) -> bool {
        self.explorer().is_ok_and(Explorer::is_noisy)
    }

    fn thompson(&self) -> Thompson {
        self.explorer().map_or(Thompson::Step, Explorer::thompson)
    }

    fn behaviour(&self) -> Box<dyn Behaviour> {
        self.explorer().map_or_else(|_| Box::new(AlwaysGreedy) as Box<dyn Behaviour>, Explorer::behaviour)
    }

    fn bound(&self) -> Option<&crate::Bound> {
        self.explorer().ok()?.bound()
    }

    fn bound_mut(&mut self) -> Option<&mut crate::Bound> {
        self.explorer_mut()?.bound_mut()
    }

    fn epsilon(&self, now: AgentSteps) -> Option<f32> {
        self.explorer().ok()?.epsilon(now)
    }

    fn epsilon_schedule(&mut self) -> Option<&mut crate::LinearSchedule> {
        self.explorer_mut()?.epsilon_schedule()
    }

    fn module(&self) -> Option<&crate::ModuleSettings> {
        self.explorer().ok()?.module()
    }

    fn module_mut(&mut self) -> Option<&mut crate::ModuleSettings> {
        self.explorer_mut()?.module_mut()
    }

    fn langevin(&self) -> Option<&Langevin> {
        self.explorer().ok()?.langevin()
    }

    fn bayes_head(&self) -> Option<&BayesHead> {
        self.explorer().ok()?.bayes_head()
    }

    fn has_state_sigma(&self) -> bool {
        self.explorer().is_ok_and(Explorer::has_state_sigma)
    }

    fn reads_true_risk(&self) -> bool {
        self.explorer().is_ok_and(Explorer::reads_true_risk)
    }

    fn reads_q_values(&self) -> bool {
        self.explorer().is_ok_and(Explorer::reads_q_values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_catalogue_is_an_agent_and_no_two_are_the_same() {
        for (i, agent) in catalogue().iter().enumerate() {
            assert_eq!(Exploration::named(agent.name).as_ref(), Some(&agent.settings));
            let earlier = &catalogue()[..i];
            assert!(earlier.iter().all(|other| other.settings != agent.settings), "{} repeats an agent", agent.name);
            assert!(earlier.iter().all(|other| other.name != agent.name), "{} is there twice", agent.name);
        }
        assert_eq!(catalogue()[..4].iter().map(|agent| agent.name).collect::<Vec<_>>(), PAPER_AGENTS);
        assert_eq!(Exploration::named("sane2"), None);
    }

    #[test]
    fn the_first_agent_of_each_way_of_exploring_carries_the_name_of_its_kind() {
        let mut kinds: Vec<String> = Vec::new();
        for agent in Exploration::registered() {
            let kind = agent.settings.kind().to_owned();
            if !kinds.contains(&kind) {
                assert_eq!(agent.name, kind);
                kinds.push(kind);
            }
        }
    }

    #[test]
    fn a_custom_explorer_without_its_implementation_is_refused_by_name() {
        let lost = Exploration::Custom(Custom { name: "boltzmann".into(), explorer: None });
        let text = lost.check().unwrap_err().to_string();
        assert!(text.contains("boltzmann"), "{text}");
    }
}
