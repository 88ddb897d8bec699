//! A scene as PNG, twice as fine as its pixels, for slides and old programs.

use super::scene::{DOT_RADIUS, corners};
use super::{Anchor, Paint, Raster, Scene, Shape, font};
use tiny_skia::{
    Color, FillRule, LineJoin, Paint as Ink, Path, PathBuilder, Pixmap, PixmapPaint, Stroke, StrokeDash, Transform,
};

/// Pixels of the picture per pixel of the scene.
const FINENESS: f32 = 2.0;

/// The scene as the bytes of a PNG file; the reason if it cannot be painted.
pub fn to_png(scene: &Scene) -> Result<Vec<u8>, String> {
    paint(scene, FINENESS)?.encode_png().map_err(|error| error.to_string())
}

/// The scene as pixels, `fineness` of them per pixel of the scene; the reason if it cannot be painted.
pub fn to_raster(scene: &Scene, fineness: f32) -> Result<Raster, String> {
    paint(scene, fineness).map(|pixmap| Raster::of_pixmap(&pixmap))
}

fn paint(scene: &Scene, fineness: f32) -> Result<Pixmap, String> {
    let (width, height) = ((scene.width * fineness).ceil() as u32, (scene.height * fineness).ceil() as u32);
    let mut pixmap = Pixmap::new(width, height).ok_or_else(|| format!("{width}×{height} pixels are no picture"))?;
    pixmap.fill(opaque(Paint::Paper));
    let scale = Transform::from_scale(fineness, fineness);
    for shape in &scene.shapes {
        draw(&mut pixmap, shape, scale);
    }
    Ok(pixmap)
}

fn draw(pixmap: &mut Pixmap, shape: &Shape, scale: Transform) {
    match shape {
        Shape::Line { points, paint, width, dash } => {
            let Some(path) = path_through(points) else { return };
            let dash = (!dash.is_empty()).then(|| StrokeDash::new(dash.to_vec(), 0.0)).flatten();
            let stroke = Stroke { width: *width, line_join: LineJoin::Round, dash, ..Stroke::default() };
            pixmap.stroke_path(&path, &ink(opaque(*paint)), &stroke, scale, None);
        }
        Shape::Area { points, paint, opacity } => {
            let mut color = opaque(*paint);
            color.set_alpha(opacity.clamp(0.0, 1.0));
            fill(pixmap, path_through(points), color, scale);
        }
        Shape::Dot { at, paint, marker } => {
            let path = match corners(*marker) {
                [] => PathBuilder::from_circle(at.0, at.1, DOT_RADIUS),
                corners => path_through(&corners.iter().map(|(x, y)| (x + at.0, y + at.1)).collect::<Vec<_>>()),
            };
            fill(pixmap, path, opaque(*paint), scale);
        }
        Shape::Picture { at, size, raster } => {
            let picture = raster.pixmap();
            let (across, down) = (size.0 / raster.width() as f32, size.1 / raster.height() as f32);
            let place = scale.pre_translate(at.0, at.1).pre_scale(across, down);
            pixmap.draw_pixmap(0, 0, picture.as_ref(), &PixmapPaint::default(), place, None);
        }
        Shape::Text { at, text, size, anchor, weight, paint, upright } => {
            let width = font::text_width(text, *size, *weight);
            let shift = match anchor {
                Anchor::Start => 0.0,
                Anchor::Middle => -width / 2.0,
                Anchor::End => -width,
            };
            let turn = if *upright { Transform::from_rotate(-90.0) } else { Transform::identity() };
            let place = scale.pre_translate(at.0, at.1).pre_concat(turn).pre_translate(shift, 0.0);
            fill(pixmap, font::outlines(text, *size, *weight), opaque(*paint), place);
        }
    }
}

/// Nothing is drawn for a shape without extent, as the blank text.
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
        let end = ((5.0 + font::text_width("mean", 12.0, super::super::Weight::Regular)) * FINENESS).ceil() as u32;
        let dark = |x: u32| (0..40).any(|y| picture.pixel(x, y).unwrap().red() < 128);
        assert!((10..end).any(dark) && !(0..9).any(dark) && !(end + 1..120).any(dark));
    }

    #[test]
    fn a_scene_without_extent_is_refused() {
        assert!(to_png(&Scene::new(0.0, 10.0, "nothing")).is_err());
    }
}
