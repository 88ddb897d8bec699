//! Selects a game mode during a reset, as the Arcade Learning Environment does. In: the wanted mode; out: a console in
//! that mode. A selection ends with four frames of RESET. Presses of SELECT draw no random numbers; joystick actions are
//! ordinary actions, which draw and can stick.

use crate::ale::Ale;
use crate::joystick::Joystick;
use crate::ram_view::RamView;
use crate::rules::{BeforeSelect, ModeSelect};

/// A bound for corrupt states; every mode of every game is reached long before.
const MAX_PRESSES: u32 = 4096;

/// Presses switches and joystick until the game is in its mode.
pub(crate) fn select_mode(ale: &mut Ale) {
    let mode = ale.mode() as i32;
    match ale.game().rules.mode_select {
        ModeSelect::SingleMode => return,
        ModeSelect::PressUntil { before, hold, reached } => {
            match before {
                BeforeSelect::Nothing => {}
                BeforeSelect::Press(hold) => ale.press_select(hold),
                BeforeSelect::Wait(frames) => (0..frames).for_each(|_| ale.act_unseen(Joystick::NOOP)),
                BeforeSelect::SoftReset => ale.soft_reset(),
            }
            press_until(ale, |ale| ale.press_select(hold), |ram| reached(ram, mode));
        }
        ModeSelect::Adventure => {
            press_until(ale, adventure_press, |ram| (ram.at(0xDD) >> 1) & 3 == mode);
        }
        ModeSelect::DoubleDunk => return double_dunk(ale, mode),
        ModeSelect::VideoCube => return video_cube(ale, mode),
    }
    ale.soft_reset();
}

fn press_until(ale: &mut Ale, press: impl Fn(&mut Ale), reached: impl Fn(RamView<'_>) -> bool) {
    for _ in 0..MAX_PRESSES {
        if reached(ale.ram_view()) {
            return;
        }
        press(ale);
    }
}

/// A press of random length, drawn from the generator for sticky actions.
fn adventure_press(ale: &mut Ale) {
    let hold = 2 + ale.generator().next_u32() % 256;
    ale.press_select(hold);
    ale.act_unseen(Joystick::NOOP);
}

/// The menu has one line per bit of the mode: DOWN moves to the next line, RIGHT sets the bit, LEFT clears it.
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
        tap_until(ale, turn, |ram| ram.bit(SWITCHES, bit) == wanted);
    }
    ale.soft_reset();
    ale.act_unseen(Joystick::UPFIRE);
    ale.act_unseen(Joystick::NOOP);
}

fn menu_down(ale: &mut Ale) {
    const LINE: u8 = 0xB0;
    let before = ale.ram_view().at(LINE);
    tap_until(ale, Joystick::DOWN, |ram| ram.at(LINE) != before);
}

fn tap_until(ale: &mut Ale, action: Joystick, reached: impl Fn(RamView<'_>) -> bool) {
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
    press_until(ale, |ale| ale.press_select(2), |ram| ram.at(0xFB) & 0x1F == variant - 1);
    ale.soft_reset();
    press_until(ale, |ale| ale.act_unseen(Joystick::RIGHT), |ram| ram.bcd(0x9F) == cube);
}
