//! What one frame looks like: planes of bytes, `[channels][height][width]`, row-major.

use serde::{Deserialize, Serialize};

/// The number type of a frame and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Element {
    /// One byte per value; `full_scale` is the byte that stands for 1.0 (255 for luminance, 1 for 0/1 planes).
    U8 {
        /// The byte that stands for 1.0.
        full_scale: u8,
    },
    /// Four bytes per value: an `f32`, little-endian (plain vectors such as CartPole's).
    F32,
}

/// Shape of one frame. A state is the last [`EnvSpec::history`](crate::EnvSpec) frames, oldest first, channels joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSpace {
    /// Planes per frame (1 for a grayscale screen).
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
    /// Number type.
    pub element: Element,
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

    /// A plain vector of `f32`.
    pub const fn vector(len: usize) -> Self {
        Self { channels: len, height: 1, width: 1, element: Element::F32 }
    }

    /// Values in one frame.
    pub const fn values(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Bytes in one frame.
    pub const fn bytes(&self) -> usize {
        match self.element {
            Element::U8 { .. } => self.values(),
            Element::F32 => 4 * self.values(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_follow_the_element() {
        assert_eq!(FrameSpace::gray(84, 84).bytes(), 7056);
        assert_eq!(FrameSpace::planes(4, 10, 10).bytes(), 400);
        assert_eq!(FrameSpace::vector(4).bytes(), 16);
    }
}
