//! Weight gradient and Adam's step in one pass: the gradient of a dense weight is never stored.

use super::{Dense, TASK_PANELS};
use crate::adam::Adam;
use crate::kernels::{AdamCoefficients, LANES};
use crate::matrix::Matrix;
use std::ops::Range;

/// A layer whose weight is to be moved, with its inputs x[B,I] and the gradient dy[B,O] of its outputs.
#[derive(Debug, Clone, Copy)]
pub struct DenseUpdate<'a> {
    /// The layer.
    pub layer: &'a Dense,
    /// What it read.
    pub x: &'a Matrix,
    /// What came back.
    pub dy: &'a Matrix,
}

/// The update of some outputs of one layer, independent of all others.
#[derive(Debug)]
pub struct WeightUpdate<'a> {
    of: DenseUpdate<'a>,
    task: usize,
    coefficients: AdamCoefficients,
    parts: Parts<'a>,
}

impl WeightUpdate<'_> {
    /// dW = dyᵀ·x of these outputs, and Adam's step with it.
    pub fn run(self) {
        let Self { of: DenseUpdate { layer, x, dy }, task, coefficients, parts: Parts { p, m, v } } = self;
        let panels = p.len() / (layer.inputs * LANES);
        layer.for_each_block(x, dy, task, panels, |product, at| {
            layer.kernel.product_adam(product, &coefficients, &mut p[at..], &mut m[at..], &mut v[at..]);
        });
    }
}

impl Adam {
    /// The step of the weights of `layers`, which come in the order of the flat buffers, cut into pieces that may run in any
    /// order and side by side. To be called between [`Adam::begin_step`] and the next; input gradients, which need the weights
    /// as they were, come before.
    pub fn weight_updates<'a>(
        &'a mut self,
        params: &'a mut [f32],
        layers: impl Iterator<Item = DenseUpdate<'a>> + Send,
    ) -> impl Iterator<Item = WeightUpdate<'a>> + Send {
        let (coefficients, m, v) = self.parts(0..params.len());
        let (mut left, mut first) = (Parts { p: params, m, v }, 0);
        layers.flat_map(move |of| {
            let Range { start, end } = of.layer.weight.clone();
            assert!(first <= start, "adam: layers out of order");
            left.take(start - first);
            first = end;
            left.take(end - start)
                .pieces(TASK_PANELS * of.layer.inputs * LANES)
                .enumerate()
                .map(move |(task, parts)| WeightUpdate { of, task, coefficients, parts })
        })
    }
}

/// The same stretch of parameters, first and second moments.
#[derive(Debug)]
struct Parts<'a> {
    p: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

impl<'a> Parts<'a> {
    /// Takes the first `len` of them away.
    fn take(&mut self, len: usize) -> Self {
        let first = |slice: &mut &'a mut [f32]| slice.split_off_mut(..len).expect("the layout holds all layers");
        Self { p: first(&mut self.p), m: first(&mut self.m), v: first(&mut self.v) }
    }

    fn pieces(self, len: usize) -> impl Iterator<Item = Self> + Send {
        let pieces = self.p.chunks_mut(len).zip(self.m.chunks_mut(len)).zip(self.v.chunks_mut(len));
        pieces.map(|((p, m), v)| Self { p, m, v })
    }
}
