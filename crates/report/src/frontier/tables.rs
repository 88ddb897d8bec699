//! The numbers of the frontier: a table per world, agents at equal shares of exploratory actions, findings, rows for files.

use super::{FrontierCurve, FrontierPoint, Pick, WorldFrontier};
use crate::Table;
use crate::data::Data;
use sane_stats::Estimate;
use sane_stats::number_format::{percent, score};
use serde_json::json;

/// Shares of exploratory actions at which agents are compared.
const SHARES: [f64; 5] = [0.01, 0.02, 0.05, 0.1, 0.2];

/// Agents whose noise has one scale for all states; what state-aware noise gains is measured against the best of them.
const CONSTANT_NOISE: [&str; 6] =
    ["sane-constant", "sane-constant-elbo", "sane-fixed", "noisynet", "noisynet-elbo", "sane-shuffled"];

const SHARE: Pick = |run| Some(run.changed_share);
const RISKY: Pick = |run| run.changed_risky;
const OTHER: Pick = |run| run.changed_other;
const HARM: Pick = |run| Some(run.harms_per_1000);
const RETURN: Pick = |run| run.return_mean;

pub fn of(world: &WorldFrontier) -> Vec<Table> {
    vec![all_points(world), at_equal_shares(world)]
}

fn all_points(world: &WorldFrontier) -> Table {
    let columns = ["agent, knob", "seeds", "exploratory", "in risky states", "elsewhere", "harm per 1,000", "return"];
    let mut table = Table {
        caption: format!("{}: every point", world.title),
        columns: columns.map(str::to_owned).to_vec(),
        notes: knobs(world),
        ..Table::default()
    };
    for (curve, point) in points_of(world) {
        let name =
            if point.value.is_empty() { curve.agent.clone() } else { format!("{}, {}", curve.agent, point.value) };
        let share = |pick: Pick| point.mean(pick).map_or_else(|| "–".into(), percent);
        table.push(vec![
            name,
            point.runs.len().to_string(),
            share(SHARE),
            share(RISKY),
            share(OTHER),
            with_interval(point.estimate(HARM)),
            with_interval(point.estimate(RETURN)),
        ]);
    }
    table
}

fn knobs(world: &WorldFrontier) -> Vec<String> {
    let named = |curve: &FrontierCurve| {
        let keys: Vec<&str> = curve.knob.iter().map(|key| key.trim_start_matches("learner.exploration.")).collect();
        (!keys.is_empty()).then(|| format!("{}: {}", curve.agent, keys.join(", ")))
    };
    let knobs: Vec<String> = world.curves.iter().filter_map(named).collect();
    let mut notes = vec!["In brackets: 95 % interval of the mean over seeds, by bootstrap.".to_owned()];
    if !knobs.is_empty() {
        notes.push(format!("Knobs: {}.", knobs.join("; ")));
    }
    notes
}

fn at_equal_shares(world: &WorldFrontier) -> Table {
    let mut columns = vec!["agent".to_owned()];
    columns.extend(SHARES.map(|share| format!("at {}", percent(share))));
    let mut table = Table {
        caption: format!("{}: harm per 1,000 interactions at equal shares of exploratory actions", world.title),
        columns,
        notes: vec!["Interpolated between the points of a curve; a dash where the curve does not reach.".into()],
        ..Table::default()
    };
    for curve in &world.curves {
        let mut cells = vec![curve.agent.clone()];
        cells.extend(SHARES.map(|share| curve.at_share(share, HARM).map_or_else(|| "–".into(), score)));
        table.push(cells);
    }
    table
}

/// What the curves of a world say.
pub fn findings(world: &WorldFrontier) -> Vec<String> {
    let mut findings = Vec::new();
    for curve in world.curves.iter().filter(|curve| 1 < curve.knob.len()) {
        findings.push(format!(
            "{}: the points of {} differ in {} settings ({}), which are shown as one knob.",
            world.title,
            curve.agent,
            curve.knob.len(),
            curve.knob.join(", ")
        ));
    }
    findings.extend(oracle_gain(world));
    findings
}

