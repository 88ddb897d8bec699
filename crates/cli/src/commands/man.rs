//! `sane man`: the manual pages, made of the same help texts.

use crate::args::Cli;
use crate::failure::Outcome;
use crate::output::Output;
use anyhow::Context;
use clap::CommandFactory;
use clap_mangen::Man;
use std::fs;
use std::path::PathBuf;

/// Print the manual page, or write one page per command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane man | man -l -                                 # read it\n  \
    sane man -o ~/.local/share/man/man1                 # then: man sane, man sane-train")]
pub struct Args {
    /// Folder to write sane.1, sane-train.1 and so on into
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let mut command = Cli::command();
    command.build();
    let Some(folder) = args.output else {
        output.result(String::from_utf8_lossy(&page(command)?).trim_end());
        return Ok(());
    };
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let mut left = vec![("sane".to_owned(), command)];
    let mut count = 0;
    while let Some((name, command)) = left.pop() {
        let below = command.get_subcommands().filter(|below| below.get_name() != "help" && !below.is_hide_set());
        left.extend(below.map(|below| (format!("{name}-{}", below.get_name()), below.clone())));
        let path = folder.join(format!("{name}.1"));
        fs::write(&path, page(command)?).with_context(|| format!("cannot write {}", path.display()))?;
        count += 1;
    }
    output.note(format_args!("{count} pages in {}", folder.display()));
    Ok(())
}

fn page(command: clap::Command) -> std::io::Result<Vec<u8>> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(page)
}
