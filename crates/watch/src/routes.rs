//! The routes: what can be requested and what is answered. Everything is read; nothing is written.

use crate::auth::{self, Auth};
use crate::clock::Axis;
use crate::comparison::{By, Drawing, compare};
use crate::history::{Histories, Quantity};
use crate::index::{Index, read_config};
use crate::live::{Cursor, follow};
use crate::path_guard::PathGuard;
use crate::row::Row;
use axum::Router;
use axum::extract::{Path, Query, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use sane_record::{EvaluationFinished, Event};
use sane_report::PALETTE_CSS;
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io;
use std::path::{Path as FilePath, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Larger than any film, gallery or list of evaluations.
const MOST_BYTES: u64 = 32 << 20;

/// How long a request waits for the first pass over the runs.
const FIRST_PASS: Duration = Duration::from_millis(600);

/// Path, type and content of each file of the page, which are all in the binary.
const ASSETS: [(&str, &str, &str); 15] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("/watch.css", CSS, include_str!("../assets/watch.css")),
    ("/watch.js", JAVASCRIPT, include_str!("../assets/watch.js")),
    ("/overview.js", JAVASCRIPT, include_str!("../assets/overview.js")),
    ("/run.js", JAVASCRIPT, include_str!("../assets/run.js")),
    ("/compare.js", JAVASCRIPT, include_str!("../assets/compare.js")),
    ("/chart.js", JAVASCRIPT, include_str!("../assets/chart.js")),
    ("/controls.js", JAVASCRIPT, include_str!("../assets/controls.js")),
    ("/look.js", JAVASCRIPT, include_str!("../assets/look.js")),
    ("/save.js", JAVASCRIPT, include_str!("../assets/save.js")),
    ("/address.js", JAVASCRIPT, include_str!("../assets/address.js")),
    ("/film.js", JAVASCRIPT, include_str!("../assets/film.js")),
    ("/gallery.js", JAVASCRIPT, include_str!("../assets/gallery.js")),
    ("/format.js", JAVASCRIPT, include_str!("../assets/format.js")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// The state that all handlers share.
#[derive(Debug, Clone)]
pub struct Shared {
    pub index: Arc<Index>,
    pub histories: Arc<Histories>,
    /// Identifies this start of the server.
    pub server: u64,
}

/// All routes, behind the authorisation.
pub fn router(shared: Shared, auth: Auth) -> Router {
    let mut router = Router::new()
        .route("/api/runs", get(runs))
        .route("/api/live", get(live))
        .route("/api/compare", get(comparison))
        .route("/api/runs/{id}", get(run))
        .route("/api/runs/{id}/film", get(film))
        .route("/api/runs/{id}/gallery", get(gallery))
        .route("/api/runs/{id}/gallery/{*name}", get(picture))
        .fallback(|| async { (StatusCode::NOT_FOUND, "not found\n") });
    for path in asset_paths() {
        router = router.route(path, get(move || async move { asset(path) }));
    }
    router.layer(axum::middleware::from_fn_with_state(auth, auth::check)).with_state(shared)
}

async fn runs(State(shared): State<Shared>) -> Response {
    // A request right after the start waits for the first pass instead of getting an empty list.
    let mut listener = shared.index.listen();
    if *listener.borrow_and_update() == 0 {
        let _ = tokio::time::timeout(FIRST_PASS, listener.changed()).await;
    }
    json_of(&Cursor::parse(None, shared.server).advance(&shared.index).1)
}

#[derive(Deserialize)]
struct Since {
    since: Option<String>,
}

async fn live(State(shared): State<Shared>, Query(query): Query<Since>, headers: HeaderMap) -> Response {
    // A browser that reconnects sends the last event it received, which is newer than the one in the URL.
    let last_event = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let cursor = Cursor::parse(last_event.or(query.since.as_deref()), shared.server);
    follow(shared.index, cursor).into_response()
}

#[derive(Deserialize)]
struct Over {
    #[serde(default)]
    x: Axis,
}

async fn run(State(shared): State<Shared>, Path(id): Path<String>, Query(Over { x: axis }): Query<Over>) -> Response {
    off_thread(move || {
        let Some(row) = shared.index.row(&id) else { return no_such_run() };
        let guard = shared.index.guard();
        let evaluations = guard.read(&row.folder.join("evaluations.jsonl"), MOST_BYTES).unwrap_or_default();
        let config = read_config(guard, &row.folder).ok();
        let head = json!({
            "settings": config.map(|config| config.settings),
            "evaluations": evaluations.split(|&byte| byte == b'\n').filter_map(evaluation).collect::<Vec<_>>(),
        });
        shared.histories.with(guard, &row.id, &row.folder, |history| {
            let mut shown = json!(history);
            shown["series"] = json!(history.drawn(axis));
            json_of(&json!({ "row": row, "head": head, "history": shown }))
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
        "partial": serde_json::from_slice::<Mark>(line).is_ok_and(|mark| mark.partial == Some(true)),
        "return_mean": return_mean,
        "interval": return_mean_interval_95,
        "human_normalised": found.human_normalised,
    }))
}

/// The mark of an evaluation that was stopped early.
#[derive(Deserialize)]
struct Mark {
    partial: Option<bool>,
}

#[derive(Deserialize)]
struct Compared {
    runs: String,
    quantity: Quantity,
    by: By,
    #[serde(default)]
    x: Axis,
}

async fn comparison(State(shared): State<Shared>, Query(query): Query<Compared>) -> Response {
    off_thread(move || {
        let ids: Vec<&str> = query.runs.split(',').collect();
        let drawing = Drawing { quantity: query.quantity, by: query.by, axis: query.x };
        json_of(&json!({ "curves": compare(&shared.index, &shared.histories, &ids, drawing) }))
    })
    .await
}

async fn film(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    of_run(shared, id, "application/octet-stream", |index, row| {
        index.guard().read(&row.folder.join("film.bin"), MOST_BYTES)
    })
    .await
}

async fn gallery(State(shared): State<Shared>, Path(id): Path<String>) -> Response {
    of_run(shared, id, "application/json", |index, row| gallery_list(index.guard(), &row.folder)).await
}

async fn picture(State(shared): State<Shared>, Path((id, name)): Path<(String, String)>) -> Response {
    of_run(shared, id, "image/png", move |index, row| gallery_picture(index.guard(), &row.folder, &name)).await
}

/// Serves a file of a run.
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

/// Runs `answer` on another thread: a slow disk must not delay the event stream.
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

/// `gallery.json`, as `sane risk gallery` writes it.
fn gallery_list(guard: &PathGuard, run: &FilePath) -> io::Result<Vec<u8>> {
    guard.read(&gallery_folder(run).join("gallery.json"), MOST_BYTES)
}

/// A picture of the gallery. The name comes from the request, so its canonical path must be in the gallery's folder.
fn gallery_picture(guard: &PathGuard, run: &FilePath, name: &str) -> io::Result<Vec<u8>> {
    let path = gallery_folder(run).join(name);
    let is_inside = guard.resolve(&path)?.starts_with(guard.resolve(&gallery_folder(run))?);
    if !is_inside || path.extension().is_none_or(|ending| ending != "png") {
        return Err(io::ErrorKind::NotFound.into());
    }
    guard.read(&path, MOST_BYTES)
}

fn gallery_folder(run: &FilePath) -> PathBuf {
    run.join("risk/gallery")
}

/// Paths of all files of the page.
fn asset_paths() -> impl Iterator<Item = &'static str> {
    ASSETS.iter().map(|asset| asset.0).chain(["/palette.css"])
}

/// The file of the page at this path, which must be one of [`asset_paths`].
fn asset(path: &str) -> Response {
    let found = ASSETS.iter().find(|asset| asset.0 == path);
    let (kind, content) = found.map_or((CSS, PALETTE_CSS), |(_, kind, content)| (*kind, *content));
    ([(CONTENT_TYPE, kind)], content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_page_requests_only_files_that_are_in_the_binary() {
        let known: Vec<&str> = asset_paths().collect();
        for (path, _, content) in ASSETS {
            let elsewhere = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"), "{path}");
            let requested = ["href=\"", "src=\"", "from \"."].iter().flat_map(|start| content.split(start).skip(1));
            for name in requested.filter_map(|rest| rest.split('"').next()).filter(|name| !name.starts_with(['#', '$']))
            {
                assert!(known.contains(&name), "{path} requests {name}");
            }
        }
    }

    #[test]
    fn pictures_of_the_gallery_are_served_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let gallery = root.path().join("risk/gallery/low");
        fs::create_dir_all(&gallery).unwrap();
        fs::write(gallery.join("1.png"), "picture").unwrap();
        fs::write(gallery.join("notes.txt"), "text").unwrap();
        fs::write(root.path().join("secret.png"), "secret").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret.png"), gallery.join("link.png")).unwrap();
        let guard = PathGuard::new(&[root.path().into()]).unwrap();
        assert_eq!(gallery_picture(&guard, root.path(), "low/1.png").unwrap(), b"picture");
        for name in ["low/notes.txt", "../../secret.png", "low/../../../secret.png", "low/link.png", "/etc/passwd", ""]
        {
            assert!(gallery_picture(&guard, root.path(), name).is_err(), "{name}");
        }
    }
}
