//! Transitions remembered: frames are stored once and compressed; batches come out.
#![forbid(unsafe_code)]

mod batch;

pub use batch::Batch;
