//! Recorded runs of ale-py replay without a difference: the paper's games in full, the others by turns.

use crate::{game_and_rom, golden};
use sane_arcade::{Comparison, Game, Trace, TraceError, replay};
use std::io::{Read, Write};
use std::time::{SystemTime, UNIX_EPOCH};

/// The 93 games beyond the paper's are replayed in this many turns.
const SLICES: u64 = 6;

fn check(path: &str) {
    let trace = Trace::read(&golden(path)).unwrap_or_else(|error| panic!("{error}"));
    let (game, rom) = game_and_rom(&trace.header.game);
    assert_eq!(trace.header.md5, game.md5);
    let found = replay(game, &rom, &trace, || {}).unwrap_or_else(|error| panic!("{error}"));
    let expected = Comparison { frames: trace.header.frames.into(), differences: 0, first: None };
    assert_eq!(found, expected, "{path}");
}

#[test]
fn the_first_six_games_of_the_paper_replay_without_a_difference() {
    Game::OF_THE_PAPER[..6].iter().for_each(|name| check(&format!("{name}.trc.gz")));
}

#[test]
fn the_other_five_games_of_the_paper_replay_without_a_difference() {
    Game::OF_THE_PAPER[6..].iter().for_each(|name| check(&format!("{name}.trc.gz")));
}

/// `SANE_TRACE_SLICE` chooses the turn; otherwise the day does, so that a week sees all of them.
#[test]
fn a_slice_of_the_other_93_games_replays_without_a_difference() {
    let others: Vec<&Game> = Game::all().iter().filter(|game| !Game::OF_THE_PAPER.contains(&game.name)).collect();
    assert_eq!(others.len(), 93);
    let slice = match std::env::var("SANE_TRACE_SLICE") {
        Ok(text) => text.parse().unwrap_or_else(|_| panic!("SANE_TRACE_SLICE is `{text}`, not a number")),
        Err(_) => SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs() / 86_400),
    } % SLICES;
    let names: Vec<_> = others.iter().map(|game| game.name).skip(slice as usize).step_by(SLICES as usize).collect();
    let repeat = format!("SANE_TRACE_SLICE={slice} repeats this slice: {}", names.join(" "));
    std::io::stderr().write_all(format!("{repeat}\n").as_bytes()).unwrap();
    names.iter().for_each(|name| check(&format!("others/{name}.trc.gz")));
}

/// One wrong bit in the recording is found, and named.
#[test]
fn a_changed_reward_is_named_with_frame_and_both_values() {
    let mut trace = Trace::read(&golden("boxing.trc.gz")).unwrap();
    let (game, rom) = game_and_rom("boxing");
    trace.records.truncate(52);
    trace.records[42].reward += 5;
    let recorded = trace.records[42].reward;
    let found = replay(game, &rom, &trace, || {}).unwrap();
    let first = found.first.unwrap();
    assert_eq!((found.frames, found.differences), (50, 1));
    assert_eq!((first.at.as_str(), first.field.as_str()), ("frame 40", "reward"));
    assert_eq!((first.recorded, first.found), (recorded.to_string(), (recorded - 5).to_string()));
}

#[test]
fn a_trace_cut_anywhere_is_refused() {
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
