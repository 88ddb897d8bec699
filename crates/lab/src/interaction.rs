//! One interaction of an agent with a world: the action is carried out, the transition stored, the new state shown.
//!
//! The only code of this crate that steps a world. Training, planning, benchmarks, evaluation and risk audits choose
//! actions in different ways and count different things; they share this.

use crate::config::RewardForm;
use crate::timer::{Phase, PhaseTimer};
use sane_env::{Action, EnvSpec, Environment, FrameStack, Step, Stream, WorldFault};
use sane_replay::Replay;

/// A world in progress, and the state that the agent sees of it.
pub struct Rollout {
    pub world: Box<dyn Environment>,
    /// The last frames: the state.
    pub stack: FrameStack,
    /// The newest frame, as the world wrote it.
    frame: Vec<u8>,
}

/// Where transitions go, and the form their rewards are stored in.
pub struct Store<'a> {
    pub replay: &'a mut Replay,
    pub rewards: RewardForm,
}

impl Rollout {
    /// A world in which no episode has begun.
    pub fn new(world: Box<dyn Environment>) -> Self {
        let (stack, frame) = (FrameStack::new(world.spec()), vec![0; world.spec().frame.bytes()]);
        Self { world, stack, frame }
    }

    /// A world within an episode; `stack` holds its last frames.
    pub fn resume(world: Box<dyn Environment>, stack: FrameStack) -> Self {
        let frame = stack.newest().to_vec();
        Self { world, stack, frame }
    }

    pub fn spec(&self) -> &EnvSpec {
        self.world.spec()
    }

    /// The state, as the agent sees it.
    pub fn state(&self) -> &[u8] {
        self.stack.state()
    }

    /// The true risk of the state, in worlds that know it.
    pub fn true_risk(&self) -> Option<f64> {
        self.world.ground_truth().and_then(|truth| truth.true_risk())
    }

    /// Resets the world; its first frame fills the whole stack.
    pub fn begin_episode(&mut self, starts: &mut Stream, replay: Option<&mut Replay>) -> Result<(), WorldFault> {
        self.world.reset(starts, &mut self.frame)?;
        self.stack.restart(&self.frame);
        if let Some(replay) = replay {
            replay.begin_episode(&self.frame);
        }
        Ok(())
    }

    /// Carries out `action`, stores the transition where there is a replay, and shows the new frame. After a step whose
    /// ending ends the episode, the caller begins the next one.
    pub fn step(
        &mut self,
        action: Action,
        store: Option<Store<'_>>,
        timer: &mut impl PhaseTimer,
    ) -> Result<Step, WorldFault> {
        let step = timer.time(Phase::Emulator, || self.world.step(action, &mut self.frame))?;
        if let Some(Store { replay, rewards }) = store {
            timer.time(Phase::Replay, || replay.push(action, rewards.of(step.reward), step.ending, &self.frame));
        }
        self.stack.push(&self.frame);
        Ok(step)
    }
}
