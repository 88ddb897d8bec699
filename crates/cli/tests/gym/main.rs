//! Gymnasium environments from the command line: training, resuming after a fault, measuring, and what is refused.
//! Needs Python; fetches Gymnasium by pip where it is missing.

mod command;
mod faults;
#[path = "../../../gym/tests/bridge/packages.rs"]
mod packages;
mod runs;
mod usage;
