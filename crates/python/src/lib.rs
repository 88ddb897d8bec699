//! The extension module `sane_rl._native`: what the Python package calls. The functions here convert arguments, release
//! the interpreter's lock and call the crates; the classes that Gymnasium knows are Python, in `python/sane_rl`.
#![forbid(unsafe_code)]

mod ale;
mod array;
mod errors;
mod games;
mod policy;
mod training;
mod vector;
mod world;

use pyo3::prelude::*;
use std::ffi::OsString;
use std::path::PathBuf;

#[pymodule]
mod _native {
    #[pymodule_export]
    use crate::ale::{Ale, AleState};
    #[pymodule_export]
    use crate::games::{game_of_rom, games};
    #[pymodule_export]
    use crate::policy::Policy;
    #[pymodule_export]
    use crate::run_program;
    #[pymodule_export]
    use crate::training::{evaluate, read_run, run_folders, train};
    #[pymodule_export]
    use crate::vector::{LaneState, Vector};
    #[pymodule_export]
    use crate::world::{World, world_names};
}

/// Runs one command line of the program `sane`, whose first word is the program's name; returns the exit code.
/// `program` is what a suite starts its runs with.
#[pyfunction]
fn run_program(py: Python<'_>, program: PathBuf, arguments: Vec<OsString>) -> u8 {
    sane_cli::set_program(program);
    py.detach(|| sane_cli::run(arguments))
}
