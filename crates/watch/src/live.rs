//! Changes of the runs as server-sent events: each message holds the rows that changed and the runs that were removed.

use crate::index::Index;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Changes within this time are sent together.
const BATCH_PERIOD: Duration = Duration::from_millis(200);

/// Up to which version of which server a client is informed. A restarted server counts versions from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    server: u64,
    version: u64,
}

/// A message to a client. Its keys are those of the page's scripts.
#[derive(Debug, Serialize)]
pub struct Message {
    /// The client's cursor after this message, for its next request.
    #[serde(rename = "place")]
    pub cursor: String,
    /// Whether it holds all runs, so that those it does not name were removed.
    pub whole: bool,
    /// Current time of the machine whose clock the times in the rows come from.
    pub now_unix: u64,
    /// New and changed runs.
    pub rows: Vec<crate::row::Row>,
    /// Runs that no longer exist.
    #[serde(rename = "gone")]
    pub removed: Vec<String>,
}

/// Identifies this start of the server: its time.
pub fn server_id() -> u64 {
    now().as_millis() as u64
}

impl Cursor {
    /// From a URL or a `Last-Event-ID`; anything else is the beginning.
    pub fn parse(text: Option<&str>, server: u64) -> Self {
        let read = text
            .and_then(|text| text.split_once('-'))
            .and_then(|(server, version)| Some(Self { server: server.parse().ok()?, version: version.parse().ok()? }));
        read.filter(|cursor| cursor.server == server).unwrap_or(Self { server, version: 0 })
    }

    /// The changes since, and the cursor after them.
    pub fn advance(self, index: &Index) -> (Self, Message) {
        let changes = index.since(self.version);
        let cursor = Self { version: changes.version, ..self };
        let message = Message {
            cursor: format!("{}-{}", cursor.server, cursor.version),
            whole: self.version == 0,
            now_unix: now().as_secs(),
            rows: changes.rows,
            removed: changes.removed,
        };
        (cursor, message)
    }
}

/// All changes from `cursor` on, until the client disconnects.
pub fn follow(index: Arc<Index>, cursor: Cursor) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let listener = index.listen();
    let messages = stream::unfold((index, listener, cursor), |(index, mut listener, cursor)| async move {
        if *listener.borrow_and_update() <= cursor.version {
            listener.changed().await.ok()?;
            tokio::time::sleep(BATCH_PERIOD).await;
        }
        let (cursor, message) = cursor.advance(&index);
        let event = Event::default().id(&message.cursor).data(serde_json::to_string(&message).ok()?);
        Some((Ok(event), (index, listener, cursor)))
    });
    Sse::new(messages).keep_alive(KeepAlive::new().interval(Duration::from_secs(10)))
}

fn now() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_of_an_earlier_server_starts_from_the_beginning() {
        assert_eq!(Cursor::parse(Some("7-3"), 7), Cursor { server: 7, version: 3 });
        for text in [Some("6-3"), Some("nonsense"), Some("7-"), None] {
            assert_eq!(Cursor::parse(text, 7), Cursor { server: 7, version: 0 }, "{text:?}");
        }
    }
}
