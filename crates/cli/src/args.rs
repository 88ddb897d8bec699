//! The command line as a type. Each command's arguments live beside the command.

use crate::commands::Command;
use clap::Parser;

/// Deep Q-networks that explore by state-aware noise, and the laboratory around them.
#[derive(Debug, Parser)]
#[command(name = "sane", version, arg_required_else_help = true, subcommand_required = true)]
pub struct Cli {
    /// Only results and errors; no notes, no progress bars
    #[arg(long, short, global = true)]
    pub quiet: bool,
    /// What to do
    #[command(subcommand)]
    pub command: Command,
}
