//! What a transition is: the facts that learning relies on, shown on frames of one byte.

use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameSkip, FrameSpace, Stream};
use sane_replay::{Batch, Replay};

fn spec(frame: FrameSpace, history: usize) -> EnvSpec {
    EnvSpec { name: "made-up".into(), frame, history, actions: vec!["only".into()], frame_skip: FrameSkip(4) }
}

/// A replay of one-byte frames with a history of four.
fn replay(capacity: usize) -> Replay {
    Replay::new(capacity, &spec(FrameSpace::gray(1, 1), 4))
}

/// All transitions (s, r, terminal, s′) that many draws reach, in order of their reward, which numbers them.
fn reached(replay: &mut Replay) -> Vec<(Vec<u8>, f32, bool, Vec<u8>)> {
    let mut batch = Batch::new(64, 4);
    let mut stream = Stream::named(2, "replay");
    let mut all = Vec::new();
    for _ in 0..40 {
        replay.warmed_up(AgentSteps(0)).expect("it is not empty").sample(&mut stream, &mut batch);
        for i in 0..batch.size() {
            let state = batch.states[4 * i..4 * i + 4].to_vec();
            let next_state = batch.next_states[4 * i..4 * i + 4].to_vec();
            all.push((state, batch.rewards[i], batch.terminals[i], next_state));
        }
    }
    all.sort_by(|a, b| a.1.total_cmp(&b.1));
    all.dedup();
    all
}

fn push_all(replay: &mut Replay, steps: &[(f32, Ending, u8)]) {
    for &(reward, ending, frame) in steps {
        replay.push(Action(0), reward, ending, &[frame]);
    }
}

#[test]
fn a_state_never_spans_two_episodes() {
    let mut replay = replay(100);
    replay.begin_episode(&[10]);
    push_all(&mut replay, &[(0.0, Ending::Continues, 11), (1.0, Ending::GameOver, 12)]);
    replay.begin_episode(&[20]);
    push_all(&mut replay, &[(2.0, Ending::Continues, 21)]);
    assert_eq!(
        reached(&mut replay),
        [
            (vec![10, 10, 10, 10], 0.0, false, vec![10, 10, 10, 11]),
            (vec![10, 10, 10, 11], 1.0, true, vec![10, 10, 11, 12]),
            (vec![20, 20, 20, 20], 2.0, false, vec![20, 20, 20, 21]),
        ]
    );
}

#[test]
fn a_lost_life_is_terminal_and_the_next_state_stacks_across_it() {
    let mut replay = replay(100);
    replay.begin_episode(&[1]);
    push_all(&mut replay, &[(0.0, Ending::LifeLost, 2), (1.0, Ending::Continues, 3)]);
    assert_eq!(
        reached(&mut replay),
        [(vec![1, 1, 1, 1], 0.0, true, vec![1, 1, 1, 2]), (vec![1, 1, 1, 2], 1.0, false, vec![1, 1, 2, 3])]
    );
}

#[test]
fn a_time_limit_is_not_terminal_and_leads_to_the_true_last_frame() {
    let mut replay = replay(100);
    replay.begin_episode(&[1]);
    push_all(&mut replay, &[(0.0, Ending::Truncated, 9)]);
    replay.begin_episode(&[5]);
    assert_eq!(reached(&mut replay), [(vec![1, 1, 1, 1], 0.0, false, vec![1, 1, 1, 9])]);
}

#[test]
fn exactly_the_last_capacity_transitions_are_sampled_with_their_whole_history() {
    let mut replay = replay(50);
    replay.begin_episode(&[0]);
    for i in 0..=250_u8 {
        replay.push(Action(0), f32::from(i), Ending::Continues, &[i + 1]);
        let seen = reached(&mut replay);
        let oldest = (i + 1).saturating_sub(50);
        assert_eq!(seen.len(), usize::from(i + 1 - oldest), "after {i}");
        for (n, (state, reward, _, next_state)) in (oldest..).zip(&seen) {
            assert_eq!(*reward, f32::from(n));
            assert_eq!(*state, [n.saturating_sub(3), n.saturating_sub(2), n.saturating_sub(1), n]);
            assert_eq!(*next_state, [n.saturating_sub(2), n.saturating_sub(1), n, n + 1]);
        }
    }
}

#[test]
fn each_transition_is_drawn_equally_often() {
    let mut replay = replay(30);
    replay.begin_episode(&[0]);
    for i in 0..90_u8 {
        let ending = if i % 7 == 6 { Ending::GameOver } else { Ending::Continues };
        replay.push(Action(0), f32::from(i), ending, &[i]);
        if ending.ends_episode() {
            replay.begin_episode(&[i]);
        }
    }
    let mut counts = [0_u32; 90];
    let mut batch = Batch::new(300, 4);
    let mut stream = Stream::named(3, "replay");
    for _ in 0..100 {
        replay.warmed_up(AgentSteps(90)).expect("90 were pushed").sample(&mut stream, &mut batch);
        batch.rewards.iter().for_each(|&reward| counts[reward as usize] += 1);
    }
    assert_eq!(counts[..60], [0; 60]);
    assert!(counts[60..].iter().all(|count| (850..1150).contains(count)), "{counts:?}");
}

#[test]
fn sampling_needs_enough_transitions_and_continues_after_old_ones_are_dropped() {
    let mut replay = replay(20);
    replay.begin_episode(&[0]);
    assert!(replay.warmed_up(AgentSteps(0)).is_none());
    for i in 0..100_u64 {
        assert!(replay.warmed_up(AgentSteps(40)).is_some() == (40 <= i), "after {i}");
        replay.push(Action(0), 0.0, Ending::Continues, &[0]);
    }
    assert_eq!((replay.len(), replay.pushed()), (20, AgentSteps(100)));
}

#[test]
#[should_panic(expected = "no episode has begun")]
fn a_push_after_an_ending_needs_a_new_episode() {
    let mut replay = replay(20);
    replay.begin_episode(&[0]);
    push_all(&mut replay, &[(0.0, Ending::Truncated, 1), (0.0, Ending::Continues, 2)]);
}

#[test]
fn noise_takes_the_predicted_memory_and_unchanged_frames_far_less() {
    let spec = spec(FrameSpace::gray(84, 84), 4);
    let fill = |noisy: bool| {
        let mut stream = Stream::named(1, "noise");
        let mut replay = Replay::new(2000, &spec);
        let mut frame = vec![0; 7056];
        replay.begin_episode(&frame);
        for _ in 0..4000 {
            if noisy {
                frame.iter_mut().for_each(|byte| *byte = stream.next_u64() as u8);
            }
            replay.push(Action(0), 0.0, Ending::Continues, &frame);
        }
        replay.memory_bytes() as u64
    };
    let maximum = Replay::max_memory_bytes(2000, &spec);
    let (noise, still) = (fill(true), fill(false));
    assert!(noise <= maximum, "{noise} {maximum}");
    assert!(maximum * 8 / 10 <= noise, "{noise} {maximum}");
    assert!(still <= noise / 100, "{still} {noise}");
}
