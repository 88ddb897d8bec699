//! The way back through a convolution by the direct method, for one example.

use super::Conv;
use crate::kernels::{Activation, Ahead, From, LANES, Product};
use crate::matrix::into_panels;
use crate::padded;

/// Up to so many panels of output gradients are read where they lie; laying them side by side would cost more than it saves.
const FEW_PANELS: usize = 2;

impl Conv {
    /// dw (+)= Σ_pixels x[window of the pixel] ⊗ dy[pixel], for one example. `laid` is room for dy in panels.
    pub fn add_gradient(&self, x: &[f32], dy: &[f32], laid: &mut [f32], dw: &mut [f32], from: From<'_>) {
        let out_stride = padded(self.output.channels);
        let (b, b_stride, b_panel) = if FEW_PANELS < self.panels() {
            into_panels(dy, out_stride, 0, self.panels(), laid);
            (&*laid, LANES, self.pixels.len() * LANES)
        } else {
            (dy, out_stride, LANES)
        };
        let product = Product {
            a: x,
            rows: &self.weight_inputs,
            row_count: self.weight_inputs.len(),
            segments: &self.pixel_rows,
            segment_count: self.pixel_rows.len(),
            length: self.output.width,
            step: self.pixel_step,
            b,
            b_stride,
            b_panel,
            panels: self.panels(),
            c_rows: &self.weight_rows,
            c_panel: self.weight_len * LANES,
            ahead: Ahead::Nothing,
        };
        self.kernel.product(&product, from, dw, Activation::Linear);
    }

    /// Length of the transposed weights that [`Conv::add_input_gradient`] reads.
    pub fn transposed_len(&self) -> usize {
        self.window * self.window * padded(self.input.channels) * padded(self.output.channels)
    }

    /// Length of one independent piece of the transposed weights: one tap of the window, sixteen input channels.
    pub fn transposed_piece(&self) -> usize {
        padded(self.output.channels) * LANES
    }

    /// Piece `piece` of `[tap][channels/16][outputs][16 channels]`.
    pub fn transpose_piece(&self, params: &[f32], piece: usize, out: &mut [f32]) {
        let weight = &params[self.weight.clone()];
        for (panel, block) in out.chunks_mut(LANES * LANES).enumerate() {
            let from = &weight[(panel * self.weight_len + piece * LANES) * LANES..][..LANES * LANES];
            for n in 0..LANES {
                for c in 0..LANES {
                    block[n * LANES + c] = from[c * LANES + n];
                }
            }
        }
    }

    /// dx += for each tap of the window, dy[pixel] · w[tap], scattered to where the tap reads; for one example.
    pub fn add_input_gradient(&self, transposed: &[f32], dy: &[f32], dx: &mut [f32]) {
        let (in_stride, out_stride) = (padded(self.input.channels), padded(self.output.channels));
        for (tap, weights) in transposed.chunks(in_stride * out_stride).enumerate() {
            let at = (tap / self.window * self.input.width + tap % self.window) * in_stride;
            let product = Product {
                a: dy,
                rows: &self.pixels,
                row_count: self.pixels.len(),
                segments: &self.zero,
                segment_count: 1,
                length: out_stride,
                step: 1,
                b: weights,
                b_stride: LANES,
                b_panel: out_stride * LANES,
                panels: in_stride / LANES,
                c_rows: &self.windows,
                c_panel: LANES,
                ahead: Ahead::Nothing,
            };
            self.kernel.product(&product, From::C, &mut dx[at..], Activation::Linear);
        }
    }
}
