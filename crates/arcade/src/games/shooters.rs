//! Shooting on, over and under the ground and the sea.

use super::shows;
use crate::memory::blank_is_zero;
use crate::rules::{FIRE, Opening, Prelude, Rules};

/// Games of guns that stand on the earth or fly low over it.
pub(super) const GAMES: &[Rules] = &[
    Rules::new("air_raid", 1, |m, t| {
        t.scores(m.bcd3(0xAA, 0xA9, 0xA8));
        t.over = m.at(0xA7) == 0xFF;
    })
    .opening(FIRE)
    .press_until_after(Prelude::Press(20), 10, shows::<0xAA>),
    // The score of the last frame is not paid out: the byte that ends the game also clears it.
    Rules::new("atlantis", 6, |m, t| {
        t.over = m.at(0xF1) == 0xFF;
        t.lives = m.at(0xF1);
        if t.over {
            t.reward = 0;
        } else {
            t.scores(100 * m.bcd3(0xA2, 0xA3, 0xA1));
        }
    })
    .press_until(2, shows::<0x8D>),
    Rules::new("atlantis2", 0, |m, t| {
        t.over = m.at(0xF1) == 0xFF;
        t.lives = m.at(0xF1);
        if t.over {
            t.reward = 0;
        } else {
            t.scores(m.bcd3(0xA1, 0xA2, 0xA3));
        }
    }),
    Rules::new("battle_zone", 5, |m, t| {
        let [ones, tens, hundreds] = [m.high(0x9D), m.low(0x9E), m.high(0x9E)].map(blank_is_zero);
        t.scores(1000 * (ones + 10 * tens + 100 * hundreds));
        t.over = m.low(0xBA) == 0;
        t.lives = m.low(0xBA);
    })
    .press_until(2, shows::<0xA1>),
    Rules::new("carnival", 0, |m, t| {
        t.scores(10 * m.bcd2(0xAE, 0xAD));
        t.over = m.at(0x83) < 1;
    }),
    Rules::new("centipede", 3, |m, t| {
        t.scores(m.bcd3(0xF6, 0xF5, 0xF4));
        t.reward = t.reward.max(0);
        t.over = m.bit(0xA6, 0x40);
        t.lives = (m.high(0xED) & 7) + 1;
    })
    .press_until(2, shows::<0xA7>),
    Rules::new("chopper_command", 3, |m, t| {
        t.scores(100 * m.bcd2(0xEE, 0xEC));
        t.over = m.low(0xE4) == 0;
        t.lives = m.low(0xE4);
    })
    .lives_counted_at_end()
    .press_until(2, shows::<0xE0>),
    Rules::new("crossbow", 1, |m, t| {
        t.scores(m.bcd3(0x8D, 0x8C, 0x8B));
        t.over = m.at(0xE7) == 0x82;
    })
    .press_until(2, |m, mode| m.at(0x8D) - 1 == mode),
    Rules::new("jamesbond", 6, |m, t| {
        t.scores(m.bcd3(0xDC, 0xDD, 0xDE));
        t.over = m.low(0x86) == 0 && m.at(0x8C) == 0x68;
        t.lives = m.low(0x86) + 1;
    })
    .press_until(20, |m, mode| m.at(0x8C) == mode || m.at(0x8C) == mode + 0x48),
    Rules::new("laser_gates", 0, |m, t| {
        t.scores(m.bcd3(0x82, 0x81, 0x80));
        t.over = m.at(0x83) == 0;
    })
    .opening(&[Opening::Reset]),
    Rules::new("name_this_game", 3, |m, t| {
        t.scores(m.bcd3(0xC6, 0xC5, 0xC4));
        t.over = m.at(0xC7) & 7 == 0;
        t.lives = m.at(0xC7) & 7;
    })
    .press_until(2, shows::<0xDE>),
    Rules::new("pooyan", 3, |m, t| {
        t.scores(m.bcd3(0x8A, 0x89, 0x88));
        t.over = m.at(0x96) == 0 && m.at(0x98) == 5;
        t.lives = (m.at(0x96) & 7) + 1;
    })
    .press_until_after(Prelude::Press(2), 2, shows::<0xBD>),
    // Six digits, each stored times eight; anything else is not a digit. Remembered: the life byte of the frame before.
    Rules::new("riverraid", 4, |m, t| {
        let digit = |address| match m.at(address) {
            eighths @ 0..=72 if eighths % 8 == 0 => eighths / 8,
            _ => 0,
        };
        let digits = [0xCD, 0xCF, 0xD1, 0xD3, 0xD5, 0xD7];
        t.scores(digits.into_iter().fold(0, |sum, address| 10 * sum + digit(address)));
        let (now, before) = (m.at(0xC0), t.memo[0]);
        t.over = now == 0x58 && before == 0x59;
        t.lives = match now {
            0x58 => 4,
            0x59 => 1,
            byte => byte / 8 + 1,
        };
        t.memo[0] = now;
    })
    .memo([0x58, 0, 0, 0, 0]),
    Rules::new("robotank", 4, |m, t| {
        t.scores(12 * m.at(0xB6) + m.at(0xB5));
        t.over = m.at(0xA8) == 0 && m.at(0xB4) == 0xFF;
        t.lives = m.low(0xA8) + 1;
    }),
    Rules::new("seaquest", 4, |m, t| {
        t.scores(m.bcd3(0xBA, 0xB9, 0xB8));
        t.over = m.at(0xA3) != 0;
        t.lives = m.at(0xBB) + 1;
    }),
    Rules::new("time_pilot", 5, |m, t| {
        t.scores(100 * m.bcd2(0x8D, 0x8F));
        t.over = m.at(0xA0) != 0;
        // The byte is a count of lives only while the game is being played.
        if m.low(0x80) == 2 {
            t.lives = (m.at(0x8B) & 7) + 1;
        }
    }),
    Rules::new("zaxxon", 5, |m, t| {
        t.scores(100 * m.bcd2(0xE9, 0xE8));
        t.over = m.at(0xEA) & 7 == 0;
        t.lives = m.at(0xEA) & 7;
    })
    .press_until(10, shows::<0x82>),
];
