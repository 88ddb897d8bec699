//! The paper: deep Q-networks that explore by state-aware noise. Pure: no files, no clocks, no threads of its own, no logging.
//!
//! A [`Learner`] takes a batch and makes one optimiser step; it also acts. Which agent it is, [`Exploration`] says. Read
//! in this order: `exploration` (which agents), `noise` (z and ε), `perturbation` (σ(s)), `network` (Q(s, ·) and its
//! derivatives), `td_target`, `objective`, `learner`. Formulas carry tags, listed in `docs/paper-to-code.md`.
#![forbid(unsafe_code)]

mod backward;
mod config;
mod decision;
mod error;
mod exploration;
mod extra_features;
mod health;
mod learner;
mod network;
mod network_spec;
mod noise;
mod objective;
mod parameters;
mod pass;
mod perturbation;
mod perturbed_layer;
mod policy;
mod probe;
mod rows;
mod schedule;
mod td_target;
mod trace;
mod weight_noise;

pub use config::{AdamConfig, AgentConfig};
pub use decision::{ActMode, Decision};
pub use error::{AgentError, LearnError};
pub use exploration::{
    CATALOGUE, CatalogueEntry, Exploration, Module, Noise, NoiseForm, NoiseSharing, QFeatures, SigmaForm,
};
pub use extra_features::{ExtraFeatures, FeatureContext, QValues, VisitCounts};
pub use health::SigmaStats;
pub use learner::{LearnStats, Learner, LearnerState};
pub use network_spec::{ConvSpec, NETWORK_PRESETS, NetworkSpec};
pub use objective::Objective;
pub use parameters::ParameterCounts;
pub use policy::Policy;
pub use probe::{Phase, Probe};
pub use sane_nn::NamedTensor;
pub use schedule::LinearSchedule;
pub use td_target::{double_q_target, greedy, td_target};

/// The mathematics behind the backward passes.
#[doc = include_str!("../../../docs/derivations.md")]
pub mod derivations {}
