//! Recorded runs of ale-py replay without a difference: 6000 frames of each of the paper's games, 800 of each other game.

use crate::{game_and_rom, golden, is_left_out};
use sane_arcade::{Game, Trace, TraceComparison, TraceError};
use std::io::{Read, Write};

fn check(path: &str) {
    let trace = Trace::read(&golden(path)).unwrap_or_else(|error| panic!("{error}"));
    let (game, rom) = game_and_rom(&trace.header.game);
    assert_eq!(trace.header.md5, game.md5);
    let found = trace.compare(game, &rom, || {}).unwrap_or_else(|error| panic!("{error}"));
    let expected = TraceComparison { frames: trace.header.frames.into(), differences: 0, first: None };
    assert_eq!(found, expected, "{path}");
}

#[test]
fn the_first_six_games_of_the_paper_replay_without_a_difference() {
    if is_left_out() {
        return;
    }
    Game::PAPER_GAMES[..6].iter().for_each(|name| check(&format!("{name}.trc.gz")));
}

#[test]
fn the_other_five_games_of_the_paper_replay_without_a_difference() {
    if is_left_out() {
        return;
    }
    Game::PAPER_GAMES[6..].iter().for_each(|name| check(&format!("{name}.trc.gz")));
}

/// Split in two halves so that two test threads share the work.
fn check_other_games(half: usize) {
    let others: Vec<&Game> = Game::all().iter().filter(|game| !Game::PAPER_GAMES.contains(&game.name)).collect();
    assert_eq!(others.len(), 93);
    others.iter().skip(half).step_by(2).for_each(|game| check(&format!("others/{}.trc.gz", game.name)));
}

#[test]
fn the_other_93_games_replay_without_a_difference_first_half() {
    if is_left_out() {
        return;
    }
    check_other_games(0);
}

#[test]
fn the_other_93_games_replay_without_a_difference_second_half() {
    if is_left_out() {
        return;
    }
    check_other_games(1);
}

#[test]
fn a_changed_reward_is_named_with_frame_and_both_values() {
    if is_left_out() {
        return;
    }
    let mut trace = Trace::read(&golden("boxing.trc.gz")).unwrap();
    let (game, rom) = game_and_rom("boxing");
    trace.records.truncate(52);
    trace.records[42].reward += 5;
    let recorded = trace.records[42].reward;
    let found = trace.compare(game, &rom, || {}).unwrap();
    let first = found.first.unwrap();
    assert_eq!((found.frames, found.differences), (50, 1));
    assert_eq!((first.at.as_str(), first.field.as_str()), ("frame 40", "reward"));
    assert_eq!((first.recorded, first.found), (recorded.to_string(), (recorded - 5).to_string()));
}

#[test]
fn a_truncated_trace_is_an_error() {
    let mut bytes = Vec::new();
    let file = std::fs::File::open(golden("boxing.trc.gz")).unwrap();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boxing.trc.gz");
    for kept in [0, 7, 8, 9, 20, 40, 65, 66, 100, 5000, 40_000, bytes.len() - 1] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes[..kept]).unwrap();
        std::fs::write(&path, gzip.finish().unwrap()).unwrap();
        let error = Trace::read(&path).unwrap_err();
        let expected = match kept {
            0..8 => matches!(error, TraceError::NotATrace { .. }),
            _ => matches!(error, TraceError::CutShort { .. } | TraceError::WrongLength { .. }),
        };
        assert!(expected, "{kept} bytes: {error}");
    }
    let whole = std::fs::read(golden("boxing.trc.gz")).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    assert!(matches!(Trace::read(&path), Err(TraceError::Read { .. })));
}
