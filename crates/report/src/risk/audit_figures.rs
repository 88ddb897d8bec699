//! The figures of an audit: risk over |σ|, a point per state; and how well −|σ| separates risky states from others, beside
//! the spread of Q and beside chance.

use super::analysis::{MeasureAnalysis, NamedPrediction, Predictor, RiskAnalysis, RiskMeasure};
use super::format::name;
use crate::Figure;
use crate::plot::{Axis, EstimateRow, Marker, Paint, Panel, Scene, Shape, TickStyle, Weight, text_width};
use sane_record::RiskAudit;
use sane_stats::Estimate;

const SCATTER_PANEL: (f32, f32) = (360.0, 300.0);
const POINT_RADIUS: f32 = 2.6;
const GROUPS: usize = 5;

/// Name of the figure of risk over |σ|.
pub const SCATTER: &str = "scatter";

const ROW: f32 = 24.0;

/// A plot per measure of risk, side by side.
pub fn scatter_figure(audit: &RiskAudit, measures: &[RiskMeasure]) -> Figure {
    let width = 16.0 + measures.len() as f32 * SCATTER_PANEL.0;
    let title = format!("Risk over sigma: {}", name(&audit.subject));
    let mut scene = Scene::new(width, SCATTER_PANEL.1 + 16.0, title);
    for (i, &measure) in measures.iter().enumerate() {
        let mut points: Vec<(f64, f64)> =
            audit.states.iter().filter_map(|audited| Some((audited.state.sigma_abs, measure.of(audited)?))).collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let panel = Panel {
            title: scatter_title(measure).into(),
            x: sigma_axis(&points),
            y: risk_axis(measure, audit, &points),
            corner: (8.0 + i as f32 * SCATTER_PANEL.0, 8.0),
            size: (SCATTER_PANEL.0 - 16.0, SCATTER_PANEL.1),
        };
        panel.draw(&mut scene, &[]);
        for &(sigma, risk) in &points {
            let points = circle(panel.at(sigma, risk), POINT_RADIUS);
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

fn scatter_title(measure: RiskMeasure) -> &'static str {
    match measure {
        RiskMeasure::RiskReturn => "Return lost by a random action",
        RiskMeasure::RiskHarm => "Avoidable loss of a life",
        RiskMeasure::TrueRisk => "True risk",
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

fn risk_axis(measure: RiskMeasure, audit: &RiskAudit, points: &[(f64, f64)]) -> Axis {
    let values = points.iter().map(|point| point.1).chain([0.0]);
    match measure {
        RiskMeasure::RiskReturn => {
            let label = format!("best action − mean of all ({} reward)", audit.settings.rewards);
            Axis::linear(label, values, 5, TickStyle::Short)
        }
        RiskMeasure::RiskHarm => Axis::linear("chance that the best action avoids", values, 5, TickStyle::Percent),
        RiskMeasure::TrueRisk => Axis::linear("chance of an avoidable crash", values, 5, TickStyle::Percent),
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
        scene.shapes.push(Shape::Dot { at, paint: Paint::Colour(0), marker: Marker::Circle });
    }
}

/// A small disc as a polygon: unlike a dot it can be seen through where many lie on one another.
pub(super) fn circle((x, y): (f32, f32), radius: f32) -> Vec<(f32, f32)> {
    let corner = |i: i32| {
        let angle = std::f32::consts::TAU * i as f32 / 12.0;
        (x + radius * angle.cos(), y + radius * angle.sin())
    };
    (0..12).map(corner).collect()
}

/// Dots with intervals, a plot per measure of risk; none where no area can be computed.
pub fn predictor_figure(analysis: &RiskAnalysis) -> Option<Figure> {
    let measured: Vec<&MeasureAnalysis> =
        analysis.measures.iter().filter(|measured| measured.q_spread.auc.is_some()).collect();
    if measured.is_empty() {
        return None;
    }
    let rows: Vec<Vec<EstimateRow<'_>>> = measured.iter().map(|measured| predictor_rows(measured)).collect();
    let names = rows.iter().flatten().map(|row| row.label);
    let labels = names.map(|name| text_width(name, 11.0, Weight::Regular)).fold(0.0, f32::max);
    let most = rows.iter().map(Vec::len).max().unwrap_or(0);
    let (plot_width, cell) = (360.0, most as f32 * ROW + 70.0);
    let height = measured.len() as f32 * cell + 8.0;
    let mut scene = Scene::new(labels + plot_width + 40.0, height, "How well sigma separates risky states from others");
    for (i, (measured, rows)) in measured.iter().zip(&rows).enumerate() {
        let x = Axis::exact("area under the ROC curve (0.5: chance)", 0.0, 1.0, 5, TickStyle::Short);
        let corner = (16.0 + labels, 8.0 + i as f32 * cell);
        let panel = Panel::of_rows(predictor_title(measured.measure), x, rows.len(), corner, (plot_width, cell - 8.0));
        panel.draw(&mut scene, &[]);
        panel.draw_reference(&mut scene, 0.5);
        panel.draw_rows(&mut scene, rows);
    }
    let caption =
        "Dot: area under the ROC curve for telling risky states from the others; line: 95 % interval, neighbouring \
                   states resampled together; for the shuffled σ: where 95 % of the shufflings lie. Above ½ the risky \
                   states are those of low σ, below ½ those of high σ."
            .to_owned();
    Some(Figure { name: "predictors".into(), caption, scene })
}

fn predictor_rows(measured: &MeasureAnalysis) -> Vec<EstimateRow<'static>> {
    let null = measured
        .shuffled
        .map(|shuffled| shuffled.auc_range.map(|range| Estimate { point: 0.5, interval: Some(range) }));
    let colour = |predictor| match predictor {
        Predictor::MinusSigma => 1,
        Predictor::QSpread => 2,
        _ => 0,
    };
    let of_prediction =
        |named: &NamedPrediction| (named.predictor.name(), named.prediction.auc, colour(named.predictor));
    let mut rows: Vec<_> = measured.predictions().iter().map(of_prediction).collect();
    rows.extend(null.map(|null| ("−|σ| shuffled", null, 3)));
    let row = |(label, estimate, colour)| {
        let paint = Paint::Colour(colour);
        EstimateRow { label, estimate, interval_paint: paint, dot_paint: paint, marker: Marker::Circle }
    };
    rows.into_iter().map(row).collect()
}

fn predictor_title(measure: RiskMeasure) -> &'static str {
    match measure {
        RiskMeasure::RiskReturn => "Riskiest quarter by return lost",
        RiskMeasure::RiskHarm => "Riskiest quarter by avoidable loss of a life",
        RiskMeasure::TrueRisk => "True risk of at least 0.5",
    }
}
