//! Sports, and everything with a ball.

use super::shows;
use crate::action::Joystick;
use crate::rules::{Opening, Rules, Select};

/// Games that are won by points, against somebody or against the clock.
pub(super) const GAMES: &[Rules] = &[
    Rules::new("bowling", 0, |m, t| {
        t.scores(m.bcd2(0xA1, 0xA6));
        t.over = 0x10 < m.at(0xA4);
    })
    .press_until(2, shows::<0x82>),
    // A knock-out shows as 0xC0 instead of the digits of 100.
    Rules::new("boxing", 0, |m, t| {
        let points = |address| if m.at(address) == 0xC0 { 100 } else { m.bcd(address) };
        let (mine, theirs) = (points(0x92), points(0x93));
        t.scores(mine - theirs);
        t.over = mine == 100 || theirs == 100 || (m.high(0x90) == 0 && m.bcd(0x91) == 0);
    }),
    // Remembered: whether the five balls of a new game have been seen.
    Rules::new("breakout", 5, |m, t| {
        t.scores(m.low(0xCD) + 10 * m.high(0xCD) + 100 * m.low(0xCC));
        t.lives = m.at(0xB9);
        t.memo[0] |= i32::from(t.lives == 5);
        t.over = t.memo[0] == 1 && t.lives == 0;
    })
    .press_until(1, shows::<0xB2>),
    Rules::new("double_dunk", 0, |m, t| {
        let (mine, theirs) = (m.bcd(0xF6), m.bcd(0xF7));
        t.scores(mine - theirs);
        t.over = (24 <= mine || 24 <= theirs) && m.at(0xFE) == 0xE7;
    })
    .opening(&[Opening::Hold(Joystick::UPFIRE, 1)])
    .select(Select::DoubleDunk),
    // The counter shows cars still to be passed: 200 on the first day, 300 on the others.
    Rules::new("enduro", 0, |m, t| {
        let to_pass = m.bcd2(0xAB, 0xAC);
        t.scores(match m.at(0xAD) {
            0 => 0,
            1 => 200 - to_pass,
            day => 200 + 300 * (day - 2) + 300 - to_pass,
        });
        t.over = m.at(0xAF) == 0xFF;
    })
    .opening(crate::rules::FIRE),
    Rules::new("fishing_derby", 0, |m, t| {
        t.scores(m.bcd(0xBD) - m.bcd(0xBE));
        t.over = m.at(0xBD) == 0x99 || m.at(0xBE) == 0x99;
    }),
    Rules::new("human_cannonball", 1, |m, t| {
        t.scores(m.bcd(0xB6));
        t.over = t.score == 7 || m.bcd(0xB7) == 7;
    })
    .press_until(2, |m, mode| m.at(0xB6) - 1 == mode && m.at(0xB7) == 1),
    Rules::new("ice_hockey", 0, |m, t| {
        t.scores(m.bcd(0x8A) - m.bcd(0x8B));
        t.reward = t.reward.min(1);
        t.over = m.at(0x87) == 0 && m.at(0x86) == 0;
    })
    .press_until(2, shows::<0x80>),
    // Remembered: hole, par, strokes counted over, strokes shown, strokes shown when the hole began. A hole that is
    // finished pays par less strokes.
    Rules::new("miniature_golf", 1, |m, t| {
        let [mut hole, mut par, mut counted, mut shown, mut at_start] = t.memo;
        t.reward = 0;
        if m.bcd(0xAF) != hole {
            let strokes = shown + counted - at_start;
            if 0 < strokes {
                t.reward = par - strokes;
            }
            hole = m.bcd(0xAF);
            t.over |= hole == 0;
            (counted, at_start) = (0, shown);
        }
        if m.bcd(0x88) != 0 {
            par = m.bcd(0x88);
        } else {
            if m.bcd(0x87) < shown {
                counted += shown;
            }
            shown = m.bcd(0x87);
        }
        t.memo = [hole, par, counted, shown, at_start];
    }),
    Rules::new("pong", 0, |m, t| {
        t.scores(m.at(0x8E) - m.at(0x8D));
        t.over = m.at(0x8D) == 21 || m.at(0x8E) == 21;
    })
    .press_until(2, shows::<0x96>),
    // The time in hundredths of a second, to be kept small; the minutes are no decimal digits.
    Rules::new("skiing", 0, |m, t| {
        t.scores(-(6000 * m.at(0xE8) + m.bcd2(0xEA, 0xE9)));
        t.over = m.at(0x91) == 0xFF;
    })
    .opening(&[Opening::Hold(Joystick::DOWN, 16)]),
    // Remembered: the lead in points and in games. A change of games is what is paid when both change.
    Rules::new("tennis", 0, |m, t| {
        let (points, games) = (m.at(0xC5) - m.at(0xC6), m.at(0xC7) - m.at(0xC8));
        let [points_before, games_before, ..] = t.memo;
        t.reward = if games != games_before { games - games_before } else { points - points_before };
        t.memo = [points, games, 0, 0, 0];
        let wins = |won: u8, lead: i32| (6 <= m.at(won) && 2 <= lead) || m.at(won) == 7;
        t.over = wins(0xC7, games) || wins(0xC8, -games);
    })
    .press_until(2, shows::<0x80>),
    Rules::new("video_pinball", 3, |m, t| {
        t.scores(m.bcd3(0xB0, 0xB2, 0xB4));
        t.over = m.bit(0xAF, 1);
        t.lives = 4 + (m.at(0xA8) & 1) - (m.at(0x99) & 7);
    })
    .press_until(2, shows::<0xC1>),
];
