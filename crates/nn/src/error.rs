//! Errors of building, loading and selecting: wrong shapes inside a pass are bugs and panic instead.

use thiserror::Error;

/// Why a network cannot be built or loaded, or a kernel not be selected.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NnError {
    /// A size that must be at least one is zero.
    #[error("layer {layer}: {what} is 0; it must be at least 1")]
    ZeroSize { layer: String, what: &'static str },
    /// The convolution window does not fit into its input.
    #[error(
        "layer {layer}: a {kernel}×{kernel} kernel does not fit into its input of {height}×{width} ({channels} channels); use a smaller kernel or stride, or fewer layers"
    )]
    KernelTooLarge { layer: String, kernel: usize, channels: usize, height: usize, width: usize },
    /// The layer is too large for 32-bit offsets.
    #[error("layer {layer}: {elements} numbers are more than one layer may hold ({limit})")]
    TooLarge { layer: String, elements: u128, limit: u128 },
    /// Two tensors of one network carry the same name.
    #[error("tensor {name} is declared twice; each tensor needs its own name")]
    DuplicateTensor { name: String },
    /// A tensor of the network is not among those to import.
    #[error("tensor {name} of shape {expected:?} is missing")]
    MissingTensor { name: String, expected: Vec<usize> },
    /// A tensor to import does not exist in the network.
    #[error("tensor {name} of shape {found:?} does not belong to this network, which has: {known}")]
    UnknownTensor { name: String, found: Vec<usize>, known: String },
    /// A tensor's shape is not the one the network needs.
    #[error("tensor {name} has shape {found:?} with {values} values, this network needs {expected:?}")]
    WrongShape { name: String, found: Vec<usize>, values: usize, expected: Vec<usize> },
    /// A saved buffer does not have this network's length.
    #[error("{what} holds {found} numbers, this network needs {expected}; it was saved by a network of another shape")]
    WrongLength { what: &'static str, found: usize, expected: usize },
    /// The processor lacks what a kernel needs.
    #[error("this processor cannot run the {kernel} kernel; available: {available}")]
    KernelUnavailable {
        kernel: String,
        /// Names of those this processor can run, fastest first.
        available: String,
    },
    /// A process computes with one kernel from beginning to end.
    #[error("this process already computes with the {used} kernel, so it cannot change to {asked}; choose it first")]
    KernelInUse { used: &'static str, asked: &'static str },
}
