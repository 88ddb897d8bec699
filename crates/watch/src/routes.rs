//! What can be asked for, and what is answered. Everything is read; nothing is written.

use crate::assets;
use crate::comparison::{By, compare};
use crate::gallery;
use crate::gate::{self, Gate};
use crate::histories::Histories;
use crate::history::Quantity;
use crate::index::Index;
use crate::live::{Place, follow};
use crate::row::Row;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sane_record::{EvaluationFinished, Event};
use sane_report::read_head;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io;
use std::sync::Arc;
use std::time::Duration;

/// More than any film or list of evaluations of ours has.
const MOST_BYTES: u64 = 32 << 20;

/// How long the first look at the runs is waited for.
const FIRST_LOOK: Duration = Duration::from_millis(600);

/// What all answers are made from.
#[derive(Debug, Clone)]
pub struct Shared {
    /// The runs.
    pub index: Arc<Index>,
    /// Those read whole.
    pub histories: Arc<Histories>,
    /// Which server this is.
    pub server: u64,
}

/// All addresses, behind the gate.
pub fn router(shared: Shared, gate: Gate) -> Router {
    let mut router = Router::new()
        .route("/api/runs", get(runs))
        .route("/api/live", get(live))
        .route("/api/compare", get(comparison))
        .route("/api/runs/{id}", get(run))
        .route("/api/runs/{id}/film", get(film))
        .route("/api/runs/{id}/gallery", get(gallery_list))
        .route("/api/runs/{id}/gallery/{*name}", get(gallery_picture))
        .fallback(|| async { (StatusCode::NOT_FOUND, "there is nothing at this address\n") });
    for address in assets::addresses() {
        router = router.route(address, get(move || async move { assets::part(address) }));
    }
    router.layer(axum::middleware::from_fn_with_state(gate, gate::pass)).with_state(shared)
}

async fn runs(State(shared): State<Shared>) -> Response {
    // Whoever comes right after the start waits for the first look rather than getting an empty list.
    let mut listener = shared.index.listen();
    if *listener.borrow_and_update() == 0 {
        let _ = tokio::time::timeout(FIRST_LOOK, listener.changed()).await;
    }
    json_of(&Place::parse(None, shared.server).news(&shared.index).1)
}

#[derive(Deserialize)]
struct Since {
    since: Option<String>,
}

async fn live(State(shared): State<Shared>, Query(query): Query<Since>, headers: HeaderMap) -> Response {
    // A browser that lost the line remembers more than the address it was given at first.
    let remembered = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let place = Place::parse(remembered.or(query.since.as_deref()), shared.server);
    follow(shared.index, place).into_response()
}

async fn run(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    off_thread(move || {
        let Some(row) = shared.index.row(&id) else { return no_such_run() };
        let fence = shared.index.fence();
        let evaluations = fence.read(&row.folder.join("evaluations.jsonl"), MOST_BYTES).unwrap_or_default();
        let settings = fence.admit(&row.folder.join("config.toml")).ok().and_then(|_| read_head(&row.folder).ok());
        let head = json!({
            "settings": settings.map(|head| head.settings),
            "evaluations": evaluations.split(|&byte| byte == b'\n').filter_map(evaluation).collect::<Vec<_>>(),
        });
        shared.histories.with(fence, &row.id, &row.folder, |history| {
            json_of(&json!({ "row": row, "head": head, "history": history }))
        })
    })
    .await
}

/// An evaluation without its lists.
fn evaluation(line: &[u8]) -> Option<serde_json::Value> {
    let Event::EvaluationFinished(found) = serde_json::from_slice(line).ok()? else { return None };
    let EvaluationFinished { noise, trained_interactions, episodes, return_mean, return_mean_interval_95, .. } = found;
    Some(json!({
        "noise": noise,
        "trained_interactions": trained_interactions,
        "episodes": episodes,
        "return_mean": return_mean,
        "interval": return_mean_interval_95,
        "human_normalised": found.human_normalised,
    }))
}

#[derive(Deserialize)]
struct Compared {
    runs: String,
    quantity: Quantity,
    by: By,
}

async fn comparison(State(shared): State<Shared>, Query(query): Query<Compared>) -> Response {
    off_thread(move || {
        let ids: Vec<&str> = query.runs.split(',').collect();
        json_of(&json!({ "curves": compare(&shared.index, &shared.histories, &ids, query.quantity, query.by) }))
    })
    .await
}

async fn film(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    of_run(shared, id, "application/octet-stream", |index, row| {
        index.fence().read(&row.folder.join("film.bin"), MOST_BYTES)
    })
    .await
}

async fn gallery_list(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    of_run(shared, id, "application/json", |index, row| gallery::list(index.fence(), &row.folder)).await
}

async fn gallery_picture(State(shared): State<Shared>, Path((id, name)): Path<(String, String)>) -> Response {
    of_run(shared, id, "image/png", move |index, row| gallery::picture(index.fence(), &row.folder, &name)).await
}

/// A file of a run.
async fn of_run(
    shared: Shared,
    id: String,
    kind: &'static str,
    read: impl FnOnce(&Index, &Row) -> io::Result<Vec<u8>> + Send + 'static,
) -> Response {
    off_thread(move || {
        let Some(row) = shared.index.row(&id) else { return no_such_run() };
        match read(&shared.index, &row) {
            Ok(bytes) => ([(CONTENT_TYPE, kind)], bytes).into_response(),
            Err(_) => (StatusCode::NOT_FOUND, "this run has no such file\n").into_response(),
        }
    })
    .await
}

/// Disks may be slow; those who only wait for news must not wait for them.
async fn off_thread(answer: impl FnOnce() -> Response + Send + 'static) -> Response {
    let failed = (StatusCode::INTERNAL_SERVER_ERROR, "the answer could not be made\n");
    tokio::task::spawn_blocking(answer).await.unwrap_or_else(|_| failed.into_response())
}

fn no_such_run() -> Response {
    (StatusCode::NOT_FOUND, "there is no such run; it may have been deleted or moved\n").into_response()
}

fn json_of(value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => ([(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(error) => (StatusCode::INTERNAL_SERVER_ERROR, format!("{error}\n")).into_response(),
    }
}
