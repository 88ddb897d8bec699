//! An audit as files: a page and a text with its findings, its figures, its numbers.

use super::analysis::{MeasureAnalysis, NamedPrediction, Predictor, RiskAnalysis, RiskMeasure, has_sigma};
use super::audit_figures::{SCATTER, predictor_figure, scatter_figure};
use super::flip_law::{FlipLaw, FlipPoint};
use super::format::{name, policy};
use super::law_figure::{LAWS, law_figure};
use super::laws::{LawPoint, NoiseLaws};
use crate::data::Data;
use crate::page::{html_page, remarks_html};
use crate::plot::{escape, to_svg};
use crate::table::{MISSING, Table};
use crate::{Figure, OutputFile, ReportError};
use sane_record::RiskAudit;
use sane_stats::Estimate;
use sane_stats::number_format::{self, grouped, hundredths, percent, scientific};
use serde_json::json;

/// The files: `index.html`, `audit.md`, `audit.json`, `states.csv` (a row per state), and each figure as SVG and PNG.
pub fn audit_files(audit: &RiskAudit, analysis: &RiskAnalysis) -> Result<Vec<OutputFile>, ReportError> {
    let measures: Vec<RiskMeasure> = analysis.measures.iter().map(|measured| measured.measure).collect();
    let over_sigma = has_sigma(&audit.states).then(|| scatter_figure(audit, &measures));
    let mut figures: Vec<Figure> = over_sigma.into_iter().collect();
    figures.extend(predictor_figure(analysis));
    figures.extend(law_figure(LAWS, &name(&audit.subject), &[audit]));
    let text = |path: &str, text: String| OutputFile { path: path.into(), bytes: text.into_bytes() };
    let numbers = serde_json::to_string_pretty(&audit_json(audit, analysis)).expect("an audit is plain data");
    let mut files = vec![
        text("index.html", page(audit, analysis, &figures)),
        text("audit.md", markdown(audit, analysis, &figures)),
        text("audit.json", numbers),
        text("states.csv", states(audit).csv()),
    ];
    for figure in &figures {
        files.extend(figure.files("")?);
    }
    Ok(files)
}

/// The numbers of every state.
fn states(audit: &RiskAudit) -> Data {
    let columns = [
        "episode",
        "interaction",
        "sigma_abs",
        "q_spread",
        "q_noise",
        "changed_share",
        "gap",
        "gap_noise",
        "changed_share_predicted",
        "live_units_share",
        "visits",
        "counted_visits",
        "unit_variance",
        "kl_weight",
        "sigma_predicted",
        "risk_return",
        "risk_harm",
        "true_risk",
    ];
    let mut data = Data::new("states", &columns);
    let has_sigma = has_sigma(&audit.states);
    for audited in &audit.states {
        let (noise, law, point) = (audited.noise, audited.law, LawPoint::of(audited));
        data.rows.push(vec![
            json!(audited.state.episode),
            json!(audited.state.interaction),
            json!(has_sigma.then_some(audited.state.sigma_abs)),
            json!(Predictor::QSpread.of(audited)),
            json!(noise.map(|noise| noise.q_noise)),
            json!(noise.map(|noise| noise.changed_share)),
            json!(audited.gap.map(|gap| gap.q)),
            json!(audited.gap.map(|gap| gap.noise)),
            json!(FlipPoint::of(audited).map(|point| point.predicted)),
            json!(noise.and_then(|noise| noise.live_units_share)),
            json!(audited.visits),
            json!(law.and_then(|law| law.counted_visits)),
            json!(law.map(|law| law.unit_variance)),
            json!(law.and_then(|law| law.kl_weight)),
            json!(point.and_then(|point| point.predicted_sigma())),
            json!(audited.risk_return),
            json!(audited.risk_harm),
            json!(audited.state.true_risk),
        ]);
    }
    data
}

/// The audit and its analysis as one object.
pub fn audit_json(audit: &RiskAudit, analysis: &RiskAnalysis) -> serde_json::Value {
    let RiskAudit { subject, settings, states } = audit;
    json!({
        "subject": subject, "settings": settings, "analysis": analysis,
        "remarks": remarks(analysis), "states": states,
    })
}

/// From this share on, states with one and the same σ are mentioned.
const NOTABLE_SHARE: f64 = 0.1;

/// The findings, in sentences.
pub fn remarks(analysis: &RiskAnalysis) -> Vec<String> {
    let mut findings: Vec<String> = analysis.measures.iter().filter_map(remark).collect();
    if analysis.measures.iter().all(|measured| measured.sigma.is_none()) {
        findings.push("This agent has no σ(s); how well other numbers tell risky states is in the table.".into());
    }
    findings.extend(analysis.primary().and_then(noise_remark));
    findings.extend(analysis.laws.iter().flat_map(law_remarks));
    findings.extend(analysis.flip_law.iter().map(flip_remark));
    findings.extend(same_sigma_remark(analysis));
    findings
}

