//! Langevin DQN (Ishfaq et al. 2024, "Provable and Practical: Efficient Exploration in Reinforcement Learning via Langevin Monte
//! Carlo", Adam LMCDQN): exploration by noise in the optimiser's step. The parameters wander through a posterior, and the
//! agent acts greedily on wherever they are.
//!
//! ```text
//! m ← β₁ m + (1 − β₁) g      v ← β₂ v + (1 − β₂) g²      no bias correction
//! θ ← θ − η (g + a · m / (√v + ε)) + √(2η/β) ξ,   ξ ~ N(0, I)
//! ```
//!
//! g is the gradient of the batch's loss, η the learning rate, a the bias factor, β the inverse temperature. One learn step is
//! one inner update (J = 1); θ is never reset, so the chain runs through the whole training. The network is a plain DQN.

use crate::AgentError;
use crate::config::in_range;
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::Network;
use crate::noise::update_seed;
use rayon::prelude::*;
use sane_nn::{Adam, Buffer, Kernel};
use serde::{Deserialize, Serialize};

/// Settings of Langevin DQN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Langevin {
    /// β: the larger, the less noise.
    pub inverse_temperature: f64,
    /// a: weight of Adam's direction beside the gradient itself.
    pub bias_factor: f64,
}

impl Default for Langevin {
    fn default() -> Self {
        Self { inverse_temperature: 1e8, bias_factor: 1.0 }
    }
}

impl Registered for Langevin {
    const KIND: &'static str = "langevin";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "greedy; noise in the optimiser's step (Adam LMCDQN, Ishfaq et al. 2024)";
        vec![NamedAgent { name: "langevin", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        vec![
            Setting {
                key: "inverse_temperature",
                meaning: "langevin: β above 0, the noise of a step is √(2·learning rate/β)",
            },
            Setting { key: "bias_factor", meaning: "langevin: weight a of Adam's direction beside the gradient" },
        ]
    }
}

impl Explorer for Langevin {
    fn check(&self) -> Result<(), AgentError> {
        let above_zero = f64::MIN_POSITIVE..f64::INFINITY;
        in_range("exploration.inverse_temperature", self.inverse_temperature, above_zero, "a number above 0")?;
        in_range("exploration.bias_factor", self.bias_factor, 0.0..f64::INFINITY, "a number of at least 0")
    }

    fn langevin(&self) -> Option<&Langevin> {
        Some(self)
    }
}

/// The noise ξ of a step, one number per parameter.
#[derive(Debug, Clone)]
pub(crate) struct LangevinNoise {
    kernel: Kernel,
    noise: Buffer,
    /// √(2η/β) where a parameter lies, 0 in the padding between them, which must stay zero.
    deviation: Buffer,
}

/// What a step is made of.
pub(crate) struct LangevinStep<'a> {
    pub langevin: &'a Langevin,
    /// η.
    pub learning_rate: f64,
    /// ∂L/∂(every parameter).
    pub gradients: &'a [f32],
    /// Factor on every gradient: 1, or less when the global norm is clipped.
    pub scale: f32,
    /// The step's random number.
    pub draw: u64,
}

/// Parameters per task; each has a seed of its own, so that the noise does not depend on the threads.
const TASK: usize = 1 << 14;

impl LangevinNoise {
    pub fn new(langevin: &Langevin, learning_rate: f64, network: &Network) -> Self {
        let of_parameter = (2.0 * learning_rate / langevin.inverse_temperature).sqrt() as f32;
        let mut deviation = network.layout.zeros();
        for (_, id) in network.layout.names() {
            let count = network.layout.shape(id).iter().product();
            network.layout.write(&mut deviation, id, &vec![of_parameter; count]);
        }
        Self { kernel: network.kernel, noise: network.layout.zeros(), deviation }
    }

    /// ξ of the last step, in the layout of the parameters; what it holds in the padding is not used.
    pub fn noise(&self) -> &[f32] {
        &self.noise
    }

