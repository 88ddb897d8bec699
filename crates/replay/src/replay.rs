//! The replay memory: a ring of segments, from which exactly the last `capacity` transitions can be sampled.
//!
//! Memory is released one segment at a time, so up to one segment more than the capacity is held.

use crate::batch::{Scratch, WarmReplay};
use crate::compression::GroupShape;
use crate::segment::Segment;
use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameStack};
use std::collections::VecDeque;
use std::sync::Arc;

/// The last `capacity` transitions.
#[derive(Debug)]
pub struct Replay {
    pub(crate) capacity: usize,
    pub(crate) segment_len: usize,
    pub(crate) sealed: VecDeque<Arc<Segment>>,
    pub(crate) open: Segment,
    pub(crate) pushed: u64,
    /// The current state, and how many of its frames before the newest belong to this episode.
    pub(crate) stack: FrameStack,
    pub(crate) earlier_frames: usize,
    pub(crate) in_episode: bool,
    pub(crate) history: usize,
    pub(crate) scratch: Scratch,
}

impl Replay {
    /// An empty replay for transitions of this world.
    pub fn new(capacity: usize, spec: &EnvSpec) -> Self {
        assert!(0 < capacity, "a replay must hold at least one transition");
        assert!(0 < spec.frame.bytes(), "a frame of {} has no bytes", spec.name);
        assert!((1..=256).contains(&spec.history), "a history of {} frames is not in 1..=256", spec.history);
        let shape = GroupShape::new(&spec.frame);
        Self {
            capacity,
            segment_len: segment_len(capacity),
            sealed: VecDeque::new(),
            open: Segment::new(0, shape),
            pushed: 0,
            stack: FrameStack::new(spec),
            earlier_frames: 0,
            in_episode: false,
            history: spec.history,
            scratch: Scratch::default(),
        }
    }

    /// Starts an episode with this frame. Required before the first [`push`](Self::push) and after each one that ended
    /// an episode.
    pub fn begin_episode(&mut self, first_frame: &[u8]) {
        self.open.push_frame(self.stack.newest(), first_frame, &mut self.scratch.write);
        self.stack.restart(first_frame);
        self.earlier_frames = 0;
        self.in_episode = true;
    }

    /// Adds a transition: in the current state `action` was taken; `reward` (clipped or not, as the agent learns from it)
    /// and `next_frame`, the newest of s′, followed. The frame is needed even if the episode ended with it.
    pub fn push(&mut self, action: Action, reward: f32, ending: Ending, next_frame: &[u8]) {
        assert!(self.in_episode, "push: no episode has begun since the last one ended");
        self.open.push_transition(self.earlier_frames, action, reward, ending);
        self.open.push_frame(self.stack.newest(), next_frame, &mut self.scratch.write);
        self.stack.push(next_frame);
        self.earlier_frames = (self.earlier_frames + 1).min(self.history - 1);
        self.in_episode = !ending.ends_episode();
        self.pushed += 1;
        if self.open.len() == self.segment_len {
            self.begin_segment();
        }
    }

    /// Number of transitions that can be sampled.
    pub fn len(&self) -> usize {
        (self.pushed as usize).min(self.capacity)
    }

    pub fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// Whether a transition can be added without beginning an episode first.
    pub fn is_in_episode(&self) -> bool {
        self.in_episode
    }

    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Number of transitions ever added, including those dropped since.
    pub fn pushed(&self) -> AgentSteps {
        AgentSteps(self.pushed)
    }

    /// Access to sampling, once at least `learning_starts` transitions were added.
    pub fn warmed_up(&mut self, learning_starts: AgentSteps) -> Option<WarmReplay<'_>> {
        (!self.is_empty() && learning_starts <= self.pushed()).then_some(WarmReplay { replay: self })
    }

    /// The full segments, oldest first. They are immutable: a checkpoint writes each of them once, on any thread.
    pub fn sealed_segments(&self) -> impl ExactSizeIterator<Item = &Arc<Segment>> {
        self.sealed.iter()
    }

    /// Maximum memory of a full replay of this capacity, reached if no frame can be compressed (with episodes of a
    /// hundred steps or more). What real frames take depends on the game: fill a small replay and call
    /// [`memory_bytes`](Self::memory_bytes).
    pub fn max_memory_bytes(capacity: usize, spec: &EnvSpec) -> u64 {
        // Per transition beside its frame: its fields, and the entry of a group, since a frame of noise is a group.
        const TRANSITION_BYTES: u64 = (4 + 1 + 2 + 4 + 1) + 12;
        // The numbers in a delta that replaces everything.
        const DELTA_NUMBER_BYTES: u64 = 6;
        let segment_len = segment_len(capacity);
        // One segment beyond the capacity is held, and the vectors of the open one may have spare capacity of its size.
        let transitions = (capacity + 2 * segment_len) as u64;
        let repeated = (capacity / segment_len + 2) as u64 * spec.history as u64;
        let frames = transitions + transitions / 100 + repeated;
        frames * (spec.frame.bytes() as u64 + DELTA_NUMBER_BYTES) + transitions * TRANSITION_BYTES
    }

    /// Bytes of memory in use.
    pub fn memory_bytes(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(|segment| segment.memory_bytes()).sum();
        sealed + self.open.memory_bytes() + self.scratch.memory_bytes()
    }

    /// Number of stored frames.
    pub fn frame_count(&self) -> usize {
        self.sealed.iter().map(|segment| segment.frame_count()).sum::<usize>() + self.open.frame_count()
    }

    /// The segment of a transition, given by its number since the start, and its index in the segment.
    pub(crate) fn locate(&self, transition: u64) -> (&Segment, usize) {
        let segment_len = self.segment_len as u64;
        let (number, index) = (transition / segment_len, (transition % segment_len) as usize);
        let first_number = self.open.number - self.sealed.len() as u64;
        let segment = self.sealed.get((number - first_number) as usize).map_or(&self.open, |sealed| sealed);
        (segment, index)
    }

    /// The number of the oldest transition that can be sampled.
    pub(crate) fn oldest(&self) -> u64 {
        self.pushed - self.len() as u64
    }

    fn begin_segment(&mut self) {
        let next = Segment::new(self.open.number + 1, self.open.shape);
        let mut full = std::mem::replace(&mut self.open, next);
        full.seal();
        self.sealed.push_back(Arc::new(full));
        if self.in_episode {
            let frame_bytes = self.open.shape.frame_bytes;
            let episode_start = (self.history - 1 - self.earlier_frames) * frame_bytes;
            let mut previous = &[][..];
            for frame in self.stack.state()[episode_start..].chunks_exact(frame_bytes) {
                self.open.push_frame(previous, frame, &mut self.scratch.write);
                previous = frame;
            }
        }
        let oldest = self.oldest();
        while self.sealed.front().is_some_and(|front| (front.number + 1) * self.segment_len as u64 <= oldest) {
            self.sealed.pop_front();
        }
    }
}

/// Transitions per segment: large enough that the overhead of a segment's file and of its repeated frames is negligible,
/// small enough that the memory of one segment beyond the capacity is, too.
fn segment_len(capacity: usize) -> usize {
    (capacity / 16).clamp(64, 8192)
}
