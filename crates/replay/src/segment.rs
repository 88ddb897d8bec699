//! A segment: a fixed number of consecutive transitions with every frame their states need.
//!
//! A segment that starts inside an episode repeats the few newest frames of the one before. Hence no state needs two
//! segments: each is dropped as a whole, saved once when it is full, and decoded alone.

use crate::compression::{GroupShape, OpenGroup, ReadScratch, WriteScratch};
use sane_env::{Action, Ending};

/// Consecutive transitions, their frames in compressed groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub(crate) number: u64,
    pub(crate) shape: GroupShape,
    /// The closed groups, concatenated.
    pub(crate) compressed: Vec<u8>,
    pub(crate) groups: Vec<ClosedGroup>,
    pub(crate) open: OpenGroup,
    pub(crate) transitions: Transitions,
}

/// The end of a closed group; it begins at the end of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosedGroup {
    pub frame_end: u32,
    pub compressed_end: u32,
    pub raw_len: u32,
}

/// One entry per transition, one array per field.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Transitions {
    /// Index in the segment of the newest frame of s; the newest of s′ is the next one.
    pub frames: Vec<u32>,
    /// Number of earlier frames of its episode that s contains; if fewer than the history, the oldest is repeated.
    pub earlier_frames: Vec<u8>,
    pub actions: Vec<Action>,
    pub rewards: Vec<f32>,
    pub endings: Vec<Ending>,
}

impl Segment {
    pub(crate) fn new(number: u64, shape: GroupShape) -> Self {
        let (compressed, groups, open, transitions) = Default::default();
        Self { number, shape, compressed, groups, open, transitions }
    }

    /// Its index among all segments since the start of the run.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn len(&self) -> usize {
        self.transitions.actions.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn frame_count(&self) -> usize {
        self.closed_frames() + self.open.frames
    }

    pub(crate) fn push_frame(&mut self, previous: &[u8], frame: &[u8], scratch: &mut WriteScratch) {
        self.open.push(self.shape, previous, frame, scratch);
        if self.open.is_full(self.shape) {
            self.close_group();
        }
    }

    /// Adds a transition from the state whose newest frame was pushed last.
    pub(crate) fn push_transition(&mut self, earlier_frames: usize, action: Action, reward: f32, ending: Ending) {
        self.transitions.frames.push(self.frame_count() as u32 - 1);
        self.transitions.earlier_frames.push(earlier_frames as u8);
        self.transitions.actions.push(action);
        self.transitions.rewards.push(reward);
        self.transitions.endings.push(ending);
    }

    /// Compresses everything and releases spare capacity; no frame follows.
    pub(crate) fn seal(&mut self) {
        if 0 < self.open.frames {
            self.close_group();
        }
        self.open.raw = Vec::new();
        self.compressed.shrink_to_fit();
        self.groups.shrink_to_fit();
        self.transitions.frames.shrink_to_fit();
        self.transitions.earlier_frames.shrink_to_fit();
        self.transitions.actions.shrink_to_fit();
        self.transitions.rewards.shrink_to_fit();
        self.transitions.endings.shrink_to_fit();
    }

    /// Calls `visit` with each of `count` frames from `first` on, and its distance from `first`.
    pub(crate) fn read_frames(
        &self,
        first: usize,
        count: usize,
        scratch: &mut ReadScratch,
        mut visit: impl FnMut(usize, &[u8]),
    ) {
        let end = first + count;
        assert!(end <= self.frame_count(), "read_frames: {first}..{end} of {} frames", self.frame_count());
        let mut group = self.groups.partition_point(|group| group.frame_end as usize <= first);
        let (mut start, mut compressed_start) = match group {
            0 => (0, 0),
            _ => (self.groups[group - 1].frame_end as usize, self.groups[group - 1].compressed_end as usize),
        };
        while start < end {
            let mut visit_wanted = |i: usize, frame: &[u8]| {
                if first <= start + i {
                    visit(start + i - first, frame);
                }
            };
            let Some(closed) = self.groups.get(group) else {
                return scratch.read_open(self.shape, &self.open, end - start, visit_wanted);
            };
            let (group_end, compressed_end) = (closed.frame_end as usize, closed.compressed_end as usize);
            let compressed = &self.compressed[compressed_start..compressed_end];
            let wanted = end.min(group_end) - start;
            scratch.read_closed(self.shape, compressed, closed.raw_len as usize, wanted, &mut visit_wanted);
            (start, compressed_start) = (group_end, compressed_end);
            group += 1;
        }
    }

    /// Writes s and s′ of the transition with this index. The frames they share are decoded once.
    pub(crate) fn read_states(&self, index: usize, scratch: &mut ReadScratch, state: &mut [u8], next_state: &mut [u8]) {
        let frame_bytes = self.shape.frame_bytes;
        let history = state.len() / frame_bytes;
        let earlier = usize::from(self.transitions.earlier_frames[index]);
        let first = self.transitions.frames[index] as usize - earlier;
        // Frame `first + i` is at position `repeats + i` of s and one position earlier in s′.
        let repeats = history - 1 - earlier;
        self.read_frames(first, earlier + 2, scratch, |i, frame| {
            let put = |state: &mut [u8], end: usize| {
                let start = if i == 0 { 0 } else { end - 1 };
                for copy in state[start * frame_bytes..end * frame_bytes].chunks_exact_mut(frame_bytes) {
                    copy.copy_from_slice(frame);
                }
            };
            if i <= earlier {
                put(state, repeats + i + 1);
            }
            if 0 < repeats + i {
                put(next_state, repeats + i);
            }
        });
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        self.compressed.capacity()
            + self.open.raw.capacity()
            + self.groups.capacity() * size_of::<ClosedGroup>()
            + self.transitions.frames.capacity() * size_of::<u32>()
            + self.transitions.earlier_frames.capacity()
            + self.transitions.actions.capacity() * size_of::<Action>()
            + self.transitions.rewards.capacity() * size_of::<f32>()
            + self.transitions.endings.capacity() * size_of::<Ending>()
    }

    fn closed_frames(&self) -> usize {
        self.groups.last().map_or(0, |group| group.frame_end as usize)
    }

    fn close_group(&mut self) {
        let (frame_end, raw_len) = (self.frame_count() as u32, self.open.raw.len() as u32);
        self.open.close_into(&mut self.compressed);
        self.groups.push(ClosedGroup { frame_end, compressed_end: self.compressed.len() as u32, raw_len });
    }
}
