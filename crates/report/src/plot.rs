//! Figures as scenes: a list of shapes that two small writers turn into SVG and PNG. Text is measured with the embedded
//! font, so that both look the same on every machine.

mod axis;
mod font;
mod panel;
mod raster;
mod scene;
mod svg;

pub use axis::{Axis, TickStyle};
pub use font::{Weight, text_width};
pub use panel::{EstimateRow, Panel, Series, SeriesPoint, draw_legend, legend_height};
pub use raster::{Raster, to_png, to_raster};
pub use scene::{Anchor, COLOURS, Marker, PATTERNS, Paint, Pattern, Rgb, Scene, Shape};
pub use svg::{escape, to_svg};
