//! `sane play`: an agent, or a person at the keyboard, in the terminal. Both are a [`Session`]; one loop reads the keys,
//! keeps real time and draws.

mod agent;
mod human;
mod terminal;

use crate::args::{CheckpointOption, RomsOption};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use agent::AgentSession;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use human::HumanSession;
use sane_env::{EnvSpec, Picture};
use sane_lab::stop_on_signals;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use terminal::{KeyEvents, Terminal, half_blocks};

/// Frames per second of the console.
const CONSOLE_RATE: f64 = 60.0;
/// Steps per second in worlds without a speed of their own.
const SMALL_WORLD_RATE: f64 = 8.0;

/// The last line of the screen during a pause.
const PAUSED: &str = "paused   p continue   r restart   q quit";

/// Show an agent playing in the terminal, or play a game yourself
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane play runs/boxing/q-sane/seed-1             # an agent plays; n switches its noise on and off\n  \
    sane play boxing --human                        # arrow keys and space\n  \
    sane play minatar/breakout --human --fps 6      # slower\n  \
    sane play runs/risky-road/sane/seed-1 --fps 4\n\n\
    Keys: q or Esc quits, p pauses, r starts the next episode, n (agent) switches the noise. A person steers with the \
    arrow keys and fires with space. The picture is scaled to the terminal: a larger window or a smaller font shows more \
    detail. The terminal must support 24-bit colour.")]
pub struct Args {
    #[arg(help = format!("Folder of a run; with --human, a world: {}", sane_lab::name_patterns()))]
    target: String,
    /// Play yourself
    #[arg(long)]
    human: bool,
    /// Pictures per second [default: the game's own speed: 60 on Atari for a person, 15 decisions for an agent, else 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=240))]
    fps: Option<u16>,
    #[command(flatten)]
    checkpoint: CheckpointOption,
    /// Seed from which the starts of the episodes are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
    #[command(flatten)]
    roms: RomsOption,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    if args.human && args.checkpoint.is_given() {
        return Err(Failure::usage("--checkpoint is of an agent; with --human you play yourself"));
    }
    if args.human {
        let mut session = HumanSession::open(&args, output)?;
        let terminal = Terminal::take(KeyEvents::PressesAndReleases)?;
        session.releases_are_reported(terminal.reports_releases());
        play(session, terminal, &args)
    } else {
        let session = AgentSession::open(&args, output)?;
        play(session, Terminal::take(KeyEvents::Presses)?, &args)
    }
}

/// The speed at which an agent in this world is shown, in decisions per second.
pub fn default_rate(spec: &EnvSpec) -> f64 {
    let skip = f64::from(spec.frame_skip.0);
    if 1.0 < skip { CONSOLE_RATE / skip } else { SMALL_WORLD_RATE }
}

/// A game that is played step by step.
trait Session {
    /// Steps per second unless the user asks for another rate.
    fn rate(&self) -> f64;
    /// Starts the next episode.
    fn restart(&mut self) -> Result<(), Failure>;
    /// A key that is not a [`KeyCommand`].
    fn key(&mut self, key: &KeyEvent);
    fn step(&mut self) -> Result<(), Failure>;
    fn picture(&self) -> Picture;
    /// The lines of text below the picture; the last one explains the keys.
    fn status(&self) -> Vec<String>;
}

/// Runs the session until it is quit.
fn play(mut session: impl Session, mut terminal: Terminal, args: &Args) -> Outcome {
    let stop = stop_on_signals()?;
    let mut pace = Pace::new(args.fps.map_or_else(|| session.rate(), f64::from));
    let (mut is_paused, mut lines) = (false, Vec::new());
    while !stop.load(Ordering::Relaxed) {
        while let Some(key) = terminal.key(pace.remaining())? {
            match KeyCommand::of(&key) {
                Some(KeyCommand::Quit) => return Ok(()),
                Some(KeyCommand::Pause) => is_paused = !is_paused,
                Some(KeyCommand::Restart) => {
                    session.restart()?;
                    is_paused = false;
                }
                None => session.key(&key),
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
        session.step()?;
        let (columns, rows) = terminal.size()?;
        if !pace.is_behind() {
            let status = session.status();
            lines = half_blocks(&session.picture(), columns, rows.saturating_sub(status.len()));
            lines.extend(status.iter().map(|line| line.chars().take(columns).collect::<String>()));
            terminal.show(&lines)?;
        }
    }
    Ok(())
}

/// What a key does in every session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyCommand {
    Quit,
    Pause,
    Restart,
}

impl KeyCommand {
    fn of(key: &KeyEvent) -> Option<Self> {
        if key.kind != KeyEventKind::Press {
            return None;
        }
        match key.code {
            KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Self::Quit),
            KeyCode::Char('q') | KeyCode::Esc => Some(Self::Quit),
            KeyCode::Char('p') => Some(Self::Pause),
            KeyCode::Char('r') => Some(Self::Restart),
            _ => None,
        }
    }
}

/// A real-time clock with a fixed number of ticks per second.
struct Pace {
    interval: Duration,
    due: Instant,
}

impl Pace {
    /// The first tick is due immediately.
    fn new(per_second: f64) -> Self {
        Self { interval: Duration::from_secs_f64(1.0 / per_second), due: Instant::now() }
    }

    /// Time until the next tick.
    fn remaining(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Schedules the next tick. A delay of more than a quarter of a second (a slow terminal, a pause) is not caught up.
    fn tick(&mut self) {
        let now = Instant::now();
        self.due += self.interval;
        if self.due + Duration::from_millis(250) < now {
            self.due = now;
        }
    }

    /// Whether the next tick is late by a whole interval: then a picture may be skipped.
    fn is_behind(&self) -> bool {
        self.due + self.interval < Instant::now()
    }
}

/// A score: as a whole number if it is one, else with two decimals.
fn format_score(score: f64) -> String {
    if score.fract() == 0.0 { format!("{score}") } else { format!("{score:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_quits_and_neither_a_release_nor_a_plain_c_does() {
        let key = |code, kind| KeyEvent::new_with_kind(code, KeyModifiers::NONE, kind);
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(KeyCommand::of(&ctrl_c), Some(KeyCommand::Quit));
        assert_eq!(KeyCommand::of(&key(KeyCode::Char('q'), KeyEventKind::Release)), None);
        assert_eq!(KeyCommand::of(&key(KeyCode::Char('c'), KeyEventKind::Press)), None);
    }
}
