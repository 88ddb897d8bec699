//! Tables of addresses: where each row of an operand begins. Built once with a layer, read by every product.

/// Non-decreasing offsets into a buffer, so that the largest of the first `n` is the `n`-th: one comparison checks them all.
#[derive(Debug, Clone)]
pub(crate) struct Offsets(Box<[u32]>);

impl Offsets {
    /// The given offsets, which must not decrease.
    pub fn new(values: impl IntoIterator<Item = usize>) -> Self {
        let values: Box<[u32]> =
            values.into_iter().map(|value| u32::try_from(value).expect("layers are checked to fit")).collect();
        assert!(!values.is_empty() && values.is_sorted(), "offsets do not decrease");
        Self(values)
    }

    /// 0, `stride`, 2·`stride`, …
    pub fn every(stride: usize, count: usize) -> Self {
        Self::new((0..count).map(|i| i * stride))
    }

    /// Makes it 0, `stride`, 2·`stride`, … without touching its memory's size.
    pub fn respace(&mut self, stride: usize) {
        let stride = u32::try_from(stride).expect("layers are checked to fit");
        for (i, value) in (0..).zip(&mut self.0) {
            *value = i * stride;
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn values(&self) -> &[u32] {
        &self.0
    }

    /// The largest of the first `count`, of which there is at least one.
    pub fn largest_of(&self, count: usize) -> usize {
        self.0[count - 1] as usize
    }
}
