//! What a convolution layer is and where it stands.

use crate::padded;

/// What a convolution layer is; its window is square and nothing is padded around the image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConvSpec {
    /// Output channels.
    pub channels: usize,
    /// Height and width of the window.
    pub kernel: usize,
    /// Pixels between windows.
    pub stride: usize,
}

/// Size of an image: channels × height × width.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageShape {
    /// Number of channels.
    pub channels: usize,
    /// Rows.
    pub height: usize,
    /// Columns.
    pub width: usize,
}

impl ImageShape {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.channels * self.height * self.width
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Floats of one activation in `[pixel][channel]` order with padded channels.
    pub(crate) fn padded_len(&self) -> usize {
        padded(self.channels) * self.height * self.width
    }
}

/// How a layer's input lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// `[channel][pixel]`, as observations come.
    Planes,
    /// `[pixel][channel]`, channels padded, as layers write.
    Pixels,
}

/// Where a layer stands in its torso.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    pub input: ImageShape,
    pub order: Order,
    pub has_bias: bool,
}
