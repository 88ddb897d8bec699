//! A game as an [`Environment`]: no-op start, frame skip, 84×84 luma (or RAM), life signal, time limit. In: actions; out:
//! frames, raw rewards, endings.

use crate::action::Joystick;
use crate::ale::{Ale, AleError, AleSnapshot, LifeLoss, Settings};
use crate::game::Game;
use crate::preprocess::{Area, Nearest, SIDE};
use crate::profile::{ActionSet, LifeSignal, Picturing, Profile, Recipe};
use sane_env::{
    Action, Element, Ending, EnvFrames, EnvSpec, Environment, FrameSpace, Mt19937, Picture, Reward, SnapshotError,
    Step, Stream, WorldFault,
};
use sane_vcs::PictureMode;

/// How a game is to be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AtariOptions {
    /// How it is presented.
    pub profile: Profile,
    /// What the agent sees.
    pub observation: Observation,
    /// Seed of the console's side: sticky actions.
    pub seed: u32,
    /// Game mode, if not the default.
    pub mode: Option<u32>,
    /// Difficulty, if not the default.
    pub difficulty: Option<u32>,
}

/// What an agent sees of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Observation {
    /// The profile's 84×84 picture; the last four make a state.
    #[default]
    Screen,
    /// The 128 bytes of RAM; one makes a state.
    Ram,
}

/// An Atari game as an environment.
#[derive(Debug, Clone)]
pub struct AtariEnv {
    spec: EnvSpec,
    recipe: Recipe,
    actions: Vec<Joystick>,
    ale: Ale,
    eye: Eye,
}

/// How the newest frame is made.
#[derive(Debug, Clone)]
enum Eye {
    Last(Nearest),
    Brighter { area: Area, before: Vec<u8> },
    Ram,
}

impl AtariEnv {
    /// Loads `game` from its ROM and sets it up. It must be [reset](Environment::reset) before the first step.
    pub fn new(game: &'static Game, rom: &[u8], options: AtariOptions) -> Result<Self, AleError> {
        let recipe = options.profile.recipe();
        let settings = Settings {
            seed: options.seed,
            repeat_action_probability: recipe.repeat_action_probability,
            frame_skip: 1,
            max_episode_frames: Some(recipe.longest_episode.0),
            life_loss: LifeLoss::GoesOn,
        };
        let mut ale = Ale::load(game, rom, settings)?;
        options.mode.map_or(Ok(()), |mode| ale.set_mode(mode))?;
        options.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty))?;
        let actions = match recipe.actions {
            ActionSet::Minimal => game.minimal_actions.clone(),
            ActionSet::Legal => game.legal_actions(),
        };
        let (eye, frame, history) = match (options.observation, recipe.picture) {
            (Observation::Ram, _) => (
                Eye::Ram,
                FrameSpace { channels: 128, height: 1, width: 1, element: Element::U8 { full_scale: 255 } },
                1,
            ),
            (Observation::Screen, Picturing::CropNearest) => {
                (Eye::Last(Nearest::new(ale.gray_table())), FrameSpace::gray(SIDE, SIDE), 4)
            }
            (Observation::Screen, Picturing::MaxArea) => {
                let area = Area::new(ale.screen_height(), ale.gray_table());
                (Eye::Brighter { area, before: ale.screen().to_vec() }, FrameSpace::gray(SIDE, SIDE), 4)
            }
        };
        let spec = EnvSpec {
            name: game.name.to_owned(),
            frame,
            history,
            actions: actions.iter().map(|action| action.name().to_owned()).collect(),
            frame_skip: recipe.frame_skip,
        };
        Ok(Self { spec, recipe, actions, ale, eye })
    }

    /// The game underneath.
    pub fn ale(&self) -> &Ale {
        &self.ale
    }

    /// One decision: the action held for the frames of the skip, or until the game is over.
    fn hold(&mut self, action: Joystick) -> (i32, u64) {
        let skip = u64::from(self.recipe.frame_skip.0);
        let (mut reward, mut frames) = (0, 0);
        while frames < skip && !self.ale.game_over() {
            let left = skip - 1 - frames;
            reward += self.ale.act_frame(action, self.eye.picture_mode(left));
            frames += 1;
            if let (1, Eye::Brighter { before, .. }) = (left, &mut self.eye) {
                before.copy_from_slice(self.ale.screen());
            }
        }
        if frames < skip {
            self.see_an_early_end();
        }
        (reward, frames)
    }

    /// The game ended inside the skip, on a frame that may not have been coloured: that frame alone is what is seen.
    fn see_an_early_end(&mut self) {
        self.ale.develop();
        if let Eye::Brighter { before, .. } = &mut self.eye {
            before.copy_from_slice(self.ale.screen());
        }
    }

    fn write_frame(&mut self, frame: &mut [u8]) {
        assert_eq!(frame.len(), self.spec.frame.bytes(), "the frame has {} bytes", frame.len());
        match &mut self.eye {
            Eye::Last(nearest) => nearest.shrink(self.ale.screen(), self.ale.gray_table(), frame),
            Eye::Brighter { area, before } => {
                area.shrink(self.ale.screen(), before, self.ale.gray_table(), frame);
            }
            Eye::Ram => frame.copy_from_slice(self.ale.ram()),
        }
    }
}

impl Eye {
    /// Whether a frame with `left` more to come in its skip will be looked at.
    fn picture_mode(&self, left: u64) -> PictureMode {
        let looked_at = match self {
            Self::Last(_) => 1,
            Self::Brighter { .. } => 2,
            Self::Ram => 0,
        };
        if left < looked_at { PictureMode::Coloured } else { PictureMode::CollisionsOnly }
    }
}

impl Environment for AtariEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        self.ale.reset_game();
        let noops = self.recipe.most_noops.map_or(0, |most| 1 + starts.below(most));
        if let Eye::Brighter { before, .. } = &mut self.eye {
            before.copy_from_slice(self.ale.screen());
        }
        for _ in 0..noops {
            self.hold(Joystick::NOOP);
            if self.ale.game_over() {
                self.ale.reset_game();
                self.see_an_early_end();
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
        let life_lost = self.recipe.life == LifeSignal::Terminal && self.ale.lives() < lives_before;
        let ending = match (self.ale.is_terminal(), self.ale.is_truncated(), life_lost) {
            (true, ..) | (_, true, true) => Ending::GameOver,
            (_, true, _) => Ending::Truncated,
            (.., true) => Ending::LifeLost,
            _ => Ending::Continues,
        };
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

    fn redraw_chance(&mut self, chance: &mut Stream) -> bool {
        let is_sticky = 0.0 < self.recipe.repeat_action_probability;
        if is_sticky {
            *self.ale.generator() = Mt19937::new(chance.next_u64() as u32);
        }
        is_sticky
    }

    fn picture(&self) -> Picture {
        Picture { width: sane_vcs::WIDTH, height: self.ale.screen_height(), rgb: self.ale.screen_rgb() }
    }
}
