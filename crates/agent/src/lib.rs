//! The paper: deep Q-networks that explore by state-aware noise. Pure: no files, no clocks, no logging, no thread of its own
//! (it uses the rayon pool it is called in).
//!
//! A [`Learner`] takes a batch and makes one optimiser step; it also acts. Read in this order: `learner` (Algorithm 1),
//! `explorers` (the list of the ways of exploring) and one of their files, for example `explorers/sane.rs`; then what those
//! are made of: `perturbed_layer` (W̃x + b̃ without W̃), `perturbation_module` (σ(s)), `state_aware` (both together), `noise` (z and ε), `td_target`,
//! `objective`, `pass` (the network forward and backward). Formulas carry tags, listed in `docs/paper-to-code.md`.
//!
//! ```
//! use sane_agent::{ActMode, AgentConfig, Learner};
//! use sane_env::{Action, AgentSteps, EnvSpec, FrameSkip, FrameSpace, Stream};
//! use sane_replay::Batch;
//!
//! // A world that shows four numbers and offers two actions.
//! let actions = vec!["left".into(), "right".into()];
//! let frame = FrameSpace::vector(4);
//! let world = EnvSpec { name: "example".into(), frame, history: 1, actions, frame_skip: FrameSkip(1) };
//! let config = AgentConfig::named("sane", &world).expect("`sane` is in the catalogue");
//! let mut learner = Learner::new(&config, &world, &mut Stream::named(1, "init"))?;
//!
//! // Act: greedy on a freshly perturbed network.
//! let mut noise = Stream::named(1, "noise");
//! let state = vec![0; world.state_bytes()];
//! let decision = learner.act(&state, ActMode::Explore { now: AgentSteps(0) }, &mut noise);
//! assert!(decision.sigma.is_some() && decision.action.0 < 2);
//!
//! // Learn from a batch of eight transitions.
//! let mut batch = Batch::new(8, world.state_bytes());
//! batch.actions.fill(Action(1));
//! batch.rewards.fill(1.0);
//! batch.terminals.fill(true);
//! let before = learner.learn(&batch, &mut noise)?.loss;
//! let after = (0..500).map(|_| learner.learn(&batch, &mut noise).map(|stats| stats.loss)).last().unwrap()?;
//! assert!(after < before);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod behaviour;
mod bound;
mod config;
mod error;
mod explorer;
mod explorers;
mod learner;
mod network;
mod noise;
mod noise_law;
mod objective;
mod pass;
mod perturbation;
mod perturbation_module;
mod perturbed_layer;
mod policy;
mod rows;
mod schedule;
mod share;
mod sigma;
mod state_aware;
mod td_target;
mod trace;
mod visit_counts;
mod workspace;

pub use behaviour::{AlwaysGreedy, Behaviour, Thompson};
pub use bound::{Bound, BoundStats, Contraction, QNoiseUnit};
pub use config::{AdamConfig, AgentConfig};
pub use error::{AgentError, LearnError};
pub use explorer::{CloneExplorer, Explorer, NamedAgent, Registered, Setting};
pub use explorers::oracle::SmallWhereRisky;
pub use explorers::sane::QFeatures;
pub use explorers::sane_counts::{CountedBy, WeightedByVisits};
pub use explorers::sane_elbo::{Elbo, ReadsFeatures, ReadsQValues};
pub use explorers::sane_gap::DividedByGap;
pub use explorers::sane_shuffled::OfAnotherState;
pub use explorers::*;
pub use learner::{LearnPhase, LearnStats, Learner, LearnerState, PhaseObserver};
pub use network::{ConvSpec, HeadBuilder, Layer, NETWORK_PRESETS, NetworkSpec, ParameterCounts, dense_parameters};
pub use noise::{Noise, NoiseForm, NoiseSharing, PassNoise, PassRole};
pub use noise_law::NoiseLaw;
pub use objective::{KlParts, Objective, Regulariser};
pub use perturbation::{ActedOn, KlTerm, LayerContext, Perturbation, Purpose, QValuesRead, StateInputs, Unperturbed};
pub use perturbation_module::{ModuleActivation, ModuleSettings};
pub use policy::{ActMode, Decision, Policy};
pub use sane_nn::NamedTensor;
pub use schedule::{LinearSchedule, RandomStart};
pub use sigma::{SigmaForm, SigmaStats};
pub use td_target::{double_q_target, greedy, td_target};

/// The mathematics behind the backward passes.
#[doc = include_str!("../../../docs/derivations.md")]
pub mod derivations {}
