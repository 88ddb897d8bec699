//! A segment: a fixed number of transitions in a row, with every frame their states need.
//!
//! A segment that starts in the middle of an episode repeats the few newest frames of the one before, so nothing ever
//! reaches across: a segment is dropped whole, saved once when it is full, and decoded alone.

use crate::group::{GroupRoom, GroupShape, OpenGroup, WriteRoom};
use sane_env::{Action, Ending};

/// Transitions in a row, and their frames in compressed groups.
#[derive(Debug, Clone, PartialEq)]
pub struct Segment {
    pub(crate) number: u64,
    pub(crate) shape: GroupShape,
    /// The closed groups, end to end.
    pub(crate) blobs: Vec<u8>,
    pub(crate) groups: Vec<ClosedGroup>,
    pub(crate) open: OpenGroup,
    pub(crate) rows: Rows,
}

/// Where a closed group ends; it begins where the one before ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ClosedGroup {
    pub frame_end: u32,
    pub blob_end: u32,
    pub raw_len: u32,
}

/// One entry per transition, one array per field.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Rows {
    /// The newest frame of s, counted within the segment; s′ adds the frame after it.
    pub frames: Vec<u32>,
    /// How many earlier frames of its episode s reaches back to; with fewer than the history, the oldest is repeated.
    pub ages: Vec<u8>,
    pub actions: Vec<Action>,
    pub rewards: Vec<f32>,
    pub endings: Vec<Ending>,
}

impl Segment {
    pub(crate) fn new(number: u64, shape: GroupShape) -> Self {
        let (blobs, groups, open, rows) = Default::default();
        Self { number, shape, blobs, groups, open, rows }
    }

    /// Its place in the row of all segments ever begun, from 0.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// How many transitions it holds.
    pub fn len(&self) -> usize {
        self.rows.actions.len()
    }

    /// Whether it holds no transition yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn frame_count(&self) -> usize {
        self.closed_frames() + self.open.frames
    }

    pub(crate) fn push_frame(&mut self, previous: &[u8], frame: &[u8], room: &mut WriteRoom) {
        self.open.push(self.shape, previous, frame, room);
        if self.open.is_full(self.shape) {
            self.close_group();
        }
    }

    /// Remembers what was done in the state whose newest frame was pushed last.
    pub(crate) fn push_row(&mut self, age: usize, action: Action, reward: f32, ending: Ending) {
        self.rows.frames.push(self.frame_count() as u32 - 1);
        self.rows.ages.push(age as u8);
        self.rows.actions.push(action);
        self.rows.rewards.push(reward);
        self.rows.endings.push(ending);
    }

    /// No frame will follow: everything is compressed and takes no more room than it needs.
    pub(crate) fn seal(&mut self) {
        if 0 < self.open.frames {
            self.close_group();
        }
        self.open.raw = Vec::new();
        self.blobs.shrink_to_fit();
        self.groups.shrink_to_fit();
        self.rows.frames.shrink_to_fit();
        self.rows.ages.shrink_to_fit();
        self.rows.actions.shrink_to_fit();
        self.rows.rewards.shrink_to_fit();
        self.rows.endings.shrink_to_fit();
    }

    /// Shows `count` frames from `first` on to `see`, each with its distance from `first`.
    pub(crate) fn read_frames(
        &self,
        first: usize,
        count: usize,
        room: &mut GroupRoom,
        mut see: impl FnMut(usize, &[u8]),
    ) {
        let end = first + count;
        assert!(end <= self.frame_count(), "read_frames: {first}..{end} of {} frames", self.frame_count());
        let mut group = self.groups.partition_point(|group| group.frame_end as usize <= first);
        let (mut start, mut blob_start) = match group {
            0 => (0, 0),
            _ => (self.groups[group - 1].frame_end as usize, self.groups[group - 1].blob_end as usize),
        };
        while start < end {
            let mut see_wanted = |i: usize, frame: &[u8]| {
                if first <= start + i {
                    see(start + i - first, frame);
                }
            };
            let Some(closed) = self.groups.get(group) else {
                return room.read_open(self.shape, &self.open, end - start, see_wanted);
            };
            let (group_end, blob_end) = (closed.frame_end as usize, closed.blob_end as usize);
            let blob = &self.blobs[blob_start..blob_end];
            let wanted = end.min(group_end) - start;
            room.read_closed(self.shape, blob, closed.raw_len as usize, wanted, &mut see_wanted);
            (start, blob_start) = (group_end, blob_end);
            group += 1;
        }
    }

    /// Writes s and s′ of transition `row`. The frames they share are decoded once.
    pub(crate) fn read_states(&self, row: usize, room: &mut GroupRoom, state: &mut [u8], next_state: &mut [u8]) {
        let frame_bytes = self.shape.frame_bytes;
        let history = state.len() / frame_bytes;
        let age = usize::from(self.rows.ages[row]);
        let first = self.rows.frames[row] as usize - age;
        // Frame `first + i` stands at place `repeats + i` of s and one place earlier in s′.
        let repeats = history - 1 - age;
        self.read_frames(first, age + 2, room, |i, frame| {
            let put = |state: &mut [u8], place: usize| {
                let places = if i == 0 { 0..place } else { place - 1..place };
                for copy in state[places.start * frame_bytes..places.end * frame_bytes].chunks_exact_mut(frame_bytes) {
                    copy.copy_from_slice(frame);
                }
            };
            if i <= age {
                put(state, repeats + i + 1);
            }
            if 0 < repeats + i {
                put(next_state, repeats + i);
            }
        });
    }

    /// Bytes of memory it occupies.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.blobs.capacity()
            + self.open.raw.capacity()
            + self.groups.capacity() * size_of::<ClosedGroup>()
            + self.rows.frames.capacity() * size_of::<u32>()
            + self.rows.ages.capacity()
            + self.rows.actions.capacity() * size_of::<Action>()
            + self.rows.rewards.capacity() * size_of::<f32>()
            + self.rows.endings.capacity() * size_of::<Ending>()
    }

    fn closed_frames(&self) -> usize {
        self.groups.last().map_or(0, |group| group.frame_end as usize)
    }

    fn close_group(&mut self) {
        let (frame_end, raw_len) = (self.frame_count() as u32, self.open.raw.len() as u32);
        self.open.close_into(&mut self.blobs);
        self.groups.push(ClosedGroup { frame_end, blob_end: self.blobs.len() as u32, raw_len });
    }
}
