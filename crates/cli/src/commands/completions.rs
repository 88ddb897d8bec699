//! `sane completions`: what a shell needs to complete commands and options.

use crate::args::Cli;
use crate::failure::Outcome;
use crate::output::Output;
use clap::CommandFactory;
use clap_complete::{Shell, generate};

/// Print completions for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane completions bash > ~/.local/share/bash-completion/completions/sane\n  \
    sane completions zsh > ~/.zfunc/_sane                     # with ~/.zfunc in $fpath\n  \
    sane completions fish > ~/.config/fish/completions/sane.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let mut script = Vec::new();
    generate(args.shell, &mut Cli::command(), "sane", &mut script);
    output.result(String::from_utf8_lossy(&script).trim_end());
    Ok(())
}
