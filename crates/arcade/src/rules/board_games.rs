//! Board and card games, puzzles. Most of them pay 1 for a win and −1 for a loss.

use super::StartAction::Hold;
use super::{ModeSelect, Rules, mode_byte};
use crate::joystick::Joystick;
use crate::ram_view::RamView;

pub(super) const GAMES: &[Rules] = &[
    // Points hold signed piece counts, the player's negative; a state is read only when all 15 pieces of both are present.
    Rules::new("backgammon", 1, |ram, s| {
        let on_board = |sign: i32| -> i32 {
            (0x81..0x8E).chain(0x8F..0x9C).map(|address| (sign * ram.signed(address)).max(0)).sum()
        };
        let (mine_off, theirs_off) = (-ram.signed(0x80), ram.signed(0x8E));
        if on_board(-1) + mine_off == 15 && on_board(1) + theirs_off == 15 {
            if mine_off == 15 {
                s.reward = 1;
            } else if theirs_off == 15 {
                s.reward = -1;
            }
            s.over |= mine_off == 15 || theirs_off == 15;
        }
    })
    .paddle_max(1_000_000)
    .select_until(1, |ram, _| ram.at(0xDC) == 3),
    Rules::new("basic_math", 1, |ram, s| {
        s.set_score(ram.bcd(0x84));
        s.over = ram.bcd(0x86) != 0;
    })
    .select_until(2, mode_byte::<0xC5>),
    Rules::new("blackjack", 1, |ram, s| {
        let broke = ram.at(0x86) == 0x0B && ram.at(0x89) == 0xBB;
        s.set_score(if broke { 0 } else { ram.bcd2(0x89, 0x86) });
        s.over = broke || 1000 <= s.score;
    })
    .paddle_max(795_000),
    // While the game takes no input it keeps returning the reward of the last hand.
    Rules::new("casino", 1, |ram, s| {
        let solitaire = ram.at(0xD4) == 3;
        let waiting = ram.bit(0xD3, 0x80);
        let last_reward = s.reward;
        s.set_score(ram.bcd2(0x95, 0x8C));
        if !solitaire && waiting {
            s.reward = last_reward;
        }
        s.over = if solitaire {
            0 < s.score && ram.at(0x9E) == 0xAA
        } else {
            s.score == 0 || (0 < ram.bcd(0x9E) && waiting)
        };
    })
    .start_actions(&[Hold(Joystick::NOOP, 60), Hold(Joystick::FIRE, 2)])
    .select_until(2, mode_byte::<0xD4>),
    Rules::new("flag_capture", 1, |ram, s| {
        s.set_score(ram.bcd(0xEA));
        s.over = ram.bcd(0xEB) == 0;
    })
    .select_until(2, mode_byte::<0xD6>),
    // memo[0]: the clock of the previous frame; time is up when it goes from 255 to 0.
    Rules::new("hangman", 1, |ram, s| {
        let (now, before) = (ram.at(0xF1), s.memo[0]);
        s.set_score(ram.bcd(0xEB) - ram.bcd(0xEC));
        s.over = s.reward != 0 || (now == 0 && before == 255);
        s.memo[0] = now;
    })
    .initial_memo([-1, 0, 0, 0, 0])
    .select_until(2, mode_byte::<0xEE>),
    // Klax keeps its score in the RAM of its cartridge.
    Rules::new("klax", 1, |ram, s| {
        let [low, middle, high] = [0xF0B4, 0xF0B5, 0xF0B6].map(|address| ram.cartridge_bcd(address));
        s.set_score(low + 100 * middle + 10_000 * high);
        let drops_used_up = 0 < ram.cartridge(0xF0E9) && ram.cartridge(0xF0EE) == ram.cartridge(0xF0E9);
        let bin_full =
            ram.at(0xA8) == 4 && (0xB3..0xB3 + 25).all(|address| !matches!(ram.at(address), 0 | 2 | 6 | 10 | 14));
        s.over = drops_used_up || bin_full || ram.cartridge(0xF09D) == 0x99;
    })
    .start_actions(&[Hold(Joystick::FIRE, 1), Hold(Joystick::NOOP, 1)])
    .select_until(2, |ram, mode| ram.cartridge(0xF0EA) == mode),
    // memo[0]: consecutive frames in which the byte of a move in progress was zero.
    Rules::new("othello", 1, |ram, s| {
        s.set_score(ram.bcd(0xCE) - ram.bcd(0xD0));
        s.memo[0] = if ram.at(0xC0) == 0 { s.memo[0] + 1 } else { 0 };
        s.over = 50 < s.memo[0];
    })
    .select_until(2, |ram, mode| ram.at(0xDE) - 1 == mode),
    Rules::new("tetris", 0, |ram, s| {
        s.set_score(ram.bcd2(0xF1, 0xF2));
        s.reward = s.reward.max(0);
        s.over = ram.bit(0xF3, 0x80);
        if s.over {
            s.score = 0;
        }
    }),
    Rules::new("tic_tac_toe_3d", 1, |ram, s| {
        let line_made = ram.at(0xFE) == 0x10 && ram.at(0xFF) == 0xF3;
        s.reward = match (line_made, ram.at(0xE1)) {
            (false, _) => 0,
            (true, 8) => 1,
            (true, _) => -1,
        };
        s.over |= line_made || (0x9A..0xDA).all(|address| ram.at(address) != 0);
    })
    .select_until(2, mode_byte::<0x88>),
    // From mode 11 on the rules are reversed: losing all pieces wins.
    Rules::new("video_checkers", 1, |ram, s| {
        let sign = if s.mode < 11 { -1 } else { 1 };
        let pieces = |man: i32, king: i32| {
            let squares = [0x80, 0x89, 0x92, 0x9B].into_iter().flat_map(|row| row..row + 8);
            squares.filter(|&square| [man, king].contains(&ram.at(square))).count()
        };
        let (black_gone, white_gone) = (pieces(0x10, 0x20) == 0, pieces(0x90, 0xA0) == 0);
        if black_gone {
            s.reward = sign;
        } else if white_gone {
            s.reward = -sign;
        }
        s.over |= black_gone || white_gone;
    })
    .select_until(1, |ram, mode| ram.at(0xF6) == if mode < 11 { mode } else { mode + 6 }),
    Rules::new("video_chess", 1, |ram, s| {
        let mated = ram.at(0xE1) == 0x82;
        s.reward = match (mated, ram.at(0xEE)) {
            (true, 0) => 1,
            (true, 1) => -1,
            _ => 0,
        };
        s.over |= s.reward != 0;
    })
    .select_until(1, mode_byte::<0xEA>),
    // memo: faces of one colour, clock of the previous frame.
    Rules::new("video_cube", 1, |ram, s| {
        let [faces_before, clock_before, ..] = s.memo;
        let (faces, clock) = ((0..6).filter(|&face| is_of_one_colour(ram, face)).count() as i32, ram.at(0xDB));
        let time_is_up = clock == 0 && clock_before == 255;
        s.reward = if time_is_up { -1 } else { faces - faces_before };
        s.over = time_is_up || faces == 6;
        s.memo = [faces, clock, 0, 0, 0];
    })
    .start_actions(&[Hold(Joystick::NOOP, 61), Hold(Joystick::FIRE, 1), Hold(Joystick::NOOP, 2)])
    .mode_select(ModeSelect::VideoCube),
    // While the clock is zero nothing is read.
    Rules::new("word_zapper", 1, |ram, s| {
        if 0 < ram.bcd(0xCF) {
            s.set_score(2 - ram.signed(0xDC));
            s.over = s.score == 3 || ram.bcd(0xDE) == 0;
        }
    })
    .start_actions(&[Hold(Joystick::NOOP, 486), Hold(Joystick::FIRE, 1), Hold(Joystick::NOOP, 2)])
    .select_until(2, mode_byte::<0xDB>),
];

fn is_of_one_colour(ram: RamView<'_>, face: u8) -> bool {
    let first = 0xA0 + 9 * face;
    (first..first + 9).all(|square| ram.at(square) == ram.at(first))
}
