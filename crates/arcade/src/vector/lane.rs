//! One game of a vector with its last frames: stepped, reset, saved and restored.

use super::{Autoreset, Colour, LifeRule, VectorError, VectorSettings};
use crate::ale::{Ale, AleError, AleSettings, AleSnapshot, LifeLoss};
use crate::area::MaxArea;
use crate::game::Game;
use crate::joystick::Joystick;
use sane_env::Mt19937;
use sane_vcs::RenderMode;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// What one lane plays.
#[derive(Debug, Clone)]
pub struct LaneGame {
    pub game: &'static Game,
    pub rom: Arc<[u8]>,
    /// Game mode, if not the default.
    pub mode: Option<u32>,
    /// Difficulty, if not the default.
    pub difficulty: Option<u32>,
}

/// Counters of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneInfo {
    pub lives: i32,
    /// Frames since the cartridge was loaded, which a seeded reset does.
    pub frames: u64,
    pub episode_frames: u64,
}

/// The result of one step of one lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneStep {
    pub reward: i32,
    pub terminated: bool,
    pub truncated: bool,
    pub info: LaneInfo,
    /// The last observation of the episode, if this step also began the next one.
    pub final_observation: Option<Box<[u8]>>,
}

/// The state of a lane: exact, and independent of the vector it was taken from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneSnapshot {
    game: String,
    ale: AleSnapshot,
    /// The screen before the last one.
    previous: Vec<u8>,
    frames: Vec<u8>,
    starts: Mt19937,
    frames_at_start: u64,
    ended: bool,
}

/// One game with its last frames.
#[derive(Debug)]
pub(super) struct Lane {
    pub(super) plays: LaneGame,
    settings: Arc<VectorSettings>,
    pub(super) actions: Vec<Joystick>,
    pub(super) ale: Ale,
    /// One per colour.
    resizers: Vec<MaxArea>,
    /// The screen before the last one.
    previous: Vec<u8>,
    /// The last two screens of the step before.
    before_step: [Vec<u8>; 2],
    /// The observation: the last frames, oldest first.
    pub(super) frames: Vec<u8>,
    plane: Vec<u8>,
    /// Draws the frames without an action at the start of episodes.
    starts: Mt19937,
    /// Frames before the first step of the episode, which the time limit does not count.
    frames_at_start: u64,
    pub(super) was_reset: bool,
    pub(super) ended: bool,
}

/// Which screen counts as a step's last one. ale-py's vector environment never shows the screen on which an episode ends: it
/// keeps the brighter pixels of the last two screens of the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newest {
    Screen,
    BeforeStep,
}

impl Lane {
    pub(super) fn new(plays: LaneGame, settings: Arc<VectorSettings>, seed: u32) -> Result<Self, VectorError> {
        let ale = load(&plays, &settings, seed)?;
        let game = plays.game;
        if ale.screen_height() < settings.rows || sane_vcs::WIDTH < settings.columns {
            return Err(VectorError::Setting {
                what: "the size of a frame",
                found: format!("{}×{}", settings.rows, settings.columns),
                expected: format!("at most the {}×160 pixels of {}", ale.screen_height(), game.name),
            });
        }
        let area =
            |brightness: &[u8; 256]| MaxArea::new(ale.screen_height(), settings.rows, settings.columns, brightness);
        let resizers: Vec<MaxArea> = match settings.colour {
            Colour::Gray => vec![area(ale.gray_table())],
            Colour::Rgb => (0..3).map(|c| area(&ale.rgb_table().map(|colour| colour[c]))).collect(),
        };
        Ok(Self {
            actions: settings.actions.of(game),
            previous: ale.screen().to_vec(),
            before_step: [ale.screen().to_vec(), ale.screen().to_vec()],
            frames: vec![0; settings.observation_bytes()],
            plane: vec![0; settings.rows * settings.columns],
            starts: Mt19937::new(seed),
            frames_at_start: 0,
            was_reset: false,
            ended: false,
            plays,
            settings,
            ale,
            resizers,
        })
    }

