//! Quantities over interactions: one plot per world, and all worlds in one grid as in the paper's figure.

use super::Figure;
use crate::agent::Look;
use crate::curve::{Quantity, mean_curve};
use crate::plot::{Axis, Panel, Scene, Series, TickStyle, draw_legend, legend_height};
use crate::section::Section;
use sane_stats::number_format::counted;

const GRID_COLUMNS: usize = 4;

/// The plot of one world; none if nothing is recorded of the quantity.
pub fn world_curve(section: &Section, prefix: &str, world: &str, quantity: Quantity) -> Option<Figure> {
    let series = series(section, world, quantity);
    if series.is_empty() {
        return None;
    }
    let (width, height) = (440.0, 300.0);
    let labels = labels(section, &[&series]);
    let legend = legend_height(&labels, width - 24.0);
    let mut scene = Scene::new(width, height + legend, format!("{} in {world}", title(quantity)));
    let panel = panel(section, world, quantity, &series, (8.0, 8.0), (width - 16.0, height - 16.0));
    panel.draw(&mut scene, &series);
    draw_legend(&mut scene, &labels, (16.0, height), width - 24.0);
    let name = format!("{prefix}{}-{}", slug(quantity), file_part(world));
    Some(Figure { name, caption: String::new(), scene })
}

/// All worlds side by side under one legend; none if nothing is recorded of the quantity.
pub fn curve_grid(section: &Section, prefix: &str, quantity: Quantity) -> Option<Figure> {
    let shown: Vec<(&String, Vec<Series>)> = section
        .worlds
        .iter()
        .map(|world| (world, series(section, world, quantity)))
        .filter(|(_, series)| !series.is_empty())
        .collect();
    if shown.is_empty() {
        return None;
    }
    let columns = shown.len().min(GRID_COLUMNS);
    let (cell_width, cell_height) = (290_f32.max(440.0 / columns as f32), 220.0);
    let width = columns as f32 * cell_width + 16.0;
    let labels = labels(section, &shown.iter().map(|(_, series)| series).collect::<Vec<_>>());
    let legend = legend_height(&labels, width - 24.0) + 10.0;
    let height = legend + shown.len().div_ceil(columns) as f32 * cell_height + 8.0;
    let mut scene = Scene::new(width, height, format!("{} in {}", title(quantity), counted(shown.len(), "world")));
    draw_legend(&mut scene, &labels, (16.0, 6.0), width - 24.0);
    for (i, (world, series)) in shown.iter().enumerate() {
        let corner = (8.0 + (i % columns) as f32 * cell_width, legend + (i / columns) as f32 * cell_height);
        let panel = panel(section, world, quantity, series, corner, (cell_width - 10.0, cell_height - 8.0));
        panel.draw(&mut scene, series);
    }
    let caption = format!(
        "{}. Line: mean over seeds; band: from the lowest to the highest seed; thin line: not all seeds have come so \
         far.",
        title(quantity)
    );
    Some(Figure { name: format!("{prefix}{}-grid", slug(quantity)), caption, scene })
}

fn series(section: &Section, world: &str, quantity: Quantity) -> Vec<Series> {
    let end = end(section);
    (0..section.agents.len())
        .map(|agent| {
            let points = mean_curve(section.runs(world, agent), quantity, end);
            Series { look: section.agents[agent].look, points }
        })
        .filter(|series| !series.points.is_empty())
        .collect()
}

/// The same axis in all worlds: as far as the furthest run of the section.
fn end(section: &Section) -> u64 {
    section.all_runs().map(|(_, run)| run.reached_interactions).max().unwrap_or(0).max(1)
}

fn panel(
    section: &Section,
    world: &str,
    quantity: Quantity,
    series: &[Series],
    corner: (f32, f32),
    size: (f32, f32),
) -> Panel {
    let points = || series.iter().flat_map(|series| &series.points);
    let values = points().flat_map(|point| {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        [point.y, low, high]
    });
    let y = match quantity {
        Quantity::Return => Axis::linear("mean return (points)", values, 5, TickStyle::Short),
        Quantity::Sigma => Axis::logarithmic("mean |σ| (weight units)", values, 5),
        Quantity::Exploration => Axis::linear("explored (share of steps)", values.chain([0.0]), 5, TickStyle::Percent),
    };
    // Labels of the ticks must not touch: one per 70 pixels.
    let ticks = (size.0 / 70.0) as usize;
    let x = Axis::exact("interactions", 0.0, end(section) as f64, ticks, TickStyle::Short);
    Panel { title: world.into(), x, y, corner, size }
}

fn labels<'a>(section: &'a Section, shown: &[&Vec<Series>]) -> Vec<(&'a str, Look)> {
    let is_shown = |look: Look| shown.iter().any(|series| series.iter().any(|series| series.look == look));
    section.agents.iter().filter(|agent| is_shown(agent.look)).map(|agent| (&*agent.label, agent.look)).collect()
}

fn title(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Return => "Mean return of the last 100 training episodes",
        Quantity::Sigma => "Mean |σ| of the states acted in (logarithmic)",
        Quantity::Exploration => "Effective exploration: share of interactions whose action was changed by exploring",
    }
}

fn slug(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Return => "learning-curve",
        Quantity::Sigma => "sigma",
        Quantity::Exploration => "exploration",
    }
}

/// A world's name as part of a file name.
fn file_part(world: &str) -> String {
    world.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}
