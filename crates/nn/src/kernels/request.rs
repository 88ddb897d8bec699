//! A matrix product as layers ask for it: operands by slices and offset tables, checked once, then computed.

use super::sinks::Start;
use super::*;
use crate::offsets::Offsets;

/// The operands of a matrix product; the formula stands at the top of `kernels/product.rs`.
pub(crate) struct Product<'a> {
    pub a: &'a [f32],
    pub rows: &'a Offsets,
    /// How many rows of A, and of C, take part.
    pub row_count: usize,
    pub segments: &'a Offsets,
    pub segment_count: usize,
    pub length: usize,
    pub step: usize,
    pub b: &'a [f32],
    pub b_stride: usize,
    pub b_panel: usize,
    pub panels: usize,
    /// Where row r of C begins, for panel 0.
    pub c_rows: &'a Offsets,
    /// Floats from one panel of C to the next.
    pub c_panel: usize,
    pub ahead: Ahead,
}

/// What a product adds to.
pub(crate) enum From<'a> {
    Zero,
    C,
    Bias(&'a [f32]),
}

/// What happens to a sum before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Linear,
    /// max(0, ·).
    Relu,
}

impl Product<'_> {
    /// Checks every address of the formula against the slices.
    fn source(&self) -> Source<'_> {
        let steps = self.segment_count * self.length;
        assert!(0 < self.row_count && 0 < steps && 0 < self.panels, "product: nothing to compute");
        let last_a = self.rows.largest_of(self.row_count)
            + self.segments.largest_of(self.segment_count)
            + (self.length - 1) * self.step;
        assert!(last_a < self.a.len(), "product: A is read at {last_a} of {}", self.a.len());
        let end_b = (self.panels - 1) * self.b_panel + (steps - 1) * self.b_stride + LANES;
        assert!(end_b <= self.b.len(), "product: B is read up to {end_b} of {}", self.b.len());
        Source {
            a: self.a.as_ptr(),
            rows: &self.rows.values()[..self.row_count],
            segments: &self.segments.values()[..self.segment_count],
            length: self.length,
            step: self.step,
            b: self.b.as_ptr(),
            b_stride: self.b_stride,
            b_panel: self.b_panel,
            panels: self.panels,
            ahead: self.ahead,
        }
    }

    /// One more than the last element of C that is touched.
    fn end_c(&self) -> usize {
        self.c_rows.largest_of(self.row_count) + (self.panels - 1) * self.c_panel + LANES
    }
}

impl Kernel {
    /// C ← activation(from + A·B).
    pub(crate) fn product(self, p: &Product<'_>, from: From<'_>, c: &mut [f32], activation: Activation) {
        let source = p.source();
        assert!(p.end_c() <= c.len(), "product: C is written up to {} of {}", p.end_c(), c.len());
        let start = match from {
            From::Zero => Start::Zero,
            From::C => Start::Add,
            From::Bias(bias) => {
                assert!(p.panels * LANES <= bias.len(), "product: bias has {} of {}", bias.len(), p.panels * LANES);
                Start::Bias(bias.as_ptr())
            }
        };
        let rows = &p.c_rows.values()[..p.row_count];
        let is_rectified = activation == Activation::Relu;
        dispatch!(
            self,
            product_store(source, Store { c: c.as_mut_ptr(), rows, panel: p.c_panel, start, is_rectified })
        );
    }

    /// One Adam step on the parameters C, whose gradient is A·B.
    pub(crate) fn product_adam(
        self,
        p: &Product<'_>,
        k: &AdamCoefficients,
        c: &mut [f32],
        m: &mut [f32],
        v: &mut [f32],
    ) {
        let source = p.source();
        let end = p.end_c();
        assert!(end <= c.len() && end <= m.len() && end <= v.len(), "product_adam: parameters are written up to {end}");
        let rows = &p.c_rows.values()[..p.row_count];
        let sink = Update { p: c.as_mut_ptr(), m: m.as_mut_ptr(), v: v.as_mut_ptr(), rows, panel: p.c_panel, k };
        dispatch!(self, product_adam(source, sink));
    }

    /// C ← activation(bias + row · B), for as many panels of sixteen columns as C holds.
    pub(crate) fn sparse_row(self, row: SparseRow<'_>, c: &mut [f32], activation: Activation) {
        let panels = c.len() / LANES;
        assert!(0 < panels && c.len().is_multiple_of(LANES), "sparse row: {} columns", c.len());
        let end = (panels - 1) * row.b_panel + row.steps.end() * LANES;
        assert!(end <= row.b.len(), "sparse row: B is read up to {end} of {}", row.b.len());
        assert!(row.bias.is_none_or(|bias| c.len() <= bias.len()), "sparse row: the bias is shorter than C");
        dispatch!(self, sparse_row(row, c, activation == Activation::Relu));
    }
}