/// A warning where σ is one number in many states.
pub(super) fn same_sigma_remark(analysis: &RiskAnalysis) -> Option<String> {
    let same = analysis.same_sigma.filter(|same| NOTABLE_SHARE <= same.share && 1 < analysis.states)?;
    let reason = if same.is_dead { "the perturbation module is dead there, and σ" } else { "there σ" };
    Some(format!(
        "In {} of the states |σ| has one and the same value: {reason} carries no information about the state.",
        percent(same.share)
    ))
}

/// What the noise does in risky states and elsewhere.
fn noise_remark(measured: &MeasureAnalysis) -> Option<String> {
    let noise = measured.noise?;
    let share = |share: Option<f64>| share.map_or_else(|| MISSING.into(), percent);
    Some(format!(
        "The noise changes the action in {} of the draws in states that are risky by {} and in {} elsewhere; it moves Q by {} on \
         average over the states, with a coefficient of variation of {}.",
        share(noise.changed_share_risky),
        in_words(measured.measure),
        share(noise.changed_share_other),
        scientific(noise.q_noise_mean),
        hundredths(noise.q_noise_variation)
    ))
}

/// How well the laws of the noise predict it, in half sentences.
pub(super) fn law_remarks(laws: &NoiseLaws) -> Vec<String> {
    let mut remarks = Vec::new();
    if let Some(law) = laws.sigma {
        let explained = law.r_squared.map_or(String::new(), |share| format!(", R² {} of log σ", hundredths(share)));
        remarks.push(format!(
            "By the law of the bound σ = √(λk₂/(λk₂ + 2V)): σ is {} times that (median, nothing fitted{explained}), and the noise of \
             Q is {} where {} is wanted, with a coefficient of variation of {} relative to that.",
            hundredths(law.sigma_ratio_median),
            scientific(law.q_noise_mean),
            scientific(law.q_noise_wanted),
            hundredths(law.q_noise_relative_variation)
        ));
    }
    if let Some(fit) = laws.counts {
        remarks.push(format!(
            "By the law of the counts the noise of Q falls with a slope of −½ over log n(s): it falls with {} (R² {}).",
            hundredths(fit.slope),
            hundredths(fit.r_squared)
        ));
    }
    remarks
}

/// How well the gap between the two best actions predicts whether the noise changes the action.
pub(super) fn flip_remark(law: &FlipLaw) -> String {
    let explained = law.r_squared.map_or(String::new(), |share| format!(", R² {}", hundredths(share)));
    let fit = law.fit.map_or(String::new(), |fit| {
        format!("; the fitted line has a slope of {} (R² {})", hundredths(fit.slope), hundredths(fit.r_squared))
    });
    format!(
        "By the law of the gap P(flip) = Φ(−gap/std): the noise changes the action in {} of the draws, predicted {} (mean over the \
         states, nothing fitted{explained}){fit}.",
        percent(law.measured_mean),
        percent(law.predicted_mean)
    )
}

fn in_words(measure: RiskMeasure) -> &'static str {
    match measure {
        RiskMeasure::RiskReturn => "the return that a random action loses",
        RiskMeasure::RiskHarm => "the chance of a loss that the best action avoids",
        RiskMeasure::TrueRisk => "the true risk",
    }
}

/// What σ says about a risk; none for agents without σ(s).
fn remark(measured: &MeasureAnalysis) -> Option<String> {
    let of = in_words(measured.measure);
    let Some(rho) = measured.sigma?.spearman else {
        return Some(format!("No conclusion about {of}: σ or the risk is the same in all states."));
    };
    let verdict = match rho.interval {
        Some([low, _]) if 0.0 < low => "low |σ| goes with high risk, as the paper says",
        Some([_, high]) if high < 0.0 => "low |σ| goes with low risk, against the paper",
        _ => "these states do not decide whether low |σ| means high or low risk",
    };
    let beside = match measured.auc_difference {
        Some(Estimate { interval: Some([low, _]), .. }) if 0.0 < low => {
            " σ separates risky states better than the spread of Q."
        }
        Some(Estimate { interval: Some([_, high]), .. }) if high < 0.0 => {
            " The spread of Q separates risky states better than σ."
        }
        Some(_) => " Whether σ or the spread of Q separates risky states better is undecided.",
        None => "",
    };
    Some(format!("By {of}, {verdict}: rank correlation of −|σ| with it {}.{beside}", estimate(Some(rho))))
}

/// `0.31 (0.12 to 0.48)`.
fn estimate(estimate: Option<Estimate>) -> String {
    match estimate {
        None => MISSING.into(),
        Some(Estimate { point, interval: None }) => hundredths(point),
        Some(Estimate { point, interval: Some(interval) }) => {
            format!("{} ({})", hundredths(point), number_format::range(interval))
        }
    }
}

