//! Errors of the crates as Python exceptions, with the same sentences.

use pyo3::PyErr;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyRuntimeError, PyValueError};
use sane_lab::LabError;
use std::fmt::Display;
use std::io::ErrorKind;

/// A value that the caller can correct.
pub fn value_error(error: impl Display) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A failure that no other argument would have avoided.
pub fn runtime_error(error: impl Display) -> PyErr {
    PyRuntimeError::new_err(error.to_string())
}

/// An error of a run: `FileNotFoundError` and `OSError` for files, `ValueError` for wrong settings, else `RuntimeError`.
pub fn lab_error(error: LabError) -> PyErr {
    let text = error.to_string();
    match error {
        LabError::NotARun { .. } | LabError::NoCheckpoint { .. } | LabError::Rom(_) => {
            PyFileNotFoundError::new_err(text)
        }
        LabError::Io { source, .. } if source.kind() == ErrorKind::NotFound => PyFileNotFoundError::new_err(text),
        LabError::Io { .. } => PyOSError::new_err(text),
        LabError::Config(_)
        | LabError::World { .. }
        | LabError::OtherRun { .. }
        | LabError::NotAPolicy { .. }
        | LabError::Agent(_)
        | LabError::Gym(_) => value_error(text),
        _ => runtime_error(text),
    }
}
