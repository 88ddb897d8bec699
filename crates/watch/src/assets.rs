//! The page itself. All of it is in the binary; its colours are those of the reports.

use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use sane_report::PALETTE_CSS;

/// Address, type and content of each part.
const PARTS: [(&str, &str, &str); 11] = [
    ("/", "text/html; charset=utf-8", include_str!("../assets/index.html")),
    ("/watch.css", CSS, include_str!("../assets/watch.css")),
    ("/watch.js", JAVASCRIPT, include_str!("../assets/watch.js")),
    ("/overview.js", JAVASCRIPT, include_str!("../assets/overview.js")),
    ("/run.js", JAVASCRIPT, include_str!("../assets/run.js")),
    ("/compare.js", JAVASCRIPT, include_str!("../assets/compare.js")),
    ("/chart.js", JAVASCRIPT, include_str!("../assets/chart.js")),
    ("/film.js", JAVASCRIPT, include_str!("../assets/film.js")),
    ("/gallery.js", JAVASCRIPT, include_str!("../assets/gallery.js")),
    ("/words.js", JAVASCRIPT, include_str!("../assets/words.js")),
    ("/icon.svg", "image/svg+xml", include_str!("../assets/icon.svg")),
];

const CSS: &str = "text/css; charset=utf-8";
const JAVASCRIPT: &str = "text/javascript; charset=utf-8";

/// Addresses of all parts.
pub fn addresses() -> impl Iterator<Item = &'static str> {
    PARTS.iter().map(|part| part.0).chain(["/palette.css"])
}

/// The part at this address, which must be one of [`addresses`].
pub fn part(address: &str) -> Response {
    let found = PARTS.iter().find(|part| part.0 == address);
    let (kind, content) = found.map_or((CSS, PALETTE_CSS), |(_, kind, content)| (*kind, *content));
    ([(CONTENT_TYPE, kind)], content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_asks_for_nothing_from_elsewhere_and_for_nothing_that_is_not_there() {
        let known: Vec<&str> = addresses().collect();
        for (address, _, content) in PARTS {
            let elsewhere = content.replace("http://www.w3.org/2000/svg", "");
            assert!(!elsewhere.contains("http://") && !elsewhere.contains("https://"), "{address}");
            let asked = ["href=\"", "src=\"", "from \"."].iter().flat_map(|start| content.split(start).skip(1));
            for name in asked.filter_map(|rest| rest.split('"').next()).filter(|name| !name.starts_with(['#', '$'])) {
                assert!(known.contains(&name), "{address} asks for {name}");
            }
        }
    }
}
