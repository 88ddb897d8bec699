//! The paper: pure, no input or output.
