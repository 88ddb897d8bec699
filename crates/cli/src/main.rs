//! The binary `sane`; everything is in the library, which the Python package runs, too.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(sane_cli::run(std::env::args_os()))
}
