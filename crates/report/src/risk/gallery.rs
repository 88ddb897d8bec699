//! A gallery as files: a card per state with its frame, σ, action and the values of all actions; one page that holds all
//! cards; and the numbers.

use super::format::{decimals_for, name, policy, sigma};
use crate::page::html_page;
use crate::plot::{Anchor, Paint, Raster, Scene, Shape, Weight, escape, text_width, to_png, to_svg};
use crate::{OutputFile, ReportError};
use sane_record::{GalleryState, RiskGallery, SeenState};
use sane_stats::number_format::{grouped, with_decimals};

const MARGIN: f32 = 12.0;
const FRAME: (f32, f32) = (320.0, 420.0);
const TEXT_SIZE: f32 = 12.0;
const ROW: f32 = 16.0;
const BAR: f32 = 110.0;
const HINT: &str = "Q(s, action); bar: above the lowest";

/// The files: `index.html`, the pictures under the names the gallery gives them, `gallery.json`. `pictures` holds the
/// frame of each smallest, then of each largest.
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
    // Two drawings per card: on a narrow screen the facts are below the frame.
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
    html_page("sane risk gallery", &title, CARDS, &body)
}

const CARDS: &str = ".cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(36rem, 100%), 1fr)); \
gap: 1rem; align-items: start; }
.cards figure { display: flex; align-items: flex-start; margin: 0; border: 1px solid var(--grid); border-radius: 6px; \
overflow: hidden; }
.cards svg { min-width: 0; }
.cards svg + svg { flex-shrink: 0; }
@media (max-width: 40rem) { .cards figure { flex-wrap: wrap; } }
";

/// What all cards of a gallery share.
#[derive(Debug, Clone, Copy)]
struct CardStyle<'a> {
    actions: &'a [String],
    /// The longest bar: the largest difference between two values of one state in the gallery.
    widest_spread: f64,
}

/// One state of the gallery.
#[derive(Debug, Clone, Copy)]
struct Card<'a> {
    /// `smallest |σ|, 1 of 6`.
    heading: &'a str,
    /// Of its heading.
    colour: Paint,
    state: &'a SeenState,
    raster: &'a Raster,
}

impl Card<'_> {
    /// The whole card: the frame with the facts beside it.
    fn whole(&self, style: CardStyle<'_>) -> Scene {
        let mut scene = self.picture();
        let height = scene.height;
        let (right, bottom) = self.draw_facts(&mut scene, self.raster.fitted(FRAME.0, FRAME.1).0 + 18.0, style);
        scene.description = self.description(style.actions);
        (scene.width, scene.height) = (right + MARGIN, height.max(bottom + MARGIN));
        scene
    }

    /// The frame alone.
    fn picture(&self) -> Scene {
        let size = self.raster.fitted(FRAME.0, FRAME.1);
        let title = format!("{}: the frame", self.heading);
        let mut scene = Scene::new(size.0 + 2.0 * MARGIN, size.1 + 2.0 * MARGIN, title);
        scene.shapes.push(Shape::Picture { at: (MARGIN, MARGIN), size, raster: self.raster.clone() });
        outline(&mut scene, (MARGIN, MARGIN), size);
        scene
    }

    /// The facts alone.
    fn facts(&self, style: CardStyle<'_>) -> Scene {
        let mut scene = Scene::new(0.0, 0.0, self.description(style.actions));
        let (right, bottom) = self.draw_facts(&mut scene, 0.0, style);
        (scene.width, scene.height) = (right + MARGIN, bottom + MARGIN);
        scene
    }

    /// Draws the facts `left` of the margin; returns their right and lower end.
    fn draw_facts(&self, scene: &mut Scene, left: f32, style: CardStyle<'_>) -> (f32, f32) {
        let (left, state) = (MARGIN + left, self.state);
        let mut y = MARGIN + 14.0;
        bold(scene, (left, y), self.heading, 14.0, self.colour);
        y += 24.0;
        let mut lines = vec![
            format!("|σ| = {}", sigma(state.sigma_abs)),
            format!("episode {}, interaction {}", grouped(state.episode), grouped(state.interaction)),
            format!("action {}", action_name(style.actions, state.action)),
        ];
        if state.noise_changed_action {
            lines.push("chosen because of the noise".into());
        }
        lines.extend(state.true_risk.map(|risk| format!("true risk {}", with_decimals(risk, 2))));
        for line in &lines {
            scene.text((left, y), line, TEXT_SIZE, Anchor::Start, Paint::Ink);
            y += ROW + 1.0;
        }
        y += 8.0;
        scene.text((left, y), HINT, 10.5, Anchor::Start, Paint::Muted);
        y += ROW;
        let widest = lines.iter().map(|line| text_width(line, TEXT_SIZE, Weight::Regular)).fold(0.0, f32::max);
        let heading = text_width(self.heading, 14.0, Weight::Bold);
        let right = left + widest.max(heading).max(text_width(HINT, 10.5, Weight::Regular));
        (right.max(values(scene, (left, y), state, style)), y + state.q.len() as f32 * ROW - 8.0)
    }

    fn description(&self, actions: &[String]) -> String {
        format!(
            "{}: sigma {} in episode {} at interaction {}, action {}",
            self.heading,
            sigma(self.state.sigma_abs),
            self.state.episode,
            self.state.interaction,
            action_name(actions, self.state.action)
        )
    }
}