    /// Begins an episode; a seed also loads the cartridge anew, which restarts everything that is left to chance.
    pub(super) fn reset(&mut self, seed: Option<u32>) {
        if let Some(seed) = seed {
            self.ale = load(&self.plays, &self.settings, seed).expect("it was loaded before");
            self.starts = Mt19937::new(seed);
        }
        self.begin_episode();
        self.was_reset = true;
    }

    fn begin_episode(&mut self) {
        self.ale.reset_game();
        let mut noops = below(&mut self.starts, self.settings.max_noops.max(1));
        if self.settings.fire_on_reset && self.plays.game.minimal_actions.contains(&Joystick::FIRE) {
            self.ale.act_frame(Joystick::FIRE, RenderMode::CollisionsOnly);
            noops = noops.saturating_sub(1);
        }
        for _ in 0..noops {
            self.ale.act_frame(Joystick::NOOP, RenderMode::CollisionsOnly);
            if self.ale.game_over() {
                self.ale.reset_game();
            }
        }
        self.ale.render_deferred();
        self.previous.copy_from_slice(self.ale.screen());
        self.frames.fill(0);
        self.push_frame(Newest::Screen);
        self.frames_at_start = self.ale.episode_frame_number();
        self.ended = false;
    }

    pub(super) fn step(&mut self, action: usize) -> LaneStep {
        if self.ended && self.settings.autoreset == Autoreset::NextStep {
            self.begin_episode();
            return LaneStep { info: self.info(), ..LaneStep::default() };
        }
        let lives_before = self.ale.lives();
        let (reward, frames) = self.hold(self.actions[action]);
        let skip = self.settings.frame_skip;
        match self.ale.game_over() || self.is_over_time() {
            false => self.push_frame(Newest::Screen),
            true if frames == skip && 1 < skip && self.settings.max_of_two => self.push_frame(Newest::BeforeStep),
            true => self.repeat_frame(),
        }
        let life_lost = self.ale.lives() < lives_before;
        let game_over = self.ale.is_terminal() || (life_lost && self.settings.life == LifeRule::EndsEpisode);
        let terminated = game_over || (life_lost && self.settings.life == LifeRule::Signalled);
        let truncated = !terminated && self.is_over_time();
        self.ended = game_over || self.is_over_time();
        let mut step = LaneStep {
            reward: if self.settings.clip_rewards { reward.signum() } else { reward },
            terminated,
            truncated,
            info: self.info(),
            final_observation: None,
        };
        if (terminated || truncated) && self.settings.autoreset == Autoreset::SameStep {
            step.final_observation = Some(self.frames.as_slice().into());
            if self.ended {
                self.begin_episode();
                step.info = self.info();
            }
        }
        step
    }

    /// Holds an action for the frames of the skip or until the episode ends; the sum of the rewards, and the frames.
    fn hold(&mut self, action: Joystick) -> (i32, u32) {
        let skip = self.settings.frame_skip;
        let [last, before_last] = &mut self.before_step;
        last.copy_from_slice(self.ale.screen());
        std::mem::swap(before_last, &mut self.previous);
        let screens = 1 + u32::from(self.settings.max_of_two);
        let (mut reward, mut frames) = (0, 0);
        while frames < skip && !self.ale.game_over() && !self.is_over_time() {
            let left = skip - 1 - frames;
            let render = if left < screens { RenderMode::Full } else { RenderMode::CollisionsOnly };
            reward += self.ale.act_frame(action, render);
            frames += 1;
            if left == 1 && self.settings.max_of_two {
                self.previous.copy_from_slice(self.ale.screen());
            }
        }
        if skip == 1 || !self.settings.max_of_two {
            self.previous.copy_from_slice(self.ale.screen());
        }
        // The episode may have ended on a frame that was not rendered.
        self.ale.render_deferred();
        (reward, frames)
    }

    fn is_over_time(&self) -> bool {
        let played = self.ale.episode_frame_number() - self.frames_at_start;
        self.settings.max_episode_frames.is_some_and(|limit| limit <= played)
    }

