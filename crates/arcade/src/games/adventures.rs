//! Quests: a long way, and seldom a reward.

use super::shows;
use crate::action::Joystick;
use crate::rules::{Opening, Rules, Select};

const UP: &[Opening] = &[Opening::Hold(Joystick::UP, 1)];

/// Wins are rewarded with 1, once and for as long as the game shows them.
pub(super) const GAMES: &[Rules] = &[
    Rules::new("adventure", 1, |m, t| {
        let chalice_home = m.at(0xB9) == 0x12;
        if chalice_home {
            t.reward = 1;
        }
        t.over = chalice_home || m.at(0xE0) == 2;
    })
    .lives_counted_at_end()
    .select(Select::Adventure),
    Rules::new("earthworld", 1, |m, t| {
        t.scores(m.bcd(0xA7));
        t.over = t.score == 10;
    }),
    // The end would need a byte plus one to be zero, so it never comes.
    Rules::new("et", 0, |m, t| {
        t.scores(m.bcd3(0xE1, 0xE0, 0xDF));
        t.lives = m.at(0xE5) + 1;
    })
    .press_until(25, |m, mode| m.at(0xEA) - 1 == mode),
    // Remembered: the matches used. Each costs one.
    Rules::new("haunted_house", 9, |m, t| {
        let urn_found = m.at(0x99) == 0x44;
        let matches = m.bcd(0x82);
        t.reward = if urn_found { 100 } else { 0 } - i32::from(matches != t.memo[0]);
        t.memo[0] = matches;
        t.lives = m.at(0x96);
        t.over = t.lives == 0 || urn_found;
    })
    .press_until(2, shows::<0xCC>),
    Rules::new("krull", 3, |m, t| {
        t.scores(m.bcd3(0x9E, 0x9D, 0x9C));
        t.over = m.at(0x9F) == 0 && m.at(0xA2) == 3 && m.at(0x80) == 0x80;
        t.lives = (m.at(0x9F) & 7) + 1;
    }),
    Rules::new("montezuma_revenge", 6, |m, t| {
        t.scores(m.bcd3(0x95, 0x94, 0x93));
        t.over = m.at(0xBA) == 0 && m.at(0xFE) == 0x60;
        t.lives = (m.at(0xBA) & 7) + 1;
    }),
    Rules::new("pitfall", 3, |m, t| {
        t.scores(m.bcd3(0xD7, 0xD6, 0xD5));
        t.over = m.high(0x80) == 0 && m.at(0x9E) != 0;
        t.lives = match m.high(0x80) {
            10 => 3,
            8 => 2,
            _ => 1,
        };
    })
    .first_score(2000)
    .opening(UP),
    Rules::new("pitfall2", 1, |m, t| {
        t.scores(m.bcd3(0xC9, 0xC8, 0xC7));
        t.over = t.score == 199_000;
    })
    .first_score(4000)
    .opening(UP),
    Rules::new("private_eye", 0, |m, t| {
        t.scores(m.bcd3(0xCA, 0xC9, 0xC8));
        t.over = !matches!(m.at(0xC2), 0 | 1);
    })
    .first_score(1000)
    .opening(UP)
    .press_until(2, shows::<0x80>),
    Rules::new("sir_lancelot", 3, |m, t| {
        t.scores(m.bcd3(0xA0, 0x9F, 0x9E));
        t.over = m.at(0xA9) == 0 && m.at(0xA7) == 0xA0;
        t.lives = m.at(0xA9);
    })
    .opening(&[Opening::Reset, Opening::Hold(Joystick::LEFT, 1)]),
    // The reward at the end is the time left of 100 minutes less one second.
    Rules::new("superman", 1, |m, t| {
        t.over = m.bit(0x9F, 0x40) && m.at(0x80) + 256 * m.at(0x81) == 0xF2AC;
        t.reward = if t.over { 5999 - 60 * m.bcd(0xE3) - m.bcd(0xE2) } else { 0 };
    }),
];
