//! Risk over |σ|: a point per state, and the mean of each fifth of the states by |σ|.

use super::judgement::Measure;
use crate::Figure;
use crate::plot::{Axis, Paint, Panel, Scene, Shape, TickStyle};
use sane_record::RiskAudit;

const PANEL: (f32, f32) = (360.0, 300.0);
const RADIUS: f32 = 2.6;
const GROUPS: usize = 5;

/// Name of the figure.
pub const SCATTER: &str = "scatter";

/// A plot per measure of risk, side by side.
pub fn scatter_figure(audit: &RiskAudit, measures: &[Measure]) -> Figure {
    let width = 16.0 + measures.len() as f32 * PANEL.0;
    let title = format!("Risk over sigma: {}", super::words::name(&audit.subject));
    let mut scene = Scene::new(width, PANEL.1 + 16.0, title);
    for (i, &measure) in measures.iter().enumerate() {
        let mut points: Vec<(f64, f64)> =
            audit.states.iter().filter_map(|audited| Some((audited.state.sigma_abs, measure.of(audited)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let panel = Panel {
            title: heading(measure).into(),
            x: sigma_axis(&points),
            y: risk_axis(measure, audit, &points),
            corner: (8.0 + i as f32 * PANEL.0, 8.0),
            size: (PANEL.0 - 16.0, PANEL.1),
        };
        panel.draw(&mut scene, &[]);
        for &(sigma, risk) in &points {
            let points = circle(panel.at(sigma, risk));
            scene.shapes.push(Shape::Area { points, paint: Paint::Colour(1), opacity: 0.4 });
        }
        draw_means(&mut scene, &panel, &points);
    }
    let caption = format!(
        "Each point is one of {} states. Dots joined by a line: mean risk of each fifth of the states, from the smallest \
         |σ| to the largest, at the fifth's median |σ|. If low σ marks high risk, the line falls.",
        audit.states.len()
    );
    Figure { name: SCATTER.into(), caption, scene }
}

fn heading(measure: Measure) -> &'static str {
    match measure {
        Measure::RiskReturn => "Return lost by a random action",
        Measure::RiskHarm => "Avoidable loss of a life",
        Measure::TrueRisk => "True risk",
    }
}

/// Logarithmic where |σ| spans more than a factor of thirty.
fn sigma_axis(points: &[(f64, f64)]) -> Axis {
    let values = || points.iter().map(|point| point.0);
    let (first, last) = (points.first().map_or(0.0, |p| p.0), points.last().map_or(1.0, |p| p.0));
    if 0.0 < first && 30.0 * first < last {
        return Axis::logarithmic("|σ| (weight units)", values(), 5);
    }
    Axis::linear("|σ| (weight units)", values(), 4, TickStyle::Short)
}

fn risk_axis(measure: Measure, audit: &RiskAudit, points: &[(f64, f64)]) -> Axis {
    let values = points.iter().map(|point| point.1).chain([0.0]);
    match measure {
        Measure::RiskReturn => {
            let label = format!("best action − mean of all ({} reward)", audit.settings.rewards);
            Axis::linear(label, values, 5, TickStyle::Short)
        }
        Measure::RiskHarm => Axis::linear("chance that the best action avoids", values, 5, TickStyle::Percent),
        Measure::TrueRisk => Axis::linear("chance of an avoidable crash", values, 5, TickStyle::Percent),
    }
}

fn draw_means(scene: &mut Scene, panel: &Panel, sorted: &[(f64, f64)]) {
    let groups = sorted.chunks(sorted.len().div_ceil(GROUPS).max(1));
    let means: Vec<(f32, f32)> = groups
        .map(|group| {
            let mean = group.iter().map(|point| point.1).sum::<f64>() / group.len() as f64;
            panel.at(group[group.len() / 2].0, mean)
        })
        .collect();
    scene.shapes.push(Shape::Line { points: means.clone(), paint: Paint::Colour(0), width: 2.0, dash: &[] });
    for at in means {
        scene.shapes.push(Shape::Dot { at, paint: Paint::Colour(0), marker: crate::plot::Marker::Circle });
    }
}

/// A small disc as a polygon: unlike a dot it can be seen through where many lie on one another.
fn circle((x, y): (f32, f32)) -> Vec<(f32, f32)> {
    let corner = |i: i32| {
        let angle = std::f32::consts::TAU * i as f32 / 12.0;
        (x + RADIUS * angle.cos(), y + RADIUS * angle.sin())
    };
    (0..12).map(corner).collect()
}
