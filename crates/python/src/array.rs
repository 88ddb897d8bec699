//! Arrays that Rust fills before Python sees them.

use numpy::ndarray::{Dimension, IntoDimension};
use numpy::{Element, PyArray, PyArrayMethods};
use pyo3::prelude::*;

/// A new array of zeros, filled by `fill` without the interpreter's lock.
pub fn filled<'py, T, S, R>(
    py: Python<'py>,
    shape: S,
    fill: impl FnOnce(&mut [T]) -> R + Send,
) -> (Bound<'py, PyArray<T, S::Dim>>, R)
where
    T: Element + Send + Sync,
    S: IntoDimension,
    S::Dim: Dimension,
    R: Send,
{
    let array = PyArray::zeros(py, shape, false);
    let result = {
        let mut writable = array.readwrite();
        let slice = writable.as_slice_mut().expect("a new array is contiguous");
        py.detach(|| fill(slice))
    };
    (array, result)
}
