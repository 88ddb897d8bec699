//! Worlds that need no ROM.
#![forbid(unsafe_code)]

pub mod minatar;
mod numpy_stream;
mod picture;
mod snapshot;
