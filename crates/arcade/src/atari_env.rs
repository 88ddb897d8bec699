//! A game as an [`Environment`]: no-op start, frame skip, preprocessing, life signal, time limit. In: actions; out: 84×84
//! luma frames (or RAM), raw rewards, endings.

use crate::ale::{Ale, AleError, AleSettings, AleSnapshot, LifeLoss};
use crate::game::Game;
use crate::joystick::Joystick;
use crate::preprocess::{Preprocessor, SIDE};
use crate::profile::{Profile, ProfileSpec};
use sane_env::{
    Action, Element, EnvFrames, EnvSpec, Environment, FrameSpace, Mt19937, Picture, Reward, SnapshotError, Step,
    Stream, WorldFault,
};
use sane_vcs::RenderMode;

/// How a game is set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AtariOptions {
    pub profile: Profile,
    pub observation: Observation,
    /// Seed of the generator for sticky actions.
    pub seed: u32,
    /// Game mode, if not the default.
    pub mode: Option<u32>,
    /// Difficulty, if not the default.
    pub difficulty: Option<u32>,
}

/// What an agent observes of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observation {
    /// The profile's 84×84 frames; the last four are a state.
    #[default]
    Screen,
    /// The 128 bytes of RAM; one observation is a state.
    Ram,
}

/// An Atari game as an environment.
#[derive(Debug, Clone)]
pub struct AtariEnv {
    spec: EnvSpec,
    profile: ProfileSpec,
    actions: Vec<Joystick>,
    ale: Ale,
    /// None if the RAM is observed.
    preprocessor: Option<Preprocessor>,
}

impl AtariEnv {
    /// Loads `game` from its ROM. The environment must be [reset](Environment::reset) before the first step.
    pub fn new(game: &'static Game, rom: &[u8], options: AtariOptions) -> Result<Self, AleError> {
        let profile = options.profile.spec();
        let settings = AleSettings {
            seed: options.seed,
            repeat_action_probability: profile.repeat_action_probability,
            frame_skip: 1,
            max_episode_frames: Some(profile.max_episode.0),
            life_loss: LifeLoss::Continues,
        };
        let mut ale = Ale::load(game, rom, settings)?;
        options.mode.map_or(Ok(()), |mode| ale.set_mode(mode))?;
        options.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty))?;
        let actions = profile.actions.of(game);
        let (preprocessor, frame, history) = match options.observation {
            Observation::Screen => {
                let preprocessor = Preprocessor::new(profile.resize, ale.screen_height(), ale.gray_table());
                (Some(preprocessor), FrameSpace::gray(SIDE, SIDE), 4)
            }
            Observation::Ram => {
                let element = Element::U8 { full_scale: 255 };
                (None, FrameSpace { channels: 128, height: 1, width: 1, element }, 1)
            }
        };
        let spec = EnvSpec {
            name: game.name.to_owned(),
            frame,
            history,
            actions: actions.iter().map(|action| action.name().to_owned()).collect(),
            frame_skip: profile.frame_skip,
        };
        Ok(Self { spec, profile, actions, ale, preprocessor })
    }

    /// The game underneath.
    pub fn ale(&self) -> &Ale {
        &self.ale
    }

    /// One decision: holds the action for the frames of the skip or until the game is over. Returns reward and frames.
    fn hold(&mut self, action: Joystick) -> (i32, u64) {
        let skip = u64::from(self.profile.frame_skip.0);
        let screens_read = self.preprocessor.as_ref().map_or(0, Preprocessor::screens_read);
        let (mut reward, mut frames) = (0, 0);
        while frames < skip && !self.ale.game_over() {
            let left = skip - 1 - frames;
            let render = if left < screens_read { RenderMode::Full } else { RenderMode::CollisionsOnly };
            reward += self.ale.act_frame(action, render);
            frames += 1;
            if left == 1 {
                self.keep_as_previous();
            }
        }
        if frames < skip {
            self.render_early_end();
        }
        (reward, frames)
    }

    /// The game ended inside the skip, on a frame that may not have been rendered: that frame alone is observed.
    fn render_early_end(&mut self) {
        self.ale.render_deferred();
        self.keep_as_previous();
    }

    /// The screen becomes the one before the last.
    fn keep_as_previous(&mut self) {
        if let Some(preprocessor) = &mut self.preprocessor {
            preprocessor.set_previous(self.ale.screen());
        }
    }

    fn write_frame(&mut self, frame: &mut [u8]) {
        assert_eq!(frame.len(), self.spec.frame.bytes(), "the frame has {} bytes", frame.len());
        match &mut self.preprocessor {
            Some(preprocessor) => preprocessor.write_frame(self.ale.screen(), frame),
            None => frame.copy_from_slice(self.ale.ram()),
        }
    }
}

impl Environment for AtariEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        self.ale.reset_game();
        self.keep_as_previous();
        for _ in 0..self.profile.draw_noops(starts) {
            self.hold(Joystick::NOOP);
            if self.ale.game_over() {
                self.ale.reset_game();
                self.render_early_end();
            }
        }
        self.write_frame(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        let joystick = *self.actions.get(usize::from(action.0)).unwrap_or_else(|| {
            panic!("step: action {} of {} in {}", action.0, self.actions.len(), self.spec.name);
        });
        let lives_before = self.ale.lives();
        let (reward, frames) = self.hold(joystick);
        let life_lost = self.ale.lives() < lives_before;
        let ending = self.profile.ending(self.ale.is_terminal(), self.ale.is_truncated(), life_lost);
        self.write_frame(frame);
        Ok(Step { reward: Reward(reward as f32), ending, frames: EnvFrames(frames) })
    }

    fn snapshot(&self) -> Vec<u8> {
        postcard::to_allocvec(&(&self.spec.name, self.ale.snapshot())).expect("plain data is written to memory")
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let unreadable = |reason: String| SnapshotError::Unreadable { world: self.spec.name.clone(), reason };
        let (found, state): (String, AleSnapshot) =
            postcard::from_bytes(snapshot).map_err(|error| unreadable(error.to_string()))?;
        if found != self.spec.name {
            return Err(SnapshotError::OtherWorld { found, expected: self.spec.name.clone() });
        }
        self.ale.restore(&state).map_err(|error| unreadable(error.to_string()))
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn reseed(&mut self, seeds: &mut Stream) -> bool {
        let is_sticky = 0.0 < self.profile.repeat_action_probability;
        if is_sticky {
            *self.ale.generator() = Mt19937::new(seeds.next_u64() as u32);
        }
        is_sticky
    }

    fn picture(&self) -> Picture {
        Picture { width: sane_vcs::WIDTH, height: self.ale.screen_height(), rgb: self.ale.screen_rgb() }
    }
}
