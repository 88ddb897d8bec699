//! Which agent beats which, how likely.

use super::Figure;
use crate::plot::{Anchor, Axis, Marker, Paint, Panel, Scene, Shape, TickStyle, Weight, text_width};
use crate::section::Measure;
use sane_stats::Estimate;
use sane_stats::number_format::counted;

const ROW: f32 = 22.0;

/// A row per pair: `first beats second` with its probability. The pairs are named already.
pub fn improvement_figure(prefix: &str, measure: Measure, pairs: &[(String, Estimate)], worlds: usize) -> Figure {
    let label_width = pairs.iter().map(|(pair, _)| text_width(pair, 11.0, Weight::Regular)).fold(60.0, f32::max);
    let (width, height) = (label_width + 340.0, pairs.len() as f32 * ROW + 62.0);
    let mut scene = Scene::new(width, height, format!("Probability of improvement, {}", measure.name()));
    let x = Axis::exact("probability that the first beats the second", 0.0, 1.0, 4, TickStyle::Percent);
    let mut y = Axis::exact("", 0.0, pairs.len() as f64, 1, TickStyle::Short);
    y.ticks.clear();
    let (corner, size) = ((label_width + 12.0, 6.0), (width - label_width - 24.0, height - 10.0));
    let panel = Panel { title: String::new(), x, y, corner, size };
    panel.draw(&mut scene, &[]);
    let [left, top, _, bottom] = panel.area();
    let middle = panel.at(0.5, 0.0).0;
    let points = vec![(middle, top), (middle, bottom)];
    scene.shapes.push(Shape::Line { points, paint: Paint::Muted, width: 1.0, dash: &[4.0, 3.0] });
    for (i, (pair, estimate)) in pairs.iter().enumerate() {
        let row = pairs.len() as f64 - i as f64 - 0.5;
        if let Some([low, high]) = estimate.interval {
            scene.rule(panel.at(low, row), panel.at(high, row), Paint::Muted, 3.0);
        }
        let at = panel.at(estimate.point, row);
        scene.shapes.push(Shape::Dot { at, paint: Paint::Ink, marker: Marker::Circle });
        scene.text((left - 6.0, at.1 + 4.0), pair, 11.0, Anchor::End, Paint::Ink);
    }
    let caption = format!(
        "Probability of improvement over {}, {}: how often a run of the first agent scores higher than a \
         run of the second in a world drawn at random; line: 95 % interval by stratified bootstrap. At 50 % (dashed) \
         neither is better.",
        counted(worlds, "world"),
        measure.name()
    );
    Figure { name: format!("{prefix}improvement-{}", measure.slug()), caption, scene }
}
