//! Pictures made of pixels: frames of games, and scenes drawn as PNG.

use super::scene::{DOT_RADIUS, corners};
use super::{Anchor, Paint, Scene, Shape, font};
use std::sync::Arc;
use tiny_skia::{
    Color, FillRule, IntSize, LineJoin, Paint as Ink, Path, PathBuilder, Pixmap, PixmapPaint, Stroke, StrokeDash,
    Transform,
};

/// Pixels of a PNG file per pixel of its scene.
const PNG_SCALE: f32 = 2.0;

/// A picture, RGB, row by row. Cloning is cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    width: usize,
    height: usize,
    rgb: Arc<[u8]>,
}

impl Raster {
    /// None if there are not `width` × `height` pixels, or no pixel at all.
    pub fn new(width: usize, height: usize, rgb: Vec<u8>) -> Option<Self> {
        (0 < width && 0 < height && rgb.len() == 3 * width * height).then(|| Self { width, height, rgb: rgb.into() })
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// RGB of each pixel.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// As the bytes of a PNG file, pixel for pixel.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        self.pixmap().encode_png().map_err(|error| error.to_string())
    }

    /// The largest size with this picture's proportions that fits into a box; enlarged by whole factors only.
    pub fn fitted(&self, width: f32, height: f32) -> (f32, f32) {
        let factor = (width / self.width as f32).min(height / self.height as f32);
        let factor = if 1.0 < factor { factor.floor() } else { factor };
        (self.width as f32 * factor, self.height as f32 * factor)
    }

    fn of_pixmap(pixmap: &Pixmap) -> Self {
        let rgb = pixmap.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
        Self { width: pixmap.width() as usize, height: pixmap.height() as usize, rgb }
    }

    fn pixmap(&self) -> Pixmap {
        let rgba = self.rgb.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
        let size = IntSize::from_wh(self.width as u32, self.height as u32).expect("a raster has pixels");
        Pixmap::from_vec(rgba, size).expect("a raster has as many bytes as its size says")
    }
}

/// The scene as the bytes of a PNG file; the reason if it cannot be drawn.
pub fn to_png(scene: &Scene) -> Result<Vec<u8>, String> {
    paint(scene, PNG_SCALE)?.encode_png().map_err(|error| error.to_string())
}

/// The scene as pixels, `scale` of them per pixel of the scene; the reason if it cannot be drawn.
pub fn to_raster(scene: &Scene, scale: f32) -> Result<Raster, String> {
    paint(scene, scale).map(|pixmap| Raster::of_pixmap(&pixmap))
}

fn paint(scene: &Scene, scale: f32) -> Result<Pixmap, String> {
    let (width, height) = ((scene.width * scale).ceil() as u32, (scene.height * scale).ceil() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| format!("{width}×{height} pixels cannot be drawn"))?;
    pixmap.fill(opaque(Paint::Paper));
    let transform = Transform::from_scale(scale, scale);
    for shape in &scene.shapes {
        draw(&mut pixmap, shape, transform);
    }
    Ok(pixmap)
}

fn draw(pixmap: &mut Pixmap, shape: &Shape, transform: Transform) {
    match shape {
        Shape::Line { points, paint, width, dash } => {
            let Some(path) = path_through(points) else { return };
            let dash = (!dash.is_empty()).then(|| StrokeDash::new(dash.to_vec(), 0.0)).flatten();
            let stroke = Stroke { width: *width, line_join: LineJoin::Round, dash, ..Stroke::default() };
            pixmap.stroke_path(&path, &ink(opaque(*paint)), &stroke, transform, None);
        }
        Shape::Area { points, paint, opacity } => {
            let mut color = opaque(*paint);
            color.set_alpha(opacity.clamp(0.0, 1.0));
            fill(pixmap, path_through(points), color, transform);
        }
        Shape::Dot { at, paint, marker } => {
            let path = match corners(*marker) {
                [] => PathBuilder::from_circle(at.0, at.1, DOT_RADIUS),
                corners => path_through(&corners.iter().map(|(x, y)| (x + at.0, y + at.1)).collect::<Vec<_>>()),
            };
            fill(pixmap, path, opaque(*paint), transform);
        }
        Shape::Picture { at, size, raster } => {
            let picture = raster.pixmap();
            let (across, down) = (size.0 / raster.width() as f32, size.1 / raster.height() as f32);
            let placed = transform.pre_translate(at.0, at.1).pre_scale(across, down);
            pixmap.draw_pixmap(0, 0, picture.as_ref(), &PixmapPaint::default(), placed, None);
        }
        Shape::Text { at, text, size, anchor, weight, paint, upright } => {
            let width = font::text_width(text, *size, *weight);
            let shift = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -width / 2.0,
                Anchor::End => -width,
            };
            let turn = if *upright { Transform::from_rotate(-90.0) } else { Transform::identity() };
            let placed = transform.pre_translate(at.0, at.1).pre_concat(turn).pre_translate(shift, 0.0);
            fill(pixmap, font::outlines(text, *size, *weight), opaque(*paint), placed);
        }
    }
}

