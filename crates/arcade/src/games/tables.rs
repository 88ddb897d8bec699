//! Boards, cards, puzzles and riddles. A win is mostly 1 and a loss −1.

use super::shows;
use crate::action::Joystick;
use crate::memory::Memory;
use crate::rules::{Opening, Rules, Select};

/// Games for the table.
pub(super) const GAMES: &[Rules] = &[
    // Pieces lie on points as signed counts, the player's negative; a state counts only when all 15 of each are there.
    Rules::new("backgammon", 1, |m, t| {
        let on_board = |sign: i32| -> i32 {
            (0x81..0x8E).chain(0x8F..0x9C).map(|address| (sign * m.signed(address)).max(0)).sum()
        };
        let (mine_off, theirs_off) = (-m.signed(0x80), m.signed(0x8E));
        if on_board(-1) + mine_off == 15 && on_board(1) + theirs_off == 15 {
            if mine_off == 15 {
                t.reward = 1;
            } else if theirs_off == 15 {
                t.reward = -1;
            }
            t.over |= mine_off == 15 || theirs_off == 15;
        }
    })
    .paddle_max(1_000_000)
    .press_until(1, |m, _| m.at(0xDC) == 3),
    Rules::new("basic_math", 1, |m, t| {
        t.scores(m.bcd(0x84));
        t.over = m.bcd(0x86) != 0;
    })
    .press_until(2, shows::<0xC5>),
    Rules::new("blackjack", 1, |m, t| {
        let broke = m.at(0x86) == 0x0B && m.at(0x89) == 0xBB;
        t.scores(if broke { 0 } else { m.bcd2(0x89, 0x86) });
        t.over = broke || 1000 <= t.score;
    })
    .paddle_max(795_000),
    // While the game takes no input it keeps showing the reward of the last hand.
    Rules::new("casino", 1, |m, t| {
        let solitaire = m.at(0xD4) == 3;
        let waiting = m.bit(0xD3, 0x80);
        let last_reward = t.reward;
        t.scores(m.bcd2(0x95, 0x8C));
        if !solitaire && waiting {
            t.reward = last_reward;
        }
        t.over =
            if solitaire { 0 < t.score && m.at(0x9E) == 0xAA } else { t.score == 0 || (0 < m.bcd(0x9E) && waiting) };
    })
    .opening(&[Opening::Hold(Joystick::NOOP, 60), Opening::Hold(Joystick::FIRE, 2)])
    .press_until(2, shows::<0xD4>),
    Rules::new("flag_capture", 1, |m, t| {
        t.scores(m.bcd(0xEA));
        t.over = m.bcd(0xEB) == 0;
    })
    .press_until(2, shows::<0xD6>),
    // Remembered: the clock of the frame before; it has run out when it goes from 255 to 0.
    Rules::new("hangman", 1, |m, t| {
        let (now, before) = (m.at(0xF1), t.memo[0]);
        t.scores(m.bcd(0xEB) - m.bcd(0xEC));
        t.over = t.reward != 0 || (now == 0 && before == 255);
        t.memo[0] = now;
    })
    .memo([-1, 0, 0, 0, 0])
    .press_until(2, shows::<0xEE>),
    // Klax keeps its books in the RAM of its cartridge.
    Rules::new("klax", 1, |m, t| {
        let [low, middle, high] = [0xF0B4, 0xF0B5, 0xF0B6].map(|address| m.cartridge_bcd(address));
        t.scores(low + 100 * middle + 10_000 * high);
        let drops_used_up = 0 < m.cartridge(0xF0E9) && m.cartridge(0xF0EE) == m.cartridge(0xF0E9);
        let bin_full = m.at(0xA8) == 4 && (0xB3..0xB3 + 25).all(|place| !matches!(m.at(place), 0 | 2 | 6 | 10 | 14));
        t.over = drops_used_up || bin_full || m.cartridge(0xF09D) == 0x99;
    })
    .opening(&[Opening::Hold(Joystick::FIRE, 1), Opening::Hold(Joystick::NOOP, 1)])
    .press_until(2, |m, mode| m.cartridge(0xF0EA) == mode),
    // Remembered: frames for which the byte that shows a move in progress has been zero.
    Rules::new("othello", 1, |m, t| {
        t.scores(m.bcd(0xCE) - m.bcd(0xD0));
        t.memo[0] = if m.at(0xC0) == 0 { t.memo[0] + 1 } else { 0 };
        t.over = 50 < t.memo[0];
    })
    .press_until(2, |m, mode| m.at(0xDE) - 1 == mode),
    Rules::new("tetris", 0, |m, t| {
        t.scores(m.bcd2(0xF1, 0xF2));
        t.reward = t.reward.max(0);
        t.over = m.bit(0xF3, 0x80);
        if t.over {
            t.score = 0;
        }
    }),
    Rules::new("tic_tac_toe_3d", 1, |m, t| {
        let line_made = m.at(0xFE) == 0x10 && m.at(0xFF) == 0xF3;
        t.reward = match (line_made, m.at(0xE1)) {
            (false, _) => 0,
            (true, 8) => 1,
            (true, _) => -1,
        };
        t.over |= line_made || (0x9A..0xDA).all(|place| m.at(place) != 0);
    })
    .press_until(2, shows::<0x88>),
    // From mode 11 on the rules are reversed: who loses all pieces wins.
    Rules::new("video_checkers", 1, |m, t| {
        let sign = if t.mode < 11 { -1 } else { 1 };
        let pieces = |man: i32, king: i32| {
            let squares = [0x80, 0x89, 0x92, 0x9B].into_iter().flat_map(|row| row..row + 8);
            squares.filter(|&square| [man, king].contains(&m.at(square))).count()
        };
        let (black_gone, white_gone) = (pieces(0x10, 0x20) == 0, pieces(0x90, 0xA0) == 0);
        if black_gone {
            t.reward = sign;
        } else if white_gone {
            t.reward = -sign;
        }
        t.over |= black_gone || white_gone;
    })
    .press_until(1, |m, mode| m.at(0xF6) == if mode < 11 { mode } else { mode + 6 }),
    Rules::new("video_chess", 1, |m, t| {
        let mated = m.at(0xE1) == 0x82;
        t.reward = match (mated, m.at(0xEE)) {
            (true, 0) => 1,
            (true, 1) => -1,
            _ => 0,
        };
        t.over |= t.reward != 0;
    })
    .press_until(1, shows::<0xEA>),
    // Remembered: faces of one colour, and the clock of the frame before.
    Rules::new("video_cube", 1, |m, t| {
        let [faces_before, clock_before, ..] = t.memo;
        let (faces, clock) = ((0..6).filter(|&face| is_of_one_colour(m, face)).count() as i32, m.at(0xDB));
        let time_is_up = clock == 0 && clock_before == 255;
        t.reward = if time_is_up { -1 } else { faces - faces_before };
        t.over = time_is_up || faces == 6;
        t.memo = [faces, clock, 0, 0, 0];
    })
    .opening(&[Opening::Hold(Joystick::NOOP, 61), Opening::Hold(Joystick::FIRE, 1), Opening::Hold(Joystick::NOOP, 2)])
    .select(Select::VideoCube),
    // Nothing is read while the clock stands at zero.
    Rules::new("word_zapper", 1, |m, t| {
        if 0 < m.bcd(0xCF) {
            t.scores(2 - m.signed(0xDC));
            t.over = t.score == 3 || m.bcd(0xDE) == 0;
        }
    })
    .opening(&[Opening::Hold(Joystick::NOOP, 486), Opening::Hold(Joystick::FIRE, 1), Opening::Hold(Joystick::NOOP, 2)])
    .press_until(2, shows::<0xDB>),
];

fn is_of_one_colour(memory: Memory<'_>, face: u8) -> bool {
    let first = 0xA0 + 9 * face;
    (first..first + 9).all(|square| memory.at(square) == memory.at(first))
}