fn table(analysis: &RiskAnalysis) -> Table {
    let columns = ["risk", "predictor", "rank correlation", "AUC", "risky states", "mean risk"];
    let mut table = Table {
        caption: "Does low σ mark risk? 95 % intervals in brackets".into(),
        columns: columns.map(str::to_owned).into(),
        notes: vec![
            "Rank correlation: Spearman's, of the predictor with the risk; −|σ| is positive if low σ goes with high \
             risk. AUC: probability that a risky state ranks above another one; ½ is chance. Risky are the riskiest quarter \
             of the states, or a true risk of at least ½."
                .into(),
            "Spread of Q: highest minus mean action value, what the network itself expects a random action to cost. \
             Noise of Q: its standard deviation over many draws of the noise, mean over actions; P(noise changes the action): \
             over the same draws. Shuffled: where 95 % of 2,000 random assignments of the same σ lie, and the share of them as far from chance as \
             the one found (p)."
                .into(),
            format!(
                "Intervals resample {} clusters of neighbouring states, since neighbours are correlated.",
                analysis.stretches
            ),
        ],
        ..Table::default()
    };
    for measured in &analysis.measures {
        let risk = measured.measure.short_name();
        let risky = format!("{} of {}", measured.risky_states, analysis.states);
        for NamedPrediction { predictor, prediction } in measured.predictions() {
            let cells = [
                risk,
                predictor.name(),
                &estimate(prediction.spearman),
                &estimate(prediction.auc),
                &risky,
                &scientific(measured.mean),
            ];
            table.push(cells.map(str::to_owned).into());
        }
        let null = |range: Option<[f64; 2]>, p: Option<f64>| match (range, p) {
            (Some(range), Some(p)) => format!("{} (p = {})", number_format::range(range), p_value(p)),
            _ => MISSING.into(),
        };
        let Some(shuffled) = measured.shuffled else { continue };
        let cells = [
            risk,
            "−|σ| shuffled",
            &null(shuffled.spearman_range, shuffled.spearman_p),
            &null(shuffled.auc_range, shuffled.auc_p),
            &risky,
            &scientific(measured.mean),
        ];
        table.push(cells.map(str::to_owned).into());
        let difference = estimate(measured.auc_difference);
        table.push(
            [risk, "−|σ| less spread of Q", "–", &difference, &risky, &scientific(measured.mean)]
                .map(str::to_owned)
                .into(),
        );
    }
    table
}

fn p_value(p: f64) -> String {
    format!("{p:.4}")
}

fn method(audit: &RiskAudit) -> String {
    let settings = &audit.settings;
    let chance = match (settings.world_has_chance, 0.0 < settings.epsilon) {
        (true, false) => "each with chance of its own, the same for all actions".to_owned(),
        (false, false) => {
            "which is all there is, since neither the world nor the policy leaves anything to chance".to_owned()
        }
        (_, true) => format!(
            "each with chance of its own, the same for all actions; the policy takes a random action with probability {}",
            // Single-precision, as the discount below.
            settings.epsilon as f32
        ),
    };
    format!(
        "In {} states, sampled evenly in time, the world was copied, each of {} actions was tried, and the greedy policy \
         played on: {} continuation{} of at most {} interactions, {chance}. Returns are discounted by {} and made of {} \
         rewards; a future ends with the loss of a life or of the game. The best action of a continuation is chosen by \
         the others.",
        grouped(audit.states.len() as u64),
        audit.subject.actions.len(),
        settings.continuations,
        if settings.continuations == 1 { "" } else { "s" },
        settings.horizon_interactions,
        // The discount was single-precision in the run; seven digits are what it had.
        settings.gamma as f32,
        settings.rewards,
    )
}

fn markdown(audit: &RiskAudit, analysis: &RiskAnalysis, figures: &[Figure]) -> String {
    let remarks: String = remarks(analysis).iter().map(|remark| format!("- {remark}\n")).collect();
    let shown: String =
        figures.iter().map(|figure| format!("![{0}]({0}.svg)\n\n{1}\n\n", figure.name, figure.caption)).collect();
    format!(
        "# Is low σ high risk? {}\n\n{}\n\n{}\n\n{remarks}\n{}{shown}",
        name(&audit.subject),
        policy(&audit.subject),
        method(audit),
        table(analysis).markdown()
    )
}

