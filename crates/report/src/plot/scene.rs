//! What a figure consists of.

use super::{Raster, Weight};

/// Red, green, blue.
pub type Rgb = [u8; 3];

/// Colours that stay apart for readers with any of the usual kinds of colour blindness (Okabe and Ito 2008), darkened a
/// little where they would be too faint on white; the last is a neutral grey.
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

/// What something is painted with. A page in dark colours may replace them by their name.
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
    /// In a figure that stands alone, on white.
    pub fn rgb(self) -> Rgb {
        match self {
            Self::Ink => [26, 28, 32],
            Self::Muted => [90, 95, 105],
            Self::Grid => [222, 225, 230],
            Self::Paper => [255, 255, 255],
            Self::Colour(i) => COLOURS[i % COLOURS.len()],
        }
    }

    /// Name for style sheets.
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

/// Form of a dot.
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

/// Dashes and marker, so that colour is never the only sign.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pattern {
    /// Lengths of dash and gap; empty for a solid line.
    pub dash: &'static [f32],
    /// Form of its dots.
    pub marker: Marker,
}

/// The patterns that variants of one colour go through.
pub const PATTERNS: [Pattern; 6] = [
    Pattern { dash: &[], marker: Marker::Circle },
    Pattern { dash: &[6.0, 3.0], marker: Marker::Square },
    Pattern { dash: &[2.0, 2.5], marker: Marker::Triangle },
    Pattern { dash: &[8.0, 3.0, 2.0, 3.0], marker: Marker::Diamond },
    Pattern { dash: &[12.0, 4.0], marker: Marker::Square },
    Pattern { dash: &[4.0, 1.5], marker: Marker::Triangle },
];

/// Where a text's position lies in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// At its beginning.
    Start,
    /// In its middle.
    Middle,
    /// At its end.
    End,
}

/// One thing to draw. Points are x right, y down, in pixels.
#[derive(Debug, Clone, PartialEq)]
pub enum Shape {
    /// An open line through points.
    Line {
        /// Its points.
        points: Vec<(f32, f32)>,
        /// Colour.
        paint: Paint,
        /// Thickness.
        width: f32,
        /// Dash and gap; empty for solid.
        dash: &'static [f32],
    },
    /// A filled area.
    Area {
        /// Its outline.
        points: Vec<(f32, f32)>,
        /// Colour.
        paint: Paint,
        /// 0 to 1.
        opacity: f32,
    },
    /// A dot.
    Dot {
        /// Centre.
        at: (f32, f32),
        /// Colour.
        paint: Paint,
        /// Form.
        marker: Marker,
    },
    /// A picture made of pixels, which stay sharp when it is drawn larger.
    Picture {
        /// Upper left corner.
        at: (f32, f32),
        /// Width and height.
        size: (f32, f32),
        /// The pixels.
        raster: Raster,
    },
    /// A line of text.
    Text {
        /// Where its anchor lies, on the base line.
        at: (f32, f32),
        /// The words.
        text: String,
        /// Height of the letters in pixels.
        size: f32,
        /// Which end lies at `at`.
        anchor: Anchor,
        /// Thickness of the letters.
        weight: Weight,
        /// Colour.
        paint: Paint,
        /// Whether it runs from bottom to top.
        upright: bool,
    },
}

/// A figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Scene {
    /// Width in pixels.
    pub width: f32,
    /// Height in pixels.
    pub height: f32,
    /// What it shows, for those who cannot see it.
    pub description: String,
    /// What to draw, from back to front.
    pub shapes: Vec<Shape>,
}

impl Scene {
    /// An empty one.
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
