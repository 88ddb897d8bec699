//! One convolution layer by the direct method, for one example at a time: forward, weight gradient, input gradient.
//!
//! Inside the network activations are `[pixel][channel]` with channels padded to 16; the first layer reads observations
//! `[channel][pixel]` as they are, or packed into blocks (`space_to_depth.rs`) where its stride allows. No patch matrix is
//! built: each pass is a matrix product (`kernels/product.rs`) whose offset tables point at the windows of the image.

use crate::dense::SMALL_WORK;
use crate::error::NnError;
use crate::kernels::{Accumulator, Activation, Kernel, LANES, Offsets, Prefetch, Product};
use crate::matrix::into_panels;
use crate::padded;
use crate::params::{Layout, TensorId};
use crate::space_to_depth::SpaceToDepth;
use rayon::prelude::*;
use std::ops::Range;

/// Shape of a convolution layer. Its window is square and the image is not padded.
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
    pub channels: usize,
    pub height: usize,
    pub width: usize,
}

impl ImageShape {
    /// Number of values.
    pub fn len(&self) -> usize {
        self.channels * self.height * self.width
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Floats of one activation in `[pixel][channel]` order with padded channels.
    pub(crate) fn padded_len(&self) -> usize {
        padded(self.channels) * self.height * self.width
    }
}

/// Memory order of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ImageOrder {
    /// `[channel][pixel]`: observations.
    ChannelsFirst,
    /// `[pixel][channel]` with padded channels: what layers write.
    ChannelsLast,
}

/// What the torso determines for a layer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConvContext {
    pub input: ImageShape,
    pub order: ImageOrder,
    pub has_bias: bool,
}

/// Number of tasks that one image is split into.
const ROW_TASKS: usize = 4;

/// Up to this many panels of output gradients are read in place; packing them would cost more than it saves.
const FEW_PANELS: usize = 2;

/// A layer: shapes, ranges of its parameters in the flat buffers, and offset tables.
#[derive(Debug, Clone)]
pub(crate) struct Conv {
    pub weight_id: TensorId,
    pub bias_id: Option<TensorId>,
    pub weight: Range<usize>,
    pub bias: Option<Range<usize>>,
    /// What the layer reads: the image of blocks, if observations are packed.
    pub input: ImageShape,
    pub output: ImageShape,
    pub kernel: Kernel,
    /// Window and stride in pixels of `input`.
    pub window: usize,
    pub stride: usize,
    /// The packing of observations into `input`, if they are not read as they are.
    pub space_to_depth: Option<SpaceToDepth>,
    order: ImageOrder,
    /// Rows of the weight matrix: window × padded input channels.
    weight_len: usize,
    /// Offset in the input of the window of each output pixel.
    windows: Offsets,
    /// Offsets in a window of its contiguous runs of `run_len` floats.
    runs: Offsets,
    run_len: usize,
    /// Offset of each output pixel.
    pixels: Offsets,
    /// Offset in a window of the input of each weight row.
    weight_inputs: Offsets,
    /// Offset in the input of each row of output pixels, and the steps between rows and between their pixels.
    pixel_rows: Offsets,
    row_step: usize,
    pixel_step: usize,
    weight_rows: Offsets,
    zero: Offsets,
}

impl Conv {
    /// Checks the shapes, adds `{name}.weight` and, where there is one, `{name}.bias` to the layout, and builds the tables.
    pub fn new(
        kernel: Kernel,
        name: &str,
        spec: ConvSpec,
        context: ConvContext,
        layout: &mut Layout,
    ) -> Result<Self, NnError> {
        let ConvContext { input, order, has_bias } = context;
        let ConvSpec { channels, kernel: window, stride } = spec;
        for (what, size) in
            [("the number of output channels", channels), ("the kernel size", window), ("the stride", stride)]
        {
            if size == 0 {
                return Err(NnError::ZeroSize { layer: name.to_owned(), what });
            }
        }
        if input.height < window || input.width < window {
            let ImageShape { channels, height, width } = input;
            return Err(NnError::KernelTooLarge { layer: name.to_owned(), kernel: window, channels, height, width });
        }
        let output = ImageShape {
            channels,
            height: (input.height - window) / stride + 1,
            width: (input.width - window) / stride + 1,
        };
        let shape = [channels, input.channels, window, window];
        let is_first = order == ImageOrder::ChannelsFirst;
        let space_to_depth = is_first.then(|| SpaceToDepth::of(input, window, stride)).flatten();
        let (input, order, window, stride) = match &space_to_depth {
            Some(packing) => (packing.blocks(), ImageOrder::ChannelsLast, packing.taps(), 1),
            None => (input, order, window, stride),
        };
        let in_stride = match order {
            ImageOrder::ChannelsFirst => 1,
            ImageOrder::ChannelsLast => padded(input.channels),
        };
        let weight_len = window * window * if order == ImageOrder::ChannelsFirst { input.channels } else { in_stride };
        let elements =
            [input.padded_len() as u128, output.padded_len() as u128, weight_len as u128 * padded(channels) as u128];
        if let Some(&elements) = elements.iter().find(|&&elements| u128::from(u32::MAX) < elements) {
            return Err(NnError::TooLarge { layer: name.to_owned(), elements, limit: u128::from(u32::MAX) });
        }
        let plane = input.height * input.width;
        let row_of = |c: usize, y: usize, x: usize| match (&space_to_depth, order) {
            (Some(packing), _) => packing.weight_row(c, y, x),
            (None, ImageOrder::ChannelsFirst) => (c * window + y) * window + x,
            (None, ImageOrder::ChannelsLast) => (y * window + x) * in_stride + c,
        };
        let weight_id = layout.add_conv(&format!("{name}.weight"), shape, weight_len, row_of)?;
        let bias_id = if has_bias { Some(layout.add_vector(&format!("{name}.bias"), channels)?) } else { None };
        let at = |y: usize, x: usize| (y * input.width + x) * in_stride;
        let windows = (0..output.height).flat_map(|y| (0..output.width).map(move |x| at(y * stride, x * stride)));
        let (runs, run_len, weight_inputs) = match order {
            ImageOrder::ChannelsFirst => {
                let runs = (0..input.channels).flat_map(|c| (0..window).map(move |y| c * plane + y * input.width));
                (
                    Offsets::new(runs.clone()),
                    window,
                    Offsets::new(runs.flat_map(|run| (0..window).map(move |x| run + x))),
                )
            }
            ImageOrder::ChannelsLast => {
                let runs = (0..window).map(|y| at(y, 0));
                let run_len = window * in_stride;
                (
                    Offsets::new(runs.clone()),
                    run_len,
                    Offsets::new(runs.flat_map(|run| (0..run_len).map(move |i| run + i))),
                )
            }
        };
        Ok(Self {
            weight_id,
            bias_id,
            weight: layout.range(weight_id),
            bias: bias_id.map(|id| layout.range(id)),
            input,
            output,
            kernel,
            window,
            stride,
            space_to_depth,
            order,
            weight_len,
            windows: Offsets::new(windows),
            runs,
            run_len,
            pixels: Offsets::every(padded(channels), output.height * output.width),
            weight_inputs,
            pixel_rows: Offsets::new((0..output.height).map(|y| at(y * stride, 0))),
            row_step: at(stride, 0),
            pixel_step: stride * in_stride,
            weight_rows: Offsets::every(LANES, weight_len),
            zero: Offsets::every(0, 1),
        })
    }

