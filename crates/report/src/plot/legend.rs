//! The key of a figure: a piece of line and a name per agent, wrapped to the width of the figure.

use super::{Anchor, PATTERNS, Paint, Scene, Shape, Weight, text_width};
use crate::agent::Look;

const SIZE: f32 = 11.0;
const ROW: f32 = 18.0;
const SAMPLE: f32 = 26.0;
const GAP: f32 = 18.0;

/// Height of the legend of these labels when it may be this wide.
pub fn legend_height(labels: &[(&str, Look)], width: f32) -> f32 {
    rows(labels, width).len() as f32 * ROW
}

/// Draws the legend with its upper left corner at `at`.
pub fn draw_legend(scene: &mut Scene, labels: &[(&str, Look)], at: (f32, f32), width: f32) {
    for (i, row) in rows(labels, width).into_iter().enumerate() {
        let y = at.1 + i as f32 * ROW + ROW / 2.0;
        let mut x = at.0;
        for (label, look) in row {
            let (paint, pattern) = (Paint::Colour(look.colour), PATTERNS[look.pattern % PATTERNS.len()]);
            let points = vec![(x, y), (x + SAMPLE - 6.0, y)];
            scene.shapes.push(Shape::Line { points, paint, width: 2.0, dash: pattern.dash });
            scene.shapes.push(Shape::Dot { at: (x + (SAMPLE - 6.0) / 2.0, y), paint, marker: pattern.marker });
            scene.text((x + SAMPLE, y + 4.0), label, SIZE, Anchor::Start, Paint::Ink);
            x += entry_width(label);
        }
    }
}

fn rows<'a>(labels: &[(&'a str, Look)], width: f32) -> Vec<Vec<(&'a str, Look)>> {
    let mut rows: Vec<Vec<(&str, Look)>> = Vec::new();
    let mut used = f32::INFINITY;
    for &(label, look) in labels {
        let wanted = entry_width(label);
        if width < used + wanted - GAP {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += wanted;
        rows.last_mut().expect("a row was begun").push((label, look));
    }
    rows
}

fn entry_width(label: &str) -> f32 {
    SAMPLE + text_width(label, SIZE, Weight::Regular) + GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_legend_wraps_and_keeps_every_label() {
        let look = Look { colour: 0, pattern: 0 };
        let labels = [("q-sane", look), ("sane", look), ("noisynet", look), ("eps-greedy", look)];
        assert_eq!(rows(&labels, 1_000.0).len(), 1);
        let narrow = rows(&labels, 160.0);
        assert!(1 < narrow.len());
        assert_eq!(narrow.concat(), labels);
    }
}
