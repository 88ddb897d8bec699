//! Batches of transitions, drawn uniformly: one array per field, ready for the network.

use crate::Replay;
use crate::compression::{ReadScratch, WriteScratch};
use rayon::prelude::*;
use sane_env::{Action, Stream};

/// `size` transitions (s, a, r, s′). States are the bytes that the world wrote, `[size][state bytes]`, frames oldest
/// first. Allocated once and refilled by [`WarmReplay::sample`].
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// s, `[size × state bytes]`.
    pub states: Vec<u8>,
    /// s′, `[size × state bytes]`.
    pub next_states: Vec<u8>,
    pub actions: Vec<Action>,
    pub rewards: Vec<f32>,
    /// Whether the target must not bootstrap from s′.
    pub terminals: Vec<bool>,
    /// Which transition each is, counted since the start.
    pub numbers: Vec<u64>,
}

impl Batch {
    /// A batch of the given size, all zero.
    pub fn new(size: usize, state_bytes: usize) -> Self {
        Self {
            states: vec![0; size * state_bytes],
            next_states: vec![0; size * state_bytes],
            actions: vec![Action::default(); size],
            rewards: vec![0.0; size],
            terminals: vec![false; size],
            numbers: vec![0; size],
        }
    }

    pub fn size(&self) -> usize {
        self.actions.len()
    }
}

/// A replay that holds enough transitions to learn from; [`Replay::warmed_up`] returns it.
#[derive(Debug)]
pub struct WarmReplay<'a> {
    pub(crate) replay: &'a mut Replay,
}

/// Transitions decoded by one task. The content of a batch does not depend on which thread takes which chunk.
const CHUNK: usize = 8;

/// Buffers that are kept, so that sampling does not allocate.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub write: WriteScratch,
    picks: Vec<u64>,
    chunks: Vec<ReadScratch>,
}

impl WarmReplay<'_> {
    /// Number of transitions that can be sampled; at least one.
    pub fn transitions(&self) -> usize {
        self.replay.len()
    }

    /// Fills the batch with transitions drawn uniformly with replacement. One number per transition is drawn from
    /// `stream`, before any decoding; decoding runs on the current rayon pool.
    pub fn sample(&mut self, stream: &mut Stream, batch: &mut Batch) {
        let (oldest, len) = (self.replay.oldest(), self.replay.len() as u64);
        let mut scratch = std::mem::take(&mut self.replay.scratch);
        scratch.picks.clear();
        scratch.picks.extend((0..batch.size()).map(|_| oldest + stream.below(len)));
        self.replay.read_into(&mut scratch, batch);
        self.replay.scratch = scratch;
    }
}

impl Replay {
    fn read_into(&self, scratch: &mut Scratch, batch: &mut Batch) {
        let size = batch.size();
        let state_bytes = self.stack.state().len();
        for (name, bytes) in [("states", batch.states.len()), ("next_states", batch.next_states.len())] {
            assert_eq!(bytes, size * state_bytes, "sample: {name} is not [{size}, {state_bytes}] bytes");
        }
        scratch.chunks.resize_with(size.div_ceil(CHUNK).max(scratch.chunks.len()), || self.open.shape.read_scratch());
        scratch.picks[..]
            .par_chunks(CHUNK)
            .zip(&mut scratch.chunks)
            .zip(batch.states.par_chunks_mut(CHUNK * state_bytes))
            .zip(batch.next_states.par_chunks_mut(CHUNK * state_bytes))
            .for_each(|(((picks, scratch), states), next_states)| {
                let states = states.chunks_exact_mut(state_bytes).zip(next_states.chunks_exact_mut(state_bytes));
                for (&pick, (state, next_state)) in picks.iter().zip(states) {
                    let (segment, index) = self.locate(pick);
                    segment.read_states(index, scratch, state, next_state);
                }
            });
        batch.numbers.copy_from_slice(&scratch.picks);
        for (i, &pick) in scratch.picks.iter().enumerate() {
            let (segment, index) = self.locate(pick);
            let transitions = &segment.transitions;
            batch.actions[i] = transitions.actions[index];
            batch.rewards[i] = transitions.rewards[index];
            batch.terminals[i] = transitions.endings[index].is_terminal();
        }
    }
}

impl Scratch {
    pub fn memory_bytes(&self) -> usize {
        let chunks: usize = self.chunks.iter().map(ReadScratch::memory_bytes).sum();
        chunks + self.write.memory_bytes() + self.picks.capacity() * size_of::<u64>()
    }
}
