//! A film of an episode: each picture under a line of words, with |σ| of the whole film below it, a cursor at the present
//! and a mark wherever the noise changed the action.

use super::words::sigma;
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

/// One picture's words.
#[derive(Debug, Clone, PartialEq)]
pub struct Shot {
    /// What the policy made of the state.
    pub state: SeenState,
    /// Return of the episode before it.
    pub return_raw: f64,
}

/// All that stays the same from picture to picture.
pub struct FilmStrip {
    title: String,
    actions: Vec<String>,
    shots: Vec<Shot>,
    panel: Panel,
    frame: Frame,
    still: Raster,
}

/// Where the world's picture stands.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: usize,
    top: usize,
    width: usize,
    height: usize,
}

impl FilmStrip {
    /// Of these shots, whose pictures all have the size of `first`; the reason if it cannot be drawn.
    pub fn new(title: String, actions: &[String], shots: Vec<Shot>, first: &Raster) -> Result<Self, String> {
        let (width, height) = first.fitted(LARGEST_FRAME.0, LARGEST_FRAME.1);
        let whole_width = (width + 2.0 * MARGIN).max(NARROWEST);
        let frame = Frame {
            left: ((whole_width - width) / 2.0) as usize,
            top: HEADER as usize,
            width: width as usize,
            height: height as usize,
        };
        let top = HEADER + height + MARGIN;
        let panel = panel(&shots, (MARGIN, top), (whole_width - 2.0 * MARGIN, TRACE));
        let mut scene = Scene::new(whole_width, top + TRACE + MARGIN, title.clone());
        let point = |shot: &Shot| SeriesPoint {
            x: shot.state.interaction as f64,
            y: shot.state.sigma_abs,
            band: None,
            complete: true,
        };
        let look = Look { colour: 1, pattern: 0 };
        panel.draw(&mut scene, &[Series { look, points: shots.iter().map(point).collect() }]);
        let [_, area_top, ..] = panel.area();
        for shot in shots.iter().filter(|shot| shot.state.noise_changed_action) {
            let (x, _) = panel.at(shot.state.interaction as f64, 0.0);
            scene.rule((x, area_top), (x, area_top + 8.0), Paint::Colour(0), 1.5);
        }
        let still = to_raster(&scene, 1.0)?;
        Ok(Self { title, actions: actions.to_vec(), shots, panel, frame, still })
    }

    /// Pixels of a picture of the film, across and down.
    pub fn size(&self) -> (usize, usize) {
        (self.still.width(), self.still.height())
    }

    /// Picture `i` of the film, around what the world showed.
    pub fn draw(&self, i: usize, picture: &Raster) -> Result<Raster, String> {
        let shot = &self.shots[i];
        let mut canvas = Canvas { width: self.still.width(), rgb: self.still.rgb().to_vec() };
        if shot.state.noise_changed_action {
            let Frame { left, top, width, height } = self.frame;
            canvas.fill((left - 4, top - 4), (width + 8, height + 8), Paint::Colour(0).rgb());
        }
        canvas.place(picture, self.frame);
        let header = to_raster(&self.header(shot), 1.0)?;
        canvas.copy(&header);
        let (x, y) = self.panel.at(shot.state.interaction as f64, shot.state.sigma_abs);
        let [_, top, _, bottom] = self.panel.area();
        canvas.fill((x as usize, top as usize), (1, (bottom - top) as usize), Paint::Ink.rgb());
        canvas.fill((x as usize - 2, y as usize - 2), (5, 5), Paint::Ink.rgb());
        let (width, height) = self.size();
        Raster::new(width, height, canvas.rgb).ok_or_else(|| "the film has no pixels".into())
    }

    fn header(&self, shot: &Shot) -> Scene {
        let width = self.still.width() as f32;
        let mut scene = Scene::new(width, HEADER - 5.0, "");
        let action = self.actions.get(shot.state.action).map_or("?", String::as_str);
        let left = [
            self.title.clone(),
            format!(
                "interaction {}   score {}   |σ| {}",
                grouped(shot.state.interaction),
                score_words(shot.return_raw),
                sigma(shot.state.sigma_abs)
            ),
        ];
        scene.text((MARGIN, 14.0), left[0].as_str(), 12.0, Anchor::Start, Paint::Muted);
        scene.text((MARGIN, 30.0), left[1].as_str(), 12.0, Anchor::Start, Paint::Ink);
        let (paint, note) =
            if shot.state.noise_changed_action { (Paint::Colour(0), "changed by the noise") } else { (Paint::Ink, "") };
        let at = (width - MARGIN, 30.0);
        let weight = Weight::Bold;
        let text = action.to_owned();
        scene.shapes.push(Shape::Text { at, text, size: 12.0, anchor: Anchor::End, weight, paint, upright: false });
        let room = width - 2.0 * MARGIN - text_width(&self.title, 12.0, Weight::Regular);
        if text_width(note, 12.0, Weight::Regular) < room {
            scene.text((width - MARGIN, 14.0), note, 12.0, Anchor::End, paint);
        }
        scene
    }
}

fn score_words(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        let sign = if value < 0.0 { "−" } else { "" };
        return format!("{sign}{}", grouped(value.abs() as u64));
    }
    score(value)
}

fn panel(shots: &[Shot], corner: (f32, f32), size: (f32, f32)) -> Panel {
    let (first, last) =
        (shots.first().map_or(0, |s| s.state.interaction), shots.last().map_or(1, |s| s.state.interaction));
    let sigmas = shots.iter().map(|shot| shot.state.sigma_abs);
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

    /// A picture of another size, by its nearest pixels.
    fn place(&mut self, picture: &Raster, frame: Frame) {
        for y in 0..frame.height {
            let from_row = y * picture.height() / frame.height * picture.width();
            let to_row = (frame.top + y) * self.width + frame.left;
            for x in 0..frame.width {
                let from = 3 * (from_row + x * picture.width() / frame.width);
                let to = 3 * (to_row + x);
                self.rgb[to..to + 3].copy_from_slice(&picture.rgb()[from..from + 3]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shot(interaction: u64, sigma_abs: f64, noise_changed_action: bool) -> Shot {
        let state = SeenState {
            episode: 0,
            interaction,
            sigma_abs,
            q: vec![0.0, 1.0],
            action: 1,
            noise_changed_action,
            true_risk: None,
        };
        Shot { state, return_raw: 3.0 }
    }

    #[test]
    fn the_world_is_seen_in_its_place_and_a_changed_action_is_framed() {
        let picture = Raster::new(160, 210, [1, 2, 3].repeat(160 * 210)).unwrap();
        let shots = vec![shot(0, 0.1, false), shot(1, 0.3, true)];
        let strip = FilmStrip::new("boxing".into(), &["NOOP".into(), "FIRE".into()], shots, &picture).unwrap();
        let Frame { left, top, width, height } = strip.frame;
        let pixel = |raster: &Raster, x: usize, y: usize| raster.rgb()[3 * (y * raster.width() + x)..][..3].to_vec();
        let [plain, changed] = [0, 1].map(|i| strip.draw(i, &picture).unwrap());
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
        let strip = FilmStrip::new("road".into(), &["left".into()], vec![shot(5, 0.0, true)], &picture).unwrap();
        assert_eq!(strip.draw(0, &picture).unwrap().width(), strip.size().0);
    }
}
