//! Shooting in space, or at what comes from there.

use super::shows;
use crate::action::Joystick;
use crate::rules::{FIRE, Opening, Prelude, Rules};

/// Games of rockets and invaders.
pub(super) const GAMES: &[Rules] = &[
    Rules::new("assault", 4, |m, t| {
        t.scores(m.bcd3(0x82, 0x81, 0x80));
        t.over = m.at(0xE5) == 0;
        t.lives = m.at(0xE5);
    }),
    // The score wraps at 100 000.
    Rules::new("asteroids", 4, |m, t| {
        t.scores(10 * m.bcd2(0xBE, 0xBD));
        t.reward = wrapped(t.reward, 100_000);
        t.over = m.high(0xBC) == 0;
        t.lives = m.high(0xBC);
    })
    .press_until(2, shows::<0x80>),
    Rules::new("beam_rider", 3, |m, t| {
        t.scores(m.bcd3(0x89, 0x8A, 0x8B));
        t.over = m.at(0x85) == 255;
        // A single lost life is believed only once another byte confirms it.
        let lives = m.at(0x85) + 1;
        if lives != t.lives - 1 || m.at(0x8C) == 1 {
            t.lives = lives;
        }
    })
    .opening(&[Opening::Hold(Joystick::RIGHT, 1)]),
    Rules::new("defender", 3, |m, t| {
        t.scores(m.digits(0x9C, 6));
        t.over = m.at(0xC2) == 0;
        t.lives = m.at(0xC2);
    })
    .press_until(2, shows::<0x9B>),
    // Before a game the score shows the maker's name.
    Rules::new("demon_attack", 4, |m, t| {
        let name_shown = [m.at(0x81), m.at(0x83), m.at(0x85)] == [0xAB, 0xCD, 0xEA];
        t.scores(if name_shown { 0 } else { m.bcd3(0x85, 0x83, 0x81) });
        t.over = m.at(0xF2) == 0 && m.at(0xF1) == 0xBD;
        t.lives = m.at(0xF2) + 1;
    })
    .press_until(1, shows::<0xEA>),
    // The score wraps at a million.
    Rules::new("galaxian", 3, |m, t| {
        t.scores(m.bcd3(0xAE, 0xAD, 0xAC));
        t.reward = wrapped(t.reward, 1_000_000);
        t.over = m.bit(0xBF, 0x80);
        t.lives = m.at(0xB9) + 1;
    })
    .press_until(1, shows::<0xB3>),
    Rules::new("gravitar", 6, |m, t| {
        t.scores(m.bcd3(0x89, 0x88, 0x87));
        t.over = m.at(0x81) == 1;
        t.lives = if m.at(0x81) == 0 { 6 } else { m.at(0x84) + 1 };
    })
    .opening(&[Opening::Hold(Joystick::FIRE, 16)])
    .press_until(10, shows::<0x80>),
    Rules::new("phoenix", 5, |m, t| {
        t.scores(10 * (10 * m.bcd2(0xC8, 0xC9) + m.high(0xC7)));
        t.over = m.at(0xCC) == 0x80;
        t.lives = m.at(0xCB) & 7;
    }),
    Rules::new("solaris", 3, |m, t| {
        t.scores(10 * m.bcd3(0xDC, 0xDD, 0xDE));
        t.over = m.at(0xD9) == 0;
        t.lives = m.low(0xD9);
    }),
    // The score wraps at 10 000.
    Rules::new("space_invaders", 3, |m, t| {
        t.scores(m.bcd2(0xE8, 0xE6));
        t.reward = wrapped(t.reward, 10_000);
        t.over = m.bit(0x98, 0x80) || m.at(0xC9) == 0;
        t.lives = m.at(0xC9);
    })
    .press_until(2, shows::<0xDC>),
    Rules::new("space_war", 1, |m, t| {
        t.scores(m.bcd(0xA7));
        t.over = t.score == 10 || m.at(0x80) == 0;
    })
    .press_until(2, |m, mode| m.bcd(0xA7) == mode),
    // Remembered: whether the five lives of a new game have been seen.
    Rules::new("star_gunner", 5, |m, t| {
        t.scores(100 * m.digits(0x83, 4));
        t.memo[0] |= i32::from(m.at(0x87) == 5);
        t.over = m.at(0x87) == 0;
        t.lives = if t.memo[0] == 1 { m.low(0x87) } else { 5 };
    })
    .press_until(15, shows::<0xF4>),
    Rules::new("trondead", 5, |m, t| {
        t.scores(m.bcd3(0xBF, 0xBE, 0xBD));
        t.over = m.at(0xC8) == 5;
        t.lives = 5 - m.at(0xC8);
    }),
    Rules::new("turmoil", 4, |m, t| {
        t.scores(10 * (m.bcd2(0x89, 0x8A) + m.at(0xD3)));
        t.over = m.at(0xB9) == 0 && m.at(0xC5) == 1;
        t.lives = m.at(0xB9);
    })
    .opening(FIRE)
    .press_until(2, shows::<0xEA>),
    Rules::new("yars_revenge", 4, |m, t| {
        t.scores(m.bcd3(0xE2, 0xE1, 0xE0));
        t.over = m.high(0x9E) == 0;
        t.lives = m.high(0x9E);
    })
    .opening(FIRE)
    .press_until_after(Prelude::Press(2), 1, shows::<0xE3>),
];

/// The reward when the score's digits have run over.
fn wrapped(difference: i32, modulus: i32) -> i32 {
    if difference < 0 { difference + modulus } else { difference }
}
