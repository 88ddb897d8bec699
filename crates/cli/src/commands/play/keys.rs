//! What is held down. Most terminals tell only that a key was pressed, and again while it repeats: a key then counts as
//! held for a moment after each telling. Terminals with the kitty protocol tell when it is let go.

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use std::time::{Duration, Instant};

/// How long a key counts as held after a telling: longer after the first, since repeating begins late.
const FIRST: Duration = Duration::from_millis(220);
const REPEATED: Duration = Duration::from_millis(120);

/// What a person can ask for besides playing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Leave.
    Quit,
    /// Stand still, or go on.
    Pause,
    /// The next episode.
    Restart,
    /// Noise on or off.
    Noise,
}

/// The wish behind a key, if there is one.
pub fn wish(key: &KeyEvent) -> Option<Wish> {
    if key.kind != KeyEventKind::Press {
        return None;
    }
    match key.code {
        KeyCode::Char('c' | 'd') if key.modifiers.contains(KeyModifiers::CONTROL) => Some(Wish::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Wish::Quit),
        KeyCode::Char('p') => Some(Wish::Pause),
        KeyCode::Char('r') => Some(Wish::Restart),
        KeyCode::Char('n') => Some(Wish::Noise),
        _ => None,
    }
}

/// The five things a joystick has.
const BUTTONS: [(KeyCode, &str); 5] = [
    (KeyCode::Up, "UP"),
    (KeyCode::Down, "DOWN"),
    (KeyCode::Left, "LEFT"),
    (KeyCode::Right, "RIGHT"),
    (KeyCode::Char(' '), "FIRE"),
];

/// The keys held now.
pub struct Held {
    reports_releases: bool,
    until: [Option<Instant>; BUTTONS.len()],
}

impl Held {
    /// None yet.
    pub fn new(reports_releases: bool) -> Self {
        Self { reports_releases, until: [None; BUTTONS.len()] }
    }

    /// A key was told of at this moment.
    pub fn told(&mut self, key: &KeyEvent, now: Instant) {
        let Some(place) = BUTTONS.iter().position(|(code, _)| *code == key.code) else { return };
        let was_held = self.until[place].is_some_and(|until| now <= until);
        self.until[place] = match key.kind {
            KeyEventKind::Release => None,
            _ if self.reports_releases => Some(now + Duration::from_secs(3_600)),
            _ if was_held => Some(now + REPEATED),
            _ => Some(now + FIRST),
        };
    }

    /// The name of the joystick's position, as Atari games call it: `NOOP`, `UPRIGHTFIRE`. Opposite keys cancel out.
    pub fn joystick(&self, now: Instant) -> String {
        let is_held = |name: &str| {
            let place = BUTTONS.iter().position(|(_, known)| *known == name).expect("a button's name");
            self.until[place].is_some_and(|until| now <= until)
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

/// The action among these names that a joystick's position means: itself, or the nearest the world has. None where the
/// world has nothing to do but what was not asked for.
pub fn nearest_action(joystick: &str, actions: &[String]) -> Option<usize> {
    let find = |wanted: &str| actions.iter().position(|action| action.eq_ignore_ascii_case(wanted));
    let parts: Vec<&str> =
        ["FIRE", "LEFT", "RIGHT", "UP", "DOWN"].into_iter().filter(|part| joystick.contains(part)).collect();
    let still = || ["NOOP", "nothing", "straight"].into_iter().find_map(find);
    find(joystick)
        .or_else(|| parts.iter().find_map(|part| find(part)))
        .or_else(|| match (parts.contains(&"LEFT"), parts.contains(&"RIGHT")) {
            // Deep sea does not say which way its actions lead.
            (true, _) => find("zero"),
            (_, true) => find("one"),
            _ => None,
        })
        .or_else(still)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(code: KeyCode, kind: KeyEventKind) -> KeyEvent {
        KeyEvent::new_with_kind(code, KeyModifiers::NONE, kind)
    }

    #[test]
    fn a_key_is_held_for_a_moment_and_longer_while_it_repeats() {
        let (mut held, start) = (Held::new(false), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        held.told(&key(KeyCode::Up, KeyEventKind::Press), at(0));
        assert_eq!((held.joystick(at(200)), held.joystick(at(300))), ("UP".into(), "NOOP".into()));
        held.told(&key(KeyCode::Up, KeyEventKind::Press), at(200));
        assert_eq!((held.joystick(at(310)), held.joystick(at(330))), ("UP".into(), "NOOP".into()));
    }

    #[test]
    fn where_releases_are_told_a_key_is_held_until_it_is_let_go() {
        let (mut held, start) = (Held::new(true), Instant::now());
        held.told(&key(KeyCode::Left, KeyEventKind::Press), start);
        held.told(&key(KeyCode::Char(' '), KeyEventKind::Press), start);
        let later = start + Duration::from_secs(60);
        assert_eq!(held.joystick(later), "LEFTFIRE");
        held.told(&key(KeyCode::Left, KeyEventKind::Release), later);
        assert_eq!(held.joystick(later), "FIRE");
    }

    #[test]
    fn a_position_means_the_nearest_action_that_the_world_has() {
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

    #[test]
    fn ctrl_c_is_a_wish_to_leave_and_a_release_is_none() {
        let ctrl_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(wish(&ctrl_c), Some(Wish::Quit));
        assert_eq!(wish(&key(KeyCode::Char('q'), KeyEventKind::Release)), None);
        assert_eq!(wish(&key(KeyCode::Char('c'), KeyEventKind::Press)), None);
    }
}
