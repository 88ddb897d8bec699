//! Frames and states: a frame is planes of numbers, `[channels][height][width]`, row-major; a state is the last few
//! frames, oldest first.

use crate::EnvSpec;
use serde::{Deserialize, Serialize};

/// Shape of one frame. A state is the last [`EnvSpec::history`] frames, oldest first, their channels joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpace {
    /// Planes per frame (1 for a grayscale screen).
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub element: Element,
}

/// The number type of a frame and its scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Element {
    /// One byte per value; the byte `full_scale` is 1.0 for the network (255 for luminance, 1 for 0/1 planes).
    U8 { full_scale: u8 },
    /// Four bytes per value: an `f32`, little-endian (vectors such as CartPole's).
    F32,
}

impl FrameSpace {
    /// A grayscale picture.
    pub const fn gray(height: usize, width: usize) -> Self {
        Self { channels: 1, height, width, element: Element::U8 { full_scale: 255 } }
    }

    /// `channels` planes of zeros and ones.
    pub const fn planes(channels: usize, height: usize, width: usize) -> Self {
        Self { channels, height, width, element: Element::U8 { full_scale: 1 } }
    }

    /// A vector of `f32`.
    pub const fn vector(len: usize) -> Self {
        Self { channels: len, height: 1, width: 1, element: Element::F32 }
    }

    /// Values in one frame.
    pub const fn values(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Bytes of one frame.
    pub const fn bytes(&self) -> usize {
        match self.element {
            Element::U8 { .. } => self.values(),
            Element::F32 => 4 * self.values(),
        }
    }
}

/// The state of an agent: the last `history` frames, oldest first.
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

    /// Whether it has the shape of this world.
    pub fn fits(&self, spec: &EnvSpec) -> bool {
        self.frame_bytes == spec.frame.bytes() && self.state.len() == spec.state_bytes()
    }

    /// Starts an episode: every frame of the state becomes its first frame.
    pub fn restart(&mut self, first: &[u8]) {
        assert_eq!(first.len(), self.frame_bytes, "restart: the frame has {} bytes", first.len());
        for slot in self.state.chunks_exact_mut(self.frame_bytes) {
            slot.copy_from_slice(first);
        }
    }

    /// Appends the newest frame and drops the oldest.
    pub fn push(&mut self, newest: &[u8]) {
        assert_eq!(newest.len(), self.frame_bytes, "push: the frame has {} bytes", newest.len());
        self.state.copy_within(self.frame_bytes.., 0);
        let last = self.state.len() - self.frame_bytes;
        self.state[last..].copy_from_slice(newest);
    }

    pub fn state(&self) -> &[u8] {
        &self.state
    }

    pub fn newest(&self) -> &[u8] {
        &self.state[self.state.len() - self.frame_bytes..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FrameSkip;

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
    fn bytes_follow_the_element() {
        assert_eq!(FrameSpace::gray(84, 84).bytes(), 7056);
        assert_eq!(FrameSpace::planes(4, 10, 10).bytes(), 400);
        assert_eq!(FrameSpace::vector(4).bytes(), 16);
    }

    #[test]
    fn an_episode_starts_with_its_first_frame_repeated() {
        let mut stack = stack();
        stack.restart(&[7, 8]);
        assert_eq!(stack.state(), [7, 8, 7, 8, 7, 8]);
    }

    #[test]
    fn the_newest_frame_is_last_and_the_oldest_is_dropped() {
        let mut stack = stack();
        stack.restart(&[0, 0]);
        for value in 1..=4 {
            stack.push(&[value, value]);
        }
        assert_eq!(stack.state(), [2, 2, 3, 3, 4, 4]);
        assert_eq!(stack.newest(), [4, 4]);
    }
}
