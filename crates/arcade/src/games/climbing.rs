//! Running, jumping, climbing, catching.

use super::shows;
use crate::action::Joystick;
use crate::rules::{FIRE, Opening, Prelude, Rules};

/// Games of quick feet and hands.
pub(super) const GAMES: &[Rules] = &[
    Rules::new("asterix", 3, |m, t| {
        t.scores(m.bcd3(0xE0, 0xDF, 0xDE));
        t.over = m.at(0xC7) == 1 && m.low(0xD3) == 1;
        t.lives = m.low(0xD3);
    })
    .opening(FIRE),
    Rules::new("crazy_climber", 5, |m, t| {
        t.scores(100 * (m.at(0x82) + 10 * m.at(0x83) + 100 * m.at(0x84) + 1000 * m.at(0x85)));
        t.reward = t.reward.max(0);
        t.over = m.at(0xAA) == 0;
        t.lives = m.at(0xAA);
    })
    .press_until(2, shows::<0x80>),
    Rules::new("donkey_kong", 2, |m, t| {
        t.scores(100 * m.bcd2(0x88, 0x87));
        t.over = m.at(0xA3) == 0 && m.at(0x8F) == 3 && m.at(0x8B) == 0x1F;
        t.lives = m.at(0xA3);
    }),
    Rules::new("elevator_action", 4, |m, t| {
        t.scores(m.bcd3(0x89, 0x88, 0x87));
        t.over = m.at(0x83) == 0 && m.at(0x81) != 0;
        t.lives = m.at(0x83);
    })
    .opening(&[Opening::Hold(Joystick::FIRE, 16)]),
    Rules::new("freeway", 0, |m, t| {
        t.scores(m.bcd(0xE7));
        t.reward = t.reward.clamp(0, 1);
        t.over = m.at(0x96) == 1;
    })
    .press_until(1, shows::<0x80>),
    Rules::new("frogger", 4, |m, t| {
        t.scores(m.bcd2(0xCE, 0xCC));
        t.over = m.at(0xD0) == 0xFF;
        t.lives = m.at(0xD0);
    })
    .press_until(2, |m, mode| m.at(0xDD) == 1 + 2 * mode),
    Rules::new("frostbite", 4, |m, t| {
        t.scores(m.bcd3(0xCA, 0xC9, 0xC8));
        t.over = m.low(0xCC) == 0 && m.bit(0xF1, 0x80);
        t.lives = m.low(0xCC) + 1;
    })
    .press_until(1, shows::<0x80>),
    // Each of three bits is one of the gardener's carrots.
    Rules::new("gopher", 3, |m, t| {
        let carrots = m.at(0xB4) & 7;
        t.scores(m.bcd3(0xB2, 0xB1, 0xB0));
        t.over = carrots == 0;
        t.lives = carrots.count_ones() as i32;
    })
    .opening(FIRE)
    .press_until_after(Prelude::SoftReset, 5, shows::<0xD3>),
    Rules::new("hero", 4, |m, t| {
        t.scores(m.bcd3(0xB9, 0xB8, 0xB7));
        t.over = m.at(0xB3) == 0;
        t.lives = m.at(0xB3);
    })
    .press_until(1, shows::<0x80>),
    // The fifty thousand granted at the start are no reward.
    Rules::new("journey_escape", 0, |m, t| {
        t.scores(m.bcd3(0x92, 0x91, 0x90));
        if t.reward == 50_000 {
            t.reward = 0;
        }
        t.over = m.at(0x95) == 0 && m.at(0x96) == 0;
    })
    .opening(FIRE),
    Rules::new("kaboom", 1, |m, t| {
        t.scores(m.bcd3(0xA5, 0xA4, 0xA3));
        t.over = m.at(0xA1) == 0 || t.score == 999_999;
    })
    .opening(FIRE),
    Rules::new("kangaroo", 3, |m, t| {
        t.scores(100 * m.bcd2(0xA8, 0xA7));
        t.over = m.at(0xAD) == 0xFF;
        t.lives = (m.at(0xAD) & 7) + 1;
    })
    .press_until(2, |m, mode| m.at(0xBA) == mode || m.at(0xBA) == mode + 0x80),
    Rules::new("keystone_kapers", 3, |m, t| {
        t.scores(m.bcd2(0x9C, 0x9B));
        t.over = m.at(0x96) == 0 && m.at(0x88) == 0;
        t.lives = m.at(0x96);
    })
    .opening(&[Opening::Reset]),
    Rules::new("king_kong", 3, |m, t| {
        t.scores(m.bcd2(0x83, 0x82));
        t.over = m.at(0xEE) == 0;
        t.lives = m.at(0xEE);
    })
    .press_until(2, |m, mode| m.at(0xEC) == 2 * mode),
    Rules::new("koolaid", 0, |m, t| {
        t.scores(100 * m.bcd2(0x81, 0x80));
        t.over = m.at(0xD1) == 0x80;
    }),
    Rules::new("kung_fu_master", 4, |m, t| {
        t.scores(m.bcd3(0x9A, 0x99, 0x98));
        t.over = m.at(0x9D) == 0xFF;
        t.lives = (m.at(0x9D) & 7) + 1;
    }),
    Rules::new("lost_luggage", 3, |m, t| {
        t.scores(m.bcd3(0x96, 0x95, 0x94));
        t.over = m.at(0xCA) == 0 && m.at(0xC8) == 10 && m.at(0xA5) == 0 && m.at(0xA9) == 0;
        t.lives = m.at(0xCA);
    })
    .opening(FIRE)
    .press_until(2, |m, mode| m.at(0x94) == 1 + 3 * mode),
    Rules::new("mario_bros", 0, |m, t| {
        t.scores(100 * m.bcd2(0x8A, 0x89));
        t.over = m.at(0x87) == 0;
        t.lives = m.at(0x87);
    })
    .opening(&[Opening::Hold(Joystick::NOOP, 10), Opening::Hold(Joystick::FIRE, 7)])
    .press_until(5, shows::<0x80>),
    // Remembered: the life byte of the frame before. Lives are counted by its steps down; it is no count itself.
    Rules::new("qbert", 4, |m, t| {
        let (now, before) = (m.signed(0x88), t.memo[0]);
        t.over = m.at(0x88) == 0xFE || (now == 2 && before == -1);
        t.lives -= i32::from(now == before - 1);
        t.memo[0] = now;
        if t.over {
            t.reward = 0;
        } else {
            t.scores(m.bcd3(0xDB, 0xDA, 0xD9));
        }
    })
    .memo([2, 0, 0, 0, 0]),
    Rules::new("road_runner", 3, |m, t| {
        t.scores(100 * m.digits(0xC9, 4));
        t.over = m.at(0xC4) & 7 == 0 && (m.at(0xB9) != 0 || m.at(0xBD) != 0);
        t.lives = (m.at(0xC4) & 7) + 1;
    }),
    Rules::new("up_n_down", 5, |m, t| {
        t.scores(m.bcd3(0x82, 0x81, 0x80));
        t.over = 0x40 < m.at(0x94) && m.low(0x86) == 0;
        t.lives = m.low(0x86) + 1;
    })
    .opening(FIRE),
];
