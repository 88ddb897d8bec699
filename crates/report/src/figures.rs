//! The figures of a report, each a scene with the name of its files: curves over interactions, aggregates with intervals,
//! performance profiles, probabilities of improvement.

use crate::ReportError;
use crate::agent::{Agent, Look};
use crate::curve::{Quantity, mean_curve};
use crate::plot::{
    Axis, EstimateRow, Marker, Paint, Panel, Scene, Series, SeriesPoint, TickStyle, Weight, draw_legend, legend_height,
    text_width, to_png, to_svg,
};
use crate::report::OutputFile;
use crate::section::{Measure, Section};
use sane_stats::number_format::counted;
use sane_stats::{Aggregate, Estimate, Scores, mean, profile};

/// Worlds beside each other in a grid of curves.
const GRID_COLUMNS: usize = 4;

/// More curves cannot be told apart.
const MOST_CURVES: usize = 12;

/// Height of a row of dots with intervals.
const ROW: f32 = 22.0;

/// Levels per profile.
const LEVELS: usize = 161;

/// Levels beyond this many times human play are cut off: few games reach them, and all others would be squeezed.
const HIGHEST: f64 = 8.0;

/// A figure and its caption.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its files, without ending.
    pub name: String,
    /// What it shows and how to read it.
    pub caption: String,
    pub scene: Scene,
}

impl Figure {
    /// The figure as SVG and PNG; `folder` is empty or ends in `/`.
    pub fn files(&self, folder: &str) -> Result<[OutputFile; 2], ReportError> {
        let png = to_png(&self.scene).map_err(|reason| ReportError::Figure { figure: self.name.clone(), reason })?;
        let file = |ending: &str, bytes| OutputFile { path: format!("{folder}{}.{ending}", self.name), bytes };
        Ok([file("svg", to_svg(&self.scene).into_bytes()), file("png", png)])
    }
}

/// The plot of one world; none if nothing is recorded of the quantity.
pub fn world_curve(section: &Section, prefix: &str, world: &str, quantity: Quantity) -> Option<Figure> {
    let series = curve_series(section, world, quantity);
    if series.is_empty() {
        return None;
    }
    // A single world has the width of the page for itself.
    let (width, height) = if section.worlds.len() == 1 { (500.0, 310.0) } else { (440.0, 300.0) };
    let labels = legend_labels(section, &[&series]);
    let legend = legend_height(&labels, width - 24.0);
    let mut scene = Scene::new(width, height + legend, format!("{} in {world}", title(quantity)));
    let panel = curve_panel(section, world, quantity, &series, (8.0, 8.0), (width - 16.0, height - 16.0));
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
        .map(|world| (world, curve_series(section, world, quantity)))
        .filter(|(_, series)| !series.is_empty())
        .collect();
    if shown.is_empty() {
        return None;
    }
    let columns = shown.len().min(GRID_COLUMNS);
    let (cell_width, cell_height) = (290_f32.max(440.0 / columns as f32), 220.0);
    let width = columns as f32 * cell_width + 16.0;
    let labels = legend_labels(section, &shown.iter().map(|(_, series)| series).collect::<Vec<_>>());
    let legend = legend_height(&labels, width - 24.0) + 10.0;
    let height = legend + shown.len().div_ceil(columns) as f32 * cell_height + 8.0;
    let mut scene = Scene::new(width, height, format!("{} in {}", title(quantity), counted(shown.len(), "world")));
    draw_legend(&mut scene, &labels, (16.0, 6.0), width - 24.0);
    for (i, (world, series)) in shown.iter().enumerate() {
        let corner = (8.0 + (i % columns) as f32 * cell_width, legend + (i / columns) as f32 * cell_height);
        let panel = curve_panel(section, world, quantity, series, corner, (cell_width - 10.0, cell_height - 8.0));
        panel.draw(&mut scene, series);
    }
    let caption = format!("{}. {}{}", title(quantity), reading(section, quantity), left_out(section));
    Some(Figure { name: format!("{prefix}{}-grid", slug(quantity)), caption, scene })
}

/// How to read line and band.
fn reading(section: &Section, quantity: Quantity) -> String {
    let over_seeds =
        "Line: mean over seeds; band: from the lowest to the highest seed; thin line: not all seeds have come so far.";
    let has_single_seeds =
        section.worlds.iter().any(|world| (0..section.agents.len()).any(|agent| section.runs(world, agent).len() == 1));
    match (section.seeds(), quantity) {
        (1, Quantity::Evaluation) => "Band: 95 % interval of the mean over episodes.".into(),
        (1, _) => "One seed.".into(),
        (_, Quantity::Evaluation) if has_single_seeds => {
            format!(
                "{over_seeds} Where an agent has one seed, the band is the 95 % interval of its mean over episodes."
            )
        }
        _ => over_seeds.into(),
    }
}