/// Draws a row per action: name, bar, value; the chosen one in bold. Returns the right end of the widest.
fn values(scene: &mut Scene, at: (f32, f32), state: &SeenState, style: CardStyle<'_>) -> f32 {
    let low = state.q.iter().copied().fold(f64::INFINITY, f64::min);
    // The same digits on all cards, and enough to resolve a thirtieth of the longest bar.
    let decimals = decimals_for(style.widest_spread / 3.0).max(2);
    let names = style.actions.iter().map(|name| text_width(name, 11.0, Weight::Bold)).fold(0.0, f32::max);
    let bar_left = at.0 + names + 8.0;
    let mut right = 0.0_f32;
    for (i, &q) in state.q.iter().enumerate() {
        let y = at.1 + i as f32 * ROW;
        let chosen = i == state.action;
        let paint = if chosen { Paint::Ink } else { Paint::Muted };
        let weight = if chosen { Weight::Bold } else { Weight::Regular };
        let value = with_decimals(q, decimals);
        write(scene, (at.0, y), action_name(style.actions, i), paint, weight);
        let share = if 0.0 < style.widest_spread { ((q - low) / style.widest_spread) as f32 } else { 0.0 };
        let length = (BAR * share.clamp(0.0, 1.0)).max(1.0);
        let paint_bar = if chosen { Paint::Colour(0) } else { Paint::Colour(3) };
        let corners = [(0.0, -9.0), (length, -9.0), (length, 0.0), (0.0, 0.0)];
        let points = corners.iter().map(|(dx, dy)| (bar_left + dx, y + dy)).collect();
        scene.shapes.push(Shape::Area { points, paint: paint_bar, opacity: 0.85 });
        write(scene, (bar_left + length + 6.0, y), &value, paint, weight);
        right = right.max(bar_left + BAR + 6.0 + text_width(&value, 11.0, Weight::Bold));
    }
    right
}

fn write(scene: &mut Scene, at: (f32, f32), text: &str, paint: Paint, weight: Weight) {
    let anchor = Anchor::Start;
    scene.shapes.push(Shape::Text { at, text: text.into(), size: 11.0, anchor, weight, paint, upright: false });
}

fn bold(scene: &mut Scene, at: (f32, f32), text: &str, size: f32, paint: Paint) {
    let (anchor, weight) = (Anchor::Start, Weight::Bold);
    scene.shapes.push(Shape::Text { at, text: text.into(), size, anchor, weight, paint, upright: false });
}

fn outline(scene: &mut Scene, (x, y): (f32, f32), (width, height): (f32, f32)) {
    let points = vec![(x, y), (x + width, y), (x + width, y + height), (x, y + height), (x, y)];
    scene.shapes.push(Shape::Line { points, paint: Paint::Muted, width: 1.0, dash: &[] });
}

fn action_name(actions: &[String], i: usize) -> &str {
    actions.get(i).map_or("?", String::as_str)
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::audit;
    use super::*;
    use sane_record::{RiskSubject, SigmaRange};

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

    #[test]
    fn every_text_of_a_card_fits_on_it_for_any_number_of_actions() {
        let actions: Vec<String> = (0..18).map(|i| format!("DOWNRIGHTFIRE{i}")).collect();
        let q = (0..18).map(|i| f64::from(i) * 1_000.0).collect();
        let state = SeenState {
            episode: 1_234,
            interaction: 99_999,
            sigma_abs: 1e-9,
            q,
            action: 17,
            noise_changed_action: true,
            true_risk: Some(0.5),
        };
        let raster = Raster::new(160, 210, vec![0; 3 * 160 * 210]).unwrap();
        let style = CardStyle { actions: &actions, widest_spread: 17_000.0 };
        let card = Card { heading: "smallest |σ|, 1 of 6", colour: Paint::Colour(1), state: &state, raster: &raster };
        for scene in [card.whole(style), card.facts(style)] {
            for shape in &scene.shapes {
                if let Shape::Text { at, text, size, weight, .. } = shape {
                    assert!(at.0 + text_width(text, *size, *weight) <= scene.width && at.1 <= scene.height, "{text}");
                }
            }
        }
    }
}
