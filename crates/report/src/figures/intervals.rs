//! The aggregates of each agent with their intervals, one plot per aggregate.

use super::Figure;
use crate::agent::Agent;
use crate::plot::{Anchor, Axis, PATTERNS, Paint, Panel, Scene, Shape, TickStyle, Weight, text_width};
use crate::section::Measure;
use sane_stats::number_format::counted;
use sane_stats::{Aggregate, Estimate};

const ROW: f32 = 22.0;

/// Dots with intervals; `rows` holds an agent and its estimates in the order of [`Aggregate::ALL`].
pub fn interval_figure(prefix: &str, measure: Measure, rows: &[(&Agent, [Estimate; 4])], games: usize) -> Figure {
    let label_width =
        rows.iter().map(|(agent, _)| text_width(&agent.label, 11.0, Weight::Regular)).fold(40.0, f32::max);
    let plot_width = 340.0;
    let cell_height = rows.len() as f32 * ROW + 66.0;
    let (width, height) = (label_width + plot_width + 32.0, Aggregate::ALL.len() as f32 * cell_height + 8.0);
    let mut scene = Scene::new(width, height, format!("Aggregates of the human-normalised scores, {}", measure.name()));
    for (i, aggregate) in Aggregate::ALL.into_iter().enumerate() {
        let corner = (8.0, i as f32 * cell_height + 8.0);
        let estimates: Vec<(&Agent, Estimate)> = rows.iter().map(|(agent, row)| (*agent, row[i])).collect();
        draw(&mut scene, aggregate, &estimates, corner, label_width, (plot_width, cell_height - 8.0));
    }
    let caption = format!(
        "Human-normalised scores over {}, {}: dot: estimate; line: 95 % interval by stratified bootstrap \
         over seeds (none where a game has one seed). A smaller optimality gap is better, of the others a larger \
         value.",
        counted(games, "game"),
        measure.name()
    );
    Figure { name: format!("{prefix}aggregates-{}", measure.slug()), caption, scene }
}

fn draw(
    scene: &mut Scene,
    aggregate: Aggregate,
    estimates: &[(&Agent, Estimate)],
    corner: (f32, f32),
    label_width: f32,
    size: (f32, f32),
) {
    let values = estimates.iter().flat_map(|(_, estimate)| {
        let [low, high] = estimate.interval.unwrap_or([estimate.point; 2]);
        [estimate.point, low, high]
    });
    let unit = if aggregate == Aggregate::OptimalityGap {
        "shortfall from human level"
    } else {
        "human-normalised score (human = 1)"
    };
    let x = Axis::linear(unit, values, 4, TickStyle::Short);
    let mut y = Axis::exact("", 0.0, estimates.len() as f64, 1, TickStyle::Short);
    y.ticks.clear();
    let panel = Panel { title: aggregate.name().into(), x, y, corner: (corner.0 + label_width, corner.1), size };
    panel.draw(scene, &[]);
    let [left, ..] = panel.area();
    for (i, (agent, estimate)) in estimates.iter().enumerate() {
        let row = estimates.len() as f64 - i as f64 - 0.5;
        let (paint, pattern) = (Paint::Colour(agent.look.colour), PATTERNS[agent.look.pattern % PATTERNS.len()]);
        if let Some([low, high]) = estimate.interval {
            scene.rule(panel.at(low, row), panel.at(high, row), paint, 3.0);
        }
        let at = panel.at(estimate.point, row);
        scene.shapes.push(Shape::Dot { at, paint, marker: pattern.marker });
        scene.text((left - 6.0, at.1 + 4.0), &*agent.label, 11.0, Anchor::End, Paint::Ink);
    }
}
