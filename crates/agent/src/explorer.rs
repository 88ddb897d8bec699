//! What a way of exploring must say. Each is one file of `explorers/` and one line of `explorers.rs`; nothing else in the
//! workspace knows it by name.

use crate::behaviour::{AlwaysGreedy, Behaviour, Thompson};
use crate::network::HeadBuilder;
use crate::perturbation::{Perturbation, Unperturbed};
use crate::{AgentError, BayesHead, Bound, Langevin, LinearSchedule, ModuleSettings};
use sane_env::AgentSteps;
use std::fmt::Debug;
use std::sync::Arc;

/// The settings of a way of exploring, and what is built from them. The defaults are those of a plain greedy DQN, so that
/// each way says only in what it differs.
pub trait Explorer: CloneExplorer + Debug + Send + Sync {
    /// Validates the ranges of the settings.
    fn check(&self) -> Result<(), AgentError> {
        Ok(())
    }

    /// Numbers it learns beside the main network, whose dense layers have these widths, from h(s) to the action values.
    fn parameter_count(&self, _dense_widths: &[usize]) -> Result<usize, AgentError> {
        Ok(0)
    }

    /// Builds the dense layers of the head and what perturbs them: its parameters, their initial values, its forward and
    /// backward pass.
    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        Ok(Box::new(Unperturbed))
    }

    /// Whether it perturbs the network, so that acting with and without noise differ.
    fn is_noisy(&self) -> bool {
        false
    }

    /// How long one draw of its noise is acted on.
    fn thompson(&self) -> Thompson {
        Thompson::Step
    }

    /// Its action rule, and what it remembers between decisions.
    fn behaviour(&self) -> Box<dyn Behaviour> {
        Box::new(AlwaysGreedy)
    }

    /// The size of the noise, for agents that keep the KL term of the evidence lower bound. The weight of the term follows from
    /// it; the perturbation adds its derivative, in [`Perturbation::backward_sigma`] for a σ of states, or by naming its
    /// deviations in [`Perturbation::kl_term`].
    fn bound(&self) -> Option<&Bound> {
        None
    }

    /// The same, for presets to set.
    fn bound_mut(&mut self) -> Option<&mut Bound> {
        None
    }

    /// The probability of an action that ignores the network, after `now` interactions; it is recorded. None where there
    /// is no such action.
    fn epsilon(&self, _now: AgentSteps) -> Option<f32> {
        None
    }

    /// The schedule of that probability, which presets set.
    fn epsilon_schedule(&mut self) -> Option<&mut LinearSchedule> {
        None
    }

    /// The perturbation module, for agents whose σ depends on the state.
    fn module(&self) -> Option<&ModuleSettings> {
        None
    }

    /// The same, for presets to set.
    fn module_mut(&mut self) -> Option<&mut ModuleSettings> {
        None
    }

    /// Langevin noise in the optimiser's step, for agents that explore by it.
    fn langevin(&self) -> Option<&Langevin> {
        None
    }

    /// The posterior of the last layer, for agents that refit it from the replay.
    fn bayes_head(&self) -> Option<&BayesHead> {
        None
    }

    /// Whether each state has a σ of its own, so that states can be ranked by it.
    fn has_state_sigma(&self) -> bool {
        self.module().is_some()
    }

    /// Whether it asks the world for the true risk of each state, so that it can be used only where a world knows it.
    fn reads_true_risk(&self) -> bool {
        false
    }

    /// Whether the module reads action values.
    fn reads_q_values(&self) -> bool {
        false
    }
}

/// Cloning behind an `Arc<dyn Explorer>`; every `Clone` type has it.
pub trait CloneExplorer {
    fn clone_explorer(&self) -> Arc<dyn Explorer>;
}

impl<T: Explorer + Clone + 'static> CloneExplorer for T {
    fn clone_explorer(&self) -> Arc<dyn Explorer> {
        Arc::new(self.clone())
    }
}

/// A way of exploring that the program knows by name.
pub trait Registered: Explorer + Sized {
    /// Its `kind` in configuration files: the name of the settings type in kebab-case.
    const KIND: &'static str;

    /// The agents it gives: names to type, with their settings; the first is the one that `kind` alone means.
    fn agents() -> Vec<NamedAgent<Self>>;

    /// Its settings and what they mean.
    fn settings() -> Vec<Setting>;
}

/// An agent of the catalogue.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedAgent<Settings> {
    /// The name as typed on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    pub settings: Settings,
}

impl<Settings> NamedAgent<Settings> {
    /// The same agent with its settings as another type.
    pub(crate) fn map<Other>(self, into: impl FnOnce(Settings) -> Other) -> NamedAgent<Other> {
        NamedAgent { name: self.name, summary: self.summary, settings: into(self.settings) }
    }
}

/// One key of a way of exploring, relative to `learner.exploration`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Setting {
    pub key: &'static str,
    pub meaning: &'static str,
}

/// `file: Settings, …;` declares the module `explorers/file.rs` and makes each settings type a variant of `Exploration`.
macro_rules! explorers {
    ($($file:ident: $($Settings:ident),+;)+) => {
        $(
            pub(crate) mod $file;
            pub use $file::{$($Settings),+};
        )+

        /// How an agent explores: which way, and its settings. What can be asked of it is in [`Explorer`].
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "kebab-case")]
        pub enum Exploration {
            $($($Settings($Settings),)+)+
            /// A way of exploring from outside this crate.
            Custom(Custom),
        }

        impl Exploration {
            /// The kind, as configuration files name it; of a custom one its own name.
            pub fn kind(&self) -> &str {
                match self {
                    $($(Self::$Settings(_) => $Settings::KIND,)+)+
                    Self::Custom(custom) => &custom.name,
                }
            }

            fn registered() -> Vec<NamedAgent<Self>> {
                let mut agents = Vec::new();
                $($(agents.extend($Settings::agents().into_iter().map(|agent| agent.map(Self::$Settings)));)+)+
                agents
            }

            fn registered_settings() -> Vec<Setting> {
                let mut settings = Vec::new();
                $($(settings.extend($Settings::settings());)+)+
                settings
            }
        }

        impl Deref for Exploration {
            type Target = dyn Explorer;

            fn deref(&self) -> &Self::Target {
                match self {
                    $($(Self::$Settings(settings) => settings,)+)+
                    Self::Custom(custom) => custom,
                }
            }
        }

        impl DerefMut for Exploration {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    $($(Self::$Settings(settings) => settings,)+)+
                    Self::Custom(custom) => custom,
                }
            }
        }
    };
}
pub(crate) use explorers;
