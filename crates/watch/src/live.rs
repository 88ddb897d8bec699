//! News of the runs as server-sent events: each message holds the rows that changed and the runs that are gone.

use crate::index::Index;
use axum::response::sse::{Event, KeepAlive, Sse};
use futures_util::stream::{self, Stream};
use serde::Serialize;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Changes that come together are told together.
const GATHER: Duration = Duration::from_millis(200);

/// Where a visitor stands: which server it heard and up to which version. A server that was started anew counts anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    server: u64,
    version: u64,
}

/// What is told.
#[derive(Debug, Serialize)]
pub struct Message {
    /// Where the visitor stands after it, for its next question.
    pub place: String,
    /// Whether it holds all runs, so that those it does not name are gone.
    pub whole: bool,
    /// The clock of this machine, which the times in the rows go by.
    pub now_unix: u64,
    /// New and changed runs.
    pub rows: Vec<crate::row::Row>,
    /// Runs that are no longer there.
    pub gone: Vec<String>,
}

/// Which server this is: the moment it started.
pub fn server_id() -> u64 {
    now().as_millis() as u64
}

impl Place {
    /// From an address or a browser's memory; anything else stands at the beginning.
    pub fn parse(text: Option<&str>, server: u64) -> Self {
        let read = text
            .and_then(|text| text.split_once('-'))
            .and_then(|(server, version)| Some(Self { server: server.parse().ok()?, version: version.parse().ok()? }));
        read.filter(|place| place.server == server).unwrap_or(Self { server, version: 0 })
    }

    /// What happened since, and the place that results.
    pub fn news(self, index: &Index) -> (Self, Message) {
        let changes = index.since(self.version);
        let place = Self { version: changes.version, ..self };
        let message = Message {
            place: format!("{}-{}", place.server, place.version),
            whole: self.version == 0,
            now_unix: now().as_secs(),
            rows: changes.rows,
            gone: changes.gone,
        };
        (place, message)
    }
}

/// All news from `place` on, for as long as the visitor stays.
pub fn follow(index: Arc<Index>, place: Place) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let listener = index.listen();
    let messages = stream::unfold((index, listener, place), |(index, mut listener, place)| async move {
        if *listener.borrow_and_update() <= place.version {
            listener.changed().await.ok()?;
            tokio::time::sleep(GATHER).await;
        }
        let (place, message) = place.news(&index);
        let event = Event::default().id(&message.place).data(serde_json::to_string(&message).ok()?);
        Some((Ok(event), (index, listener, place)))
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
    fn a_visitor_of_an_earlier_server_begins_anew() {
        assert_eq!(Place::parse(Some("7-3"), 7), Place { server: 7, version: 3 });
        for text in [Some("6-3"), Some("nonsense"), Some("7-"), None] {
            assert_eq!(Place::parse(text, 7), Place { server: 7, version: 0 }, "{text:?}");
        }
    }
}
