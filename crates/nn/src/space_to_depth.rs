//! Space-to-depth for the first convolution: the observation is packed into square blocks as wide as the window's stride.
//!
//! A window of k × k pixels that moves by s, where s divides k, is a window of k/s × k/s blocks that moves by one, each block
//! with s · s times as many channels as the image has. The layer then has the form of the layers above it: its windows are few
//! long contiguous runs of memory, and Winograd's method applies to it.

use crate::conv::ImageShape;
use crate::kernels::{Kernel, LANES};

/// The mapping of planes `[channel][pixel]` to blocks `[block][channel][row][column]`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpaceToDepth {
    /// Pixels of a block along one side.
    pub side: usize,
    planes: ImageShape,
    /// Blocks of a window along one side.
    taps: usize,
}

impl SpaceToDepth {
    /// The mapping for a layer whose window consists of whole blocks and whose blocks fill whole vectors; otherwise none.
    pub fn of(planes: ImageShape, window: usize, stride: usize) -> Option<Self> {
        let fits =
            1 < stride && window.is_multiple_of(stride) && (planes.channels * stride * stride).is_multiple_of(LANES);
        fits.then(|| Self { side: stride, planes, taps: window / stride })
    }

    /// Shape of the image of blocks, which is the layer's input. Pixels beyond the last whole block are in no window.
    pub fn blocks(&self) -> ImageShape {
        ImageShape {
            channels: self.planes.channels * self.side * self.side,
            height: self.planes.height / self.side,
            width: self.planes.width / self.side,
        }
    }

    /// Blocks of the window along one side.
    pub fn taps(&self) -> usize {
        self.taps
    }

    /// The row of the weight matrix that belongs to a pixel of the window.
    pub fn weight_row(&self, channel: usize, y: usize, x: usize) -> usize {
        let side = self.side;
        let block = y / side * self.taps + x / side;
        ((block * self.planes.channels + channel) * side + y % side) * side + x % side
    }

    /// out = the blocks of an observation of bytes, times `scale`.
    pub fn pack_bytes(&self, kernel: Kernel, bytes: &[u8], scale: f32, out: &mut [f32]) {
        assert_eq!(bytes.len(), self.planes.len(), "space to depth: an observation is {:?}", self.planes);
        let (image, planes) = (self.blocks(), self.planes);
        for (channel, plane) in bytes.chunks_exact(planes.height * planes.width).enumerate() {
            for (y, rows) in plane.chunks_exact(self.side * planes.width).enumerate() {
                let to = y * image.width * image.channels + channel * self.side * self.side;
                kernel.bytes_to_blocks(&mut out[to..], rows, (self.side, image.channels), scale);
            }
        }
    }

    /// out = the blocks of an observation of floats.
    pub fn pack_floats(&self, floats: &[f32], out: &mut [f32]) {
        assert_eq!(floats.len(), self.planes.len(), "space to depth: an observation is {:?}", self.planes);
        let (image, side) = (self.blocks(), self.side);
        for (channel, plane) in floats.chunks_exact(self.planes.height * self.planes.width).enumerate() {
            for (y, row) in plane.chunks_exact(self.planes.width).take(image.height * side).enumerate() {
                let to = y / side * image.width * image.channels + (channel * side + y % side) * side;
                for (piece, block) in row.chunks_exact(side).zip(out[to..].chunks_mut(image.channels)) {
                    block[..side].copy_from_slice(piece);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pixel_of_every_window_is_multiplied_by_its_own_weight() {
        for (planes, window, stride) in
            [((4, 84, 84), 8, 4), ((4, 11, 13), 4, 2), ((16, 9, 8), 6, 3), ((1, 17, 16), 4, 4)]
        {
            let planes = ImageShape { channels: planes.0, height: planes.1, width: planes.2 };
            let mapping = SpaceToDepth::of(planes, window, stride).expect("the window is made of blocks");
            let bytes: Vec<u8> = (0..planes.len()).map(|i| (i * 31 % 251) as u8).collect();
            let floats: Vec<f32> = bytes.iter().map(|&byte| f32::from(byte) * 0.5).collect();
            let image = mapping.blocks();
            let mut packed = vec![f32::NAN; image.len()];
            mapping.pack_floats(&floats, &mut packed);
            for kernel in Kernel::available() {
                let mut from_bytes = vec![f32::NAN; image.len()];
                mapping.pack_bytes(kernel, &bytes, 0.5, &mut from_bytes);
                assert_eq!(packed, from_bytes, "{}", kernel.name());
            }
            let (rows, cols) = ((planes.height - window) / stride + 1, (planes.width - window) / stride + 1);
            for (out_y, out_x) in (0..rows).flat_map(|y| (0..cols).map(move |x| (y, x))) {
                for (c, y, x) in pixels(planes.channels, window) {
                    let row = mapping.weight_row(c, y, x);
                    let (tap, channel) = (row / image.channels, row % image.channels);
                    let block = (out_y + tap / mapping.taps()) * image.width + out_x + tap % mapping.taps();
                    let pixel = (c * planes.height + out_y * stride + y) * planes.width + out_x * stride + x;
                    assert_eq!(packed[block * image.channels + channel], floats[pixel], "{planes:?} {c} {y} {x}");
                }
            }
        }
    }

    fn pixels(channels: usize, window: usize) -> impl Iterator<Item = (usize, usize, usize)> {
        (0..channels).flat_map(move |c| (0..window * window).map(move |i| (c, i / window, i % window)))
    }

    #[test]
    fn windows_of_partial_blocks_and_blocks_of_partial_vectors_are_not_mapped() {
        let planes = |channels| ImageShape { channels, height: 20, width: 20 };
        assert!(SpaceToDepth::of(planes(4), 8, 4).is_some());
        assert!(SpaceToDepth::of(planes(4), 8, 3).is_none(), "the stride does not divide the window");
        assert!(SpaceToDepth::of(planes(3), 8, 2).is_none(), "12 channels");
        assert!(SpaceToDepth::of(planes(16), 3, 1).is_none(), "a block of one pixel is a pixel");
    }
}
