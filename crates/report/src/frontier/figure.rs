//! The figure of a world: harm and return over the share of exploratory actions, a curve per agent.

use super::{FrontierCurve, FrontierRun, Pick, WorldFrontier};
use crate::Figure;
use crate::agent::Look;
use crate::plot::{Axis, Paint, Panel, Scene, Series, SeriesPoint, Shape, TickStyle, draw_legend, legend_height};

const PANEL: (f32, f32) = (430.0, 330.0);

/// Radius of the dot of a single seed.
const SEED_RADIUS: f32 = 1.8;

pub fn of(world: &WorldFrontier, last: f64) -> Figure {
    let width = 2.0 * PANEL.0 + 24.0;
    let labels: Vec<(&str, Look)> = world.curves.iter().map(|curve| (&*curve.agent, curve.look)).collect();
    let legend = legend_height(&labels, width - 32.0) + 10.0;
    let description = format!("Harm and return against the share of exploratory actions in {}", world.title);
    let mut scene = Scene::new(width, legend + PANEL.1 + 8.0, description);
    draw_legend(&mut scene, &labels, (16.0, 6.0), width - 32.0);
    let harm: Pick = |run| Some(run.harms_per_1000);
    let value: Pick = |run| run.return_mean;
    let of_runs = |pick: Pick| world.curves.iter().flat_map(|c| &c.points).flat_map(move |p| p.values(pick));
    let harm_axis = Axis::logarithmic("harm per 1,000 interactions", of_runs(harm), 6);
    let return_axis = Axis::linear("mean return", of_runs(value).chain([0.0]), 6, TickStyle::Short);
    for (i, (pick, y)) in [(harm, harm_axis), (value, return_axis)].into_iter().enumerate() {
        let corner = (8.0 + i as f32 * (PANEL.0 + 8.0), legend);
        let x = share_axis(of_runs(|run| Some(run.changed_share)));
        let title = format!("{}: {}", world.title, ["harm", "return"][i]);
        let panel = Panel { title, x, y, corner, size: PANEL };
        panel.draw(&mut scene, &[]);
        world.curves.iter().for_each(|curve| draw_curve(&mut scene, &panel, curve, pick));
    }
    let caption = format!(
        "{}, the last {:.0} % of training. Each curve is an agent, each marker a value of its knob: mean over seeds; thin \
         lines: from the lowest to the highest seed; small dots: single seeds. Left: bad episodes (or lost lives) per 1,000 \
         interactions, logarithmic; no harm at all lies on the lower edge, and no exploratory \
         action at all on the left one. Further right is more exploration: at equal \
         shares, lower is better on the left and higher on the right.",
        world.title,
        100.0 * last
    );
    let part: String =
        world.title.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '-' }).collect();
    Figure { name: format!("frontier-{part}"), caption, scene }
}

/// Logarithmic, labelled in percent.
fn share_axis(shares: impl Iterator<Item = f64> + Clone) -> Axis {
    let explores = shares.clone().any(|share| 0.0 < share);
    let mut axis = Axis::logarithmic("share of exploratory actions", shares, 6);
    if !explores {
        // The lower edge, where all points lie.
        axis.ticks.truncate(1);
        axis.ticks[0].1 = "0 %".into();
        return axis;
    }
    for (value, label) in &mut axis.ticks {
        let percent = 100.0 * *value;
        let decimals = (-percent.log10()).ceil().max(0.0) as usize;
        *label = format!("{percent:.decimals$} %");
    }
    axis
}

fn draw_curve(scene: &mut Scene, panel: &Panel, curve: &FrontierCurve, pick: Pick) {
    let share: Pick = |run| Some(run.changed_share);
    let paint = curve.look.paint();
    let known: Vec<_> =
        curve.points.iter().filter_map(|point| Some((point, point.mean(share)?, point.mean(pick)?))).collect();
    for (point, x, y) in &known {
        let extent = |pick: Pick| {
            let values = point.values(pick);
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((x_low, x_high), (y_low, y_high)) = (extent(share), extent(pick));
        scene.rule(panel.at(x_low, *y), panel.at(x_high, *y), paint, 0.8);
        scene.rule(panel.at(*x, y_low), panel.at(*x, y_high), paint, 0.8);
        point.runs.iter().for_each(|run| draw_seed(scene, panel, run, pick, paint));
    }
    let mut points: Vec<SeriesPoint> =
        known.iter().map(|&(_, x, y)| SeriesPoint { x, y, band: None, complete: true }).collect();
    points.sort_by(|a, b| a.x.total_cmp(&b.x));
    let marker = curve.look.pattern().marker;
    for point in &points {
        scene.shapes.push(Shape::Dot { at: panel.at(point.x, point.y), paint, marker });
    }
    if 1 < points.len() {
        panel.draw_series(scene, &Series { look: curve.look, points });
    }
}

fn draw_seed(scene: &mut Scene, panel: &Panel, run: &FrontierRun, pick: Pick, paint: Paint) {
    let Some(y) = pick(run) else { return };
    let (x, y) = panel.at(run.changed_share, y);
    let corner = |i: i32| {
        let angle = std::f32::consts::TAU * i as f32 / 10.0;
        (x + SEED_RADIUS * angle.cos(), y + SEED_RADIUS * angle.sin())
    };
    scene.shapes.push(Shape::Area { points: (0..10).map(corner).collect(), paint, opacity: 0.45 });
}
