//! The server: listens, updates the index once a second, answers until `stop` is set. It serves this machine alone,
//! or requires a token.

use crate::WatchError;
use crate::auth::Auth;
use crate::connections::accept;
use crate::history::Histories;
use crate::index::{Index, Updater};
use crate::live::server_id;
use crate::path_guard::PathGuard;
use crate::routes::{Shared, router};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Time between two passes over the runs.
const PASS_PERIOD: Duration = Duration::from_secs(1);

/// Time between two checks of `stop`.
const STOP_PERIOD: Duration = Duration::from_millis(50);

/// 128 random bits cannot be guessed.
const TOKEN_BYTES: usize = 16;

/// A server that listens; [`serve`] makes it answer.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    guard: PathGuard,
    auth: Auth,
    /// The URL to open, with the token if there is one.
    pub url: String,
}

impl Server {
    /// Listens at `address`, to show the runs in `folders`.
    pub fn bind(folders: &[PathBuf], address: &Address) -> Result<Self, WatchError> {
        let guard = PathGuard::new(folders)?;
        let (host, port) = (address.host, address.port);
        let listener = TcpListener::bind(SocketAddr::new(host, port)).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => WatchError::PortInUse { host, port },
            io::ErrorKind::AddrNotAvailable => WatchError::NotHere { host },
            _ => WatchError::Refused { host, port, source },
        })?;
        let listening = listener.local_addr().map_err(WatchError::io("ask for the port"))?;
        let auth = Auth::new(address.token.as_deref(), listening.port());
        Ok(Self { listener, guard, auth, url: address.url(listening) })
    }
}

/// Answers until `stop` is set.
pub fn serve(server: Server, stop: &Arc<AtomicBool>) -> Result<(), WatchError> {
    let index = Arc::new(Index::new(server.guard));
    let shared = Shared { index: index.clone(), histories: Arc::new(Histories::default()), server: server_id() };
    let (updated, stopping) = (index, stop.clone());
    thread::spawn(move || update(&updated, &stopping));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(WatchError::io("start the server"))?;
    let answered = runtime.block_on(async {
        server.listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(server.listener)?;
        let serving = accept(listener, router(shared, server.auth));
        let stopped = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(STOP_PERIOD).await;
            }
        };
        // Clients of the event stream never disconnect by themselves; dropping them loses nothing.
        futures_util::future::select(std::pin::pin!(serving), std::pin::pin!(stopped)).await;
        Ok::<(), io::Error>(())
    });
    runtime.shutdown_background();
    answered.map_err(WatchError::io("serve the page"))
}

fn update(index: &Index, stop: &AtomicBool) {
    let mut updater = Updater::default();
    while !stop.load(Ordering::Relaxed) {
        updater.pass(index);
        thread::sleep(PASS_PERIOD);
    }
}

/// Where the server listens, and the token it asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    pub host: IpAddr,
    /// 0 chooses a free port.
    pub port: u16,
    /// Required in every request; none if only this machine can connect.
    pub token: Option<String>,
}

impl Address {
    /// The loopback address without a token; with `host`, that address and a new token.
    pub fn new(host: Option<&str>, port: u16) -> Result<Self, WatchError> {
        let Some(host) = host else {
            return Ok(Self { host: Ipv4Addr::LOCALHOST.into(), port, token: None });
        };
        let host = host.parse().map_err(|_| WatchError::NotAnAddress { host: host.into() })?;
        Ok(Self { host, port, token: Some(new_token()?) })
    }

    /// The URL to open. An unspecified address (0.0.0.0) is replaced by the name of this machine.
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

/// The host name, if the system provides it.
pub fn host_name() -> Option<String> {
    let read =
        std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    read.ok().map(|name| name.trim().to_owned()).filter(|name| !name.is_empty())
}

fn new_token() -> Result<String, WatchError> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| WatchError::NoToken { reason: error.to_string() })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_host_only_this_machine_can_connect_and_with_one_a_token_is_required() {
        let alone = Address::new(None, 0).unwrap();
        assert!(alone.host.is_loopback() && alone.token.is_none());
        let (first, second) = (Address::new(Some("0.0.0.0"), 1).unwrap(), Address::new(Some("::1"), 1).unwrap());
        assert_eq!(first.token.as_ref().map(String::len), Some(2 * TOKEN_BYTES));
        assert_ne!(first.token, second.token);
        let url = second.url("[::1]:81".parse().unwrap());
        assert_eq!(url, format!("http://[::1]:81/?token={}", second.token.unwrap()));
    }

    #[test]
    fn a_host_that_is_not_an_address_is_refused() {
        let error = Address::new(Some("everywhere"), 0).unwrap_err();
        assert!(error.is_usage() && error.to_string().contains("everywhere"), "{error}");
    }
}