    /// The frame of two screens becomes the newest of the observation.
    fn push_frame(&mut self, newest: Newest) {
        let bytes = self.settings.frame_bytes();
        self.frames.copy_within(bytes.., 0);
        let at = self.frames.len() - bytes;
        let colours = self.resizers.len();
        for (c, resizer) in self.resizers.iter_mut().enumerate() {
            match newest {
                Newest::Screen => resizer.resize(self.ale.screen(), &self.previous, &mut self.plane),
                Newest::BeforeStep => {
                    let [last, before_last] = &self.before_step;
                    resizer.resize(&resizer.brighter(last, before_last), &self.previous, &mut self.plane);
                }
            }
            if colours == 1 {
                self.frames[at..].copy_from_slice(&self.plane);
            } else {
                let pixels = self.frames[at..].iter_mut().skip(c).step_by(colours);
                pixels.zip(&self.plane).for_each(|(out, &value)| *out = value);
            }
        }
    }

    /// The newest frame once more, for an episode that ended inside a skip.
    fn repeat_frame(&mut self) {
        self.frames.copy_within(self.settings.frame_bytes().., 0);
    }

    pub(super) fn info(&self) -> LaneInfo {
        LaneInfo {
            lives: self.ale.lives(),
            frames: self.ale.frame_number(),
            episode_frames: self.ale.episode_frame_number(),
        }
    }

    pub(super) fn snapshot(&self) -> LaneSnapshot {
        LaneSnapshot {
            game: self.plays.game.name.to_owned(),
            ale: self.ale.snapshot(),
            previous: self.previous.clone(),
            frames: self.frames.clone(),
            starts: self.starts.clone(),
            frames_at_start: self.frames_at_start,
            ended: self.ended,
        }
    }

    pub(super) fn restore(&mut self, lane: usize, snapshot: &LaneSnapshot) -> Result<(), VectorError> {
        let expected = self.plays.game.name;
        if snapshot.game != expected {
            return Err(VectorError::OtherGame { lane, found: snapshot.game.clone(), expected });
        }
        if snapshot.previous.len() != self.previous.len() {
            return Err(VectorError::Setting {
                what: "the screen of the state",
                found: format!("{} pixels", snapshot.previous.len()),
                expected: format!("the {} pixels of {expected}", self.previous.len()),
            });
        }
        if snapshot.frames.len() != self.frames.len() {
            return Err(VectorError::Setting {
                what: "the observation of the state",
                found: format!("{} bytes", snapshot.frames.len()),
                expected: format!("{} bytes, as this vector has them", self.frames.len()),
            });
        }
        self.ale.restore(&snapshot.ale)?;
        self.previous.copy_from_slice(&snapshot.previous);
        self.frames.copy_from_slice(&snapshot.frames);
        self.starts.clone_from(&snapshot.starts);
        self.frames_at_start = snapshot.frames_at_start.min(self.ale.episode_frame_number());
        (self.ended, self.was_reset) = (snapshot.ended, true);
        Ok(())
    }
}

fn load(plays: &LaneGame, settings: &VectorSettings, seed: u32) -> Result<Ale, AleError> {
    let ale_settings = AleSettings {
        seed,
        repeat_action_probability: settings.repeat_action_probability,
        frame_skip: 1,
        max_episode_frames: None,
        life_loss: if settings.life == LifeRule::EndsEpisode { LifeLoss::Truncates } else { LifeLoss::Continues },
    };
    let mut ale = Ale::load(plays.game, &plays.rom, ale_settings)?;
    plays.mode.map_or(Ok(()), |mode| ale.set_mode(mode))?;
    plays.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty))?;
    Ok(ale)
}

/// An unbiased integer in `0..n` from 32-bit words (Lemire 2019), as C++ standard libraries draw it.
fn below(generator: &mut Mt19937, n: u32) -> u32 {
    let threshold = n.wrapping_neg() % n;
    loop {
        let product = u64::from(generator.next_u32()) * u64::from(n);
        if threshold <= product as u32 {
            return (product >> 32) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_starting_frames_equal_those_of_the_c_plus_plus_library() {
        // Seeds 0 to 7 and 30, as ale-py's vector environment starts them.
        let drawn: Vec<u32> = (0..8).map(|seed| below(&mut Mt19937::new(seed), 30)).collect();
        assert_eq!(drawn, [16, 12, 13, 16, 29, 6, 26, 2]);
        let mut generator = Mt19937::new(0);
        assert_eq!([(); 3].map(|()| below(&mut generator, 30)), [16, 17, 21]);
    }
}
