//! The server: listens, looks at the runs once a second, answers until it is told to stop.

use crate::WatchError;
use crate::address::Address;
use crate::fence::Fence;
use crate::gate::Gate;
use crate::histories::Histories;
use crate::index::{Index, Looker};
use crate::live::server_id;
use crate::routes::{Shared, router};
use std::future::IntoFuture;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// From one look at the runs to the next.
const LOOK: Duration = Duration::from_secs(1);

/// From one look at `stop` to the next.
const STOP: Duration = Duration::from_millis(50);

/// A server that listens already and answers once it is [`serve`]d.
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    fence: Fence,
    gate: Gate,
    /// What to type into a browser.
    pub url: String,
}

impl Server {
    /// Listens at `address`; what it will show are the runs in `folders`.
    pub fn bind(folders: &[PathBuf], address: &Address) -> Result<Self, WatchError> {
        let fence = Fence::around(folders)?;
        let (host, port) = (address.host, address.port);
        let listener = TcpListener::bind(SocketAddr::new(host, port)).map_err(|source| match source.kind() {
            io::ErrorKind::AddrInUse => WatchError::PortInUse { host, port },
            io::ErrorKind::AddrNotAvailable => WatchError::NotHere { host },
            _ => WatchError::Refused { host, port, source },
        })?;
        let listening = listener.local_addr().map_err(WatchError::io("ask for the port"))?;
        let gate = Gate::new(address.token.as_deref(), listening.port());
        Ok(Self { listener, fence, gate, url: address.url(listening) })
    }
}

/// Answers until `stop` is set.
pub fn serve(server: Server, stop: &Arc<AtomicBool>) -> Result<(), WatchError> {
    let index = Arc::new(Index::new(server.fence));
    let shared = Shared { index: index.clone(), histories: Arc::new(Histories::default()), server: server_id() };
    let (looking, stopping) = (index, stop.clone());
    thread::spawn(move || look(&looking, &stopping));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(WatchError::io("start the server"))?;
    let answered = runtime.block_on(async {
        server.listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(server.listener)?;
        let answers = axum::serve(listener, router(shared, server.gate)).into_future();
        let asked_to_stop = async {
            while !stop.load(Ordering::Relaxed) {
                tokio::time::sleep(STOP).await;
            }
            Ok(())
        };
        // Visitors who wait for news never leave by themselves, and nothing is lost by leaving them.
        futures_util::future::select(std::pin::pin!(answers), std::pin::pin!(asked_to_stop)).await.factor_first().0
    });
    runtime.shutdown_background();
    answered.map_err(WatchError::io("serve the page"))
}

fn look(index: &Index, stop: &AtomicBool) {
    let mut looker = Looker::default();
    while !stop.load(Ordering::Relaxed) {
        looker.pass(index);
        thread::sleep(LOOK);
    }
}
