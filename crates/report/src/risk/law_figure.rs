//! The figure of the laws: a point per state, the line of the law, the line through the points. Its texts keep to the glyphs
//! of the embedded font, which has no subscripts: k stands for k₂.

use super::analysis::risky_states;
use super::audit_figures::circle;
use super::flip_law::{FlipLaw, FlipPoint};
use super::laws::{LawPoint, NoiseLaws, law_points};
use crate::Figure;
use crate::plot::{Anchor, Axis, Paint, Panel, Scene, Shape, TickStyle};
use sane_record::{AuditedState, RiskAudit};
use sane_stats::number_format::hundredths;
use sane_stats::{LinearFit, linear_fit};

const PANEL: (f32, f32) = (330.0, 300.0);
const POINT_RADIUS: f32 = 2.2;

/// Name of the figure.
pub const LAWS: &str = "laws";

/// Points of one panel, the law's line and the fitted one.
struct Drawn {
    title: String,
    x: &'static str,
    y: &'static str,
    /// With whether the state is risky.
    points: Vec<(f64, f64, bool)>,
    /// Intercept and slope of the law.
    law: Option<(f64, f64)>,
    fit: Option<LinearFit>,
}

/// The laws on the states of these audits, of one agent in one world; none where no noise was drawn and no law applies.
pub fn law_figure(file: &str, who: &str, audits: &[&RiskAudit]) -> Option<Figure> {
    let points: Vec<(LawPoint, bool)> =
        marked(audits).filter_map(|(audited, is_risky)| Some((LawPoint::of(audited)?, is_risky))).collect();
    let laws = NoiseLaws::of(&audits.iter().flat_map(|audit| law_points(audit)).collect::<Vec<_>>());
    let panels: Vec<Drawn> = [
        laws.and_then(|laws| sigma_panel(&points, &laws)),
        noise_panel(&points),
        laws.and_then(|laws| counts_panel(&points, &laws)),
        flip_panel(audits),
    ]
    .into_iter()
    .flatten()
    .collect();
    if panels.is_empty() {
        return None;
    }
    let mut scene = Scene::new(
        16.0 + panels.len() as f32 * PANEL.0,
        PANEL.1 + 16.0,
        format!("The size of the noise against its laws: {who}"),
    );
    panels.iter().enumerate().for_each(|(i, drawn)| draw(&mut scene, drawn, (8.0 + i as f32 * PANEL.0, 8.0)));
    let caption = format!(
        "{who}. Each point is a state, orange where it is risky (where the true risk is not known, the quarter in which a random action \
         loses most). Dashed: the law, nothing fitted; solid: least squares, with its slope and R². \
         V is the variance of Q that σ = 1 would give, λk₂ the weight of the KL term: σ² should be 1/(1 + 2V/(λk₂)), the \
         noise of Q the size that follows from it, and with a count-weighted bound it should fall with a slope of −½. \
         P(flip), the share of draws that change the action, should be Φ(−gap/std): gap is the distance of the two best actions, std the \
         deviation of the noise of that distance; with more than two actions it may be more."
    );
    Some(Figure { name: file.into(), caption, scene })
}

/// All states, with whether they are risky among those of their run.
fn marked<'a>(audits: &[&'a RiskAudit]) -> impl Iterator<Item = (&'a AuditedState, bool)> {
    audits.iter().flat_map(|audit| audit.states.iter().zip(risky_states(&audit.states)))
}

/// σ² against what the law says; without a KL term against V alone.
fn sigma_panel(points: &[(LawPoint, bool)], laws: &NoiseLaws) -> Option<Drawn> {
    let y = |point: &LawPoint| 2.0 * point.sigma.log10();
    if let Some(law) = laws.sigma {
        let known = points.iter().filter_map(|(point, risky)| Some((point.balance()?.log10(), y(point), *risky)));
        let explained = law.r_squared.map_or(String::new(), |share| format!(", R² of the law {}", hundredths(share)));
        return Some(Drawn {
            title: format!("σ / law: median {}{explained}", hundredths(law.sigma_ratio_median)),
            x: "log10(1 + 2V/(λk))",
            y: "log10 σ²",
            points: known.collect(),
            law: Some((0.0, -1.0)),
            // In decades, as drawn.
            fit: law.fit.map(|fit| LinearFit { intercept: fit.intercept / std::f64::consts::LN_10, ..fit }),
        });
    }
    let points: Vec<_> = points.iter().map(|(point, risky)| (point.unit_variance.log10(), y(point), *risky)).collect();
    Some(Drawn {
        title: "σ against V; no KL term, no law".into(),
        x: "log10 V",
        y: "log10 σ²",
        fit: fitted(&points),
        points,
        law: None,
    })
}

/// The noise of Q, drawn, over the one that the law predicts.
fn noise_panel(points: &[(LawPoint, bool)]) -> Option<Drawn> {
    let points: Vec<_> = points
        .iter()
        .filter_map(|(point, risky)| {
            Some((point.unit_variance.log10(), point.q_noise? / point.predicted_noise()?, *risky))
        })
        .collect();
    (!points.is_empty()).then(|| Drawn {
        title: "noise of Q / law".into(),
        x: "log10 V",
        y: "noise of Q / predicted",
        points,
        law: Some((1.0, 0.0)),
        fit: None,
    })
}

