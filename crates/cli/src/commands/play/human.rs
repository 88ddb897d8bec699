//! A person at play: on Atari frame by frame at 60 a second, in the small worlds step by step.

use super::agent::{fitted, points};
use super::half_blocks::half_blocks;
use super::keys::{Held, Wish, nearest_action, wish};
use super::pace::Pace;
use super::terminal::{Listening, Terminal};
use super::{Args, PAUSED};
use crate::output::{Failure, Outcome, Output};
use sane_arcade::{Ale, Joystick, PictureMode, Profile, Roms, Settings};
use sane_env::{Action, Environment, Picture, Stream, WorldFault};
use sane_lab::{LabError, WorldConfig, WorldKind, WorldSource, stop_on_signals};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Instant;

const CONSOLE_RATE: f64 = 60.0;
const SMALL_WORLD_RATE: f64 = 8.0;

/// Plays until somebody quits.
pub fn play(args: &Args, output: &Output) -> Outcome {
    let mut table = open(args, output)?;
    let rate = match table {
        Table::Console { .. } => CONSOLE_RATE,
        Table::World { .. } => SMALL_WORLD_RATE,
    };
    let stop = stop_on_signals()?;
    let mut pace = Pace::new(args.fps.map_or(rate, f64::from));
    let mut lines = Vec::new();
    let mut terminal = Terminal::take(Listening::Releases)?;
    let mut held = Held::new(terminal.reports_releases());
    let (mut is_paused, mut score) = (false, 0.0);
    table.begin()?;
    while !stop.load(Ordering::Relaxed) {
        while let Some(key) = terminal.key(pace.left())? {
            match wish(&key) {
                Some(Wish::Quit) => return Ok(()),
                Some(Wish::Pause) => is_paused = !is_paused,
                Some(Wish::Restart) => {
                    table.begin()?;
                    (is_paused, score) = (false, 0.0);
                }
                Some(Wish::Noise) | None => held.told(&key, Instant::now()),
            }
        }
        pace.tick();
        if is_paused {
            if let Some(last) = lines.last_mut().filter(|last| *last != PAUSED) {
                *last = PAUSED.into();
                terminal.show(&lines)?;
            }
            continue;
        }
        let joystick = held.joystick(Instant::now());
        score += table.play(&joystick)?;
        let (columns, rows) = terminal.size()?;
        if !pace.is_behind() {
            let (columns, rows) = (usize::from(columns), usize::from(rows));
            lines = half_blocks(&table.picture(), columns, rows.saturating_sub(2));
            let over = if table.is_over() { "   over: r plays again" } else { "" };
            lines.push(fitted(&format!("{}   score {}{}{over}", args.target, points(score), table.lives()), columns));
            lines.push(fitted("arrow keys, space   q quit   p pause   r restart", columns));
            terminal.show(&lines)?;
        }
    }
    Ok(())
}

/// What is played.
enum Table {
    Console { ale: Box<Ale> },
    World { world: Box<dyn Environment>, starts: Stream, frame: Vec<u8>, over: bool },
}

fn open(args: &Args, output: &Output) -> Result<Table, Failure> {
    if Path::new(&args.target).join("config.toml").exists() {
        return Err(Failure::Usage(format!(
            "{} is a run; a person plays a world: sane play boxing --human",
            args.target
        )));
    }
    let kind = WorldKind::of(&args.target).map_err(|error| Failure::Usage(error.to_string()))?;
    if let WorldKind::Atari(game) = kind {
        let rom = Roms::new(args.roms.as_deref()).load(game, &mut |news| output.note(news))?;
        let settings = Settings { seed: args.start_seed as u32, ..Settings::default() };
        return Ok(Table::Console { ale: Box::new(Ale::load(game, &rom, settings)?) });
    }
    let config = WorldConfig::new(&args.target, Profile::Paper);
    let source = WorldSource::open(&config, None, &mut |news| output.note(news)).map_err(|error| match error {
        LabError::World { .. } | LabError::Config(_) => Failure::Usage(error.to_string()),
        other => other.into(),
    })?;
    let world = source.make(args.start_seed)?;
    let frame = vec![0; world.spec().frame.bytes()];
    Ok(Table::World { world, starts: Stream::named(args.start_seed, "play"), frame, over: false })
}

impl Table {
    fn begin(&mut self) -> Result<(), WorldFault> {
        match self {
            Self::Console { ale } => ale.reset_game(),
            Self::World { world, starts, frame, over } => {
                world.reset(starts, frame)?;
                *over = false;
            }
        }
        Ok(())
    }

    /// One picture's worth of play; the reward.
    fn play(&mut self, joystick: &str) -> Result<f64, WorldFault> {
        if self.is_over() {
            return Ok(0.0);
        }
        Ok(match self {
            Self::Console { ale } => {
                let id = Joystick::NAMES.iter().position(|name| *name == joystick).unwrap_or(0);
                let action = Joystick::from_id(id as u8).unwrap_or(Joystick::NOOP);
                f64::from(ale.act_frame(action, PictureMode::Coloured))
            }
            Self::World { world, frame, over, .. } => {
                let Some(action) = nearest_action(joystick, &world.spec().actions) else { return Ok(0.0) };
                let step = world.step(Action(action as u16), frame)?;
                *over = step.ending.ends_episode();
                f64::from(step.reward.raw())
            }
        })
    }

    fn is_over(&self) -> bool {
        match self {
            Self::Console { ale } => ale.game_over(),
            Self::World { over, .. } => *over,
        }
    }

    fn lives(&self) -> String {
        match self {
            Self::Console { ale } if 0 < ale.lives() => format!("   lives {}", ale.lives()),
            _ => String::new(),
        }
    }

    fn picture(&self) -> Picture {
        match self {
            Self::Console { ale } => {
                let (height, rgb) = (ale.screen_height(), ale.screen_rgb());
                Picture { width: rgb.len() / (3 * height), height, rgb }
            }
            Self::World { world, .. } => world.picture(),
        }
    }
}
