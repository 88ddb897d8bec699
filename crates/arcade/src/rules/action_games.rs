//! Running, jumping, climbing and catching games.

use super::StartAction::{Hold, ResetSwitch};
use super::{BeforeSelect, PRESS_FIRE, Rules, mode_byte};
use crate::joystick::Joystick;

pub(super) const GAMES: &[Rules] = &[
    Rules::new("asterix", 3, |ram, s| {
        s.set_score(ram.bcd3(0xE0, 0xDF, 0xDE));
        s.over = ram.at(0xC7) == 1 && ram.low(0xD3) == 1;
        s.lives = ram.low(0xD3);
    })
    .start_actions(PRESS_FIRE),
    Rules::new("crazy_climber", 5, |ram, s| {
        s.set_score(100 * (ram.at(0x82) + 10 * ram.at(0x83) + 100 * ram.at(0x84) + 1000 * ram.at(0x85)));
        s.reward = s.reward.max(0);
        s.over = ram.at(0xAA) == 0;
        s.lives = ram.at(0xAA);
    })
    .select_until(2, mode_byte::<0x80>),
    Rules::new("donkey_kong", 2, |ram, s| {
        s.set_score(100 * ram.bcd2(0x88, 0x87));
        s.over = ram.at(0xA3) == 0 && ram.at(0x8F) == 3 && ram.at(0x8B) == 0x1F;
        s.lives = ram.at(0xA3);
    }),
    Rules::new("elevator_action", 4, |ram, s| {
        s.set_score(ram.bcd3(0x89, 0x88, 0x87));
        s.over = ram.at(0x83) == 0 && ram.at(0x81) != 0;
        s.lives = ram.at(0x83);
    })
    .start_actions(&[Hold(Joystick::FIRE, 16)]),
    Rules::new("freeway", 0, |ram, s| {
        s.set_score(ram.bcd(0xE7));
        s.reward = s.reward.clamp(0, 1);
        s.over = ram.at(0x96) == 1;
    })
    .select_until(1, mode_byte::<0x80>),
    Rules::new("frogger", 4, |ram, s| {
        s.set_score(ram.bcd2(0xCE, 0xCC));
        s.over = ram.at(0xD0) == 0xFF;
        s.lives = ram.at(0xD0);
    })
    .select_until(2, |ram, mode| ram.at(0xDD) == 1 + 2 * mode),
    Rules::new("frostbite", 4, |ram, s| {
        s.set_score(ram.bcd3(0xCA, 0xC9, 0xC8));
        s.over = ram.low(0xCC) == 0 && ram.bit(0xF1, 0x80);
        s.lives = ram.low(0xCC) + 1;
    })
    .select_until(1, mode_byte::<0x80>),
    // Lives are the carrots left, one bit each.
    Rules::new("gopher", 3, |ram, s| {
        let carrots = ram.at(0xB4) & 7;
        s.set_score(ram.bcd3(0xB2, 0xB1, 0xB0));
        s.over = carrots == 0;
        s.lives = carrots.count_ones() as i32;
    })
    .start_actions(PRESS_FIRE)
    .select_until_after(BeforeSelect::SoftReset, 5, mode_byte::<0xD3>),
    Rules::new("hero", 4, |ram, s| {
        s.set_score(ram.bcd3(0xB9, 0xB8, 0xB7));
        s.over = ram.at(0xB3) == 0;
        s.lives = ram.at(0xB3);
    })
    .select_until(1, mode_byte::<0x80>),
    // The 50 000 points granted at the start are not a reward.
    Rules::new("journey_escape", 0, |ram, s| {
        s.set_score(ram.bcd3(0x92, 0x91, 0x90));
        if s.reward == 50_000 {
            s.reward = 0;
        }
        s.over = ram.at(0x95) == 0 && ram.at(0x96) == 0;
    })
    .start_actions(PRESS_FIRE),
    Rules::new("kaboom", 1, |ram, s| {
        s.set_score(ram.bcd3(0xA5, 0xA4, 0xA3));
        s.over = ram.at(0xA1) == 0 || s.score == 999_999;
    })
    .start_actions(PRESS_FIRE),
    Rules::new("kangaroo", 3, |ram, s| {
        s.set_score(100 * ram.bcd2(0xA8, 0xA7));
        s.over = ram.at(0xAD) == 0xFF;
        s.lives = (ram.at(0xAD) & 7) + 1;
    })
    .select_until(2, |ram, mode| ram.at(0xBA) == mode || ram.at(0xBA) == mode + 0x80),
    Rules::new("keystone_kapers", 3, |ram, s| {
        s.set_score(ram.bcd2(0x9C, 0x9B));
        s.over = ram.at(0x96) == 0 && ram.at(0x88) == 0;
        s.lives = ram.at(0x96);
    })
    .start_actions(&[ResetSwitch]),
    Rules::new("king_kong", 3, |ram, s| {
        s.set_score(ram.bcd2(0x83, 0x82));
        s.over = ram.at(0xEE) == 0;
        s.lives = ram.at(0xEE);
    })
    .select_until(2, |ram, mode| ram.at(0xEC) == 2 * mode),
    Rules::new("koolaid", 0, |ram, s| {
        s.set_score(100 * ram.bcd2(0x81, 0x80));
        s.over = ram.at(0xD1) == 0x80;
    }),
    Rules::new("kung_fu_master", 4, |ram, s| {
        s.set_score(ram.bcd3(0x9A, 0x99, 0x98));
        s.over = ram.at(0x9D) == 0xFF;
        s.lives = (ram.at(0x9D) & 7) + 1;
    }),
    Rules::new("lost_luggage", 3, |ram, s| {
        s.set_score(ram.bcd3(0x96, 0x95, 0x94));
        s.over = ram.at(0xCA) == 0 && ram.at(0xC8) == 10 && ram.at(0xA5) == 0 && ram.at(0xA9) == 0;
        s.lives = ram.at(0xCA);
    })
    .start_actions(PRESS_FIRE)
    .select_until(2, |ram, mode| ram.at(0x94) == 1 + 3 * mode),
    Rules::new("mario_bros", 0, |ram, s| {
        s.set_score(100 * ram.bcd2(0x8A, 0x89));
        s.over = ram.at(0x87) == 0;
        s.lives = ram.at(0x87);
    })
    .start_actions(&[Hold(Joystick::NOOP, 10), Hold(Joystick::FIRE, 7)])
    .select_until(5, mode_byte::<0x80>),
    // memo[0]: the life byte of the previous frame. The byte is not a count; each decrement of it is a lost life.
    Rules::new("qbert", 4, |ram, s| {
        let (now, before) = (ram.signed(0x88), s.memo[0]);
        s.over = ram.at(0x88) == 0xFE || (now == 2 && before == -1);
        s.lives -= i32::from(now == before - 1);
        s.memo[0] = now;
        if s.over {
            s.reward = 0;
        } else {
            s.set_score(ram.bcd3(0xDB, 0xDA, 0xD9));
        }
    })
    .initial_memo([2, 0, 0, 0, 0]),
    Rules::new("road_runner", 3, |ram, s| {
        s.set_score(100 * ram.digits(0xC9, 4));
        s.over = ram.at(0xC4) & 7 == 0 && (ram.at(0xB9) != 0 || ram.at(0xBD) != 0);
        s.lives = (ram.at(0xC4) & 7) + 1;
    }),
    Rules::new("up_n_down", 5, |ram, s| {
        s.set_score(ram.bcd3(0x82, 0x81, 0x80));
        s.over = 0x40 < ram.at(0x94) && ram.low(0x86) == 0;
        s.lives = ram.low(0x86) + 1;
    })
    .start_actions(PRESS_FIRE),
];
