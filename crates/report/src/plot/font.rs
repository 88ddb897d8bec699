//! The embedded font: the width of a text and the outlines of its glyphs.

use std::sync::LazyLock;
use tiny_skia::{Path, PathBuilder, Transform};
use ttf_parser::{Face, OutlineBuilder};

/// Font weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    Regular,
    Bold,
}

static REGULAR: LazyLock<Face<'static>> = LazyLock::new(|| face(include_bytes!("../../assets/dejavu-sans-subset.ttf")));
static BOLD: LazyLock<Face<'static>> =
    LazyLock::new(|| face(include_bytes!("../../assets/dejavu-sans-bold-subset.ttf")));

fn face(bytes: &'static [u8]) -> Face<'static> {
    Face::parse(bytes, 0).expect("the embedded font is a font")
}

fn of(weight: Weight) -> &'static Face<'static> {
    match weight {
        Weight::Regular => &REGULAR,
        Weight::Bold => &BOLD,
    }
}

/// Width in pixels.
pub fn text_width(text: &str, size: f32, weight: Weight) -> f32 {
    let face = of(weight);
    let units: f32 = text.chars().map(|c| advance(face, c)).sum();
    units * size / f32::from(face.units_per_em())
}

/// The outlines of a text that begins at the origin, y down.
pub(super) fn outlines(text: &str, size: f32, weight: Weight) -> Option<Path> {
    let face = of(weight);
    let mut outline = Outline { builder: PathBuilder::new(), offset: 0.0 };
    for c in text.chars() {
        face.outline_glyph(face.glyph_index(c).unwrap_or_default(), &mut outline);
        outline.offset += advance(face, c);
    }
    let scale = size / f32::from(face.units_per_em());
    outline.builder.finish()?.transform(Transform::from_scale(scale, -scale))
}

/// A character without a glyph is as wide as the box that replaces it.
fn advance(face: &Face<'_>, c: char) -> f32 {
    face.glyph_hor_advance(face.glyph_index(c).unwrap_or_default()).map_or(0.0, f32::from)
}

struct Outline {
    builder: PathBuilder,
    offset: f32,
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        self.builder.move_to(x + self.offset, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.builder.line_to(x + self.offset, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.builder.quad_to(x1 + self.offset, y1, x + self.offset, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.builder.cubic_to(x1 + self.offset, y1, x2 + self.offset, y2, x + self.offset, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_as_wide_as_its_letters_and_bold_is_wider() {
        let width = |text: &str| text_width(text, 12.0, Weight::Regular);
        assert!((width("ab") - width("a") - width("b")).abs() < 1e-4);
        assert!(width("mean") < text_width("mean", 12.0, Weight::Bold));
        assert_eq!(width(""), 0.0);
    }

    #[test]
    fn the_font_has_every_sign_the_figures_use() {
        for c in "abcXYZ0123456789 .,:;()[]/%+=<>|_-−±·–—…εστ²³⁴⁵⁶⁷⁸⁹⁻→".chars() {
            assert!(REGULAR.glyph_index(c).is_some() && BOLD.glyph_index(c).is_some(), "{c}");
        }
    }
}
