//! Performance profiles: how large a share of an agent's runs scores above each level.

use super::Figure;
use crate::agent::{Agent, Look};
use crate::plot::{Axis, Panel, Scene, Series, SeriesPoint, TickStyle, draw_legend, legend_height};
use crate::section::Measure;
use sane_stats::number_format::counted;
use sane_stats::{Scores, profile};

/// Levels per profile.
const LEVELS: usize = 161;

/// Levels beyond this many times human play are cut off: few games reach them, and all others would be squeezed.
const HIGHEST: f64 = 8.0;

/// The profiles of all agents in one plot; scores are human-normalised.
pub fn profile_figure(prefix: &str, measure: Measure, agents: &[(&Agent, &Scores)], games: usize) -> Figure {
    let scores = || agents.iter().flat_map(|(_, scores)| scores.0.iter().flatten().copied());
    let low = scores().fold(0.0, f64::min).max(-1.0);
    let high = scores().fold(low + 0.1, f64::max).min(HIGHEST);
    let levels: Vec<f64> = (0..LEVELS).map(|i| low + (high - low) * i as f64 / (LEVELS - 1) as f64).collect();
    let series: Vec<Series> =
        agents.iter().map(|(agent, scores)| Series { look: agent.look, points: points(scores, &levels) }).collect();
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

fn points(scores: &Scores, levels: &[f64]) -> Vec<SeriesPoint> {
    let profile = profile(scores, levels);
    let band = |i: usize| profile.band.as_ref().map(|(low, high)| (low[i], high[i]));
    (0..levels.len())
        .map(|i| SeriesPoint { x: levels[i], y: profile.share[i], band: band(i), complete: true })
        .collect()
}
