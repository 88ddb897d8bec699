//! A gallery as files: a picture per state, one page that holds them all, and the numbers.

use super::card::{Card, CardStyle};
use super::words::{self, name, policy};
use crate::plot::{Paint, Raster, escape, to_png, to_svg};
use crate::{OutputFile, ReportError};
use sane_record::{GalleryState, RiskGallery};

/// The files: `index.html`, the pictures under the names the gallery gives them, `gallery.json`. `pictures` holds one
/// frame for each smallest, then one for each largest.
pub fn gallery_files(gallery: &RiskGallery, pictures: &[Raster]) -> Result<Vec<OutputFile>, ReportError> {
    let style = CardStyle { actions: &gallery.subject.actions, widest_spread: widest_spread(gallery) };
    let headings = |states: &[GalleryState], end: &str| -> Vec<String> {
        (1..=states.len()).map(|i| format!("{end} |σ|, {i} of {}", states.len())).collect()
    };
    let headings = [headings(&gallery.smallest, "smallest"), headings(&gallery.largest, "largest")].concat();
    let shown = gallery.smallest.iter().chain(&gallery.largest);
    let cards: Vec<Card<'_>> = shown
        .clone()
        .zip(pictures)
        .zip(&headings)
        .enumerate()
        .map(|(i, ((shown, raster), heading))| {
            let colour = Paint::Colour(if i < gallery.smallest.len() { 1 } else { 2 });
            Card { heading, colour, state: &shown.state, raster }
        })
        .collect();
    let json = serde_json::to_string_pretty(gallery).expect("a gallery is plain data");
    let mut files = vec![
        OutputFile { path: "index.html".into(), bytes: page(gallery, &cards, style).into_bytes() },
        OutputFile { path: "gallery.json".into(), bytes: json.into_bytes() },
    ];
    let mut scenes: Vec<_> = cards.iter().map(|card| card.whole(style)).collect();
    let width = scenes.iter().map(|scene| scene.width).fold(0.0, f32::max);
    for (shown, scene) in shown.zip(&mut scenes) {
        scene.width = width;
        let bytes = to_png(scene).map_err(|reason| ReportError::Figure { figure: shown.picture.clone(), reason })?;
        files.push(OutputFile { path: shown.picture.clone(), bytes });
    }
    Ok(files)
}

/// One scale for the bars of all cards, so that states can be compared.
fn widest_spread(gallery: &RiskGallery) -> f64 {
    let spread = |shown: &GalleryState| {
        let (low, high) =
            shown.state.q.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &q| (low.min(q), high.max(q)));
        high - low
    };
    gallery.smallest.iter().chain(&gallery.largest).map(spread).fold(0.0, f64::max)
}

fn page(gallery: &RiskGallery, cards: &[Card<'_>], style: CardStyle<'_>) -> String {
    let title = format!("Smallest and largest σ: {}", name(&gallery.subject));
    let (smallest, largest) = cards.split_at(gallery.smallest.len().min(cards.len()));
    // Two drawings per card: on a narrow screen the facts stand below the frame, not small beside it.
    let figure =
        |card: &Card<'_>| format!("<figure>\n{}{}</figure>\n", to_svg(&card.picture()), to_svg(&card.facts(style)));
    let section = |heading: &str, cards: &[Card<'_>]| {
        let figures: String = cards.iter().map(figure).collect();
        format!("<section>\n<h2>{heading}</h2>\n<div class=\"cards\">\n{figures}</div>\n</section>\n")
    };
    let body = format!(
        "<p>{}</p>\n<p class=\"note\">The paper expects small |σ| where a wrong action costs much, and large |σ| where it \
         costs little. Pictures show what σ singles out; whether that is risk, <code>sane risk audit</code> measures. Two \
         states of one episode are at least {} interactions apart, and no two look alike. The bars of all pictures have \
         one scale.</p>\n{}{}",
        escape(&policy(&gallery.subject)),
        gallery.apart_interactions,
        section("Smallest |σ|: little noise", smallest),
        section("Largest |σ|: much noise", largest),
    );
    words::page(&title, CARDS, &body)
}

const CARDS: &str = ".cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(36rem, 100%), 1fr)); \
gap: 1rem; align-items: start; }
.cards figure { display: flex; align-items: flex-start; margin: 0; border: 1px solid var(--grid); border-radius: 6px; \
overflow: hidden; }
.cards svg { min-width: 0; }
.cards svg + svg { flex-shrink: 0; }
@media (max-width: 40rem) { .cards figure { flex-wrap: wrap; } }
";

#[cfg(test)]
mod tests {
    use super::super::judgement::tests::audit;
    use super::*;
    use sane_record::{RiskSubject, SeenState, SigmaRange};

    fn gallery() -> RiskGallery {
        let shown = |picture: &str, sigma_abs: f64| GalleryState {
            picture: picture.into(),
            state: SeenState {
                episode: 0,
                interaction: 7,
                sigma_abs,
                q: vec![1.0, 1.5],
                action: 1,
                noise_changed_action: false,
                true_risk: None,
            },
        };
        RiskGallery {
            subject: RiskSubject {
                world: "minatar/<b>".into(),
                actions: vec!["noop".into(), "fire".into()],
                episodes: 1,
                interactions: 300,
                sigma: SigmaRange { mean_abs: 0.02, min_abs: 0.01, max_abs: 0.03 },
                ..audit(&[]).subject
            },
            apart_interactions: 15,
            smallest: vec![shown("smallest-1.png", 0.01)],
            largest: vec![shown("largest-1.png", 0.03)],
        }
    }

    #[test]
    fn a_gallery_is_a_page_its_numbers_and_a_picture_per_state() {
        let raster = Raster::new(2, 2, vec![9; 12]).unwrap();
        let files = gallery_files(&gallery(), &[raster.clone(), raster]).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        assert_eq!(paths, ["index.html", "gallery.json", "smallest-1.png", "largest-1.png"]);
        let page = String::from_utf8(files[0].bytes.clone()).unwrap();
        assert!(page.contains("minatar/&lt;b&gt;, sane, seed 1 after 20,000 interactions") && !page.contains("<b>"));
        assert!(page.contains("--paper:") && page.contains("prefers-color-scheme: dark"), "the page has its colours");
        assert!(page.matches("data:image/png;base64,").count() == 2 && !page.contains("src=\"http"));
        let read: RiskGallery = serde_json::from_slice(&files[1].bytes).unwrap();
        assert_eq!(read, gallery());
        assert!(files[2].bytes.starts_with(b"\x89PNG"));
    }
}
