//! A figure as a list of shapes, with their colours and line patterns.

use super::{Raster, Weight};

pub type Rgb = [u8; 3];

/// Colours that readers with common kinds of colour blindness can distinguish (Okabe and Ito 2008), some darkened for
/// contrast on white; the last is a neutral grey.
pub const COLOURS: [Rgb; 8] = [
    [213, 94, 0],
    [0, 114, 178],
    [0, 158, 115],
    [120, 120, 120],
    [204, 121, 167],
    [86, 180, 233],
    [200, 140, 0],
    [90, 90, 90],
];

/// A colour by its role. A page in dark mode replaces it by its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// Text and axes.
    Ink,
    /// Secondary text.
    Muted,
    /// Grid lines.
    Grid,
    /// Background.
    Paper,
    /// A colour of [`COLOURS`].
    Colour(usize),
}

impl Paint {
    /// In a stand-alone figure, on white.
    pub fn rgb(self) -> Rgb {
        match self {
            Self::Ink => [26, 28, 32],
            Self::Muted => [90, 95, 105],
            Self::Grid => [222, 225, 230],
            Self::Paper => [255, 255, 255],
            Self::Colour(i) => COLOURS[i % COLOURS.len()],
        }
    }

    /// Class for style sheets.
    pub fn class(self) -> String {
        match self {
            Self::Ink => "ink".into(),
            Self::Muted => "muted".into(),
            Self::Grid => "grid".into(),
            Self::Paper => "paper".into(),
            Self::Colour(i) => format!("c{}", i % COLOURS.len()),
        }
    }
}

/// Shape of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Circle,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
}

/// Dashes and marker, so that curves differ in more than colour.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Lengths of dash and gap; empty for a solid line.
    pub dash: &'static [f32],
    pub marker: Marker,
}

/// The patterns that curves of one colour are distinguished by.
pub const PATTERNS: [Pattern; 6] = [
    Pattern { dash: &[], marker: Marker::Circle },
    Pattern { dash: &[6.0, 3.0], marker: Marker::Square },
    Pattern { dash: &[2.0, 2.5], marker: Marker::Triangle },
    Pattern { dash: &[8.0, 3.0, 2.0, 3.0], marker: Marker::Diamond },
    Pattern { dash: &[12.0, 4.0], marker: Marker::Square },
    Pattern { dash: &[4.0, 1.5], marker: Marker::Triangle },
];

/// Which point of a text its position refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    Start,
    Middle,
    End,
}

/// A shape. Points are in pixels, x to the right, y down.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An open line through points.
    Line {
        points: Vec<(f32, f32)>,
        paint: Paint,
        width: f32,
        /// Lengths of dash and gap; empty for a solid line.
        dash: &'static [f32],
    },
    /// A filled area.
    Area {
        points: Vec<(f32, f32)>,
        paint: Paint,
        /// From 0 to 1.
        opacity: f32,
    },
    /// A dot.
    Dot {
        /// Centre.
        at: (f32, f32),
        paint: Paint,
        marker: Marker,
    },
    /// A picture of pixels, scaled without smoothing.
    Picture {
        /// Upper left corner.
        at: (f32, f32),
        size: (f32, f32),
        raster: Raster,
    },
    /// A line of text.
    Text {
        /// Of its anchor, on the base line.
        at: (f32, f32),
        text: String,
        /// Font size in pixels.
        size: f32,
        anchor: Anchor,
        weight: Weight,
        paint: Paint,
        /// Whether it runs from bottom to top.
        upright: bool,
    },
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// In pixels.
    pub width: f32,
    /// In pixels.
    pub height: f32,
    /// Alternative text.
    pub description: String,
    /// From back to front.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// A scene without shapes.
    pub fn new(width: f32, height: f32, description: impl Into<String>) -> Self {
        Self { width, height, description: description.into(), shapes: Vec::new() }
    }

    /// A straight solid line.
    pub fn rule(&mut self, from: (f32, f32), to: (f32, f32), paint: Paint, width: f32) {
        self.shapes.push(Shape::Line { points: vec![from, to], paint, width, dash: &[] });
    }

    /// A horizontal text.
    pub fn text(&mut self, at: (f32, f32), text: impl Into<String>, size: f32, anchor: Anchor, paint: Paint) {
        let text = text.into();
        self.shapes.push(Shape::Text { at, text, size, anchor, weight: Weight::Regular, paint, upright: false });
    }
}

/// The corners of a marker around the origin; a circle has none.
pub(super) fn corners(marker: Marker) -> &'static [(f32, f32)] {
    match marker {
        Marker::Circle => &[],
        Marker::Square => &[(-3.5, -3.5), (3.5, -3.5), (3.5, 3.5), (-3.5, 3.5)],
        Marker::Triangle => &[(0.0, -4.8), (4.4, 3.4), (-4.4, 3.4)],
        Marker::Diamond => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
    }
}

/// Radius of a round dot.
pub(super) const DOT_RADIUS: f32 = 4.0;
