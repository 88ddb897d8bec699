//! Where the page is served and who may see it: this machine alone, or whoever knows the token.

use crate::WatchError;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// Bytes of a token: nobody guesses 128 bits.
const TOKEN_BYTES: usize = 16;

/// Where to listen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Of this machine.
    pub host: IpAddr,
    /// 0 stands for any free one.
    pub port: u16,
    /// Asked of every visitor; none where only this machine can visit.
    pub token: Option<String>,
}

impl Address {
    /// This machine alone without `host`; otherwise there, with a fresh token.
    pub fn new(host: Option<&str>, port: u16) -> Result<Self, WatchError> {
        let Some(host) = host else {
            return Ok(Self { host: Ipv4Addr::LOCALHOST.into(), port, token: None });
        };
        let host = host.parse().map_err(|_| WatchError::NotAnAddress { host: host.into() })?;
        Ok(Self { host, port, token: Some(fresh_token()?) })
    }

    /// What to type into a browser. An address that stands for all is shown as the one that reaches this machine from
    /// itself.
    pub fn url(&self, listening: SocketAddr) -> String {
        let host = match listening.ip() {
            ip if !ip.is_unspecified() => ip.to_string(),
            _ => host_name().unwrap_or_else(|| Ipv4Addr::LOCALHOST.to_string()),
        };
        let host = if host.contains(':') { format!("[{host}]") } else { host };
        let token = self.token.as_ref().map(|token| format!("?token={token}")).unwrap_or_default();
        format!("http://{host}:{}/{token}", listening.port())
    }
}

/// The name of this machine, where the system says.
pub fn host_name() -> Option<String> {
    let read =
        std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    read.ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn fresh_token() -> Result<String, WatchError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| WatchError::NoToken { reason: error.to_string() })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_host_only_this_machine_can_visit_and_with_one_a_token_is_asked_for() {
        let alone = Address::new(None, 0).unwrap();
        assert!(alone.host.is_loopback() && alone.token.is_none());
        let (first, second) = (Address::new(Some("0.0.0.0"), 1).unwrap(), Address::new(Some("::1"), 1).unwrap());
        assert_eq!(first.token.as_ref().map(String::len), Some(2 * TOKEN_BYTES));
        assert_ne!(first.token, second.token);
        let url = second.url("[::1]:81".parse().unwrap());
        assert_eq!(url, format!("http://[::1]:81/?token={}", second.token.unwrap()));
    }

    #[test]
    fn a_host_that_is_no_address_is_refused() {
        let error = Address::new(Some("everywhere"), 0).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("everywhere"), "{error}");
    }
}
