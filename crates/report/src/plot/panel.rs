//! One plot: a frame with two labelled axes and curves with bands in it; and the legend, a piece of line and a name per
//! agent, wrapped to the width of the figure.

use super::{Anchor, Axis, Marker, Paint, Scene, Shape, TickStyle, Weight, text_width};
use crate::agent::Look;
use sane_stats::Estimate;

const TICK_SIZE: f32 = 10.0;
const LABEL_SIZE: f32 = 10.5;
const TITLE_SIZE: f32 = 12.5;
const LEGEND_SIZE: f32 = 11.0;
const LEGEND_ROW: f32 = 18.0;
const LEGEND_LINE: f32 = 26.0;
const LEGEND_GAP: f32 = 18.0;

/// A curve with a band around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub look: Look,
    /// In order of x.
    pub points: Vec<SeriesPoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    pub x: f64,
    pub y: f64,
    /// Lower and upper end of the band.
    pub band: Option<(f64, f64)>,
    /// Whether the value is complete (the mean of all seeds); incomplete parts of a line are thin.
    pub complete: bool,
}

/// A plot: axes, title, and where in the figure it is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    pub title: String,
    pub x: Axis,
    pub y: Axis,
    /// Upper left, labels included.
    pub corner: (f32, f32),
    /// Width and height, labels included.
    pub size: (f32, f32),
}

/// An estimate in a row of its own: a dot, its interval as a line, and a label to the left of the panel.
#[derive(Debug, Clone, Copy)]
pub struct EstimateRow<'a> {
    pub label: &'a str,
    pub estimate: Option<Estimate>,
    pub interval_paint: Paint,
    pub dot_paint: Paint,
    pub marker: Marker,
}

impl Panel {
    /// A plot of estimates, one row each, over a horizontal axis.
    pub fn of_rows(title: &str, x: Axis, rows: usize, corner: (f32, f32), size: (f32, f32)) -> Self {
        let mut y = Axis::exact("", 0.0, rows as f64, 1, TickStyle::Short);
        y.ticks.clear();
        Self { title: title.into(), x, y, corner, size }
    }

    /// Draws the rows of a panel made by [`of_rows`](Self::of_rows), from top to bottom.
    pub fn draw_rows(&self, scene: &mut Scene, rows: &[EstimateRow<'_>]) {
        let [left, ..] = self.area();
        for (i, row) in rows.iter().enumerate() {
            let y = rows.len() as f64 - i as f64 - 0.5;
            if let Some(Estimate { point, interval }) = row.estimate {
                if let Some([low, high]) = interval {
                    scene.rule(self.at(low, y), self.at(high, y), row.interval_paint, 3.0);
                }
                scene.shapes.push(Shape::Dot { at: self.at(point, y), paint: row.dot_paint, marker: row.marker });
            }
            let (_, text_y) = self.at(0.0, y);
            scene.text((left - 6.0, text_y + 4.0), row.label, 11.0, Anchor::End, Paint::Ink);
        }
    }

    /// Draws a dashed vertical line at `x`, for a value that others are compared with.
    pub fn draw_reference(&self, scene: &mut Scene, x: f64) {
        let [_, top, _, bottom] = self.area();
        let (x, _) = self.at(x, 0.0);
        let points = vec![(x, top), (x, bottom)];
        scene.shapes.push(Shape::Line { points, paint: Paint::Muted, width: 1.0, dash: &[4.0, 3.0] });
    }

    /// Draws frame, grid and labels, then the curves.
    pub fn draw(&self, scene: &mut Scene, series: &[Series]) {
        self.draw_frame(scene);
        for series in series {
            self.draw_band(scene, series);
        }
        for series in series {
            self.draw_series(scene, series);
        }
    }

    /// Left, top, right and bottom of the plotting area.
    pub fn area(&self) -> [f32; 4] {
        let widest =
            self.y.ticks.iter().map(|(_, label)| text_width(label, TICK_SIZE, Weight::Regular)).fold(0.0, f32::max);
        let (x, y) = self.corner;
        let y_label = if self.y.label.is_empty() { 0.0 } else { LABEL_SIZE + 8.0 };
        let x_label = if self.x.label.is_empty() { 0.0 } else { LABEL_SIZE + 6.0 };
        // Half of the last tick's label extends beyond the frame.
        let overhang =
            self.x.ticks.last().map_or(0.0, |(_, label)| text_width(label, TICK_SIZE, Weight::Regular) / 2.0);
        let title = if self.title.is_empty() { 8.0 } else { TITLE_SIZE + 10.0 };
        let bottom = y + self.size.1 - TICK_SIZE - 8.0 - x_label;
        [x + y_label + widest + 8.0, y + title, x + self.size.0 - overhang.max(6.0), bottom]
    }

    /// Pixel position of a point.
    pub fn at(&self, x: f64, y: f64) -> (f32, f32) {
        let [left, top, right, bottom] = self.area();
        (left + (right - left) * self.x.position(x), bottom - (bottom - top) * self.y.position(y))
    }

    fn draw_frame(&self, scene: &mut Scene) {
        let [left, top, right, bottom] = self.area();
        for (value, label) in &self.y.ticks {
            let y = bottom - (bottom - top) * self.y.position(*value);
            scene.rule((left, y), (right, y), Paint::Grid, 1.0);
            scene.text((left - 5.0, y + 3.6), label, TICK_SIZE, Anchor::End, Paint::Muted);
        }
        for (value, label) in &self.x.ticks {
            let x = left + (right - left) * self.x.position(*value);
            scene.rule((x, bottom), (x, bottom + 3.5), Paint::Ink, 1.0);
            scene.text((x, bottom + TICK_SIZE + 5.0), label, TICK_SIZE, Anchor::Middle, Paint::Muted);
        }
        scene.rule((left, bottom), (right, bottom), Paint::Ink, 1.0);
        scene.rule((left, top), (left, bottom), Paint::Ink, 1.0);
        if !self.x.label.is_empty() {
            let y = bottom + TICK_SIZE + LABEL_SIZE + 10.0;
            scene.text(((left + right) / 2.0, y), &*self.x.label, LABEL_SIZE, Anchor::Middle, Paint::Ink);
        }
        if !self.y.label.is_empty() {
            scene.shapes.push(Shape::Text {
                at: (self.corner.0 + LABEL_SIZE, (top + bottom) / 2.0),
                text: self.y.label.clone(),
                size: LABEL_SIZE,
                anchor: Anchor::Middle,
                weight: Weight::Regular,
                paint: Paint::Ink,
                upright: true,
            });
        }
        if !self.title.is_empty() {
            scene.shapes.push(Shape::Text {
                at: (left, self.corner.1 + TITLE_SIZE),
                text: self.title.clone(),
                size: TITLE_SIZE,
                anchor: Anchor::Start,
                weight: Weight::Bold,
                paint: Paint::Ink,
                upright: false,
            });
        }
    }

    fn draw_band(&self, scene: &mut Scene, series: &Series) {
        for part in series.points.split(|point| point.band.is_none()).filter(|part| 1 < part.len()) {
            let edge = |pick: fn((f64, f64)) -> f64| {
                part.iter().filter_map(move |point| Some(self.at(point.x, pick(point.band?))))
            };
            let points = edge(|band| band.0).chain(edge(|band| band.1).collect::<Vec<_>>().into_iter().rev()).collect();
            scene.shapes.push(Shape::Area { points, paint: series.look.paint(), opacity: 0.18 });
        }
    }

    /// Draws one curve without its band.
    pub fn draw_series(&self, scene: &mut Scene, series: &Series) {
        let (paint, pattern) = (series.look.paint(), series.look.pattern());
        if let [point] = series.points[..] {
            scene.shapes.push(Shape::Dot { at: self.at(point.x, point.y), paint, marker: pattern.marker });
        }
        let mut rest = &series.points[..];
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|point| point.complete == first.complete).count();
            // The next part begins where this one ends, so that the line has no gap.
            let end = (length + 1).min(rest.len());
            let points: Vec<_> = rest[..end].iter().map(|point| self.at(point.x, point.y)).collect();
            let width = if first.complete { 1.9 } else { 0.8 };
            if 1 < points.len() {
                scene.shapes.push(Shape::Line { points, paint, width, dash: pattern.dash });
            }
            rest = &rest[length..];
        }
    }
}

