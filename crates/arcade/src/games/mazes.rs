//! Mazes, dungeons and rooms.

use super::shows;
use crate::action::Joystick;
use crate::rules::{FIRE, Opening, Prelude, Rules};

/// Games of corridors and of those who wait in them.
pub(super) const GAMES: &[Rules] = &[
    // Five digits, each stored times eight; 0x80 is a blank.
    Rules::new("alien", 3, |m, t| {
        let digit = |address| if m.at(address) == 0x80 { 0 } else { m.at(address) >> 3 };
        t.scores(10 * [0x83, 0x85, 0x87, 0x89, 0x8B].into_iter().fold(0, |sum, address| 10 * sum + digit(address)));
        t.over = m.low(0xC0) == 0;
        t.lives = m.low(0xC0);
    })
    .lives_counted_at_end()
    .press_until(1, shows::<0x81>),
    Rules::new("amidar", 3, |m, t| {
        t.scores(m.bcd3(0xD9, 0xDA, 0xDB));
        t.over = m.at(0xD6) == 0x80;
        t.lives = m.low(0xD6);
    }),
    Rules::new("bank_heist", 5, |m, t| {
        t.scores(m.bcd3(0xDA, 0xD9, 0xD8));
        t.over = m.at(0xCE) == 1 && m.at(0xD5) == 0;
        t.lives = m.at(0xD5);
    })
    .press_until(1, shows::<0x80>),
    Rules::new("berzerk", 3, |m, t| {
        t.scores(m.bcd3(0xDF, 0xDE, 0xDD));
        t.over = m.at(0xDA) == 0xFF;
        t.lives = m.at(0xDA) + 1;
    })
    .press_until_after(Prelude::Wait(20), 2, shows::<0x80>),
    // Remembered: the level. A level or a score that goes down means a new game has begun.
    Rules::new("darkchambers", 1, |m, t| {
        let level = m.at(0xD5);
        t.reward = 0;
        if level < t.memo[0] {
            t.over = true;
        } else {
            t.memo[0] = level;
            let score = 10 * m.bcd2(0xCC, 0xCF);
            if score < t.score {
                t.over = true;
            } else {
                t.scores(score);
            }
        }
        t.over |= m.at(0xCA) & 31 == 0;
    })
    .opening(&[Opening::Hold(Joystick::NOOP, 486)]),
    Rules::new("entombed", 1, |m, t| {
        t.scores(m.at(0xE3));
        t.over = m.at(0xC7) & 3 == 0;
    })
    .opening(&[Opening::Hold(Joystick::FIRE, 1), Opening::Hold(Joystick::NOOP, 5)]),
    Rules::new("mr_do", 4, |m, t| {
        t.scores(10 * m.bcd2(0x82, 0x83));
        t.over = m.at(0xDA) == 0x40;
        t.lives = m.at(0xDB);
    })
    .opening(FIRE)
    .press_until(5, shows::<0x80>),
    Rules::new("ms_pacman", 3, |m, t| {
        t.scores(m.bcd3(0xF8, 0xF9, 0xFA));
        t.over = m.low(0xFB) == 0 && m.at(0xA7) == 0x53;
        t.lives = (m.at(0xFB) & 7) + 1;
    })
    .press_until(10, |m, mode| {
        let wanted = if mode == 0 { (1, 1) } else { (mode, 0) };
        (m.at(0x99), m.at(0xA1)) == wanted
    }),
    Rules::new("pacman", 4, |m, t| {
        t.scores(m.bcd3(0xCC, 0xCE, 0xD0));
        t.over = m.at(0x98) == 0 && m.at(0xE4) == 0x3F;
        t.lives = m.at(0x98) + 1;
    })
    .press_until(2, |m, mode| m.at(0xCC) - 1 == mode && m.at(0xE6) == 0),
    Rules::new("surround", 1, |m, t| {
        t.scores(m.bcd(0xF7) - m.bcd(0xF6));
        t.over = m.bcd(0xF6) == 10 || m.bcd(0xF7) == 10;
    })
    .press_until(2, |m, mode| m.at(0xF9) == mode + 1),
    Rules::new("tutankham", 3, |m, t| {
        t.scores(m.bcd2(0x9C, 0x9A));
        t.over = m.at(0x9E) == 0 && m.at(0x81) != 0x84;
        t.lives = m.at(0x9E) & 3;
    })
    .press_until(2, shows::<0xAB>),
    Rules::new("venture", 4, |m, t| {
        t.scores(100 * m.bcd2(0xC8, 0xC7));
        t.over = m.at(0xC6) == 0 && m.at(0xCD) == 0xFF && m.bit(0xBF, 0x80);
        t.lives = (m.at(0xC6) & 7) + 1;
    }),
    Rules::new("wizard_of_wor", 3, |m, t| {
        let shown = m.bcd2(0x86, 0x88);
        t.scores(100 * if 8000 <= shown { shown - 8000 } else { shown });
        t.over = m.low(0x8D) == 0 && m.at(0xF4) == 0xF8;
        // Between two lives the byte shows something else.
        if !m.bit(0xD7, 1) {
            t.lives = m.low(0x8D);
        }
    }),
];