/// The agents whose curves are drawn: all, or those with the best scores if there are too many to be told apart.
fn drawn(section: &Section) -> Vec<usize> {
    let mut agents: Vec<usize> = (0..section.agents.len()).collect();
    if agents.len() <= MOST_CURVES {
        return agents;
    }
    let score = |agent: usize| {
        let of = |world: &String| {
            Measure::ALL
                .into_iter()
                .map(|measure| section.scores(world, agent, measure))
                .find(|scores| !scores.is_empty())
        };
        let means: Vec<f64> = section.worlds.iter().filter_map(of).map(|scores| mean(&scores)).collect();
        if means.is_empty() { f64::NEG_INFINITY } else { mean(&means) }
    };
    agents.sort_by(|a, b| score(*b).total_cmp(&score(*a)));
    agents.truncate(MOST_CURVES);
    agents.sort_unstable();
    agents
}

fn left_out(section: &Section) -> String {
    let all = section.agents.len();
    if all <= MOST_CURVES {
        String::new()
    } else {
        format!(" Drawn: the {MOST_CURVES} best of {all} agents and variants.")
    }
}

fn curve_series(section: &Section, world: &str, quantity: Quantity) -> Vec<Series> {
    let end = last_interaction(section);
    drawn(section)
        .into_iter()
        .map(|agent| {
            let points = mean_curve(section.runs(world, agent), quantity, end);
            Series { look: section.agents[agent].look, points }
        })
        .filter(|series| !series.points.is_empty())
        .collect()
}

/// The same axis in all worlds: as far as the furthest run of the section.
fn last_interaction(section: &Section) -> u64 {
    section.all_runs().map(|(_, run)| run.reached_interactions).max().unwrap_or(0).max(1)
}

fn curve_panel(
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
        Quantity::Evaluation => Axis::linear("mean return, evaluated (points)", values, 5, TickStyle::Short),
        Quantity::Sigma => Axis::logarithmic("mean |σ| (weight units)", values, 5),
        Quantity::Exploration => Axis::linear("explored (share of steps)", values.chain([0.0]), 5, TickStyle::Percent),
    };
    // Labels of the ticks must not touch: one per 70 pixels.
    let ticks = (size.0 / 70.0) as usize;
    let x = Axis::exact("interactions", 0.0, last_interaction(section) as f64, ticks, TickStyle::Short);
    Panel { title: world.into(), x, y, corner, size }
}

fn legend_labels<'a>(section: &'a Section, shown: &[&Vec<Series>]) -> Vec<(&'a str, Look)> {
    let is_shown = |look: Look| shown.iter().any(|series| series.iter().any(|series| series.look == look));
    section.agents.iter().filter(|agent| is_shown(agent.look)).map(|agent| (&*agent.label, agent.look)).collect()
}

fn title(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Return => "Mean return of the last 100 training episodes",
        Quantity::Evaluation => "Mean return of the evaluations made while training, without noise",
        Quantity::Sigma => "Mean |σ| of the states acted in (logarithmic)",
        Quantity::Exploration => "Effective exploration: share of interactions whose action was changed by exploring",
    }
}

fn slug(quantity: Quantity) -> &'static str {
    match quantity {
        Quantity::Return => "learning-curve",
        Quantity::Evaluation => "evaluated-while-training",
        Quantity::Sigma => "sigma",
        Quantity::Exploration => "exploration",
    }
}

/// A world's name as part of a file name.
pub(crate) fn file_part(world: &str) -> String {
    world.chars().map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_') { c } else { '-' }).collect()
}

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
        draw_aggregate(&mut scene, aggregate, &estimates, corner, label_width, (plot_width, cell_height - 8.0));
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

