//! A person playing: on Atari frame by frame at 60 per second, in the small worlds step by step. Keys become joystick
//! positions, and those become actions of the world.

use super::{Args, CONSOLE_RATE, SMALL_WORLD_RATE, Session, format_score};
use crate::failure::{Failure, classify};
use crate::output::Output;
use crossterm::event::{KeyCode, KeyEvent, KeyEventKind};
use sane_arcade::{Ale, AleSettings, Joystick, Profile, RenderMode, Roms};
use sane_env::{Action, Environment, Picture, Stream, WorldFault};
use sane_lab::{WorldConfig, WorldKind, WorldSource};
use std::path::Path;
use std::time::{Duration, Instant};

pub struct HumanSession {
    title: String,
    game: Game,
    keys: HeldKeys,
    score: f64,
}

impl HumanSession {
    pub fn open(args: &Args, output: &Output) -> Result<Self, Failure> {
        if Path::new(&args.target).join("config.toml").exists() {
            return Err(Failure::Usage(format!(
                "{} is a run; a person plays a world: sane play boxing --human",
                args.target
            )));
        }
        let mut game = Game::open(args, output)?;
        game.restart()?;
        Ok(Self { title: args.target.clone(), game, keys: HeldKeys::new(), score: 0.0 })
    }

    /// Whether the terminal reports when a key is released.
    pub fn releases_are_reported(&mut self, reported: bool) {
        self.keys.releases_are_reported = reported;
    }
}

impl Session for HumanSession {
    fn rate(&self) -> f64 {
        match self.game {
            Game::Console(_) => CONSOLE_RATE,
            Game::World { .. } => SMALL_WORLD_RATE,
        }
    }

    fn restart(&mut self) -> Result<(), Failure> {
        self.game.restart()?;
        self.score = 0.0;
        Ok(())
    }

    fn key(&mut self, key: &KeyEvent) {
        self.keys.record(key, Instant::now());
    }

    fn step(&mut self) -> Result<(), Failure> {
        if !self.game.is_over() {
            self.score += self.game.step(&self.keys.joystick(Instant::now()))?;
        }
        Ok(())
    }

    fn picture(&self) -> Picture {
        match &self.game {
            Game::Console(ale) => {
                let (height, rgb) = (ale.screen_height(), ale.screen_rgb());
                Picture { width: rgb.len() / (3 * height), height, rgb }
            }
            Game::World { world, .. } => world.picture(),
        }
    }

    fn status(&self) -> Vec<String> {
        let lives = match &self.game {
            Game::Console(ale) if 0 < ale.lives() => format!("   lives {}", ale.lives()),
            _ => String::new(),
        };
        let over = if self.game.is_over() { "   game over: r plays again" } else { "" };
        vec![
            format!("{}   score {}{lives}{over}", self.title, format_score(self.score)),
            "arrow keys, space   q quit   p pause   r restart".into(),
        ]
    }
}

enum Game {
    Console(Box<Ale>),
    World { world: Box<dyn Environment>, starts: Stream, frame: Vec<u8>, over: bool },
}

impl Game {
    fn open(args: &Args, output: &Output) -> Result<Self, Failure> {
        let kind = WorldKind::of(&args.target).map_err(Failure::usage)?;
        if let WorldKind::Atari(game) = kind {
            let rom = Roms::new(args.roms.folder()).load(game, &mut |message| output.note(message))?;
            let settings = AleSettings { seed: args.start_seed as u32, ..AleSettings::default() };
            return Ok(Self::Console(Box::new(Ale::load(game, &rom, settings)?)));
        }
        let config = WorldConfig::new(&args.target, Profile::Paper);
        let source = WorldSource::open(&config, None, &mut |message| output.note(message)).map_err(classify)?;
        let world = source.make(args.start_seed)?;
        let frame = vec![0; world.spec().frame.bytes()];
        Ok(Self::World { world, starts: Stream::named(args.start_seed, "play"), frame, over: false })
    }

    fn restart(&mut self) -> Result<(), WorldFault> {
        match self {
            Self::Console(ale) => ale.reset_game(),
            Self::World { world, starts, frame, over } => {
                world.reset(starts, frame)?;
                *over = false;
            }
        }
        Ok(())
    }