/// Height of the legend of these labels when it may be this wide.
pub fn legend_height(labels: &[(&str, Look)], width: f32) -> f32 {
    legend_rows(labels, width).len() as f32 * LEGEND_ROW
}

/// Draws the legend with its upper left corner at `at`.
pub fn draw_legend(scene: &mut Scene, labels: &[(&str, Look)], at: (f32, f32), width: f32) {
    for (i, row) in legend_rows(labels, width).into_iter().enumerate() {
        let y = at.1 + i as f32 * LEGEND_ROW + LEGEND_ROW / 2.0;
        let mut x = at.0;
        for (label, look) in row {
            let (paint, pattern) = (look.paint(), look.pattern());
            let points = vec![(x, y), (x + LEGEND_LINE - 6.0, y)];
            scene.shapes.push(Shape::Line { points, paint, width: 2.0, dash: pattern.dash });
            scene.shapes.push(Shape::Dot { at: (x + (LEGEND_LINE - 6.0) / 2.0, y), paint, marker: pattern.marker });
            scene.text((x + LEGEND_LINE, y + 4.0), label, LEGEND_SIZE, Anchor::Start, Paint::Ink);
            x += entry_width(label);
        }
    }
}

fn legend_rows<'a>(labels: &[(&'a str, Look)], width: f32) -> Vec<Vec<(&'a str, Look)>> {
    let mut rows: Vec<Vec<(&str, Look)>> = Vec::new();
    let mut used = f32::INFINITY;
    for &(label, look) in labels {
        let wanted = entry_width(label);
        if width < used + wanted - LEGEND_GAP {
            rows.push(Vec::new());
            used = 0.0;
        }
        used += wanted;
        rows.last_mut().expect("a row was begun").push((label, look));
    }
    rows
}

fn entry_width(label: &str) -> f32 {
    LEGEND_LINE + text_width(label, LEGEND_SIZE, Weight::Regular) + LEGEND_GAP
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_values_lie_left_and_below() {
        let axis = || Axis::exact("a", 0.0, 1.0, 4, TickStyle::Short);
        let panel = Panel { title: "t".into(), x: axis(), y: axis(), corner: (10.0, 20.0), size: (300.0, 200.0) };
        let [left, top, right, bottom] = panel.area();
        assert_eq!(panel.at(0.0, 0.0), (left, bottom));
        assert_eq!(panel.at(1.0, 1.0), (right, top));
        assert!(10.0 < left && right < 310.0 && 20.0 < top && bottom < 220.0);
    }

    #[test]
    fn a_narrow_legend_wraps_and_keeps_every_label() {
        let look = Look { colour: 0, pattern: 0 };
        let labels = [("q-sane", look), ("sane", look), ("noisynet", look), ("eps-greedy", look)];
        assert_eq!(legend_rows(&labels, 1_000.0).len(), 1);
        let narrow = legend_rows(&labels, 160.0);
        assert!(1 < narrow.len());
        assert_eq!(narrow.concat(), labels);
    }
}
