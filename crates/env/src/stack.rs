//! The last few frames, oldest first: the state an agent sees.

use crate::EnvSpec;
use serde::{Deserialize, Serialize};

/// A state of `history` frames that moves on by one frame at a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameStack {
    frame_bytes: usize,
    state: Vec<u8>,
}

impl FrameStack {
    /// A stack of the world's shape, all zero until the first [`restart`](Self::restart).
    pub fn new(spec: &EnvSpec) -> Self {
        Self { frame_bytes: spec.frame.bytes(), state: vec![0; spec.state_bytes()] }
    }

    /// An episode begins: its first frame stands in every place.
    pub fn restart(&mut self, first: &[u8]) {
        assert_eq!(first.len(), self.frame_bytes, "restart: the frame has {} bytes", first.len());
        for place in self.state.chunks_exact_mut(self.frame_bytes) {
            place.copy_from_slice(first);
        }
    }

    /// The newest frame pushes out the oldest.
    pub fn push(&mut self, newest: &[u8]) {
        assert_eq!(newest.len(), self.frame_bytes, "push: the frame has {} bytes", newest.len());
        self.state.copy_within(self.frame_bytes.., 0);
        let place = self.state.len() - self.frame_bytes;
        self.state[place..].copy_from_slice(newest);
    }

    /// The whole state, oldest frame first.
    pub fn state(&self) -> &[u8] {
        &self.state
    }

    /// The newest frame.
    pub fn newest(&self) -> &[u8] {
        &self.state[self.state.len() - self.frame_bytes..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FrameSkip, FrameSpace};

    fn stack() -> FrameStack {
        FrameStack::new(&EnvSpec {
            name: "test".into(),
            frame: FrameSpace::gray(1, 2),
            history: 3,
            actions: vec!["only".into()],
            frame_skip: FrameSkip(1),
        })
    }

    #[test]
    fn an_episode_starts_with_the_same_frame_in_every_place() {
        let mut stack = stack();
        stack.restart(&[7, 8]);
        assert_eq!(stack.state(), [7, 8, 7, 8, 7, 8]);
    }

    #[test]
    fn the_newest_frame_is_last_and_the_oldest_leaves() {
        let mut stack = stack();
        stack.restart(&[0, 0]);
        for value in 1..=4 {
            stack.push(&[value, value]);
        }
        assert_eq!(stack.state(), [2, 2, 3, 3, 4, 4]);
        assert_eq!(stack.newest(), [4, 4]);
    }
}
