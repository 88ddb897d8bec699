//! What can keep the page from being served.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;

/// A page that could not be served.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// Not a folder.
    #[error("{} is not a folder; name one that holds runs, as runs/ after `sane train`", folder.display())]
    NotAFolder {
        /// What was named.
        folder: PathBuf,
    },
    /// Not an address.
    #[error("--host {host} is not an address; expected one of this machine's, as 192.168.1.5, or 0.0.0.0 for all")]
    NotAnAddress {
        /// What was given.
        host: String,
    },
    /// Somebody listens there already.
    #[error(
        "port {port} on {host} is in use, perhaps by another `sane watch`; choose another with --port, or any free \
         one with --port 0"
    )]
    PortInUse {
        /// The address.
        host: IpAddr,
        /// The port.
        port: u16,
    },
    /// The address is not one of this machine's.
    #[error("{host} is not an address of this machine; `hostname -I` lists them, 0.0.0.0 stands for all")]
    NotHere {
        /// The address.
        host: IpAddr,
    },
    /// The port may not be used.
    #[error("port {port} on {host} may not be used: {source}; ports from 1024 are free for everybody")]
    Refused {
        /// The address.
        host: IpAddr,
        /// The port.
        port: u16,
        /// What the system said.
        source: io::Error,
    },
    /// The system gave no random numbers for the token.
    #[error("the system gave no random numbers for the token: {reason}")]
    NoToken {
        /// What it said.
        reason: String,
    },
    /// The server itself failed.
    #[error("cannot {doing}: {source}")]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl WatchError {
    /// Whether another command line would have helped.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::NotAFolder { .. } | Self::NotAnAddress { .. } | Self::NotHere { .. })
    }

    /// For `map_err`: names the deed.
    pub(crate) fn io(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { doing, source }
    }
}
