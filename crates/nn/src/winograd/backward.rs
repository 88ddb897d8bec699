//! The way back: gradients of the weights and of the inputs, from transformed inputs and output gradients.

use super::{DEPTH_ROWS, Positions, Rows, Winograd};
use crate::kernels::{Activation, From, LANES, POSITIONS, Product, position_len};

impl Winograd {
    /// Transforms the layer's inputs and the gradient of its outputs, which both gradients below read.
    pub fn begin_backward(&self, x: &[f32], dy: &[f32], room: &mut Positions) {
        self.transform_data(x, room);
        let count = x.len() / self.input_len;
        for (e, dy) in dy.chunks_exact(self.output_len).enumerate() {
            self.kernel.winograd_result_adjoint(&self.grid, dy, self.tiles_of(e, count), &mut room.results);
        }
    }

    /// dw (+)= the gradient of the weights over the `count` examples begun.
    pub fn gradient(&self, count: usize, does_add: bool, dw: &mut [f32], room: &mut Positions) {
        let (tiles, depth, width) = (count * self.grid.tiles(), self.grid.depth(), self.grid.out_channels);
        let panel_len = self.grid.taps * self.grid.taps * depth * LANES;
        for (panel, dw) in dw.chunks_exact_mut(panel_len).enumerate() {
            for first in (0..depth).step_by(DEPTH_ROWS) {
                let rows = DEPTH_ROWS.min(depth - first);
                for position in 0..POSITIONS {
                    let product = Product {
                        a: &room.data[position * position_len(tiles, depth) + first..],
                        rows: &self.columns,
                        row_count: rows,
                        length: tiles,
                        step: depth,
                        b: &room.results[position * position_len(tiles, width) + panel * LANES..],
                        b_stride: width,
                        ..self.product()
                    };
                    let du = &mut room.panel[position * position_len(rows, LANES)..];
                    self.kernel.product(&product, From::Zero, du, Activation::Linear);
                }
                self.kernel.winograd_filter_adjoint(&self.grid, &room.panel, first..first + rows, does_add, dw);
            }
        }
    }

    /// dx = the gradient of the inputs of the examples begun.
    pub fn input_gradient(&self, filters_across: &[f32], dx: &mut [f32], room: &mut Positions) {
        let count = dx.len() / self.input_len;
        let (tiles, width) = (count * self.grid.tiles(), self.grid.out_channels);
        dx.fill(0.0);
        for (panel, filters) in filters_across.chunks_exact(self.filters_across_piece()).enumerate() {
            let rows = Rows { values: &room.results, offsets: &self.result_rows, width };
            self.multiply(rows, filters, (tiles, tiles), &mut room.panel);
            for (e, dx) in dx.chunks_exact_mut(self.input_len).enumerate() {
                self.kernel.winograd_data_adjoint(&self.grid, &room.panel, self.tiles_of(e, count), panel, dx);
            }
        }
    }
}
