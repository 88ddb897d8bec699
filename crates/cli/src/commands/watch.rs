//! `sane watch`: the runs as a live page in the browser.

use crate::failure::{Outcome, classify};
use crate::output::Output;
use sane_lab::stop_on_signals;
use sane_watch::{Address, Server, serve};
use std::path::PathBuf;

/// 7263 spells SANE on a telephone keypad.
const PORT: u16 = 7263;

/// Show the runs as a live page in the browser
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sane watch                              # all runs below runs/, at http://127.0.0.1:7263/
  sane watch runs other/runs              # the runs of two folders on one page
  sane watch --port 0                     # any free port; the address is printed
  sane watch --host 0.0.0.0               # reachable from the network, with a token in the address

The page follows runs while they train and shows finished ones. It only reads, and only below the given folders. \
Without --host it is reachable from this machine alone; with --host, by everyone who has the printed address. From \
another machine without --host: ssh -L 7263:localhost:7263 MACHINE. Ctrl-C stops it.")]
pub struct Args {
    /// Folders with runs, at any depth
    #[arg(default_value = "runs", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Port to listen on; 0 for any free one
    #[arg(long, default_value_t = PORT, value_name = "P")]
    port: u16,
    /// Address to listen on, to be reachable from other machines; every request then needs the token
    #[arg(long, value_name = "H")]
    host: Option<String>,
}

/// Serves the page until it is stopped. The address is the result: one line on standard output.
pub fn run(args: Args, output: &Output) -> Outcome {
    let stop = stop_on_signals()?;
    let address = Address::new(args.host.as_deref(), args.port).map_err(classify)?;
    let server = Server::bind(&args.folders, &address).map_err(classify)?;
    output.result(&server.url);
    output.note("open this address in a browser; Ctrl-C stops the server");
    if address.token.is_some() {
        output.note("everyone who has this address with its token can see the runs; the connection is not encrypted");
    }
    serve(server, &stop).map_err(classify)
}
