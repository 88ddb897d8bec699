//! A scene as SVG. Colours are attributes, so that a page's style sheet can replace them by class in dark mode.

use super::scene::{DOT_RADIUS, corners};
use super::{Anchor, Paint, Scene, Shape, Weight};
use std::fmt::Write;

/// The scene as a complete SVG document.
pub fn to_svg(scene: &Scene) -> String {
    let (width, height) = (number(scene.width), number(scene.height));
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} \
         {height}\" role=\"img\" font-family=\"'DejaVu Sans',Verdana,sans-serif\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" {}/>\n",
        escape(&scene.description),
        colour("fill", Paint::Paper)
    );
    for shape in &scene.shapes {
        write_shape(&mut svg, shape);
    }
    svg + "</svg>\n"
}

/// Text for use between tags and in attributes.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

fn write_shape(svg: &mut String, shape: &Shape) {
    // Writing to a string cannot fail.
    let _ = match shape {
        Shape::Line { points, paint, width, dash } => {
            let dash = match dash {
                [] => String::new(),
                lengths => format!(
                    " stroke-dasharray=\"{}\"",
                    lengths.iter().map(|&l| number(l)).collect::<Vec<_>>().join(" ")
                ),
            };
            let (points, stroke, width) = (listed(points), colour("stroke", *paint), number(*width));
            writeln!(
                svg,
                "<polyline points=\"{points}\" fill=\"none\" {stroke} stroke-width=\"{width}\" \
                 stroke-linejoin=\"round\"{dash}/>"
            )
        }
        Shape::Area { points, paint, opacity } => {
            let (points, fill) = (listed(points), colour("fill", *paint));
            writeln!(svg, "<polygon points=\"{points}\" {fill} fill-opacity=\"{}\"/>", number(*opacity))
        }
        Shape::Dot { at, paint, marker } => match corners(*marker) {
            [] => {
                let (x, y) = (number(at.0), number(at.1));
                writeln!(svg, "<circle cx=\"{x}\" cy=\"{y}\" r=\"{}\" {}/>", number(DOT_RADIUS), colour("fill", *paint))
            }
            corners => {
                let points: Vec<_> = corners.iter().map(|(x, y)| (x + at.0, y + at.1)).collect();
                writeln!(svg, "<polygon points=\"{}\" {}/>", listed(&points), colour("fill", *paint))
            }
        },
        Shape::Picture { at, size, raster } => {
            let [x, y, width, height] = [at.0, at.1, size.0, size.1].map(number);
            // Encoding into memory fails for pictures too large to exist there.
            let png = base64(&raster.png().unwrap_or_default());
            writeln!(
                svg,
                "<image x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" preserveAspectRatio=\"none\" \
                 style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{png}\"/>"
            )
        }
        Shape::Text { at, text, size, anchor, weight, paint, upright } => {
            let (x, y) = (number(at.0), number(at.1));
            let anchor = match anchor {
                Anchor::Start => "start",
                Anchor::Middle => "middle",
                Anchor::End => "end",
            };
            let weight = if *weight == Weight::Bold { " font-weight=\"bold\"" } else { "" };
            let turn = if *upright { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{}\" text-anchor=\"{anchor}\"{weight}{turn} {}>{}</text>",
                number(*size),
                colour("fill", *paint),
                escape(text)
            )
        }
    };
}

fn colour(attribute: &str, paint: Paint) -> String {
    let [r, g, b] = paint.rgb();
    let kind = if attribute == "fill" { "f" } else { "s" };
    format!("class=\"{kind}-{}\" {attribute}=\"#{r:02x}{g:02x}{b:02x}\"", paint.class())
}

fn listed(points: &[(f32, f32)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect::<Vec<_>>().join(" ")
}

/// A hundredth of a pixel is fine enough.
fn number(value: f32) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".into() } else { text.into() }
}

/// Digits of base 64 (RFC 4648, section 4).
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The bytes in base 64, padded.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |i: usize| u32::from(chunk.get(i).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i) & 63) as usize];
            text.push(if i <= chunk.len() { letter as char } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_cannot_become_markup() {
        let mut scene = Scene::new(10.0, 10.0, "a & <b>");
        scene.text((1.0, 2.0), "<script>\"", 9.0, Anchor::Start, Paint::Ink);
        let svg = to_svg(&scene);
        assert!(svg.contains("a &amp; &lt;b&gt;") && svg.contains("&lt;script&gt;&quot;") && !svg.contains("<script"));
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([1.0, 0.5, -0.001, 12.346].map(number)[..], ["1", "0.5", "0", "12.35"]);
    }

    #[test]
    fn the_vectors_of_the_standard_come_out() {
        for (plain, coded) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foob", "Zm9vYg=="),
            ("fooba", "Zm9vYmE="),
            ("foobar", "Zm9vYmFy"),
        ] {
            assert_eq!(base64(plain.as_bytes()), coded);
        }
        assert_eq!(base64(&[0xff, 0xfe, 0xfb]), "//77");
    }
}
