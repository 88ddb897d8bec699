//! The open connections, and what limits them: time for the head of a request, time without a request, their number.
//!
//! A connection is a stranger until one of its requests was authorised. Strangers are few and short-lived: a new one takes
//! the place of the oldest, so that any number of silent connections cannot keep out a person who has the token.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::AbortHandle;

/// Time in which the head of a request must arrive, counted from the connection or from the request before: also the
/// longest time that a connection is kept without a request.
const HEAD_TIME: Duration = Duration::from_secs(5);

/// Time in which a connection must make an authorised request.
const STRANGER_TIME: Duration = Duration::from_secs(10);

const MOST_STRANGERS: usize = 64;

/// Far more than browsers of a group of people hold open, and below the usual limit of open files.
const MOST_KNOWN: usize = 256;

/// A request's head holds a URL of run ids and a few headers.
const HEAD_BYTES: usize = 32 << 10;

/// Time before the next try when the system has no more files for connections.
const RETRY_TIME: Duration = Duration::from_millis(100);

/// Serves every connection to the listener.
pub async fn accept(listener: TcpListener, router: Router) {
    let connections = Connections::default();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => connections.serve(stream, router.clone()),
            Err(_) => tokio::time::sleep(RETRY_TIME).await,
        }
    }
}

/// All open connections.
#[derive(Debug, Clone, Default)]
struct Connections {
    open: Arc<Mutex<Open>>,
}

/// By the number of the connection, which counts from the first.
#[derive(Debug, Default)]
struct Open {
    last: u64,
    strangers: BTreeMap<u64, AbortHandle>,
    known: BTreeMap<u64, AbortHandle>,
}

/// One connection, as its requests see it.
#[derive(Debug, Clone)]
pub struct Connection {
    number: u64,
    all: Connections,
}

impl Connection {
    /// A request of this connection was authorised.
    pub fn authorise(&self) {
        let mut open = self.all.open();
        if let Some(task) = open.strangers.remove(&self.number) {
            close_oldest(&mut open.known, MOST_KNOWN);
            open.known.insert(self.number, task);
        }
    }
}

impl Connections {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn serve(&self, stream: TcpStream, router: Router) {
        let number = {
            let mut open = self.open();
            open.last += 1;
            open.last
        };
        let connection = Connection { number, all: self.clone() };
        let service = TowerToHyperService::new(router.layer(axum::Extension(connection)));
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD_BYTES);
        let all = self.clone();
        // The task starts after this function, which does not wait: it is in the list before it can end.
        let task = tokio::spawn(async move {
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            let mut open = all.open();
            open.strangers.remove(&number);
            open.known.remove(&number);
        });
        let mut open = self.open();
        close_oldest(&mut open.strangers, MOST_STRANGERS);
        open.strangers.insert(number, task.abort_handle());
        drop(open);
        let all = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(STRANGER_TIME).await;
            if let Some(task) = all.open().strangers.remove(&number) {
                task.abort();
            }
        });
    }
}

/// Makes room for one more.
fn close_oldest(tasks: &mut BTreeMap<u64, AbortHandle>, most: usize) {
    while most <= tasks.len() {
        if let Some((_, task)) = tasks.pop_first() {
            task.abort();
        }
    }
}
