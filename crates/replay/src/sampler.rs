//! Number of a transition → the transition, and a batch of them drawn uniformly.

use crate::group::{GroupRoom, WriteRoom};
use crate::{Batch, Replay};
use rayon::prelude::*;
use sane_env::Stream;

/// A replay that holds enough to learn from.
#[derive(Debug)]
pub struct Warm<'a> {
    pub(crate) replay: &'a mut Replay,
}

/// Transitions decoded by one task. What a batch holds does not depend on which thread takes which lane.
const LANE: usize = 8;

/// Room to work in, kept so that sampling allocates nothing once it has been used.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    pub write: WriteRoom,
    picks: Vec<u64>,
    lanes: Vec<GroupRoom>,
}

impl Warm<'_> {
    /// Fills the batch with transitions drawn uniformly, with replacement, from all that can be sampled. The draws are
    /// made before any decoding, one per transition; decoding uses the rayon pool this is called in.
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
        scratch.lanes.resize_with(size.div_ceil(LANE).max(scratch.lanes.len()), || self.open.shape.room());
        scratch.picks[..]
            .par_chunks(LANE)
            .zip(&mut scratch.lanes)
            .zip(batch.states.par_chunks_mut(LANE * state_bytes))
            .zip(batch.next_states.par_chunks_mut(LANE * state_bytes))
            .for_each(|(((picks, room), states), next_states)| {
                let states = states.chunks_exact_mut(state_bytes).zip(next_states.chunks_exact_mut(state_bytes));
                for (&pick, (state, next_state)) in picks.iter().zip(states) {
                    let (segment, row) = self.locate(pick);
                    segment.read_states(row, room, state, next_state);
                }
            });
        for (i, &pick) in scratch.picks.iter().enumerate() {
            let (segment, row) = self.locate(pick);
            batch.actions[i] = segment.rows.actions[row];
            batch.rewards[i] = segment.rows.rewards[row];
            batch.terminals[i] = segment.rows.endings[row].is_terminal();
        }
    }
}

impl Scratch {
    pub fn memory_bytes(&self) -> usize {
        let lanes: usize = self.lanes.iter().map(GroupRoom::memory_bytes).sum();
        lanes + self.write.memory_bytes() + self.picks.capacity() * size_of::<u64>()
    }
}
