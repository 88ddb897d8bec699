//! How well −|σ| tells risky states from others, beside the spread of Q and beside chance: areas under the ROC curve.

use super::judgement::{Judgement, Measure, MeasureJudgement};
use crate::Figure;
use crate::plot::{Anchor, Axis, Marker, Paint, Panel, Scene, Shape, TickStyle, Weight, text_width};
use sane_stats::Estimate;

const ROWS: [&str; 3] = ["−|σ|", "spread of Q", "−|σ| shuffled"];
const ROW: f32 = 24.0;

/// Dots with intervals, a plot per measure of risk; none where no area can be computed.
pub fn predictor_figure(judgement: &Judgement) -> Option<Figure> {
    let judged: Vec<&MeasureJudgement> =
        judgement.measures.iter().filter(|judged| judged.sigma.auc.is_some()).collect();
    if judged.is_empty() {
        return None;
    }
    let labels = ROWS.iter().map(|row| text_width(row, 11.0, Weight::Regular)).fold(0.0, f32::max);
    let (plot_width, cell) = (360.0, ROWS.len() as f32 * ROW + 70.0);
    let height = judged.len() as f32 * cell + 8.0;
    let mut scene = Scene::new(labels + plot_width + 40.0, height, "How well sigma tells risky states from others");
    for (i, judged) in judged.iter().enumerate() {
        let mut y = Axis::exact("", 0.0, ROWS.len() as f64, 1, TickStyle::Short);
        y.ticks.clear();
        let panel = Panel {
            title: title(judged.measure).into(),
            x: Axis::exact("area under the ROC curve (0.5: chance)", 0.0, 1.0, 5, TickStyle::Short),
            y,
            corner: (16.0 + labels, 8.0 + i as f32 * cell),
            size: (plot_width, cell - 8.0),
        };
        panel.draw(&mut scene, &[]);
        let [_, top, _, bottom] = panel.area();
        let (middle, _) = panel.at(0.5, 0.0);
        let points = vec![(middle, top), (middle, bottom)];
        scene.shapes.push(Shape::Line { points, paint: Paint::Muted, width: 1.0, dash: &[4.0, 3.0] });
        draw_rows(&mut scene, &panel, judged);
    }
    let caption =
        "Dot: area under the ROC curve for telling risky states from the others; line: 95 % interval, neighbouring \
                   states resampled together; for the shuffled σ: where 95 % of the shufflings lie. Above ½ the risky \
                   states are those of low σ, below ½ those of high σ."
            .to_owned();
    Some(Figure { name: "predictors".into(), caption, scene })
}

fn draw_rows(scene: &mut Scene, panel: &Panel, judged: &MeasureJudgement) {
    let null = judged.shuffled.auc_range.map(|range| Estimate { point: 0.5, interval: Some(range) });
    let rows = [(judged.sigma.auc, 1), (judged.q_spread.auc, 2), (null, 3)];
    let [left, ..] = panel.area();
    for (i, ((estimate, colour), name)) in rows.into_iter().zip(ROWS).enumerate() {
        let row = ROWS.len() as f64 - i as f64 - 0.5;
        let (_, y) = panel.at(0.5, row);
        scene.text((left - 6.0, y + 4.0), name, 11.0, Anchor::End, Paint::Ink);
        let Some(estimate) = estimate else { continue };
        if let Some([low, high]) = estimate.interval {
            scene.rule(panel.at(low, row), panel.at(high, row), Paint::Colour(colour), 3.0);
        }
        let at = panel.at(estimate.point, row);
        scene.shapes.push(Shape::Dot { at, paint: Paint::Colour(colour), marker: Marker::Circle });
    }
}

fn title(measure: Measure) -> &'static str {
    match measure {
        Measure::RiskReturn => "Riskiest quarter by return lost",
        Measure::RiskHarm => "Riskiest quarter by avoidable loss of a life",
        Measure::TrueRisk => "True risk of at least 0.5",
    }
}
