//! Errors of serving the page.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// The page cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("{} is not a folder; name one that holds runs, as runs/ after `sane train`", folder.display())]
    NotAFolder { folder: PathBuf },
    #[error("--host {host} is not an address; expected one of this machine's, as 192.168.1.5, or 0.0.0.0 for all")]
    NotAnAddress { host: String },
    /// Another process listens there.
    #[error(
        "port {port} on {host} is in use, perhaps by another `sane watch`; choose another with --port, or any free \
         one with --port 0"
    )]
    PortInUse { host: IpAddr, port: u16 },
    /// The address is not one of this machine's.
    #[error("{host} is not an address of this machine; `hostname -I` lists them, 0.0.0.0 means all of them")]
    NotHere { host: IpAddr },
    /// The port may not be used.
    #[error("port {port} on {host} may not be used: {source}; ports from 1024 need no privileges")]
    Refused { host: IpAddr, port: u16, source: io::Error },
    /// The system gave no random numbers for the token.
    #[error("the system gave no random numbers for the token: {reason}")]
    NoToken { reason: String },
    /// The server itself failed.
    #[error("cannot {doing}: {source}")]
    Io { doing: &'static str, source: io::Error },
}

impl WatchError {
    /// Whether the error is one of the command line.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotAFolder { .. } | Self::NotAnAddress { .. } | Self::NotHere { .. })
    }

    /// For `map_err`: adds what was attempted.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
