//! `sane watch`: the runs as a live page in the browser.

use crate::output::{Failure, Outcome, Output};
use sane_lab::stop_on_signals;
use sane_watch::{Address, Server, WatchError, serve};
use std::path::PathBuf;

/// 7263 is SANE on a telephone's keys.
const PORT: u16 = 7263;

/// Arguments of `sane watch`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sane watch                              all runs below runs/, at http://127.0.0.1:7263/
  sane watch runs other/runs              runs of two places on one page
  sane watch --port 0                     any free port; the address is printed
  sane watch --host 0.0.0.0               for others in the network, with a token in the address

The page is live: it follows runs that are being trained, and shows finished ones, too. It reads and never writes; \
nothing outside the given folders can be seen. Without --host it answers this machine alone; with it, whoever has \
the printed address. From another machine without --host: ssh -L 7263:localhost:7263 MACHINE. Ctrl-C stops it.")]
pub struct Args {
    /// Folders with runs, at any depth
    #[arg(default_value = "runs", value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Port to listen at; 0 for any free one
    #[arg(long, default_value_t = PORT, value_name = "P")]
    port: u16,
    /// Address to listen at, for others than this machine; a token is then asked of every visitor
    #[arg(long, value_name = "H")]
    host: Option<String>,
}

/// Serves the page until it is stopped. The address is the result: one line on standard output.
pub fn run(args: Args, output: &Output) -> Outcome {
    let stop = stop_on_signals()?;
    let address = Address::new(args.host.as_deref(), args.port).map_err(sorted)?;
    let server = Server::bind(&args.folders, &address).map_err(sorted)?;
    output.result(&server.url);
    output.note("open this address in a browser; Ctrl-C stops");
    if address.token.is_some() {
        output.note("whoever has this address, token and all, can see the runs; the line is not encrypted");
    }
    serve(server, &stop).map_err(sorted)
}

fn sorted(error: WatchError) -> Failure {
    if error.is_usage() { Failure::Usage(error.to_string()) } else { error.into() }
}
