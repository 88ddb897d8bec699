//! Mazes and dungeons.

use super::StartAction::Hold;
use super::{BeforeSelect, PRESS_FIRE, Rules, mode_byte};
use crate::joystick::Joystick;

pub(super) const GAMES: &[Rules] = &[
    // Five digits, each stored times eight; 0x80 is a blank.
    Rules::new("alien", 3, |ram, s| {
        let digit = |address| if ram.at(address) == 0x80 { 0 } else { ram.at(address) >> 3 };
        s.set_score(10 * [0x83, 0x85, 0x87, 0x89, 0x8B].into_iter().fold(0, |sum, address| 10 * sum + digit(address)));
        s.over = ram.low(0xC0) == 0;
        s.lives = ram.low(0xC0);
    })
    .lives_kept_at_end()
    .select_until(1, mode_byte::<0x81>),
    Rules::new("amidar", 3, |ram, s| {
        s.set_score(ram.bcd3(0xD9, 0xDA, 0xDB));
        s.over = ram.at(0xD6) == 0x80;
        s.lives = ram.low(0xD6);
    }),
    Rules::new("bank_heist", 5, |ram, s| {
        s.set_score(ram.bcd3(0xDA, 0xD9, 0xD8));
        s.over = ram.at(0xCE) == 1 && ram.at(0xD5) == 0;
        s.lives = ram.at(0xD5);
    })
    .select_until(1, mode_byte::<0x80>),
    Rules::new("berzerk", 3, |ram, s| {
        s.set_score(ram.bcd3(0xDF, 0xDE, 0xDD));
        s.over = ram.at(0xDA) == 0xFF;
        s.lives = ram.at(0xDA) + 1;
    })
    .select_until_after(BeforeSelect::Wait(20), 2, mode_byte::<0x80>),
    // memo[0]: the level. A level or a score that decreases means that a new game has begun.
    Rules::new("darkchambers", 1, |ram, s| {
        let level = ram.at(0xD5);
        s.reward = 0;
        if level < s.memo[0] {
            s.over = true;
        } else {
            s.memo[0] = level;
            let score = 10 * ram.bcd2(0xCC, 0xCF);
            if score < s.score {
                s.over = true;
            } else {
                s.set_score(score);
            }
        }
        s.over |= ram.at(0xCA) & 31 == 0;
    })
    .start_actions(&[Hold(Joystick::NOOP, 486)]),
    Rules::new("entombed", 1, |ram, s| {
        s.set_score(ram.at(0xE3));
        s.over = ram.at(0xC7) & 3 == 0;
    })
    .start_actions(&[Hold(Joystick::FIRE, 1), Hold(Joystick::NOOP, 5)]),
    Rules::new("mr_do", 4, |ram, s| {
        s.set_score(10 * ram.bcd2(0x82, 0x83));
        s.over = ram.at(0xDA) == 0x40;
        s.lives = ram.at(0xDB);
    })
    .start_actions(PRESS_FIRE)
    .select_until(5, mode_byte::<0x80>),
    Rules::new("ms_pacman", 3, |ram, s| {
        s.set_score(ram.bcd3(0xF8, 0xF9, 0xFA));
        s.over = ram.low(0xFB) == 0 && ram.at(0xA7) == 0x53;
        s.lives = (ram.at(0xFB) & 7) + 1;
    })
    .select_until(10, |ram, mode| {
        let wanted = if mode == 0 { (1, 1) } else { (mode, 0) };
        (ram.at(0x99), ram.at(0xA1)) == wanted
    }),
    Rules::new("pacman", 4, |ram, s| {
        s.set_score(ram.bcd3(0xCC, 0xCE, 0xD0));
        s.over = ram.at(0x98) == 0 && ram.at(0xE4) == 0x3F;
        s.lives = ram.at(0x98) + 1;
    })
    .select_until(2, |ram, mode| ram.at(0xCC) - 1 == mode && ram.at(0xE6) == 0),
    Rules::new("surround", 1, |ram, s| {
        s.set_score(ram.bcd(0xF7) - ram.bcd(0xF6));
        s.over = ram.bcd(0xF6) == 10 || ram.bcd(0xF7) == 10;
    })
    .select_until(2, |ram, mode| ram.at(0xF9) == mode + 1),
    Rules::new("tutankham", 3, |ram, s| {
        s.set_score(ram.bcd2(0x9C, 0x9A));
        s.over = ram.at(0x9E) == 0 && ram.at(0x81) != 0x84;
        s.lives = ram.at(0x9E) & 3;
    })
    .select_until(2, mode_byte::<0xAB>),
    Rules::new("venture", 4, |ram, s| {
        s.set_score(100 * ram.bcd2(0xC8, 0xC7));
        s.over = ram.at(0xC6) == 0 && ram.at(0xCD) == 0xFF && ram.bit(0xBF, 0x80);
        s.lives = (ram.at(0xC6) & 7) + 1;
    }),
    Rules::new("wizard_of_wor", 3, |ram, s| {
        let shown = ram.bcd2(0x86, 0x88);
        s.set_score(100 * if 8000 <= shown { shown - 8000 } else { shown });
        s.over = ram.low(0x8D) == 0 && ram.at(0xF4) == 0xF8;
        // Between two lives the byte is not the count of lives.
        if !ram.bit(0xD7, 1) {
            s.lives = ram.low(0x8D);
        }
    }),
];
