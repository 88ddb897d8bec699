//! The compressed replay returns the same batches as one that stores everything, whatever ends when, saved or not.

mod naive;

use naive::{Event, Feed, NaiveReplay, spec};
use proptest::prelude::*;
use sane_env::{AgentSteps, Ending, EnvSpec, FrameSpace, Stream};
use sane_replay::{Batch, Replay, ReplayError};

fn saved_and_restored(replay: &Replay, spec: &EnvSpec) -> Replay {
    let sealed: Vec<Vec<u8>> = replay.sealed_segments().map(|segment| segment.to_bytes()).collect();
    Replay::restore(replay.capacity(), spec, &replay.tail_bytes(), sealed).expect("its own bytes restore a replay")
}

fn sampled(replay: &mut Replay, spec: &EnvSpec, seed: u64) -> Batch {
    let mut batch = Batch::new(19, spec.state_bytes());
    let mut warm = replay.warmed_up(AgentSteps(1)).expect("a transition was pushed");
    warm.sample(&mut Stream::named(seed, "replay"), &mut batch);
    batch
}

/// Feeds both replays the same events, comparing batches now and then, and on one side saving and restoring.
fn check_same_batches(spec: &EnvSpec, capacity: usize, events: &[Event], save_every: usize) {
    let mut replay = Replay::new(capacity, spec);
    let mut naive = NaiveReplay::new(capacity, spec);
    let mut feed = Feed::new(spec);
    for (i, &event) in events.iter().enumerate() {
        feed.step(event, &mut replay, &mut naive);
        assert_eq!(replay.len(), (i + 1).min(capacity));
        if i % save_every == save_every - 1 {
            let before = replay.tail_bytes();
            replay = saved_and_restored(&replay, spec);
            assert_eq!(replay.tail_bytes(), before, "a restored replay has the bytes of the saved one");
        }
        if i % 13 == 0 || i + 1 == events.len() {
            let mut expected = Batch::new(19, spec.state_bytes());
            naive.sample(&mut Stream::named(i as u64, "replay"), &mut expected);
            assert_eq!(sampled(&mut replay, spec, i as u64), expected, "after {} transitions", i + 1);
        }
    }
}

fn any_event() -> impl Strategy<Value = Event> {
    let ending = prop_oneof![
        12 => Just(Ending::Continues),
        2 => Just(Ending::LifeLost),
        1 => Just(Ending::GameOver),
        1 => Just(Ending::Truncated),
    ];
    let change = prop_oneof![2 => Just(0_u8), 8 => Just(1), 1 => Just(2)];
    (ending, change).prop_map(|(ending, change)| Event { ending, change })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn batches_equal_those_of_the_naive_replay(
        events in proptest::collection::vec(any_event(), 1..700),
        capacity in 1_usize..200,
        history in 1_usize..6,
        frame in prop_oneof![
            Just(FrameSpace::gray(12, 9)), Just(FrameSpace::planes(4, 10, 10)), Just(FrameSpace::vector(4))
        ],
        save_every in 5_usize..500,
    ) {
        check_same_batches(&spec(frame, history), capacity, &events, save_every);
    }

    #[test]
    fn saving_in_between_does_not_show_in_the_bytes(
        events in proptest::collection::vec(any_event(), 1..400), save_every in 1_usize..90
    ) {
        let spec = spec(FrameSpace::gray(12, 9), 4);
        let (mut saved, mut never) = (Replay::new(100, &spec), Replay::new(100, &spec));
        let (mut feed, mut twin) = (Feed::new(&spec), Feed::new(&spec));
        let mut naive = NaiveReplay::new(100, &spec);
        for (i, &event) in events.iter().enumerate() {
            feed.step(event, &mut saved, &mut naive);
            twin.step(event, &mut never, &mut naive);
            if i % save_every == 0 {
                saved = saved_and_restored(&saved, &spec);
            }
        }
        prop_assert_eq!(saved.tail_bytes(), never.tail_bytes());
        prop_assert!(saved.sealed_segments().eq(never.sealed_segments()));
        prop_assert_eq!(saved.digest(), never.digest());
    }

    #[test]
    fn damaged_bytes_never_panic_while_restoring_and_short_ones_are_an_error(
        cut in 0_usize..4000, flip in 0_usize..4000, with in 1_u8..=255
    ) {
        let spec = spec(FrameSpace::gray(12, 9), 4);
        let mut replay = Replay::new(100, &spec);
        let mut feed = Feed::new(&spec);
        let mut naive = NaiveReplay::new(100, &spec);
        for _ in 0..15 {
            feed.step(Event { ending: Ending::Continues, change: 1 }, &mut replay, &mut naive);
        }
        let tail = replay.tail_bytes();
        let short = &tail[..cut % tail.len()];
        prop_assert!(Replay::restore(100, &spec, short, []).is_err());
        let mut other = tail.clone();
        let at = flip % 120;
        other[at] ^= with;
        let _ = Replay::restore(100, &spec, &other, []);
    }
}