/// Draws nothing for a shape without extent, such as a blank text.
fn fill(pixmap: &mut Pixmap, path: Option<Path>, color: Color, transform: Transform) {
    if let Some(path) = path {
        pixmap.fill_path(&path, &ink(color), FillRule::Winding, transform, None);
    }
}

fn path_through(points: &[(f32, f32)]) -> Option<Path> {
    let mut builder = PathBuilder::new();
    let (first, rest) = points.split_first()?;
    builder.move_to(first.0, first.1);
    rest.iter().for_each(|point| builder.line_to(point.0, point.1));
    builder.finish()
}

fn opaque(paint: Paint) -> Color {
    let [r, g, b] = paint.rgb();
    Color::from_rgba8(r, g, b, 255)
}

fn ink(color: Color) -> Ink<'static> {
    let mut ink = Ink::default();
    ink.set_color(color);
    ink.anti_alias = true;
    ink
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_survive_a_round_trip_through_png() {
        let raster = Raster::new(2, 1, vec![1, 2, 3, 250, 251, 252]).unwrap();
        let read = Pixmap::decode_png(&raster.png().unwrap()).unwrap();
        assert_eq!(Raster::of_pixmap(&read), raster);
    }

    #[test]
    fn a_picture_of_the_wrong_number_of_bytes_is_none() {
        assert_eq!(Raster::new(2, 1, vec![0; 5]), None);
        assert_eq!(Raster::new(0, 1, vec![]), None);
    }

    #[test]
    fn small_pictures_grow_by_whole_factors_and_large_ones_shrink_to_fit() {
        let raster = |width, height| Raster::new(width, height, vec![0; 3 * width * height]).unwrap();
        assert_eq!(raster(160, 210).fitted(330.0, 430.0), (320.0, 420.0));
        assert_eq!(raster(800, 400).fitted(400.0, 400.0), (400.0, 200.0));
    }

    #[test]
    fn a_drawn_shape_is_seen_where_it_was_put() {
        let mut scene = Scene::new(20.0, 10.0, "a black half");
        let points = vec![(10.0, 0.0), (20.0, 0.0), (20.0, 10.0), (10.0, 10.0)];
        scene.shapes.push(Shape::Area { points, paint: Paint::Ink, opacity: 1.0 });
        let picture = Pixmap::decode_png(&to_png(&scene).unwrap()).unwrap();
        assert_eq!((picture.width(), picture.height()), (40, 20));
        let red_at = |x, y| picture.pixel(x, y).unwrap().red();
        assert_eq!((red_at(5, 10), red_at(35, 10)), (255, 26));
    }

    #[test]
    fn a_picture_is_drawn_larger_with_sharp_pixels() {
        let mut scene = Scene::new(20.0, 10.0, "a red and a blue square");
        let raster = Raster::new(2, 1, vec![255, 0, 0, 0, 0, 255]).unwrap();
        scene.shapes.push(Shape::Picture { at: (0.0, 0.0), size: (20.0, 10.0), raster });
        let drawn = to_raster(&scene, 1.0).unwrap();
        let pixel = |x: usize| &drawn.rgb()[3 * x..3 * x + 3];
        assert_eq!(
            (pixel(1), pixel(9), pixel(10), pixel(18)),
            (&[255, 0, 0][..], &[255, 0, 0][..], &[0, 0, 255][..], &[0, 0, 255][..])
        );
    }

    #[test]
    fn a_text_paints_within_its_measured_width() {
        let mut scene = Scene::new(60.0, 20.0, "a word");
        scene.text((5.0, 15.0), "mean", 12.0, Anchor::Start, Paint::Ink);
        let picture = Pixmap::decode_png(&to_png(&scene).unwrap()).unwrap();
        let end = ((5.0 + font::text_width("mean", 12.0, super::super::Weight::Regular)) * PNG_SCALE).ceil() as u32;
        let dark = |x: u32| (0..40).any(|y| picture.pixel(x, y).unwrap().red() < 128);
        assert!((10..end).any(dark) && !(0..9).any(dark) && !(end + 1..120).any(dark));
    }

    #[test]
    fn a_scene_without_extent_is_refused() {
        assert!(to_png(&Scene::new(0.0, 10.0, "nothing")).is_err());
    }
}
