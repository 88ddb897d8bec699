//! The 18 actions of a joystick with one button, in the numbering of the Arcade Learning Environment.

use sane_vcs::Input;
use serde::{Deserialize, Serialize};

/// The position of the stick and the button. Ids 0–17; [`Joystick::NAMES`] are the names by id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Joystick(u8);

impl Joystick {
    pub const NOOP: Self = Self(0);
    pub const FIRE: Self = Self(1);
    pub const UP: Self = Self(2);
    pub const RIGHT: Self = Self(3);
    pub const LEFT: Self = Self(4);
    pub const DOWN: Self = Self(5);
    pub const UPFIRE: Self = Self(10);

    /// The names by id.
    pub const NAMES: [&'static str; 18] = [
        "NOOP",
        "FIRE",
        "UP",
        "RIGHT",
        "LEFT",
        "DOWN",
        "UPRIGHT",
        "UPLEFT",
        "DOWNRIGHT",
        "DOWNLEFT",
        "UPFIRE",
        "RIGHTFIRE",
        "LEFTFIRE",
        "DOWNFIRE",
        "UPRIGHTFIRE",
        "UPLEFTFIRE",
        "DOWNRIGHTFIRE",
        "DOWNLEFTFIRE",
    ];

    pub fn from_id(id: u8) -> Option<Self> {
        (usize::from(id) < Self::NAMES.len()).then_some(Self(id))
    }

    pub fn id(self) -> u8 {
        self.0
    }

    pub fn name(self) -> &'static str {
        Self::NAMES[usize::from(self.0)]
    }

    /// Whether the button is pressed.
    pub fn fires(self) -> bool {
        matches!(self.0, 1 | 10..=17)
    }

    /// Whether the stick points right, alone or diagonally.
    pub fn is_right(self) -> bool {
        matches!(self.0, 3 | 6 | 8 | 11 | 14 | 16)
    }

    /// Whether the stick points left, alone or diagonally.
    pub fn is_left(self) -> bool {
        matches!(self.0, 4 | 7 | 9 | 12 | 15 | 17)
    }

    /// Sets the stick and the button in the console's input; switches and paddles are left alone.
    pub(crate) fn press(self, input: &mut Input) {
        input.up = matches!(self.0, 2 | 6 | 7 | 10 | 14 | 15);
        input.down = matches!(self.0, 5 | 8 | 9 | 13 | 16 | 17);
        input.left = self.is_left();
        input.right = self.is_right();
        input.fire = self.fires();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_lists_what_is_pressed() {
        for (id, name) in (0..).zip(Joystick::NAMES) {
            let mut input = Input::default();
            Joystick::from_id(id).unwrap().press(&mut input);
            let pressed = (input.up, input.down, input.left, input.right, input.fire);
            let named = ["UP", "DOWN", "LEFT", "RIGHT", "FIRE"].map(|part| name.contains(part));
            assert_eq!(pressed, named.into(), "{name}");
        }
    }

    #[test]
    fn id_18_does_not_exist() {
        assert_eq!(Joystick::from_id(18), None);
    }
}