fn page(audit: &RiskAudit, analysis: &RiskAnalysis, figures: &[Figure]) -> String {
    let shown: String = figures
        .iter()
        .map(|figure| {
            let caption = escape(&figure.caption);
            let svg = if figure.name == SCATTER { scatter_panels(audit, analysis) } else { to_svg(&figure.scene) };
            format!("<figure class=\"wide\">\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
        })
        .collect();
    html_page(
        "sane risk audit",
        &format!("Is low σ high risk? {}", name(&audit.subject)),
        "",
        &format!(
            "<p>{}</p>\n{}{}{shown}<h2>How it was measured</h2>\n<p>{}</p>\n",
            escape(&policy(&audit.subject)),
            remarks_html(&remarks(analysis)),
            table(analysis).html(),
            escape(&method(audit))
        ),
    )
}

/// A drawing per measure: side by side on a wide screen, stacked on a narrow one.
fn scatter_panels(audit: &RiskAudit, analysis: &RiskAnalysis) -> String {
    let panel = |measured: &MeasureAnalysis| to_svg(&scatter_figure(audit, &[measured.measure]).scene);
    format!("<div class=\"panels\">\n{}</div>\n", analysis.measures.iter().map(panel).collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::{as_the_paper_expects, audit};
    use super::super::flip_law::tests::with_flips;
    use super::*;
    use sane_stats::normal_cdf;

    #[test]
    fn an_audit_is_a_page_a_text_numbers_and_two_figures() {
        let audit = as_the_paper_expects(60);
        let files = audit_files(&audit, &RiskAnalysis::of(&audit)).unwrap();
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let figures = ["scatter.svg", "scatter.png", "predictors.svg", "predictors.png"];
        assert_eq!(paths, [&["index.html", "audit.md", "audit.json", "states.csv"][..], &figures].concat());
        let text = String::from_utf8(files[1].bytes.clone()).unwrap();
        assert!(
            text.contains("low |σ| goes with high risk, as the paper says") && text.contains("1.00 (1.00 to 1.00)")
        );
        let read: RiskAudit = serde_json::from_slice(&files[2].bytes).unwrap();
        assert_eq!((read.subject, read.settings, read.states.len()), (audit.subject, audit.settings, 60));
    }

    #[test]
    fn the_law_of_changed_actions_is_in_the_sentences_the_numbers_and_the_rows() {
        let audit = with_flips(40, |ratio| normal_cdf(-ratio));
        let analysis = RiskAnalysis::of(&audit);
        let said = remarks(&analysis).join("\n");
        let percent = percent(analysis.flip_law.unwrap().measured_mean);
        let expected = format!(
            "By the law of the gap P(flip) = Φ(−gap/std): the noise changes the action in {percent} of the draws, predicted {percent} \
             (mean over the states, nothing fitted, R² 1.00); the fitted line has a slope of 1.00 (R² 1.00)."
        );
        assert!(said.contains(&expected), "{said}");
        let numbers = audit_json(&audit, &analysis);
        assert_eq!(numbers["analysis"]["flip_law"]["states"], 40);
        assert_eq!(numbers["states"][7]["gap"]["noise"], 0.01);
        let rows = states(&audit);
        let of_state = |column: &str| &rows.rows[20][rows.columns.iter().position(|name| *name == column).unwrap()];
        assert_eq!(of_state("changed_share_predicted"), of_state("changed_share"));
        assert_eq!(of_state("gap"), of_state("gap_noise"), "a gap of one deviation");
    }

    #[test]
    fn the_sign_decides_the_sentence() {
        let turned: Vec<_> = (0..40).map(|i| (f64::from(i), [0.0, 1.0], f64::from(i), 0.0, None)).collect();
        let findings = remarks(&RiskAnalysis::of(&audit(&turned)));
        assert!(findings[0].contains("low |σ| goes with low risk, against the paper"), "{}", findings[0]);
        assert!(findings[1].starts_with("No conclusion about"), "{}", findings[1]);
    }

    #[test]
    fn a_dead_module_is_mentioned() {
        let rows: Vec<_> =
            (0..40).map(|i| (f64::from(i % 2 + 1), [0.0, f64::from(i)], f64::from(i), 0.0, None)).collect();
        let mut audit = audit(&rows);
        let last = |audit: &RiskAudit| remarks(&RiskAnalysis::of(audit)).pop().unwrap();
        assert!(last(&audit).starts_with("In 50 % of the states |σ| has one and the same value: there σ carries"));
        for audited in &mut audit.states {
            let off =
                sane_record::StateNoise { draws: 1, changed_share: 0.0, q_noise: 0.1, live_units_share: Some(0.0) };
            audited.noise = Some(off);
        }
        assert!(last(&audit).contains("the perturbation module is dead there"), "{}", last(&audit));
    }

    #[test]
    fn few_states_decide_nothing_and_one_state_is_no_error() {
        let row = (0.1, [0.0, 1.0], 1.0, 0.0, None);
        let audit = audit(&[row]);
        let analysis = RiskAnalysis::of(&audit);
        assert!(remarks(&analysis).iter().all(|finding| finding.starts_with("No conclusion about")));
        assert_eq!(audit_files(&audit, &analysis).unwrap().len(), 6);
    }
}
