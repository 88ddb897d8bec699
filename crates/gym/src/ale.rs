//! An Atari game of ale-py, presented by one of the arcade's profiles: no-op start, frame skip, 84×84 luma, life signal.
//! The game runs frame by frame in the worker; everything else happens here, with the arcade's own preprocessing, so
//! that the frames equal those of the built-in game byte for byte.

use crate::error::GymError;
use crate::options::GymOptions;
use crate::protocol::{Payload, ReplyHeader, Request};
use crate::space::EnvInfo;
use crate::worker::Exchange;
use sane_arcade::{ActionSet, Preprocessor, ProfileSpec, SIDE};
use sane_env::{Ending, EnvFrames, FrameSpace, Reward, Step, Stream};

/// Both of the console's action sets begin with doing nothing.
const NOOP: u16 = 0;

/// Columns of the console's screen.
const SCREEN_WIDTH: usize = 160;

/// Frames that make a state.
pub(crate) const HISTORY: usize = 4;

/// The game and the picture that is made of it.
#[derive(Debug, Clone)]
pub(crate) struct Ale {
    profile: ProfileSpec,
    preprocessor: Preprocessor,
    /// Of the console's side, for sticky actions; taken by the first reset.
    seed: Option<u64>,
    screen: Vec<u8>,
    lives: i32,
    end: Option<Ending>,
}

impl Ale {
    /// The arguments that make ale-py's environment the bare console that the profile starts from.
    pub fn kwargs(options: &GymOptions) -> Result<toml::Table, GymError> {
        let profile = options.profile.spec();
        let decided: [(&'static str, toml::Value); 5] = [
            ("frameskip", 1.into()),
            ("obs_type", "grayscale".into()),
            ("repeat_action_probability", f64::from(profile.repeat_action_probability).into()),
            ("full_action_space", (profile.actions == ActionSet::Legal).into()),
            ("max_num_frames_per_episode", (profile.max_episode.0 as i64).into()),
        ];
        let mut kwargs = options.kwargs.clone();
        for (key, value) in decided {
            if kwargs.insert(key.into(), value).is_some() {
                return Err(GymError::DecidedByProfile { world: options.world.clone(), key });
            }
        }
        kwargs.entry("render_mode").or_insert_with(|| "rgb_array".into());
        Ok(kwargs)
    }

    /// What is presented is always this.
    pub fn frame() -> FrameSpace {
        FrameSpace::gray(SIDE, SIDE)
    }

    /// A game that the worker has just made; refuses one that is no console.
    pub fn new(options: &GymOptions, info: &EnvInfo, seed: u64) -> Result<Self, GymError> {
        let height = match info.shape[..] {
            [height @ (210 | 250), SCREEN_WIDTH] if info.is_bytes => height,
            _ => {
                let space = format!("a screen of {:?}", info.shape);
                return Err(GymError::Observations { world: options.world.clone(), space });
            }
        };
        let profile = options.profile.spec();
        // The worker's screens are luma already.
        let gray: [u8; 256] = std::array::from_fn(|luma| luma as u8);
        let preprocessor = Preprocessor::new(profile.resize, height, &gray);
        let screen = vec![0; height * SCREEN_WIDTH];
        Ok(Self { profile, preprocessor, seed: Some(seed), screen, lives: 0, end: None })
    }

    /// Starts an episode and writes its first frame.
    pub fn reset(&mut self, worker: &mut impl Exchange, starts: &mut Stream, frame: &mut [u8]) -> Result<(), GymError> {
        self.restart(worker)?;
        for _ in 0..self.profile.draw_noops(starts) {
            self.hold(worker, NOOP)?;
            if self.end.is_some() {
                self.restart(worker)?;
            }
        }
        self.write_frame(frame);
        Ok(())
    }

    /// One decision.
    pub fn step(&mut self, worker: &mut impl Exchange, action: u16, frame: &mut [u8]) -> Result<Step, GymError> {
        let lives_before = self.lives;
        let (reward, frames) = self.hold(worker, action)?;
        let (terminal, truncated) = (self.end == Some(Ending::GameOver), self.end == Some(Ending::Truncated));
        let ending = self.profile.ending(terminal, truncated, self.lives < lives_before);
        self.write_frame(frame);
        Ok(Step { reward: Reward(reward as f32), ending, frames: EnvFrames(frames) })
    }

    fn restart(&mut self, worker: &mut impl Exchange) -> Result<(), GymError> {
        // A seed reloads the cartridge; episodes after the first begin as the console's RESET has it.
        let header = worker.call(Request::Reset(self.seed.take()), Payload::Observation)?;
        self.screen.copy_from_slice(worker.observation());
        self.preprocessor.set_previous(worker.observation());
        self.lives = header.number;
        self.end = None;
        Ok(())
    }

    /// The action held for the frames of the skip, or until the game is over: sum of rewards, frames.
    fn hold(&mut self, worker: &mut impl Exchange, action: u16) -> Result<(f64, u64), GymError> {
        let skip = u64::from(self.profile.frame_skip.0);
        let (mut reward, mut frames) = (0.0, 0);
        while frames < skip && self.end.is_none() {
            let left = skip - 1 - frames;
            let payload = if left < self.preprocessor.screens_read() { Payload::Observation } else { Payload::Nothing };
            let ReplyHeader { terminated, truncated, number, reward: of_frame, .. } =
                worker.call(Request::Step(action), payload)?;
            reward += of_frame;
            frames += 1;
            self.lives = number;
            self.end = match (terminated, truncated) {
                (true, _) => Some(Ending::GameOver),
                (_, true) => Some(Ending::Truncated),
                _ => None,
            };
            match left {
                0 => self.screen.copy_from_slice(worker.observation()),
                1 if payload == Payload::Observation => self.preprocessor.set_previous(worker.observation()),
                _ => {}
            }
        }
        if frames < skip {
            // The game ended inside the skip: its last frame alone is what is seen.
            worker.call(Request::Observe, Payload::Observation)?;
            self.screen.copy_from_slice(worker.observation());
            self.preprocessor.set_previous(worker.observation());
        }
        Ok((reward, frames))
    }

    fn write_frame(&mut self, frame: &mut [u8]) {
        self.preprocessor.write_frame(&self.screen, frame);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_arcade::Profile;

    #[test]
    fn the_profile_decides_what_the_console_is_made_with() {
        let options = GymOptions { profile: Profile::Machado, ..GymOptions::new("gym:ALE/Pong-v5") };
        let kwargs = Ale::kwargs(&options).unwrap();
        assert_eq!(kwargs["repeat_action_probability"].as_float(), Some(0.25));
        assert_eq!(kwargs["full_action_space"].as_bool(), Some(true));
        assert_eq!(kwargs["max_num_frames_per_episode"].as_integer(), Some(108_000));
    }

    #[test]
    fn an_argument_that_the_profile_decides_is_refused() {
        let mut options = GymOptions::new("gym:ALE/Pong-v5");
        options.kwargs.insert("frameskip".into(), 2.into());
        let error = Ale::kwargs(&options).unwrap_err().to_string();
        assert!(error.starts_with("world.kwargs.frameskip of gym:ALE/Pong-v5 is decided by world.profile"), "{error}");
    }
}
