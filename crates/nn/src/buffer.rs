//! Cache-line aligned memory for parameters, activations and scratch.

use std::ops::{Deref, DerefMut};

const CACHE_LINE_BYTES: usize = 64;
const CACHE_LINE_FLOATS: usize = CACHE_LINE_BYTES / size_of::<f32>();

/// A fixed-length `[f32]` aligned to 64 bytes, so that no 16-lane load straddles two cache lines.
#[derive(Debug)]
pub struct Buffer {
    memory: Vec<f32>,
    first: usize,
    len: usize,
}

impl Buffer {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        let memory = vec![0.0_f32; len + CACHE_LINE_FLOATS];
        // `align_offset` is allowed to fail; the buffer is then slower, but correct.
        let first =
            Some(memory.as_ptr().align_offset(CACHE_LINE_BYTES)).filter(|&o| o < CACHE_LINE_FLOATS).unwrap_or(0);
        Self { memory, first, len }
    }

    /// A copy of `values`.
    pub fn from_slice(values: &[f32]) -> Self {
        let mut buffer = Self::zeros(values.len());
        buffer.copy_from_slice(values);
        buffer
    }
}

impl Clone for Buffer {
    fn clone(&self) -> Self {
        Self::from_slice(self)
    }
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &self.memory[self.first..self.first + self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut self.memory[self.first..self.first + self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_starts_on_a_cache_line_and_so_does_its_clone() {
        for len in [1, 15, 16, 1000] {
            let buffer = Buffer::zeros(len);
            assert_eq!(buffer.len(), len);
            assert_eq!(buffer.as_ptr().align_offset(CACHE_LINE_BYTES), 0);
            assert_eq!(buffer.clone().as_ptr().align_offset(CACHE_LINE_BYTES), 0);
        }
    }
}
