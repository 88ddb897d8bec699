//! The oracle: a replay that keeps both whole states of each transition, uncompressed, and the pushes that feed both.

use sane_env::{Action, Ending, EnvSpec, FrameSkip, FrameSpace, FrameStack, Stream};
use sane_replay::{Batch, Replay};
use std::collections::VecDeque;

pub struct NaiveReplay {
    capacity: usize,
    stack: FrameStack,
    transitions: VecDeque<Transition>,
    /// Transitions that were dropped: the number of the first that is left.
    dropped: u64,
}

struct Transition {
    state: Vec<u8>,
    action: Action,
    reward: f32,
    terminal: bool,
    next_state: Vec<u8>,
}

impl NaiveReplay {
    pub fn new(capacity: usize, spec: &EnvSpec) -> Self {
        Self { capacity, stack: FrameStack::new(spec), transitions: VecDeque::new(), dropped: 0 }
    }

    fn push(&mut self, action: Action, reward: f32, ending: Ending, next_frame: &[u8]) {
        let state = self.stack.state().to_vec();
        self.stack.push(next_frame);
        let (terminal, next_state) = (ending.is_terminal(), self.stack.state().to_vec());
        self.transitions.push_back(Transition { state, action, reward, terminal, next_state });
        if self.capacity < self.transitions.len() {
            self.transitions.pop_front();
            self.dropped += 1;
        }
    }

    pub fn sample(&self, stream: &mut Stream, batch: &mut Batch) {
        let bytes = self.stack.state().len();
        for i in 0..batch.size() {
            let pick = stream.below(self.transitions.len() as u64) as usize;
            let picked = &self.transitions[pick];
            batch.states[i * bytes..(i + 1) * bytes].copy_from_slice(&picked.state);
            batch.next_states[i * bytes..(i + 1) * bytes].copy_from_slice(&picked.next_state);
            batch.actions[i] = picked.action;
            batch.rewards[i] = picked.reward;
            batch.terminals[i] = picked.terminal;
            batch.numbers[i] = self.dropped + pick as u64;
        }
    }
}

/// What happens at one step of the made-up world.
#[derive(Debug, Clone, Copy)]
pub struct Event {
    pub ending: Ending,
    /// How much of the frame changes: nothing, some bytes, or all of them.
    pub change: u8,
}

/// A world that shows whatever its stream draws, feeding a replay and its oracle alike.
pub struct Feed {
    frame: Vec<u8>,
    stream: Stream,
    ended: bool,
}

impl Feed {
    pub fn new(spec: &EnvSpec) -> Self {
        Self { frame: vec![0; spec.frame.bytes()], stream: Stream::named(1, "frames"), ended: true }
    }

    pub fn step(&mut self, event: Event, replay: &mut Replay, naive: &mut NaiveReplay) {
        if self.ended {
            self.change(2);
            replay.begin_episode(&self.frame);
            naive.stack.restart(&self.frame);
        }
        self.change(event.change);
        let action = Action(self.stream.below(18) as u16);
        let reward = self.stream.below(3) as f32 - 1.0;
        replay.push(action, reward, event.ending, &self.frame);
        naive.push(action, reward, event.ending, &self.frame);
        self.ended = event.ending.ends_episode();
    }

    fn change(&mut self, how: u8) {
        let len = self.frame.len() as u64;
        match how {
            0 => {}
            1 => {
                for _ in 0..1 + len / 20 {
                    let at = self.stream.below(len) as usize;
                    self.frame[at] = self.stream.below(5) as u8;
                }
            }
            _ => self.frame.iter_mut().for_each(|byte| *byte = self.stream.next_u64() as u8),
        }
    }
}

pub fn spec(frame: FrameSpace, history: usize) -> EnvSpec {
    EnvSpec { name: "made-up".into(), frame, history, actions: vec!["any".into(); 18], frame_skip: FrameSkip(4) }
}
