//! The ring: transitions go in at one end and, once there are more than its capacity, leave at the other.
//!
//! Exactly the last `capacity` transitions can be sampled. Memory is released a segment at a time, so up to one segment
//! more than that is held.

use crate::group::GroupShape;
use crate::sampler::{Scratch, Warm};
use crate::segment::Segment;
use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameStack};
use std::collections::VecDeque;
use std::sync::Arc;

/// The transitions an agent remembers.
///
/// ```
/// # use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameSkip, FrameSpace, Stream};
/// # use sane_replay::{Batch, Replay};
/// # let spec = EnvSpec { name: "doc".into(), frame: FrameSpace::gray(2, 2), history: 4, actions: vec!["noop".into()],
/// #     frame_skip: FrameSkip(4) };
/// let mut replay = Replay::new(1000, &spec);
/// let mut batch = Batch::new(1, spec.state_bytes());
/// let mut stream = Stream::named(1, "replay");
/// replay.begin_episode(&[0; 4]);
/// replay.push(Action(0), 1.0, Ending::Continues, &[1; 4]);
/// if let Some(mut warm) = replay.warmed_up(AgentSteps(1)) {
///     warm.sample(&mut stream, &mut batch);
/// }
/// assert_eq!(batch.states, [0; 16]);
/// assert_eq!(batch.next_states[12..], [1; 4]);
/// ```
#[derive(Debug)]
pub struct Replay {
    pub(crate) capacity: usize,
    pub(crate) segment_len: usize,
    pub(crate) sealed: VecDeque<Arc<Segment>>,
    pub(crate) open: Segment,
    pub(crate) pushed: u64,
    /// The frames the next state is made of, and how many of them before the newest are of this episode.
    pub(crate) stack: FrameStack,
    pub(crate) age: usize,
    pub(crate) in_episode: bool,
    pub(crate) history: usize,
    pub(crate) scratch: Scratch,
}

impl Replay {
    /// An empty replay of transitions of this world.
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
            age: 0,
            in_episode: false,
            history: spec.history,
            scratch: Scratch::default(),
        }
    }

    /// An episode begins with this frame. Needed before the first [`push`](Self::push) and after each one that ended
    /// an episode.
    pub fn begin_episode(&mut self, first_frame: &[u8]) {
        self.open.push_frame(self.stack.newest(), first_frame, &mut self.scratch.write);
        self.stack.restart(first_frame);
        self.age = 0;
        self.in_episode = true;
    }

    /// In the current state `action` was taken; `reward` came back, clipped, and `next_frame`, the newest of s′, even
    /// where the episode ended with it.
    pub fn push(&mut self, action: Action, reward: f32, ending: Ending, next_frame: &[u8]) {
        assert!(self.in_episode, "push: no episode has begun since the last one ended");
        self.open.push_row(self.age, action, reward, ending);
        self.open.push_frame(self.stack.newest(), next_frame, &mut self.scratch.write);
        self.stack.push(next_frame);
        self.age = (self.age + 1).min(self.history - 1);
        self.in_episode = !ending.ends_episode();
        self.pushed += 1;
        if self.open.len() == self.segment_len {
            self.begin_segment();
        }
    }

    /// How many transitions can be sampled.
    pub fn len(&self) -> usize {
        (self.pushed as usize).min(self.capacity)
    }

    /// Whether nothing can be sampled.
    pub fn is_empty(&self) -> bool {
        self.pushed == 0
    }

    /// How many transitions it keeps at most.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many transitions ever came in, those that left included.
    pub fn pushed(&self) -> AgentSteps {
        AgentSteps(self.pushed)
    }

    /// The right to sample, once enough transitions came in.
    pub fn warmed_up(&mut self, learning_starts: AgentSteps) -> Option<Warm<'_>> {
        (!self.is_empty() && learning_starts <= self.pushed()).then_some(Warm { replay: self })
    }

    /// The full segments, oldest first. They never change again: a checkpoint writes each of them once, on any thread.
    pub fn sealed_segments(&self) -> impl ExactSizeIterator<Item = &Arc<Segment>> {
        self.sealed.iter()
    }

    /// Bytes of memory occupied by what is stored.
    pub fn memory_bytes(&self) -> usize {
        let sealed: usize = self.sealed.iter().map(|segment| segment.memory_bytes()).sum();
        sealed + self.open.memory_bytes() + self.scratch.memory_bytes()
    }

    /// How many frames are stored.
    pub fn frame_count(&self) -> usize {
        self.sealed.iter().map(|segment| segment.frame_count()).sum::<usize>() + self.open.frame_count()
    }

    /// The segment of a transition, by its number since the beginning, and its place therein.
    pub(crate) fn locate(&self, transition: u64) -> (&Segment, usize) {
        let segment_len = self.segment_len as u64;
        let (number, row) = (transition / segment_len, (transition % segment_len) as usize);
        let first_number = self.open.number - self.sealed.len() as u64;
        let segment = self.sealed.get((number - first_number) as usize).map_or(&self.open, |sealed| sealed);
        (segment, row)
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
            let of_episode = (self.history - 1 - self.age) * frame_bytes;
            let mut previous = &[][..];
            for frame in self.stack.state()[of_episode..].chunks_exact(frame_bytes) {
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

/// Large enough that a segment's file and its repeated frames do not matter, small enough that one more than needed
/// does not either.
pub(crate) fn segment_len(capacity: usize) -> usize {
    (capacity / 16).clamp(64, 8192)
}
