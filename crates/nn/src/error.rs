//! Everything that can be wrong with what a caller asks of the engine.

use thiserror::Error;

/// Why a network cannot be built, loaded or run on the wanted kernel.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum NnError {
    /// A size that must be at least one is zero.
    #[error("layer {layer}: {what} is 0; it must be at least 1")]
    ZeroSize {
        /// Name of the layer.
        layer: String,
        /// Which of its sizes.
        what: &'static str,
    },
    /// The convolution window does not fit into its input.
    #[error(
        "layer {layer}: a {kernel}×{kernel} kernel does not fit into its input of {height}×{width} ({channels} channels); use a smaller kernel or stride, or fewer layers"
    )]
    KernelTooLarge {
        /// Name of the layer.
        layer: String,
        /// Window size.
        kernel: usize,
        /// Channels of the layer's input.
        channels: usize,
        /// Height of the layer's input.
        height: usize,
        /// Width of the layer's input.
        width: usize,
    },
    /// The layer is too large for 32-bit offsets.
    #[error("layer {layer}: {elements} numbers are more than one layer may hold ({limit})")]
    TooLarge {
        /// Name of the layer.
        layer: String,
        /// What was asked for.
        elements: u128,
        /// What is possible.
        limit: u128,
    },
    /// Two tensors of one network carry the same name.
    #[error("tensor {name} is declared twice; each tensor needs its own name")]
    DuplicateTensor {
        /// The name.
        name: String,
    },
    /// A tensor the network has is not among those offered.
    #[error("tensor {name} of shape {expected:?} is missing")]
    MissingTensor {
        /// The name.
        name: String,
        /// Its shape in this network.
        expected: Vec<usize>,
    },
    /// A tensor was offered that the network does not have.
    #[error("tensor {name} of shape {found:?} does not belong to this network, which has: {known}")]
    UnknownTensor {
        /// The name.
        name: String,
        /// Its offered shape.
        found: Vec<usize>,
        /// All names this network has.
        known: String,
    },
    /// A tensor's shape is not the one the network needs.
    #[error("tensor {name} has shape {found:?} with {values} values, this network needs {expected:?}")]
    WrongShape {
        /// The name.
        name: String,
        /// Shape offered.
        found: Vec<usize>,
        /// Number of values offered.
        values: usize,
        /// Shape needed.
        expected: Vec<usize>,
    },
    /// A saved buffer does not have this network's length.
    #[error("{what} holds {found} numbers, this network needs {expected}; it was saved by a network of another shape")]
    WrongLength {
        /// Which buffer.
        what: &'static str,
        /// Its length.
        found: usize,
        /// The needed length.
        expected: usize,
    },
    /// The processor lacks what a kernel needs.
    #[error("this processor cannot run the {kernel} kernel; available: {available}")]
    KernelUnavailable {
        /// The kernel asked for.
        kernel: String,
        /// Those that can run here, best first.
        available: String,
    },
}
