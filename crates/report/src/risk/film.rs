//! The pictures of a film: each frame of an episode under a line of text, with |σ| of the whole film below it, a cursor at
//! the current frame and a mark wherever the noise changed the action.

use super::format::sigma;
use crate::agent::Look;
use crate::plot::{
    Anchor, Axis, Paint, Panel, Raster, Scene, Series, SeriesPoint, Shape, TickStyle, Weight, text_width, to_raster,
};
use sane_record::SeenState;
use sane_stats::number_format::{grouped, score};

const HEADER: f32 = 40.0;
const TRACE: f32 = 150.0;
const MARGIN: f32 = 8.0;
const NARROWEST: f32 = 480.0;
const LARGEST_FRAME: (f32, f32) = (480.0, 420.0);

/// The state that a frame shows, and the return before it: the text above the frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameCaption {
    pub state: SeenState,
    /// Return of the episode before this frame.
    pub return_raw: f64,
}

/// Draws the pictures of a film; holds what they have in common.
pub struct FilmRenderer {
    title: String,
    actions: Vec<String>,
    captions: Vec<FrameCaption>,
    panel: Panel,
    game_area: Area,
    background: Raster,
}

/// Where in the picture the frame of the game is drawn.
#[derive(Debug, Clone, Copy)]
struct Area {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl FilmRenderer {
    /// For frames with these captions, all of the size of `first`; the reason if they cannot be drawn.
    pub fn new(title: String, actions: &[String], captions: Vec<FrameCaption>, first: &Raster) -> Result<Self, String> {
        let (width, height) = first.fitted(LARGEST_FRAME.0, LARGEST_FRAME.1);
        let whole_width = (width + 2.0 * MARGIN).max(NARROWEST);
        let game_area = Area {
            left: ((whole_width - width) / 2.0) as usize,
            top: HEADER as usize,
            width: width as usize,
            height: height as usize,
        };
        let top = HEADER + height + MARGIN;
        let panel = panel(&captions, (MARGIN, top), (whole_width - 2.0 * MARGIN, TRACE));
        let mut scene = Scene::new(whole_width, top + TRACE + MARGIN, title.clone());
        let point = |caption: &FrameCaption| SeriesPoint {
            x: caption.state.interaction as f64,
            y: caption.state.sigma_abs,
            band: None,
            complete: true,
        };
        let look = Look { colour: 1, pattern: 0 };
        panel.draw(&mut scene, &[Series { look, points: captions.iter().map(point).collect() }]);
        let [_, area_top, ..] = panel.area();
        for caption in captions.iter().filter(|caption| caption.state.noise_changed_action) {
            let (x, _) = panel.at(caption.state.interaction as f64, 0.0);
            scene.rule((x, area_top), (x, area_top + 8.0), Paint::Colour(0), 1.5);
        }
        let background = to_raster(&scene, 1.0)?;
        Ok(Self { title, actions: actions.to_vec(), captions, panel, game_area, background })
    }

    /// Width and height of a picture of the film in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.background.width(), self.background.height())
    }

    /// Picture `i` of the film, around the pixels of its frame.
    pub fn draw(&self, i: usize, pixels: &Raster) -> Result<Raster, String> {
        let caption = &self.captions[i];
        let mut canvas = Canvas { width: self.background.width(), rgb: self.background.rgb().to_vec() };
        if caption.state.noise_changed_action {
            let Area { left, top, width, height } = self.game_area;
            canvas.fill((left - 4, top - 4), (width + 8, height + 8), Paint::Colour(0).rgb());
        }
        canvas.place(pixels, self.game_area);
        let header = to_raster(&self.header(caption), 1.0)?;
        canvas.copy(&header);
        let (x, y) = self.panel.at(caption.state.interaction as f64, caption.state.sigma_abs);
        let [_, top, _, bottom] = self.panel.area();
        canvas.fill((x as usize, top as usize), (1, (bottom - top) as usize), Paint::Ink.rgb());
        canvas.fill((x as usize - 2, y as usize - 2), (5, 5), Paint::Ink.rgb());
        let (width, height) = self.size();
        Raster::new(width, height, canvas.rgb).ok_or_else(|| "the film has no pixels".into())
    }

