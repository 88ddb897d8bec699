//! What all agents with a perturbation module have in common: noise of the dense layers scaled by a σ(s) that a module computes
//! from h(s). In what an agent differs from the others it says as a [`StateAware`], and, where it scales σ(s) beside the module,
//! by a [`StateRule`]; [`StateAwareNoise`] puts module and noise together, forward and backward.

use crate::behaviour::{AlwaysGreedy, Behaviour, Thompson};
use crate::explorer::Explorer;
use crate::network::{HeadBuilder, Layer};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{LayerContext, Perturbation, QValuesRead, ScaledNoise, StateInputs, scaled_noise};
use crate::perturbation_module::{ModuleSettings, PerturbationModule, Scales};
use crate::sigma::{SigmaForm, SigmaStats};
use crate::visit_counts::VisitCounts;
use crate::{AgentError, Bound, Noise};
use sane_nn::{Dense, DenseUpdate, Head, Matrix};
use std::fmt::Debug;
use std::ops::Range;
use std::sync::Arc;

/// In what the agents with a perturbation module differ; the rest of [`Explorer`] is the same for all of them.
pub(crate) trait StateAware: Debug + Clone + Send + Sync + 'static {
    fn module_settings(&self) -> &ModuleSettings;

    fn module_settings_mut(&mut self) -> &mut ModuleSettings;

    /// How long one draw of the noise is acted on.
    fn acts_on(&self) -> Thompson;

    /// Which action values the module reads beside h(s).
    fn q_values(&self) -> QValuesRead {
        QValuesRead::None
    }

    /// How many σ a state has, in a head with dense layers of these widths.
    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    /// The noise that σ(s) scales.
    fn noise(&self) -> Noise;

    /// The size of the noise, for agents that keep the KL term.
    fn noise_bound(&self) -> Option<&Bound> {
        None
    }

    fn noise_bound_mut(&mut self) -> Option<&mut Bound> {
        None
    }

    /// What scales σ(s) beside the module.
    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        None
    }

    /// What it remembers of states, beside visit counts that the module reads.
    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        None
    }

    /// Validates the settings that only it has.
    fn check_own(&self) -> Result<(), AgentError> {
        Ok(())
    }

    /// Whether it asks the world for the true risk.
    fn asks_for_risk(&self) -> bool {
        false
    }

    /// The most parameters that the module may have.
    fn largest_module(&self) -> usize {
        usize::MAX
    }

    /// The dense layers, the module and the noise.
    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, head)
    }
}

impl<Agent: StateAware> Explorer for Agent {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.acts_on()
    }

    fn check(&self) -> Result<(), AgentError> {
        let module = self.module_settings();
        if self.noise_bound().is_some() && module.sigma != SigmaForm::Positive {
            let expected = "positive, since the KL term has no bound where σ is 0";
            let value = format!("{:?}", module.sigma).to_lowercase();
            return Err(AgentError::OutOfRange { key: "exploration.module.sigma", value, expected });
        }
        if self.memory().is_some() && module.visit_counts {
            let (key, value) = ("exploration.module.visit_counts", "true".to_owned());
            return Err(AgentError::OutOfRange {
                key,
                value,
                expected: "false, since this agent has a memory of its own",
            });
        }
        self.check_own()?;
        module.check()
    }

    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        let actions = if self.reads_q_values() { dense_widths[dense_widths.len() - 1] } else { 0 };
        let module = self.module_settings();
        let of_rule = self.rule().map_or(0, |rule| rule.features());
        let inputs = dense_widths[0] + actions + usize::from(module.visit_counts) + of_rule;
        let (parameters, limit) = (module.parameter_count(inputs, self.sigmas(dense_widths)), self.largest_module());
        match parameters <= limit {
            true => Ok(parameters),
            false => Err(AgentError::ModuleTooLarge { parameters, limit }),
        }
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        self.build_perturbation(head)
    }

    /// Greedy on the perturbed network; the visits of states are counted where the module reads them.
    fn behaviour(&self) -> Box<dyn Behaviour> {
        match self.memory() {
            Some(memory) => memory,
            None if self.module_settings().visit_counts => Box::new(VisitCounts::new()),
            None => Box::new(AlwaysGreedy),
        }
    }

    fn reads_true_risk(&self) -> bool {
        self.asks_for_risk()
    }

    fn bound(&self) -> Option<&Bound> {
        self.noise_bound()
    }

    fn bound_mut(&mut self) -> Option<&mut Bound> {
        self.noise_bound_mut()
    }

    fn module(&self) -> Option<&ModuleSettings> {
        Some(self.module_settings())
    }

    fn module_mut(&mut self) -> Option<&mut ModuleSettings> {
        Some(self.module_settings_mut())
    }

    fn reads_q_values(&self) -> bool {
        self.q_values() != QValuesRead::None
    }
}

/// What scales σ(s) beside the module: how a variant of SANE with one σ per state differs from it. No derivative flows
/// through a rule.
pub(crate) trait StateRule: Debug + Send + Sync {
    /// How many numbers it appends to what the module reads.
    fn features(&self) -> usize {
        0
    }

    /// Whether it reads Q̄(s, ·).
    fn reads_q_values(&self) -> bool {
        false
    }

    /// The one number that decides in a state, from what is known of it before σ(s) is computed.
    fn look_up(&self, state: &OneState<'_>) -> f32;

    /// Writes the numbers that the module reads, from the one that was looked up.
    fn write_features(&self, _known: f32, _out: &mut [f32]) {}

    /// The factors of σ(s) and of the weight of its KL, from the number that was looked up and σ(s) as the module has it.
    fn scales(&self, known: f32, sigma: f32) -> Scales;
}

/// A state of a pass, as a rule sees it.
pub(crate) struct OneState<'a> {
    pub inputs: &'a StateInputs<'a>,
    /// Which of the pass it is.
    pub i: usize,
    /// Its bytes.
    pub state: &'a [u8],
    /// h(s).
    pub hidden: &'a [f32],
}

