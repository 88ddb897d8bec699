//! One plot: a frame with two labelled axes, and curves with bands in it.

use super::{Anchor, Axis, PATTERNS, Paint, Scene, Shape, Weight, text_width};
use crate::agent::Look;

const TICK_SIZE: f32 = 10.0;
const LABEL_SIZE: f32 = 10.5;
const TITLE_SIZE: f32 = 12.5;

/// A curve with the spread around it.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Colour and pattern.
    pub look: Look,
    /// Points, in order of x.
    pub points: Vec<SeriesPoint>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SeriesPoint {
    /// Across.
    pub x: f64,
    /// Up.
    pub y: f64,
    /// Lower and upper end of the band.
    pub band: Option<(f64, f64)>,
    /// Whether all that belongs here is in it; where not, the line is thin.
    pub complete: bool,
}

/// A place for a plot.
#[derive(Debug, Clone, PartialEq)]
pub struct Panel {
    /// Heading.
    pub title: String,
    /// Axis across.
    pub x: Axis,
    /// Axis upwards.
    pub y: Axis,
    /// Upper left corner of all of it.
    pub corner: (f32, f32),
    /// Width and height of all of it.
    pub size: (f32, f32),
}

impl Panel {
    /// Draws frame, grid and labels; then the curves.
    pub fn draw(&self, scene: &mut Scene, series: &[Series]) {
        self.draw_frame(scene);
        for series in series {
            self.draw_band(scene, series);
        }
        for series in series {
            self.draw_line(scene, series);
        }
    }

    /// Left, top, right and bottom of the plotting area.
    pub fn area(&self) -> [f32; 4] {
        let widest =
            self.y.ticks.iter().map(|(_, label)| text_width(label, TICK_SIZE, Weight::Regular)).fold(0.0, f32::max);
        let (x, y) = self.corner;
        let y_label = if self.y.label.is_empty() { 0.0 } else { LABEL_SIZE + 8.0 };
        let x_label = if self.x.label.is_empty() { 0.0 } else { LABEL_SIZE + 6.0 };
        // Half of the last tick's label reaches beyond the frame.
        let overhang =
            self.x.ticks.last().map_or(0.0, |(_, label)| text_width(label, TICK_SIZE, Weight::Regular) / 2.0);
        let title = if self.title.is_empty() { 8.0 } else { TITLE_SIZE + 10.0 };
        let bottom = y + self.size.1 - TICK_SIZE - 8.0 - x_label;
        [x + y_label + widest + 8.0, y + title, x + self.size.0 - overhang.max(6.0), bottom]
    }

    /// Where a point lies.
    pub fn at(&self, x: f64, y: f64) -> (f32, f32) {
        let [left, top, right, bottom] = self.area();
        (left + (right - left) * self.x.place(x), bottom - (bottom - top) * self.y.place(y))
    }

    fn draw_frame(&self, scene: &mut Scene) {
        let [left, top, right, bottom] = self.area();
        for (value, label) in &self.y.ticks {
            let y = bottom - (bottom - top) * self.y.place(*value);
            scene.rule((left, y), (right, y), Paint::Grid, 1.0);
            scene.text((left - 5.0, y + 3.6), label, TICK_SIZE, Anchor::End, Paint::Muted);
        }
        for (value, label) in &self.x.ticks {
            let x = left + (right - left) * self.x.place(*value);
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
        for stretch in series.points.split(|point| point.band.is_none()).filter(|stretch| 1 < stretch.len()) {
            let edge = |pick: fn((f64, f64)) -> f64| {
                stretch.iter().filter_map(move |point| Some(self.at(point.x, pick(point.band?))))
            };
            let points = edge(|band| band.0).chain(edge(|band| band.1).collect::<Vec<_>>().into_iter().rev()).collect();
            scene.shapes.push(Shape::Area { points, paint: Paint::Colour(series.look.colour), opacity: 0.18 });
        }
    }

    fn draw_line(&self, scene: &mut Scene, series: &Series) {
        let (paint, pattern) = (Paint::Colour(series.look.colour), PATTERNS[series.look.pattern % PATTERNS.len()]);
        if let [point] = series.points[..] {
            scene.shapes.push(Shape::Dot { at: self.at(point.x, point.y), paint, marker: pattern.marker });
        }
        let mut rest = &series.points[..];
        while let Some(first) = rest.first() {
            let length = rest.iter().take_while(|point| point.complete == first.complete).count();
            // The next stretch begins where this one ends, so that the line has no gap.
            let reach = (length + 1).min(rest.len());
            let points: Vec<_> = rest[..reach].iter().map(|point| self.at(point.x, point.y)).collect();
            let width = if first.complete { 1.9 } else { 0.8 };
            if 1 < points.len() {
                scene.shapes.push(Shape::Line { points, paint, width, dash: pattern.dash });
            }
            rest = &rest[length..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TickStyle;
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
}