    fn header(&self, caption: &FrameCaption) -> Scene {
        let width = self.background.width() as f32;
        let mut scene = Scene::new(width, HEADER - 5.0, "");
        let action = self.actions.get(caption.state.action).map_or("?", String::as_str);
        let left = [
            self.title.clone(),
            format!(
                "interaction {}   score {}   |σ| {}",
                grouped(caption.state.interaction),
                score_text(caption.return_raw),
                sigma(caption.state.sigma_abs)
            ),
        ];
        scene.text((MARGIN, 14.0), left[0].as_str(), 12.0, Anchor::Start, Paint::Muted);
        scene.text((MARGIN, 30.0), left[1].as_str(), 12.0, Anchor::Start, Paint::Ink);
        let (paint, note) = if caption.state.noise_changed_action {
            (Paint::Colour(0), "changed by the noise")
        } else {
            (Paint::Ink, "")
        };
        let at = (width - MARGIN, 30.0);
        let weight = Weight::Bold;
        let text = action.to_owned();
        scene.shapes.push(Shape::Text { at, text, size: 12.0, anchor: Anchor::End, weight, paint, upright: false });
        let free = width - 2.0 * MARGIN - text_width(&self.title, 12.0, Weight::Regular);
        if text_width(note, 12.0, Weight::Regular) < free {
            scene.text((width - MARGIN, 14.0), note, 12.0, Anchor::End, paint);
        }
        scene
    }
}

fn score_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "−" } else { "" };
        return format!("{sign}{}", grouped(value.abs() as u64));
    }
    score(value)
}

fn panel(captions: &[FrameCaption], corner: (f32, f32), size: (f32, f32)) -> Panel {
    let (first, last) =
        (captions.first().map_or(0, |s| s.state.interaction), captions.last().map_or(1, |s| s.state.interaction));
    let sigmas = captions.iter().map(|caption| caption.state.sigma_abs);
    Panel {
        title: "|σ|; orange ticks: the noise changed the action".into(),
        x: Axis::exact("interaction of the episode", first as f64, last.max(first + 1) as f64, 6, TickStyle::Short),
        y: Axis::linear("|σ|", sigmas, 3, TickStyle::Short),
        corner,
        size,
    }
}

struct Canvas {
    width: usize,
    rgb: Vec<u8>,
}

impl Canvas {
    fn fill(&mut self, (left, top): (usize, usize), (width, height): (usize, usize), colour: [u8; 3]) {
        for y in top..top + height {
            let start = 3 * (y * self.width + left);
            self.rgb[start..start + 3 * width].copy_from_slice(&colour.repeat(width));
        }
    }

    /// A picture as wide as the canvas, at its top.
    fn copy(&mut self, picture: &Raster) {
        self.rgb[..picture.rgb().len()].copy_from_slice(picture.rgb());
    }

    /// A picture of another size, scaled by nearest neighbour.
    fn place(&mut self, picture: &Raster, area: Area) {
        for y in 0..area.height {
            let from_row = y * picture.height() / area.height * picture.width();
            let to_row = (area.top + y) * self.width + area.left;
            for x in 0..area.width {
                let from = 3 * (from_row + x * picture.width() / area.width);
                let to = 3 * (to_row + x);
                self.rgb[to..to + 3].copy_from_slice(&picture.rgb()[from..from + 3]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caption(interaction: u64, sigma_abs: f64, noise_changed_action: bool) -> FrameCaption {
        let state = SeenState {
            episode: 0,
            interaction,
            sigma_abs,
            q: vec![0.0, 1.0],
            action: 1,
            noise_changed_action,
            true_risk: None,
        };
        FrameCaption { state, return_raw: 3.0 }
    }

    #[test]
    fn the_game_is_drawn_in_its_area_and_a_changed_action_gets_a_border() {
        let picture = Raster::new(160, 210, [1, 2, 3].repeat(160 * 210)).unwrap();
        let captions = vec![caption(0, 0.1, false), caption(1, 0.3, true)];
        let renderer = FilmRenderer::new("boxing".into(), &["NOOP".into(), "FIRE".into()], captions, &picture).unwrap();
        let Area { left, top, width, height } = renderer.game_area;
        let pixel = |raster: &Raster, x: usize, y: usize| raster.rgb()[3 * (y * raster.width() + x)..][..3].to_vec();
        let [plain, changed] = [0, 1].map(|i| renderer.draw(i, &picture).unwrap());
        assert_eq!(
            (pixel(&plain, left, top), pixel(&plain, left + width - 1, top + height - 1)),
            (vec![1, 2, 3], vec![1, 2, 3])
        );
        let orange = Paint::Colour(0).rgb().to_vec();
        assert_eq!((pixel(&plain, left - 2, top), pixel(&changed, left - 2, top)), (vec![255; 3], orange));
    }

    #[test]
    fn a_film_of_one_picture_can_be_drawn() {
        let picture = Raster::new(320, 320, vec![0; 3 * 320 * 320]).unwrap();
        let renderer =
            FilmRenderer::new("road".into(), &["left".into()], vec![caption(5, 0.0, true)], &picture).unwrap();
        assert_eq!(renderer.draw(0, &picture).unwrap().width(), renderer.size().0);
    }
}
