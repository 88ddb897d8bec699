//! Choosing a game mode during a reset, as the Arcade Learning Environment does it. In: the wanted mode; out: a console
//! that shows it. A selection ends with four frames of RESET. A press of SELECT is no act of the player; whatever is done
//! with the stick is, sticky actions and all.

use crate::action::Joystick;
use crate::ale::Ale;
use crate::memory::Memory;
use crate::rules::{Prelude, Select};

/// Presses what has to be pressed until the game is in its mode.
pub(crate) fn choose_mode(ale: &mut Ale) {
    let mode = ale.mode() as i32;
    match ale.game().rules.select {
        Select::Nothing => return,
        Select::Until { first, hold, reached } => {
            prelude(ale, first);
            press_until(ale, |ale| ale.press_select(hold), |memory| reached(memory, mode));
        }
        Select::Adventure => {
            press_until(ale, adventure_press, |memory| (memory.at(0xDD) >> 1) & 3 == mode);
        }
        Select::DoubleDunk => return double_dunk(ale, mode),
        Select::VideoCube => return video_cube(ale, mode),
    }
    ale.soft_reset();
}

fn prelude(ale: &mut Ale, first: Prelude) {
    match first {
        Prelude::Nothing => {}
        Prelude::Press(hold) => ale.press_select(hold),
        Prelude::Wait(frames) => (0..frames).for_each(|_| ale.act_unseen(Joystick::NOOP)),
        Prelude::SoftReset => ale.soft_reset(),
    }
}

/// The game would be broken if its mode never came up; no ROM of the table does that, a corrupt state might.
const PRESSES_AT_MOST: u32 = 4096;

fn press_until(ale: &mut Ale, press: impl Fn(&mut Ale), reached: impl Fn(Memory<'_>) -> bool) {
    for _ in 0..PRESSES_AT_MOST {
        if reached(ale.memory()) {
            return;
        }
        press(ale);
    }
}

/// A press of random length, drawn from the generator of the sticky actions.
fn adventure_press(ale: &mut Ale) {
    let hold = 2 + ale.generator().next_u32() % 256;
    ale.press_select(hold);
    ale.act_unseen(Joystick::NOOP);
}

/// The menu has one line per bit of the mode; the stick moves down the lines and switches them on (right) and off (left).
fn double_dunk(ale: &mut Ale, mode: i32) {
    const SWITCHES: u8 = 0x80;
    ale.press_select(1);
    menu_down(ale);
    menu_down(ale);
    for (line, bit) in [0x08, 0x10, 0x04, 0x20].into_iter().enumerate() {
        if line != 0 {
            menu_down(ale);
        }
        let wanted = mode & (1 << line) != 0;
        let turn = if wanted { Joystick::RIGHT } else { Joystick::LEFT };
        tap_until(ale, turn, |memory| memory.bit(SWITCHES, bit) == wanted);
    }
    ale.soft_reset();
    ale.act_unseen(Joystick::UPFIRE);
    ale.act_unseen(Joystick::NOOP);
}

fn menu_down(ale: &mut Ale) {
    const LINE: u8 = 0xB0;
    let before = ale.memory().at(LINE);
    tap_until(ale, Joystick::DOWN, |memory| memory.at(LINE) != before);
}

fn tap_until(ale: &mut Ale, action: Joystick, reached: impl Fn(Memory<'_>) -> bool) {
    let tap = |ale: &mut Ale| {
        ale.act_unseen(action);
        ale.act_unseen(Joystick::NOOP);
    };
    press_until(ale, tap, reached);
}

/// Mode = 100 · cube + variant.
fn video_cube(ale: &mut Ale, mode: i32) {
    const VARIANTS: [i32; 3] = [1, 3, 9];
    let (cube, variant) = ((mode / 100).max(1), VARIANTS[(mode % 100) as usize]);
    press_until(ale, |ale| ale.press_select(2), |memory| memory.at(0xFB) & 0x1F == variant - 1);
    ale.soft_reset();
    press_until(ale, |ale| ale.act_unseen(Joystick::RIGHT), |memory| memory.bcd(0x9F) == cube);
}