#[test]
fn atari_sized_frames_and_segments_of_many_groups_agree_too() {
    let spec = spec(FrameSpace::gray(84, 84), 4);
    let mut stream = Stream::named(5, "events");
    let events: Vec<Event> = (0..3000)
        .map(|_| Event {
            ending: match stream.below(100) {
                0 => Ending::GameOver,
                1 => Ending::Truncated,
                2..4 => Ending::LifeLost,
                _ => Ending::Continues,
            },
            change: u8::from(stream.below(4) != 0) + u8::from(stream.below(50) == 0),
        })
        .collect();
    check_same_batches(&spec, 2500, &events, 700);
}

#[test]
fn the_batch_does_not_depend_on_the_number_of_threads() {
    let spec = spec(FrameSpace::gray(20, 20), 4);
    let batch_on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        let mut replay = Replay::new(500, &spec);
        let mut naive = NaiveReplay::new(500, &spec);
        let mut feed = Feed::new(&spec);
        for i in 0..700 {
            let ending = if i % 50 == 49 { Ending::GameOver } else { Ending::Continues };
            feed.step(Event { ending, change: 1 }, &mut replay, &mut naive);
        }
        pool.install(|| sampled(&mut replay, &spec, 9))
    };
    assert_eq!(batch_on(1), batch_on(3));
}

#[test]
fn a_replay_is_restored_only_into_its_own_world_and_from_its_own_segments() {
    let spec_of = |history| spec(FrameSpace::gray(12, 9), history);
    let mut replay = Replay::new(100, &spec_of(4));
    let mut feed = Feed::new(&spec_of(4));
    let mut naive = NaiveReplay::new(100, &spec_of(4));
    for _ in 0..200 {
        feed.step(Event { ending: Ending::Continues, change: 1 }, &mut replay, &mut naive);
    }
    let tail = replay.tail_bytes();
    let sealed: Vec<Vec<u8>> = replay.sealed_segments().map(|segment| segment.to_bytes()).collect();
    let restore = |history, capacity, sealed: &[Vec<u8>]| {
        Replay::restore(capacity, &spec_of(history), &tail, sealed.to_vec()).err()
    };
    assert_eq!(restore(4, 100, &sealed), None);
    assert_eq!(restore(3, 100, &sealed), Some(ReplayError::OtherShape { what: "history", found: 4, expected: 3 }));
    assert_eq!(restore(4, 99, &sealed), Some(ReplayError::OtherShape { what: "capacity", found: 100, expected: 99 }));
    assert_eq!(restore(4, 100, &sealed[1..]), Some(ReplayError::WrongSegment { expected: 1, found: Some(2) }));
    assert_eq!(restore(4, 100, &sealed[..1]), Some(ReplayError::WrongSegment { expected: 2, found: None }));
}