/// The best that noise of the true risk reaches, and the best that noise of one scale does. Both are chosen among the points
/// shown, on the seeds shown.
fn oracle_gain(world: &WorldFrontier) -> Option<String> {
    let best = |wanted: &dyn Fn(&str) -> bool| {
        let curves = world.curves.iter().filter(|curve| wanted(&curve.agent));
        let points = curves.filter_map(|curve| Some((curve, curve.best()?)));
        points.max_by(|a, b| a.1.mean(RETURN).partial_cmp(&b.1.mean(RETURN)).unwrap_or(std::cmp::Ordering::Equal))
    };
    let (_, oracle) = best(&|agent| agent == "oracle")?;
    let (constant, point) = best(&|agent| CONSTANT_NOISE.contains(&agent))?;
    let (high, low) = (oracle.mean(RETURN)?, point.mean(RETURN)?);
    Some(format!(
        "{}: The oracle's best mean return is {}, that of the best constant noise ({}{}) {}: a gain of {}. Harm per 1,000 \
         interactions there: {} and {}.",
        world.title,
        score(high),
        constant.agent,
        if point.value.is_empty() { String::new() } else { format!(", {}", point.value) },
        score(low),
        score(high - low),
        oracle.mean(HARM).map_or_else(|| "–".into(), score),
        point.mean(HARM).map_or_else(|| "–".into(), score),
    ))
}

/// One row per point.
pub fn points(worlds: &[WorldFrontier]) -> Data {
    let columns = [
        "world",
        "agent",
        "knob",
        "value",
        "seeds",
        "changed_share",
        "changed_share_low_95",
        "changed_share_high_95",
        "changed_share_risky",
        "changed_share_other",
        "harms_per_1000",
        "harms_low_95",
        "harms_high_95",
        "return_mean",
        "return_low_95",
        "return_high_95",
        "section",
    ];
    let mut data = Data::new("frontier", &columns);
    for world in worlds {
        for (curve, point) in points_of(world) {
            let mut row = vec![
                json!(world.world),
                json!(curve.agent),
                json!(curve.knob.join(" ")),
                json!(point.value),
                json!(point.runs.len()),
            ];
            row.extend(three(point.estimate(SHARE)));
            row.extend([json!(point.mean(RISKY)), json!(point.mean(OTHER))]);
            row.extend(three(point.estimate(HARM)));
            row.extend(three(point.estimate(RETURN)));
            row.push(json!(section(world)));
            data.rows.push(row);
        }
    }
    data
}

/// One row per run.
pub fn runs(worlds: &[WorldFrontier]) -> Data {
    let columns = [
        "world",
        "agent",
        "value",
        "seed",
        "interactions",
        "changed_share",
        "changed_share_risky",
        "changed_share_other",
        "harms_per_1000",
        "return_mean",
        "episodes",
        "folder",
        "section",
    ];
    let mut data = Data::new("frontier-runs", &columns);
    for world in worlds {
        for (curve, point) in points_of(world) {
            for run in &point.runs {
                data.rows.push(vec![
                    json!(world.world),
                    json!(curve.agent),
                    json!(point.value),
                    json!(run.recorded.seed),
                    json!(run.interactions),
                    json!(run.changed_share),
                    json!(run.changed_risky),
                    json!(run.changed_other),
                    json!(run.harms_per_1000),
                    json!(run.return_mean),
                    json!(run.episodes),
                    json!(run.recorded.folder.display().to_string()),
                    json!(section(world)),
                ]);
            }
        }
    }
    data
}

fn points_of(world: &WorldFrontier) -> impl Iterator<Item = (&FrontierCurve, &FrontierPoint)> {
    world.curves.iter().flat_map(|curve| curve.points.iter().map(move |point| (curve, point)))
}

/// What tells these runs from the others of their world; empty where nothing does.
fn section(world: &WorldFrontier) -> String {
    world.section.iter().map(|(key, value)| format!("{key} = {value}")).collect::<Vec<_>>().join(", ")
}

fn three(estimate: Option<Estimate>) -> [serde_json::Value; 3] {
    let end = |i: usize| json!(estimate.and_then(|estimate| estimate.interval).map(|ends| ends[i]));
    [json!(estimate.map(|estimate| estimate.point)), end(0), end(1)]
}

fn with_interval(estimate: Option<Estimate>) -> String {
    match estimate {
        None => "–".into(),
        Some(Estimate { point, interval: None }) => score(point),
        Some(Estimate { point, interval: Some([low, high]) }) => {
            format!("{} ({} to {})", score(point), score(low), score(high))
        }
    }
}