    /// θ ← θ − η (g + a · m / (√v + ε)) + √(2η/β) ξ
    pub fn step(&mut self, step: &LangevinStep<'_>, params: &mut [f32], adam: &mut Adam) {
        let LangevinStep { langevin, learning_rate, gradients, scale, draw } = *step;
        // The moments and −η a m / (√v + ε).
        adam.begin_uncorrected_step(langevin.bias_factor, scale);
        adam.apply(params, gradients, 0..gradients.len());
        let (kernel, down) = (self.kernel, -(learning_rate as f32) * scale);
        let tasks = params.par_chunks_mut(TASK).zip(gradients.par_chunks(TASK));
        let noises = self.noise.par_chunks_mut(TASK).zip(self.deviation.par_chunks(TASK));
        tasks.zip(noises).enumerate().for_each(|(piece, ((params, gradients), (noise, deviation)))| {
            kernel.axpy(params, down, gradients);
            kernel.fill_normal(noise, update_seed(draw, piece));
            kernel.add_product(params, deviation, noise);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AgentConfig, Exploration, Learner, LearnerState, NetworkSpec};
    use sane_env::{EnvSpec, FrameSkip, FrameSpace, Stream};
    use sane_replay::Batch;

    /// A learner after one step on an all-zero batch.
    fn after_a_step(inverse_temperature: f64) -> (Learner, LearnerState) {
        let actions = (0..3).map(|a| a.to_string()).collect();
        let frame = FrameSpace::vector(5);
        let world = EnvSpec { name: "test".into(), frame, history: 1, actions, frame_skip: FrameSkip(1) };
        let exploration = Exploration::Langevin(Langevin { inverse_temperature, ..Langevin::default() });
        let network = NetworkSpec { hidden: vec![60, 50], ..NetworkSpec::mlp() };
        let config = AgentConfig { exploration, network, ..AgentConfig::default() };
        let mut learner = Learner::new(&config, &world, &mut Stream::named(1, "init")).unwrap();
        let before = learner.save_state();
        learner.learn(&Batch::new(4, world.state_bytes()), &mut Stream::named(1, "noise")).unwrap();
        (learner, before)
    }

    #[test]
    fn a_step_adds_normal_noise_of_variance_2_eta_over_beta_to_every_parameter() {
        let (cold, _) = after_a_step(1e30);
        let (warm, _) = after_a_step(2.0 * AgentConfig::default().optimiser.learning_rate);
        let drawn = warm.last_step();
        let mut all = Vec::new();
        for (warm, cold) in warm.export().iter().zip(cold.export()) {
            let noise = drawn.iter().find(|tensor| tensor.name == format!("langevin.{}", warm.name)).unwrap();
            for ((warm, cold), noise) in warm.values.iter().zip(&cold.values).zip(&noise.values) {
                assert!((warm - cold - noise).abs() < 1e-5, "{warm} − {cold} is not {noise}");
            }
            all.extend(noise.values.iter().map(|&x| f64::from(x)));
        }
        let moment = |power: i32| all.iter().map(|x| x.powi(power)).sum::<f64>() / all.len() as f64;
        assert!(moment(1).abs() < 0.06 && (moment(2) - 1.0).abs() < 0.08, "{} {}", moment(1), moment(2));
    }

    #[test]
    fn the_padding_between_parameters_stays_zero() {
        let (learner, before) = after_a_step(1e-3);
        let after = learner.save_state();
        let mut parameters = 0;
        for (after, before) in after.online.iter().zip(&before.online) {
            parameters += usize::from(after != before);
            assert!(after != before || *after == 0.0, "a parameter did not move");
        }
        assert_eq!(parameters, learner.export().iter().map(|tensor| tensor.values.len()).sum::<usize>());
    }

    #[test]
    fn a_temperature_that_cannot_be_is_refused_by_its_key() {
        for inverse_temperature in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let text = Langevin { inverse_temperature, ..Langevin::default() }.check().unwrap_err().to_string();
            assert!(text.starts_with("exploration.inverse_temperature = "), "{text}");
        }
    }
}
