//! Shooters, on the ground and in space.

use super::StartAction::{Hold, ResetSwitch};
use super::{BeforeSelect, PRESS_FIRE, Rules, mode_byte};
use crate::joystick::Joystick;
use crate::ram_view::blank_is_zero;

pub(super) const GAMES: &[Rules] = &[
    Rules::new("air_raid", 1, |ram, s| {
        s.set_score(ram.bcd3(0xAA, 0xA9, 0xA8));
        s.over = ram.at(0xA7) == 0xFF;
    })
    .start_actions(PRESS_FIRE)
    .select_until_after(BeforeSelect::Press(20), 10, mode_byte::<0xAA>),
    Rules::new("assault", 4, |ram, s| {
        s.set_score(ram.bcd3(0x82, 0x81, 0x80));
        s.over = ram.at(0xE5) == 0;
        s.lives = ram.at(0xE5);
    }),
    // The score wraps at 100 000.
    Rules::new("asteroids", 4, |ram, s| {
        s.set_score(10 * ram.bcd2(0xBE, 0xBD));
        s.reward = wrapped(s.reward, 100_000);
        s.over = ram.high(0xBC) == 0;
        s.lives = ram.high(0xBC);
    })
    .select_until(2, mode_byte::<0x80>),
    // The last frame pays nothing: the game clears the score when it ends.
    Rules::new("atlantis", 6, |ram, s| {
        s.over = ram.at(0xF1) == 0xFF;
        s.lives = ram.at(0xF1);
        if s.over {
            s.reward = 0;
        } else {
            s.set_score(100 * ram.bcd3(0xA2, 0xA3, 0xA1));
        }
    })
    .select_until(2, mode_byte::<0x8D>),
    Rules::new("atlantis2", 0, |ram, s| {
        s.over = ram.at(0xF1) == 0xFF;
        s.lives = ram.at(0xF1);
        if s.over {
            s.reward = 0;
        } else {
            s.set_score(ram.bcd3(0xA1, 0xA2, 0xA3));
        }
    }),
    Rules::new("battle_zone", 5, |ram, s| {
        let [ones, tens, hundreds] = [ram.high(0x9D), ram.low(0x9E), ram.high(0x9E)].map(blank_is_zero);
        s.set_score(1000 * (ones + 10 * tens + 100 * hundreds));
        s.over = ram.low(0xBA) == 0;
        s.lives = ram.low(0xBA);
    })
    .select_until(2, mode_byte::<0xA1>),
    Rules::new("beam_rider", 3, |ram, s| {
        s.set_score(ram.bcd3(0x89, 0x8A, 0x8B));
        s.over = ram.at(0x85) == 255;
        // A decrement by one is accepted only once another byte confirms it.
        let lives = ram.at(0x85) + 1;
        if lives != s.lives - 1 || ram.at(0x8C) == 1 {
            s.lives = lives;
        }
    })
    .start_actions(&[Hold(Joystick::RIGHT, 1)]),
    Rules::new("carnival", 0, |ram, s| {
        s.set_score(10 * ram.bcd2(0xAE, 0xAD));
        s.over = ram.at(0x83) < 1;
    }),
    Rules::new("centipede", 3, |ram, s| {
        s.set_score(ram.bcd3(0xF6, 0xF5, 0xF4));
        s.reward = s.reward.max(0);
        s.over = ram.bit(0xA6, 0x40);
        s.lives = (ram.high(0xED) & 7) + 1;
    })
    .select_until(2, mode_byte::<0xA7>),
    Rules::new("chopper_command", 3, |ram, s| {
        s.set_score(100 * ram.bcd2(0xEE, 0xEC));
        s.over = ram.low(0xE4) == 0;
        s.lives = ram.low(0xE4);
    })
    .lives_kept_at_end()
    .select_until(2, mode_byte::<0xE0>),
    Rules::new("crossbow", 1, |ram, s| {
        s.set_score(ram.bcd3(0x8D, 0x8C, 0x8B));
        s.over = ram.at(0xE7) == 0x82;
    })
    .select_until(2, |ram, mode| ram.at(0x8D) - 1 == mode),
    Rules::new("defender", 3, |ram, s| {
        s.set_score(ram.digits(0x9C, 6));
        s.over = ram.at(0xC2) == 0;
        s.lives = ram.at(0xC2);
    })
    .select_until(2, mode_byte::<0x9B>),
    // Before a game the score digits show the publisher's name.
    Rules::new("demon_attack", 4, |ram, s| {
        let name_shown = [ram.at(0x81), ram.at(0x83), ram.at(0x85)] == [0xAB, 0xCD, 0xEA];
        s.set_score(if name_shown { 0 } else { ram.bcd3(0x85, 0x83, 0x81) });
        s.over = ram.at(0xF2) == 0 && ram.at(0xF1) == 0xBD;
        s.lives = ram.at(0xF2) + 1;
    })
    .select_until(1, mode_byte::<0xEA>),
    // The score wraps at 1 000 000.
    Rules::new("galaxian", 3, |ram, s| {
        s.set_score(ram.bcd3(0xAE, 0xAD, 0xAC));
        s.reward = wrapped(s.reward, 1_000_000);
        s.over = ram.bit(0xBF, 0x80);
        s.lives = ram.at(0xB9) + 1;
    })
    .select_until(1, mode_byte::<0xB3>),
    Rules::new("gravitar", 6, |ram, s| {
        s.set_score(ram.bcd3(0x89, 0x88, 0x87));
        s.over = ram.at(0x81) == 1;
        s.lives = if ram.at(0x81) == 0 { 6 } else { ram.at(0x84) + 1 };
    })
    .start_actions(&[Hold(Joystick::FIRE, 16)])
    .select_until(10, mode_byte::<0x80>),
    Rules::new("jamesbond", 6, |ram, s| {
        s.set_score(ram.bcd3(0xDC, 0xDD, 0xDE));
        s.over = ram.low(0x86) == 0 && ram.at(0x8C) == 0x68;
        s.lives = ram.low(0x86) + 1;
    })
    .select_until(20, |ram, mode| ram.at(0x8C) == mode || ram.at(0x8C) == mode + 0x48),
    Rules::new("laser_gates", 0, |ram, s| {
        s.set_score(ram.bcd3(0x82, 0x81, 0x80));
        s.over = ram.at(0x83) == 0;
    })
    .start_actions(&[ResetSwitch]),
    Rules::new("name_this_game", 3, |ram, s| {
        s.set_score(ram.bcd3(0xC6, 0xC5, 0xC4));
        s.over = ram.at(0xC7) & 7 == 0;
        s.lives = ram.at(0xC7) & 7;
    })
    .select_until(2, mode_byte::<0xDE>),
    Rules::new("phoenix", 5, |ram, s| {
        s.set_score(10 * (10 * ram.bcd2(0xC8, 0xC9) + ram.high(0xC7)));
        s.over = ram.at(0xCC) == 0x80;
        s.lives = ram.at(0xCB) & 7;
    }),
    Rules::new("pooyan", 3, |ram, s| {
        s.set_score(ram.bcd3(0x8A, 0x89, 0x88));
        s.over = ram.at(0x96) == 0 && ram.at(0x98) == 5;
        s.lives = (ram.at(0x96) & 7) + 1;
    })
    .select_until_after(BeforeSelect::Press(2), 2, mode_byte::<0xBD>),
    // Six digits, each stored times eight; other values are not digits. memo[0]: the life byte of the previous frame.
    Rules::new("riverraid", 4, |ram, s| {
        let digit = |address| match ram.at(address) {
            eighths @ 0..=72 if eighths % 8 == 0 => eighths / 8,
            _ => 0,
        };
        let digits = [0xCD, 0xCF, 0xD1, 0xD3, 0xD5, 0xD7];
        s.set_score(digits.into_iter().fold(0, |sum, address| 10 * sum + digit(address)));
        let (now, before) = (ram.at(0xC0), s.memo[0]);
        s.over = now == 0x58 && before == 0x59;
        s.lives = match now {
            0x58 => 4,
            0x59 => 1,
            byte => byte / 8 + 1,
        };
        s.memo[0] = now;
    })
    .initial_memo([0x58, 0, 0, 0, 0]),
    Rules::new("robotank", 4, |ram, s| {
        s.set_score(12 * ram.at(0xB6) + ram.at(0xB5));
        s.over = ram.at(0xA8) == 0 && ram.at(0xB4) == 0xFF;
        s.lives = ram.low(0xA8) + 1;
    }),
    Rules::new("seaquest", 4, |ram, s| {
        s.set_score(ram.bcd3(0xBA, 0xB9, 0xB8));
        s.over = ram.at(0xA3) != 0;
        s.lives = ram.at(0xBB) + 1;
    }),
    Rules::new("solaris", 3, |ram, s| {
        s.set_score(10 * ram.bcd3(0xDC, 0xDD, 0xDE));
        s.over = ram.at(0xD9) == 0;
        s.lives = ram.low(0xD9);
    }),
    // The score wraps at 10 000.
    Rules::new("space_invaders", 3, |ram, s| {
        s.set_score(ram.bcd2(0xE8, 0xE6));
        s.reward = wrapped(s.reward, 10_000);
        s.over = ram.bit(0x98, 0x80) || ram.at(0xC9) == 0;
        s.lives = ram.at(0xC9);
    })
    .select_until(2, mode_byte::<0xDC>),
    Rules::new("space_war", 1, |ram, s| {
        s.set_score(ram.bcd(0xA7));
        s.over = s.score == 10 || ram.at(0x80) == 0;
    })
    .select_until(2, |ram, mode| ram.bcd(0xA7) == mode),
    // memo[0]: 1 once the five lives of a new game have been read.
    Rules::new("star_gunner", 5, |ram, s| {
        s.set_score(100 * ram.digits(0x83, 4));
        s.memo[0] |= i32::from(ram.at(0x87) == 5);
        s.over = ram.at(0x87) == 0;
        s.lives = if s.memo[0] == 1 { ram.low(0x87) } else { 5 };
    })
    .select_until(15, mode_byte::<0xF4>),
    Rules::new("time_pilot", 5, |ram, s| {
        s.set_score(100 * ram.bcd2(0x8D, 0x8F));
        s.over = ram.at(0xA0) != 0;
        // The byte is the count of lives only during play.
        if ram.low(0x80) == 2 {
            s.lives = (ram.at(0x8B) & 7) + 1;
        }
    }),
    Rules::new("trondead", 5, |ram, s| {
        s.set_score(ram.bcd3(0xBF, 0xBE, 0xBD));
        s.over = ram.at(0xC8) == 5;
        s.lives = 5 - ram.at(0xC8);
    }),
    Rules::new("turmoil", 4, |ram, s| {
        s.set_score(10 * (ram.bcd2(0x89, 0x8A) + ram.at(0xD3)));
        s.over = ram.at(0xB9) == 0 && ram.at(0xC5) == 1;
        s.lives = ram.at(0xB9);
    })
    .start_actions(PRESS_FIRE)
    .select_until(2, mode_byte::<0xEA>),
    Rules::new("yars_revenge", 4, |ram, s| {
        s.set_score(ram.bcd3(0xE2, 0xE1, 0xE0));
        s.over = ram.high(0x9E) == 0;
        s.lives = ram.high(0x9E);
    })
    .start_actions(PRESS_FIRE)
    .select_until_after(BeforeSelect::Press(2), 1, mode_byte::<0xE3>),
    Rules::new("zaxxon", 5, |ram, s| {
        s.set_score(100 * ram.bcd2(0xE9, 0xE8));
        s.over = ram.at(0xEA) & 7 == 0;
        s.lives = ram.at(0xEA) & 7;
    })
    .select_until(10, mode_byte::<0x82>),
];

/// The difference of two scores whose counter wraps at `modulus`.
fn wrapped(difference: i32, modulus: i32) -> i32 {
    if difference < 0 { difference + modulus } else { difference }
}
