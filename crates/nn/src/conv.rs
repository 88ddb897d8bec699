//! One convolution layer on one example: its address tables, forward, weight gradient, input gradient.
//!
//! Inside the network activations are `[pixel][channel]` with channels padded to 16; the first layer reads the world's
//! `[channel][pixel]` planes as they come, or cut into blocks (`blocks.rs`) where its stride allows. No patch matrix is built: the tables say where each window lies.

mod backward;
mod shape;

pub use shape::{ConvSpec, ImageShape};
pub(crate) use shape::{Order, Place};

use crate::blocks::Blocks;
use crate::dense::SMALL_WORK;
use crate::error::NnError;
use crate::kernels::{Activation, Ahead, From, Kernel, LANES, Product};
use crate::offsets::Offsets;
use crate::padded;
use crate::params::{Layout, TensorId};
use rayon::prelude::*;
use std::ops::Range;

/// Tasks that one image is shared out as.
const ROW_TASKS: usize = 4;

/// One layer with its tables.
#[derive(Debug, Clone)]
pub(crate) struct Conv {
    pub weight_id: TensorId,
    pub bias_id: Option<TensorId>,
    pub weight: Range<usize>,
    pub bias: Option<Range<usize>>,
    /// What the layer reads: its blocks, if it has them.
    pub input: ImageShape,
    pub output: ImageShape,
    pub kernel: Kernel,
    /// Window and stride in pixels of `input`.
    pub window: usize,
    pub stride: usize,
    /// How an observation becomes `input`, if it is not read as it comes.
    pub blocks: Option<Blocks>,
    order: Order,
    /// Rows of the weight matrix: window × padded input channels.
    weight_len: usize,
    /// Where the window of each output pixel begins in the input.
    windows: Offsets,
    /// The contiguous runs of one window, each `run_len` floats.
    runs: Offsets,
    run_len: usize,
    /// Where each output pixel lies in the output.
    pixels: Offsets,
    /// Where each weight row finds its input inside a window.
    weight_inputs: Offsets,
    /// Where each row of output pixels begins in the input, and the step between rows and between their pixels.
    pixel_rows: Offsets,
    row_step: usize,
    pixel_step: usize,
    weight_rows: Offsets,
    zero: Offsets,
}

impl Conv {
    /// Checks the shapes, adds `{name}.weight` and perhaps `{name}.bias` to the layout and builds the tables.
    pub fn new(kernel: Kernel, name: &str, spec: ConvSpec, place: Place, layout: &mut Layout) -> Result<Self, NnError> {
        let Place { input, order, has_bias } = place;
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
        let blocks = if order == Order::Planes { Blocks::of(input, window, stride) } else { None };
        let (input, order, window, stride) = match &blocks {
            Some(blocks) => (blocks.image(), Order::Pixels, blocks.taps(), 1),
            None => (input, order, window, stride),
        };
        let in_stride = match order {
            Order::Planes => 1,
            Order::Pixels => padded(input.channels),
        };
        let weight_len = window * window * if order == Order::Planes { input.channels } else { in_stride };
        let elements =
            [input.padded_len() as u128, output.padded_len() as u128, weight_len as u128 * padded(channels) as u128];
        if let Some(&elements) = elements.iter().find(|&&elements| u128::from(u32::MAX) < elements) {
            return Err(NnError::TooLarge { layer: name.to_owned(), elements, limit: u128::from(u32::MAX) });
        }
        let plane = input.height * input.width;
        let row_of = |c: usize, y: usize, x: usize| match (&blocks, order) {
            (Some(blocks), _) => blocks.weight_row(c, y, x),
            (None, Order::Planes) => (c * window + y) * window + x,
            (None, Order::Pixels) => (y * window + x) * in_stride + c,
        };
        let weight_id = layout.add_conv(&format!("{name}.weight"), shape, weight_len, row_of)?;
        let bias_id = if has_bias { Some(layout.add_vector(&format!("{name}.bias"), channels)?) } else { None };
        let at = |y: usize, x: usize| (y * input.width + x) * in_stride;
        let windows = (0..output.height).flat_map(|y| (0..output.width).map(move |x| at(y * stride, x * stride)));
        let (runs, run_len, weight_inputs) = match order {
            Order::Planes => {
                let runs = (0..input.channels).flat_map(|c| (0..window).map(move |y| c * plane + y * input.width));
                (
                    Offsets::new(runs.clone()),
                    window,
                    Offsets::new(runs.flat_map(|run| (0..window).map(move |x| run + x))),
                )
            }
            Order::Pixels => {
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
            blocks,
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

    /// Whether its input is `[pixel][channel]`.
    pub fn reads_pixels(&self) -> bool {
        self.order == Order::Pixels
    }

    fn panels(&self) -> usize {
        padded(self.output.channels) / LANES
    }

    /// y = max(0, x ∗ w + b) for one example.
    pub fn forward(&self, params: &[f32], x: &[f32], y: &mut [f32]) {
        self.forward_rows(params, x, 0, &mut y[..self.output.padded_len()]);
    }

    /// The same with the rows of the image shared out among threads, if that is worth their while.
    pub fn forward_shared(&self, params: &[f32], x: &[f32], y: &mut [f32]) {
        let y = &mut y[..self.output.padded_len()];
        if self.windows.len() * self.weight_len * self.panels() * LANES < SMALL_WORK {
            return self.forward_rows(params, x, 0, y);
        }
        let rows = self.output.height.div_ceil(ROW_TASKS);
        let pieces = y.par_chunks_mut(rows * self.output.width * padded(self.output.channels)).enumerate();
        pieces.for_each(|(piece, y)| self.forward_rows(params, x, piece * rows, y));
    }

    /// Rows of the outputs from row `first` on, as many as `y` holds. Lower rows have the windows of upper ones, moved down.
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
            ahead: Ahead::Nothing,
        };
        let from = self.bias.clone().map_or(From::Zero, |range| From::Bias(&params[range]));
        self.kernel.product(&product, from, y, Activation::Relu);
    }
}