fn counts_panel(points: &[(LawPoint, bool)], laws: &NoiseLaws) -> Option<Drawn> {
    let fit = laws.counts?;
    let points: Vec<(f64, f64, bool)> = points
        .iter()
        .filter_map(|(point, risky)| Some((point.counted_visits?.log10(), point.first_order_noise().log10(), *risky)))
        .collect();
    let mean = |pick: fn(&(f64, f64, bool)) -> f64| points.iter().map(pick).sum::<f64>() / points.len() as f64;
    // The law says how the noise falls, not from where: through the middle of the points.
    let law = (mean(|point| point.1) + 0.5 * mean(|point| point.0), -0.5);
    Some(Drawn {
        title: "noise of Q over visits".into(),
        x: "log10 n(s)",
        y: "log10 σ√V",
        points,
        law: Some(law),
        fit: Some(LinearFit { intercept: fit.intercept / std::f64::consts::LN_10, ..fit }),
    })
}

/// How often the noise changes the action, over what the gap between the two best actions predicts.
fn flip_panel(audits: &[&RiskAudit]) -> Option<Drawn> {
    let law = FlipLaw::of(audits.iter().copied())?;
    let of_state = |(audited, is_risky): (&AuditedState, bool)| {
        FlipPoint::of(audited).map(|point| (point.predicted, point.measured, is_risky))
    };
    let explained = law.r_squared.map_or(String::new(), |share| format!(": R² of the law {}", hundredths(share)));
    Some(Drawn {
        title: format!("P(flip){explained}"),
        x: "P(flip) by the law of the gap",
        y: "P(noise changes the action)",
        points: marked(audits).filter_map(of_state).collect(),
        law: Some((0.0, 1.0)),
        fit: law.fit,
    })
}

fn fitted(points: &[(f64, f64, bool)]) -> Option<LinearFit> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().map(|(x, y, _)| (*x, *y)).unzip();
    linear_fit(&x, &y)
}

fn draw(scene: &mut Scene, drawn: &Drawn, corner: (f32, f32)) {
    let xs = || drawn.points.iter().map(|point| point.0);
    let (low, high) = (xs().fold(f64::INFINITY, f64::min), xs().fold(f64::NEG_INFINITY, f64::max));
    let ends = |(intercept, slope): (f64, f64)| [low, high].map(|x| (x, intercept + slope * x));
    let law = drawn.law.map(ends);
    let fit = drawn.fit.map(|fit| ends((fit.intercept, fit.slope)));
    let ys = drawn.points.iter().map(|point| point.1).chain(law.into_iter().flatten().map(|end| end.1));
    let panel = Panel {
        title: drawn.title.clone(),
        x: Axis::linear(drawn.x, xs(), 5, TickStyle::Short),
        y: Axis::linear(drawn.y, ys, 6, TickStyle::Short),
        corner,
        size: (PANEL.0 - 12.0, PANEL.1),
    };
    panel.draw(scene, &[]);
    // Risky states last, so that they are seen.
    for risky in [false, true] {
        for &(x, y, _) in drawn.points.iter().filter(|point| point.2 == risky) {
            let paint = Paint::Colour(if risky { 0 } else { 1 });
            scene.shapes.push(Shape::Area { points: circle(panel.at(x, y), POINT_RADIUS), paint, opacity: 0.4 });
        }
    }
    let line = |ends: [(f64, f64); 2]| ends.map(|(x, y)| panel.at(x, y)).to_vec();
    if let Some(ends) = law {
        scene.shapes.push(Shape::Line { points: line(ends), paint: Paint::Ink, width: 1.4, dash: &[5.0, 3.0] });
    }
    if let (Some(ends), Some(fit)) = (fit, drawn.fit) {
        scene.shapes.push(Shape::Line { points: line(ends), paint: Paint::Colour(2), width: 1.8, dash: &[] });
        let [_, top, right, bottom] = panel.area();
        // In the corner that the line does not come from or lead to.
        let y = if 0.0 < fit.slope { bottom - 8.0 } else { top + 14.0 };
        let text = format!("slope {}, R² {}", hundredths(fit.slope), hundredths(fit.r_squared));
        scene.text((right - 4.0, y), text, 10.5, Anchor::End, Paint::Colour(2));
    }
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::as_the_paper_expects;
    use super::super::flip_law::tests::with_flips;
    use super::*;
    use sane_stats::normal_cdf;

    #[test]
    fn changed_actions_are_drawn_over_the_prediction_with_the_line_of_the_law_and_the_fitted_one() {
        let audit = with_flips(40, |ratio| normal_cdf(-ratio) / 2.0);
        let drawn = flip_panel(&[&audit]).unwrap();
        assert_eq!((drawn.law, drawn.points.len()), (Some((0.0, 1.0)), 40), "what is measured is what is predicted");
        assert!((drawn.fit.unwrap().slope - 0.5).abs() < 1e-9);
        assert!(drawn.points.iter().all(|(predicted, measured, _)| (measured - predicted / 2.0).abs() < 1e-12));
        let r_squared = FlipLaw::of([&audit]).unwrap().r_squared.unwrap();
        assert_eq!(drawn.title, format!("P(flip): R² of the law {}", hundredths(r_squared)));
        let figure = law_figure(LAWS, "a run", &[&audit]).unwrap();
        assert!(figure.scene.shapes.iter().any(|shape| matches!(shape, Shape::Line { dash: [5.0, 3.0], .. })));
        assert!(law_figure(LAWS, "a run", &[&as_the_paper_expects(40)]).is_none(), "no noise was drawn");
    }
}
