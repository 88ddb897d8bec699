//! Adventures: sparse rewards.

use super::StartAction::{self, Hold, ResetSwitch};
use super::{ModeSelect, Rules, mode_byte};
use crate::joystick::Joystick;

const UP: &[StartAction] = &[Hold(Joystick::UP, 1)];

pub(super) const GAMES: &[Rules] = &[
    Rules::new("adventure", 1, |ram, s| {
        let chalice_home = ram.at(0xB9) == 0x12;
        if chalice_home {
            s.reward = 1;
        }
        s.over = chalice_home || ram.at(0xE0) == 2;
    })
    .lives_kept_at_end()
    .mode_select(ModeSelect::Adventure),
    Rules::new("earthworld", 1, |ram, s| {
        s.set_score(ram.bcd(0xA7));
        s.over = s.score == 10;
    }),
    // The game is never over: its condition, the life byte plus one equal to zero, cannot hold.
    Rules::new("et", 0, |ram, s| {
        s.set_score(ram.bcd3(0xE1, 0xE0, 0xDF));
        s.lives = ram.at(0xE5) + 1;
    })
    .select_until(25, |ram, mode| ram.at(0xEA) - 1 == mode),
    // memo[0]: matches used. Each match costs a reward of 1.
    Rules::new("haunted_house", 9, |ram, s| {
        let urn_found = ram.at(0x99) == 0x44;
        let matches = ram.bcd(0x82);
        s.reward = if urn_found { 100 } else { 0 } - i32::from(matches != s.memo[0]);
        s.memo[0] = matches;
        s.lives = ram.at(0x96);
        s.over = s.lives == 0 || urn_found;
    })
    .select_until(2, mode_byte::<0xCC>),
    Rules::new("krull", 3, |ram, s| {
        s.set_score(ram.bcd3(0x9E, 0x9D, 0x9C));
        s.over = ram.at(0x9F) == 0 && ram.at(0xA2) == 3 && ram.at(0x80) == 0x80;
        s.lives = (ram.at(0x9F) & 7) + 1;
    }),
    Rules::new("montezuma_revenge", 6, |ram, s| {
        s.set_score(ram.bcd3(0x95, 0x94, 0x93));
        s.over = ram.at(0xBA) == 0 && ram.at(0xFE) == 0x60;
        s.lives = (ram.at(0xBA) & 7) + 1;
    }),
    Rules::new("pitfall", 3, |ram, s| {
        s.set_score(ram.bcd3(0xD7, 0xD6, 0xD5));
        s.over = ram.high(0x80) == 0 && ram.at(0x9E) != 0;
        s.lives = match ram.high(0x80) {
            10 => 3,
            8 => 2,
            _ => 1,
        };
    })
    .initial_score(2000)
    .start_actions(UP),
    Rules::new("pitfall2", 1, |ram, s| {
        s.set_score(ram.bcd3(0xC9, 0xC8, 0xC7));
        s.over = s.score == 199_000;
    })
    .initial_score(4000)
    .start_actions(UP),
    Rules::new("private_eye", 0, |ram, s| {
        s.set_score(ram.bcd3(0xCA, 0xC9, 0xC8));
        s.over = !matches!(ram.at(0xC2), 0 | 1);
    })
    .initial_score(1000)
    .start_actions(UP)
    .select_until(2, mode_byte::<0x80>),
    Rules::new("sir_lancelot", 3, |ram, s| {
        s.set_score(ram.bcd3(0xA0, 0x9F, 0x9E));
        s.over = ram.at(0xA9) == 0 && ram.at(0xA7) == 0xA0;
        s.lives = ram.at(0xA9);
    })
    .start_actions(&[ResetSwitch, Hold(Joystick::LEFT, 1)]),
    // The only reward, at the end, is the time left of 99:59 in seconds.
    Rules::new("superman", 1, |ram, s| {
        s.over = ram.bit(0x9F, 0x40) && ram.at(0x80) + 256 * ram.at(0x81) == 0xF2AC;
        s.reward = if s.over { 5999 - 60 * ram.bcd(0xE3) - ram.bcd(0xE2) } else { 0 };
    }),
];