    pub fn reads_channels_last(&self) -> bool {
        self.order == ImageOrder::ChannelsLast
    }

    fn panels(&self) -> usize {
        padded(self.output.channels) / LANES
    }

    /// y = max(0, x ∗ w + b), for one example.
    pub fn forward(&self, params: &[f32], x: &[f32], y: &mut [f32]) {
        self.forward_rows(params, x, 0, &mut y[..self.output.padded_len()]);
    }

    /// [`Conv::forward`] with the rows of the image distributed over the threads, if there is enough work.
    pub fn forward_parallel(&self, params: &[f32], x: &[f32], y: &mut [f32]) {
        let y = &mut y[..self.output.padded_len()];
        if self.windows.len() * self.weight_len * self.panels() * LANES < SMALL_WORK {
            return self.forward_rows(params, x, 0, y);
        }
        let rows = self.output.height.div_ceil(ROW_TASKS);
        let pieces = y.par_chunks_mut(rows * self.output.width * padded(self.output.channels)).enumerate();
        pieces.for_each(|(piece, y)| self.forward_rows(params, x, piece * rows, y));
    }

    /// As many rows of outputs as `y` holds, from row `first` on. Their windows are those of the first rows, moved down.
    fn forward_rows(&self, params: &[f32], x: &[f32], first: usize, y: &mut [f32]) {
        let product = Product {
            a: &x[first * self.row_step..],
            rows: &self.windows,
            row_count: y.len() / padded(self.output.channels),
            segments: &self.runs,
            segment_count: self.runs.len(),
            length: self.run_len,
            step: 1,
            b: &params[self.weight.clone()],
            b_stride: LANES,
            b_panel: self.weight_len * LANES,
            panels: self.panels(),
            c_rows: &self.pixels,
            c_panel: LANES,
            prefetch: Prefetch::Nothing,
        };
        let start = self.bias.clone().map_or(Accumulator::Zero, |range| Accumulator::Bias(&params[range]));
        self.kernel.product(&product, start, y, Activation::Relu);
    }

    /// dw = start + Σ_pixels x[window of the pixel] ⊗ dy[pixel], for one example. `packed` is scratch for dy in panels.
    pub fn gradient(&self, x: &[f32], dy: &[f32], packed: &mut [f32], dw: &mut [f32], start: Accumulator<'_>) {
        let out_stride = padded(self.output.channels);
        let (b, b_stride, b_panel) = if FEW_PANELS < self.panels() {
            into_panels(dy, out_stride, 0, self.panels(), packed);
            (&*packed, LANES, self.pixels.len() * LANES)
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
            prefetch: Prefetch::Nothing,
        };
        self.kernel.product(&product, start, dw, Activation::Linear);
    }

    /// Floats of the transposed weights that [`Conv::add_input_gradient`] reads.
    pub fn transposed_len(&self) -> usize {
        self.window * self.window * padded(self.input.channels) * padded(self.output.channels)
    }

    /// Floats of one independent piece of the transposed weights: one tap of the window, sixteen input channels.
    pub fn transposed_piece_len(&self) -> usize {
        padded(self.output.channels) * LANES
    }

    /// Piece `piece` of the transposed weights, which are `[tap][channels/16][outputs][16 channels]`.
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

    /// dx += for each tap of the window, dy[pixel] · w[tap], scattered to the pixels the tap reads; for one example.
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
                prefetch: Prefetch::Nothing,
            };
            self.kernel.product(&product, Accumulator::C, &mut dx[at..], Activation::Linear);
        }
    }
}