    /// One frame of the console or one step of the world; the reward.
    fn step(&mut self, joystick: &str) -> Result<f64, WorldFault> {
        Ok(match self {
            Self::Console(ale) => {
                let id = Joystick::NAMES.iter().position(|name| *name == joystick).unwrap_or(0);
                let action = Joystick::from_id(id as u8).unwrap_or(Joystick::NOOP);
                f64::from(ale.act_frame(action, RenderMode::Full))
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
            Self::Console(ale) => ale.game_over(),
            Self::World { over, .. } => *over,
        }
    }
}

/// Joystick directions and the fire button, and their keys.
const BUTTONS: [(KeyCode, &str); 5] = [
    (KeyCode::Up, "UP"),
    (KeyCode::Down, "DOWN"),
    (KeyCode::Left, "LEFT"),
    (KeyCode::Right, "RIGHT"),
    (KeyCode::Char(' '), "FIRE"),
];

/// How long a key counts as held after a press event; longer after the first, since keyboards repeat only after a delay.
const FIRST_HOLD: Duration = Duration::from_millis(220);
const REPEATED_HOLD: Duration = Duration::from_millis(120);

/// The keys that are held. Most terminals report presses and repeats only; a key then counts as held for a moment after
/// each. Terminals with the kitty protocol report releases.
struct HeldKeys {
    releases_are_reported: bool,
    until: [Option<Instant>; BUTTONS.len()],
}

impl HeldKeys {
    fn new() -> Self {
        Self { releases_are_reported: false, until: [None; BUTTONS.len()] }
    }

    fn record(&mut self, key: &KeyEvent, now: Instant) {
        let Some(i) = BUTTONS.iter().position(|(code, _)| *code == key.code) else { return };
        let was_held = self.until[i].is_some_and(|until| now <= until);
        self.until[i] = match key.kind {
            KeyEventKind::Release => None,
            _ if self.releases_are_reported => Some(now + Duration::from_secs(3_600)),
            _ if was_held => Some(now + REPEATED_HOLD),
            _ => Some(now + FIRST_HOLD),
        };
    }

    /// The joystick position by its ALE name: `NOOP`, `UPRIGHTFIRE`. Opposite directions cancel.
    fn joystick(&self, now: Instant) -> String {
        let is_held = |name: &str| {
            let i = BUTTONS.iter().position(|(_, known)| *known == name).expect("a button's name");
            self.until[i].is_some_and(|until| now <= until)
        };
        let mut name = String::new();
        for (one, other) in [("UP", "DOWN"), ("LEFT", "RIGHT")] {
            match (is_held(one), is_held(other)) {
                (true, false) => name += one,
                (false, true) => name += other,
                _ => {}
            }
        }
        if is_held("FIRE") {
            name += "FIRE";
        }
        if name.is_empty() { "NOOP".into() } else { name }
    }
}

/// The world's action that comes closest to a joystick position; `None` if no key is held and the world has no idle action.
fn nearest_action(joystick: &str, actions: &[String]) -> Option<usize> {
    let find = |wanted: &str| actions.iter().position(|action| action.eq_ignore_ascii_case(wanted));
    let buttons: Vec<&str> =
        ["FIRE", "LEFT", "RIGHT", "UP", "DOWN"].into_iter().filter(|button| joystick.contains(button)).collect();
    let idle = || ["NOOP", "nothing", "straight"].into_iter().find_map(find);
    find(joystick)
        .or_else(|| buttons.iter().find_map(|button| find(button)))
        .or_else(|| match (buttons.contains(&"LEFT"), buttons.contains(&"RIGHT")) {
            // Deep sea does not tell which of its actions is left and which is right.
            (true, _) => find("zero"),
            (_, true) => find("one"),
            _ => None,
        })
        .or_else(idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crossterm::event::KeyModifiers;

    fn key(code: KeyCode, kind: KeyEventKind) -> KeyEvent {
        KeyEvent::new_with_kind(code, KeyModifiers::NONE, kind)
    }

    #[test]
    fn a_key_is_held_for_a_moment_and_longer_while_it_repeats() {
        let (mut keys, start) = (HeldKeys::new(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        keys.record(&key(KeyCode::Up, KeyEventKind::Press), at(0));
        assert_eq!((keys.joystick(at(200)), keys.joystick(at(300))), ("UP".into(), "NOOP".into()));
        keys.record(&key(KeyCode::Up, KeyEventKind::Press), at(200));
        assert_eq!((keys.joystick(at(310)), keys.joystick(at(330))), ("UP".into(), "NOOP".into()));
    }

    #[test]
    fn where_releases_are_reported_a_key_is_held_until_its_release() {
        let (mut keys, start) = (HeldKeys { releases_are_reported: true, ..HeldKeys::new() }, Instant::now());
        keys.record(&key(KeyCode::Left, KeyEventKind::Press), start);
        keys.record(&key(KeyCode::Char(' '), KeyEventKind::Press), start);
        let later = start + Duration::from_secs(60);
        assert_eq!(keys.joystick(later), "LEFTFIRE");
        keys.record(&key(KeyCode::Left, KeyEventKind::Release), later);
        assert_eq!(keys.joystick(later), "FIRE");
    }

    #[test]
    fn a_joystick_position_becomes_the_nearest_action_of_the_world() {
        let index = |joystick: &str, actions: &[&str]| {
            nearest_action(joystick, &actions.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
        };
        let boxing = ["NOOP", "FIRE", "UP", "UPRIGHTFIRE"];
        assert_eq!(
            [index("UPRIGHTFIRE", &boxing), index("UPFIRE", &boxing), index("DOWN", &boxing)],
            [Some(3), Some(1), Some(0)]
        );
        let road = ["left", "straight", "right"];
        assert_eq!([index("UPLEFT", &road), index("FIRE", &road), index("NOOP", &road)], [Some(0), Some(1), Some(1)]);
        assert_eq!([index("RIGHT", &["zero", "one"]), index("NOOP", &["zero", "one"])], [Some(1), None]);
    }
}
