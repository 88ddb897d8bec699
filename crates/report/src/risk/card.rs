//! One state of a gallery as a picture: its frame, σ, action, and the values of all actions.

use super::words::{decimals_for, sigma};
use crate::plot::{Anchor, Paint, Raster, Scene, Shape, Weight, text_width};
use sane_record::SeenState;
use sane_stats::number_format::{grouped, with_decimals};

const MARGIN: f32 = 12.0;
const FRAME: (f32, f32) = (320.0, 420.0);
const TEXT_SIZE: f32 = 12.0;
const ROW: f32 = 16.0;
const BAR: f32 = 110.0;
const HINT: &str = "Q(s, action); bar: above the lowest";

/// What all cards of a gallery share.
#[derive(Debug, Clone, Copy)]
pub struct CardStyle<'a> {
    /// Names of the actions.
    pub actions: &'a [String],
    /// The longest bar: the largest difference between two values of one state in the gallery.
    pub widest_spread: f64,
}

/// One state and where in the gallery it stands.
#[derive(Debug, Clone, Copy)]
pub struct Card<'a> {
    /// Its place: `smallest |σ|, 1 of 6`.
    pub heading: &'a str,
    /// The colour of that end of the gallery.
    pub colour: Paint,
    /// The state.
    pub state: &'a SeenState,
    /// Its frame.
    pub raster: &'a Raster,
}

impl Card<'_> {
    /// The whole card: the frame, and the facts beside it.
    pub fn whole(&self, style: CardStyle<'_>) -> Scene {
        let mut scene = self.picture();
        let height = scene.height;
        let (right, bottom) = self.draw_facts(&mut scene, self.raster.fitted(FRAME.0, FRAME.1).0 + 18.0, style);
        scene.description = self.description(style.actions);
        (scene.width, scene.height) = (right + MARGIN, height.max(bottom + MARGIN));
        scene
    }

    /// The frame alone.
    pub fn picture(&self) -> Scene {
        let size = self.raster.fitted(FRAME.0, FRAME.1);
        let title = format!("{}: the frame", self.heading);
        let mut scene = Scene::new(size.0 + 2.0 * MARGIN, size.1 + 2.0 * MARGIN, title);
        scene.shapes.push(Shape::Picture { at: (MARGIN, MARGIN), size, raster: self.raster.clone() });
        outline(&mut scene, (MARGIN, MARGIN), size);
        scene
    }

    /// The facts alone.
    pub fn facts(&self, style: CardStyle<'_>) -> Scene {
        let mut scene = Scene::new(0.0, 0.0, self.description(style.actions));
        let (right, bottom) = self.draw_facts(&mut scene, 0.0, style);
        (scene.width, scene.height) = (right + MARGIN, bottom + MARGIN);
        scene
    }

    /// Words and values, `left` of the margin; the right and lower end of them.
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

/// A row per action: name, bar, value; the chosen one in bold. The right end of the widest.
fn values(scene: &mut Scene, at: (f32, f32), state: &SeenState, style: CardStyle<'_>) -> f32 {
    let low = state.q.iter().copied().fold(f64::INFINITY, f64::min);
    // The same digits on all cards, and enough to tell a thirtieth of the longest bar.
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
    use super::*;

    #[test]
    fn nothing_on_a_card_reaches_beyond_it_however_many_actions_there_are() {
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