impl OneState<'_> {
    /// One number that the agent remembers about the state.
    pub fn remembered(&self) -> f32 {
        let mut number = [0.0];
        self.inputs.behaviour.features(self.state, self.hidden, &mut number);
        number[0]
    }
}

/// A module's σ(s) and the noise that it scales, in one pass.
#[derive(Debug, Clone)]
pub(crate) struct StateAwareNoise {
    module: PerturbationModule,
    noise: Box<dyn ScaledNoise>,
    q_values: QValuesRead,
    visit_counts: bool,
    rule: Option<Arc<dyn StateRule>>,
    /// What the rule has looked up of each state.
    known: Vec<f32>,
    /// Columns of h(s) in a row of features; extra features follow.
    feature_width: usize,
    /// Number of dense layers of the head.
    layers: usize,
    /// Columns of extra features.
    extra_features: usize,
    /// Parameters that each σ of a state scales.
    perturbed: Vec<usize>,
}

impl StateAwareNoise {
    /// One σ per state, or one per layer.
    fn build(agent: &impl StateAware, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let (module, q_values) = (agent.module_settings(), agent.q_values());
        let actions = if q_values == QValuesRead::None { 0 } else { head.actions() };
        let rule = agent.rule();
        let of_rule = rule.as_ref().map_or(0, |rule| rule.features());
        let extra_features = actions + usize::from(module.visit_counts) + of_rule;
        let each: Vec<usize> = head.layers().iter().map(Layer::parameters).collect();
        let perturbed = if agent.sigmas(head.widths()) == 1 { vec![each.iter().sum()] } else { each };
        Ok(Box::new(Self {
            noise: scaled_noise(agent.noise(), head.kernel(), head.layers()),
            q_values,
            visit_counts: module.visit_counts,
            rule,
            known: vec![0.0],
            feature_width: head.features().width(),
            layers: head.layers().len(),
            extra_features,
            module: PerturbationModule::build(module, head, extra_features, perturbed.len())?,
            perturbed,
        }))
    }
}

impl Perturbation for StateAwareNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let (module, noise) = (self.module.for_batch(batch), self.noise.for_batch(batch));
        let (perturbed, rule, known) = (self.perturbed.clone(), self.rule.clone(), vec![0.0; batch]);
        Box::new(Self { module, noise, perturbed, rule, known, ..*self })
    }

    fn extra_features(&self) -> usize {
        self.extra_features
    }

    fn reads_q_values(&self) -> QValuesRead {
        match self.q_values {
            QValuesRead::None if self.rule.as_ref().is_some_and(|rule| rule.reads_q_values()) => QValuesRead::Clean,
            as_asked => as_asked,
        }
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(self.noise.drawn())
    }

    /// σ(s) from h(s) and, behind it, what else the module reads.
    ///
    /// ```text
    /// σ(s) = g_Θ([h(s; θᵇ), Q̄(s, ·)])                                              [SANE:q-features]
    /// ```
    ///
    /// Q̄ are the unperturbed action values. No derivative flows back through them.
    fn prepare(&mut self, params: &[f32], features: &mut Matrix, inputs: &StateInputs<'_>) {
        let bytes = inputs.states.len() / features.rows();
        if let Some(rule) = &self.rule {
            for (i, state) in inputs.states.chunks_exact(bytes).enumerate() {
                let hidden = &features.row(i)[..self.feature_width];
                self.known[i] = rule.look_up(&OneState { inputs, i, state, hidden });
            }
        }
        if 0 < self.extra_features {
            for (i, state) in inputs.states.chunks_exact(bytes).enumerate() {
                let (hidden, mut extra) = features.row_mut(i).split_at_mut(self.feature_width);
                if self.q_values != QValuesRead::None {
                    let (own, rest) = extra.split_at_mut(inputs.q_values.cols());
                    own.copy_from_slice(inputs.q_values.row(i));
                    extra = rest;
                }
                if self.visit_counts {
                    inputs.behaviour.features(state, hidden, extra);
                }
                if let Some(rule) = &self.rule {
                    rule.write_features(self.known[i], extra);
                }
            }
        }
        self.module.forward(params, features);
        if let Some(rule) = &self.rule {
            for (i, known) in self.known.iter().enumerate() {
                let sigma = self.module.sigma.row(i)[0];
                self.module.scale(i, rule.scales(*known, sigma));
            }
        }
    }

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        self.noise.perturb(at, &self.module.sigma, x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        self.noise.backward_sigma(at, &self.module.sigma, x, delta, &mut self.module.d_sigma);
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        self.noise.backward_input(at, &self.module.sigma, delta, dx);
    }

    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, params: &[f32], _gradients: &mut [f32]) -> f32 {
        self.module.backward(params, regulariser, |g| self.perturbed[g])
    }

    fn feature_layer(&self) -> Option<&Dense> {
        self.module.feature_layer()
    }

    fn feature_head(&self) -> Option<Head<'_>> {
        self.module.feature_head()
    }

    fn own_update<'a>(&'a self, k: usize, features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        self.module.update(k.checked_sub(self.layers)?, features)
    }

    fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        self.module.rate_scale()
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.module.sigma)
    }

    fn sigma_stats(&self) -> Option<SigmaStats> {
        Some(self.module.sigma_stats())
    }

    fn unit_variance(&self, x: &[f32]) -> Option<f64> {
        (self.perturbed.len() == 1).then(|| self.noise.unit_variance(x))
    }

    fn kl_scale(&self, i: usize) -> f64 {
        f64::from(self.module.scales[i].kl)
    }
}
