//! An agent playing: its picture, its score, its σ as a bar; n switches its noise.

use super::terminal::bar;
use super::{Args, Session, default_rate, format_score};
use crate::args::LoadedRun;
use crate::failure::Failure;
use crate::output::Output;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use sane_agent::{ActMode, Decision, Policy};
use sane_env::{Picture, Stream};
use sane_lab::{Rollout, WorldKind, WorldSource, start_evaluation_episode};
use std::path::Path;

/// Decay per decision of the |σ| that fills the bar.
const BAR_DECAY: f64 = 0.999;

pub struct AgentSession {
    title: String,
    /// As it was trained; each episode is played by a copy.
    trained: Policy,
    policy: Policy,
    has_noise: bool,
    noise_is_on: bool,
    source: WorldSource,
    rollout: Rollout,
    noise: Stream,
    start_seed: u64,
    episode: u64,
    return_raw: f64,
    /// Shown, and carried out by the next step.
    decision: Option<Decision>,
    /// The |σ| that fills the bar: a decaying maximum.
    bar_full: f64,
}

impl AgentSession {
    pub fn open(args: &Args, output: &Output) -> Result<Self, Failure> {
        let folder = Path::new(&args.target);
        if !folder.exists() && WorldKind::of(&args.target).is_ok() {
            return Err(Failure::Usage(format!(
                "{0} is a world; `sane play {0} --human` lets you play it, `sane play RUN` shows an agent",
                args.target
            )));
        }
        let LoadedRun { trained, source } = LoadedRun::read(folder, args.checkpoint.choice(), &args.roms, output)?;
        let (rollout, noise) = start_evaluation_episode(&source, args.start_seed, 0)?;
        let has_noise = trained.config.learner.exploration.is_noisy();
        let policy = trained.learner.policy();
        Ok(Self {
            title: format!("{}, {}", rollout.spec().name, trained.config.agent),
            trained: policy.clone(),
            policy,
            has_noise,
            noise_is_on: has_noise,
            source,
            rollout,
            noise,
            start_seed: args.start_seed,
            episode: 0,
            return_raw: 0.0,
            decision: None,
            bar_full: 0.0,
        })
    }

    /// Whether the episode has ended.
    fn carry_out(&mut self, decision: &Decision) -> Result<bool, Failure> {
        let step = self.rollout.step(decision.action, None, &mut ())?;
        self.return_raw += f64::from(step.reward.raw());
        Ok(step.ending.ends_episode())
    }

    fn decision_line(&self, decision: &Decision) -> String {
        let action = self.rollout.spec().actions.get(usize::from(decision.action.0)).map_or("?", String::as_str);
        let changed = if decision.noise_changed_action { "  (changed by the noise)" } else { "" };
        match decision.sigma.map(|sigma| f64::from(sigma.abs())) {
            Some(sigma) => format!("|σ| {} {sigma:.5}   {action}{changed}", bar(sigma, self.bar_full, 20)),
            None => format!("{action}{changed}"),
        }
    }
}

impl Session for AgentSession {
    fn rate(&self) -> f64 {
        default_rate(self.rollout.spec())
    }

    /// The episodes are those that `sane eval` plays from this seed.
    fn restart(&mut self) -> Result<(), Failure> {
        self.episode += 1;
        (self.rollout, self.noise) = start_evaluation_episode(&self.source, self.start_seed, self.episode)?;
        (self.return_raw, self.decision) = (0.0, None);
        self.policy.clone_from(&self.trained);
        self.policy.begin_episode();
        Ok(())
    }

    fn key(&mut self, key: &KeyEvent) {
        if key.kind == KeyEventKind::Press && key.code == KeyCode::Char('n') {
            self.noise_is_on = self.has_noise && !self.noise_is_on;
        }
    }

    /// Carries out the decision that was shown and takes the next one.
    fn step(&mut self) -> Result<(), Failure> {
        if let Some(decision) = self.decision.take()
            && self.carry_out(&decision)?
        {
            self.restart()?;
        }
        let mode = if self.noise_is_on { ActMode::Noisy } else { ActMode::Greedy };
        if let Some(risk) = self.rollout.true_risk() {
            self.policy.inform(self.rollout.state(), risk);
        }
        let decision = self.policy.act(self.rollout.state(), mode, &mut self.noise);
        self.bar_full = (self.bar_full * BAR_DECAY).max(decision.sigma.map_or(0.0, |sigma| f64::from(sigma.abs())));
        self.decision = Some(decision);
        Ok(())
    }

    fn picture(&self) -> Picture {
        self.rollout.world.picture()
    }

    fn status(&self) -> Vec<String> {
        let noise = match (self.has_noise, self.noise_is_on) {
            (false, _) => "no noise",
            (_, true) => "noise on",
            (_, false) => "noise off",
        };
        vec![
            format!("{}   score {}   {noise}", self.title, format_score(self.return_raw)),
            self.decision.as_ref().map_or(String::new(), |decision| self.decision_line(decision)),
            "q quit   p pause   n noise   r next episode".into(),
        ]
    }
}