fn draw_aggregate<'a>(
    scene: &mut Scene,
    aggregate: Aggregate,
    estimates: &[(&'a Agent, Estimate)],
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
    let corner = (corner.0 + label_width, corner.1);
    let panel = Panel::of_rows(aggregate.name(), x, estimates.len(), corner, size);
    panel.draw(scene, &[]);
    let row = |(agent, estimate): &(&'a Agent, Estimate)| EstimateRow {
        label: &agent.label,
        estimate: Some(*estimate),
        interval_paint: agent.look.paint(),
        dot_paint: agent.look.paint(),
        marker: agent.look.pattern().marker,
    };
    panel.draw_rows(scene, &estimates.iter().map(row).collect::<Vec<_>>());
}

/// The profiles of all agents in one plot; scores are human-normalised.
pub fn profile_figure(prefix: &str, measure: Measure, agents: &[(&Agent, &Scores)], games: usize) -> Figure {
    let scores = || agents.iter().flat_map(|(_, scores)| scores.0.iter().flatten().copied());
    let low = scores().fold(0.0, f64::min).max(-1.0);
    let high = scores().fold(low + 0.1, f64::max).min(HIGHEST);
    let levels: Vec<f64> = (0..LEVELS).map(|i| low + (high - low) * i as f64 / (LEVELS - 1) as f64).collect();
    let series: Vec<Series> = agents
        .iter()
        .map(|(agent, scores)| Series { look: agent.look, points: profile_points(scores, &levels) })
        .collect();
    let (width, height) = (480.0, 330.0);
    let labels: Vec<(&str, Look)> = agents.iter().map(|(agent, _)| (&*agent.label, agent.look)).collect();
    let legend = legend_height(&labels, width - 24.0);
    let mut scene = Scene::new(width, height + legend, format!("Performance profiles, {}", measure.name()));
    let panel = Panel {
        title: String::new(),
        x: Axis::exact("human-normalised score τ (human level = 1)", low, high, 8, TickStyle::Short),
        y: Axis::exact("share of runs that score above τ", 0.0, 1.0, 5, TickStyle::Percent),
        corner: (8.0, 6.0),
        size: (width - 16.0, height - 12.0),
    };
    panel.draw(&mut scene, &series);
    draw_legend(&mut scene, &labels, (16.0, height), width - 24.0);
    let beyond = scores().filter(|score| HIGHEST < *score).count();
    let cut = match beyond {
        0 => String::new(),
        1 => format!(" One run scores above {HIGHEST} and lies beyond the right end."),
        count => format!(" {count} runs score above {HIGHEST} and lie beyond the right end."),
    };
    let caption = format!(
        "Performance profiles over {}, {}. Band: pointwise 95 % interval by stratified bootstrap (none \
         where a game has one seed). Higher is better.{cut}",
        counted(games, "game"),
        measure.name()
    );
    Figure { name: format!("{prefix}profiles-{}", measure.slug()), caption, scene }
}

fn profile_points(scores: &Scores, levels: &[f64]) -> Vec<SeriesPoint> {
    let profile = profile(scores, levels);
    let band = |i: usize| profile.band.as_ref().map(|(low, high)| (low[i], high[i]));
    (0..levels.len())
        .map(|i| SeriesPoint { x: levels[i], y: profile.share[i], band: band(i), complete: true })
        .collect()
}

/// Probabilities of improvement, a row per pair; `pairs` holds the label of each pair and its probability.
pub fn improvement_figure<'a>(
    prefix: &str,
    measure: Measure,
    pairs: &'a [(String, Estimate)],
    worlds: usize,
) -> Figure {
    let label_width = pairs.iter().map(|(pair, _)| text_width(pair, 11.0, Weight::Regular)).fold(60.0, f32::max);
    let (width, height) = (label_width + 340.0, pairs.len() as f32 * ROW + 62.0);
    let mut scene = Scene::new(width, height, format!("Probability of improvement, {}", measure.name()));
    let x = Axis::exact("probability that the first beats the second", 0.0, 1.0, 4, TickStyle::Percent);
    let (corner, size) = ((label_width + 12.0, 6.0), (width - label_width - 24.0, height - 10.0));
    let panel = Panel::of_rows("", x, pairs.len(), corner, size);
    panel.draw(&mut scene, &[]);
    panel.draw_reference(&mut scene, 0.5);
    let row = |(pair, estimate): &'a (String, Estimate)| EstimateRow {
        label: pair,
        estimate: Some(*estimate),
        interval_paint: Paint::Muted,
        dot_paint: Paint::Ink,
        marker: Marker::Circle,
    };
    panel.draw_rows(&mut scene, &pairs.iter().map(row).collect::<Vec<_>>());
    let caption = format!(
        "Probability of improvement over {}, {}: how often a run of the first agent scores higher than a \
         run of the second in a world drawn at random; line: 95 % interval by stratified bootstrap. At 50 % (dashed) \
         neither is better.",
        counted(worlds, "world"),
        measure.name()
    );
    Figure { name: format!("{prefix}improvement-{}", measure.slug()), caption, scene }
}
