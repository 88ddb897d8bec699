//! Sports, ball games and races.

use super::StartAction::Hold;
use super::{ModeSelect, PRESS_FIRE, Rules, mode_byte};
use crate::joystick::Joystick;

pub(super) const GAMES: &[Rules] = &[
    Rules::new("bowling", 0, |ram, s| {
        s.set_score(ram.bcd2(0xA1, 0xA6));
        s.over = 0x10 < ram.at(0xA4);
    })
    .select_until(2, mode_byte::<0x82>),
    // A knock-out is stored as 0xC0 instead of the digits of 100.
    Rules::new("boxing", 0, |ram, s| {
        let points = |address| if ram.at(address) == 0xC0 { 100 } else { ram.bcd(address) };
        let (mine, theirs) = (points(0x92), points(0x93));
        s.set_score(mine - theirs);
        s.over = mine == 100 || theirs == 100 || (ram.high(0x90) == 0 && ram.bcd(0x91) == 0);
    }),
    // memo[0]: 1 once the five balls of a new game have been read.
    Rules::new("breakout", 5, |ram, s| {
        s.set_score(ram.low(0xCD) + 10 * ram.high(0xCD) + 100 * ram.low(0xCC));
        s.lives = ram.at(0xB9);
        s.memo[0] |= i32::from(s.lives == 5);
        s.over = s.memo[0] == 1 && s.lives == 0;
    })
    .select_until(1, mode_byte::<0xB2>),
    Rules::new("double_dunk", 0, |ram, s| {
        let (mine, theirs) = (ram.bcd(0xF6), ram.bcd(0xF7));
        s.set_score(mine - theirs);
        s.over = (24 <= mine || 24 <= theirs) && ram.at(0xFE) == 0xE7;
    })
    .start_actions(&[Hold(Joystick::UPFIRE, 1)])
    .mode_select(ModeSelect::DoubleDunk),
    // The counter holds the cars still to be passed: 200 on the first day, 300 on the others.
    Rules::new("enduro", 0, |ram, s| {
        let to_pass = ram.bcd2(0xAB, 0xAC);
        s.set_score(match ram.at(0xAD) {
            0 => 0,
            1 => 200 - to_pass,
            day => 200 + 300 * (day - 2) + 300 - to_pass,
        });
        s.over = ram.at(0xAF) == 0xFF;
    })
    .start_actions(PRESS_FIRE),
    Rules::new("fishing_derby", 0, |ram, s| {
        s.set_score(ram.bcd(0xBD) - ram.bcd(0xBE));
        s.over = ram.at(0xBD) == 0x99 || ram.at(0xBE) == 0x99;
    }),
    Rules::new("human_cannonball", 1, |ram, s| {
        s.set_score(ram.bcd(0xB6));
        s.over = s.score == 7 || ram.bcd(0xB7) == 7;
    })
    .select_until(2, |ram, mode| ram.at(0xB6) - 1 == mode && ram.at(0xB7) == 1),
    Rules::new("ice_hockey", 0, |ram, s| {
        s.set_score(ram.bcd(0x8A) - ram.bcd(0x8B));
        s.reward = s.reward.min(1);
        s.over = ram.at(0x87) == 0 && ram.at(0x86) == 0;
    })
    .select_until(2, mode_byte::<0x80>),
    // memo: hole, par, strokes counted before the counter wrapped, strokes shown, strokes shown when the hole began.
    // A finished hole pays par − strokes.
    Rules::new("miniature_golf", 1, |ram, s| {
        let [mut hole, mut par, mut counted, mut shown, mut at_start] = s.memo;
        s.reward = 0;
        if ram.bcd(0xAF) != hole {
            let strokes = shown + counted - at_start;
            if 0 < strokes {
                s.reward = par - strokes;
            }
            hole = ram.bcd(0xAF);
            s.over |= hole == 0;
            (counted, at_start) = (0, shown);
        }
        if ram.bcd(0x88) != 0 {
            par = ram.bcd(0x88);
        } else {
            if ram.bcd(0x87) < shown {
                counted += shown;
            }
            shown = ram.bcd(0x87);
        }
        s.memo = [hole, par, counted, shown, at_start];
    }),
    Rules::new("pong", 0, |ram, s| {
        s.set_score(ram.at(0x8E) - ram.at(0x8D));
        s.over = ram.at(0x8D) == 21 || ram.at(0x8E) == 21;
    })
    .select_until(2, mode_byte::<0x96>),
    // Minus the time in hundredths of a second. The minutes are binary, the rest is BCD.
    Rules::new("skiing", 0, |ram, s| {
        s.set_score(-(6000 * ram.at(0xE8) + ram.bcd2(0xEA, 0xE9)));
        s.over = ram.at(0x91) == 0xFF;
    })
    .start_actions(&[Hold(Joystick::DOWN, 16)]),
    // memo: the lead in points and in games. When both change, the change of games is the reward.
    Rules::new("tennis", 0, |ram, s| {
        let (points, games) = (ram.at(0xC5) - ram.at(0xC6), ram.at(0xC7) - ram.at(0xC8));
        let [points_before, games_before, ..] = s.memo;
        s.reward = if games != games_before { games - games_before } else { points - points_before };
        s.memo = [points, games, 0, 0, 0];
        let wins = |won: u8, lead: i32| (6 <= ram.at(won) && 2 <= lead) || ram.at(won) == 7;
        s.over = wins(0xC7, games) || wins(0xC8, -games);
    })
    .select_until(2, mode_byte::<0x80>),
    Rules::new("video_pinball", 3, |ram, s| {
        s.set_score(ram.bcd3(0xB0, 0xB2, 0xB4));
        s.over = ram.bit(0xAF, 1);
        s.lives = 4 + (ram.at(0xA8) & 1) - (ram.at(0x99) & 7);
    })
    .select_until(2, mode_byte::<0xC1>),
];
