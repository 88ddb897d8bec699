//! Figures as scenes: a short list of shapes that two small writers turn into SVG and PNG. Text is laid out with the
//! metrics of the embedded font, so that both look alike and nothing depends on the fonts of the machine.

mod axis;
mod base64;
mod font;
mod legend;
mod panel;
mod png;
mod raster;
mod scene;
mod svg;

pub use axis::{Axis, TickStyle};
pub use font::{Weight, text_width};
pub use legend::{draw_legend, legend_height};
pub use panel::{Panel, Series, SeriesPoint};
pub use png::{to_png, to_raster};
pub use raster::Raster;
pub use scene::{Anchor, COLOURS, Marker, PATTERNS, Paint, Pattern, Rgb, Scene, Shape};
pub use svg::{escape, to_svg};
