//! What an agent is asked when it acts, and what it answers.

use sane_env::Action;

/// How an action is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActMode {
    /// Random with probability ε, else greedy without noise.
    Explore {
        /// ε.
        epsilon: f32,
    },
    /// Greedy on a freshly perturbed network; agents without noise are plainly greedy.
    Noisy,
    /// Greedy without noise: evaluation.
    Greedy,
}

/// An action and what is known about how it came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// The action.
    pub action: Action,
    /// Q(s, action) of the network that chose; none if chance chose.
    pub q: Option<f32>,
    /// |σ(s)|, for agents whose noise has one (the mean over layers or weights where it has several).
    pub sigma: Option<f32>,
    /// Whether the noise-free network would have chosen otherwise ("effective exploration").
    pub noise_changed_action: bool,
    /// Whether chance chose.
    pub random: bool,
}
