//! The pictures of a film: each frame of an episode under a line of text, beside it the value of each action, below it what
//! its colours mean, and |σ| of the whole film (the highest value, for agents without), with a cursor at the current frame
//! and a mark wherever the noise changed the action.

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

/// The column of action values: width of the names, width of the bars, height of a row.
const NAMES: f32 = 92.0;
const BARS: f32 = 84.0;
const BAR_ROW: f32 = 17.0;

/// A line of the legend, and the space that an entry takes beside its text.
const LEGEND_ROW: f32 = 18.0;
const LEGEND_SWATCH: f32 = 26.0;

/// More actions than these are not listed.
const MOST_ACTIONS: usize = 24;

/// The state that a frame shows, and the return before it: the text above the frame.
#[derive(Debug, Clone, PartialEq)]
pub struct FrameCaption {
    pub state: SeenState,
    /// Return of the episode before this frame.
    pub return_raw: f64,
}

/// What a film shows beside its frames.
#[derive(Debug, Clone, PartialEq)]
pub struct FilmContent {
    pub title: String,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// One per frame.
    pub captions: Vec<FrameCaption>,
    /// Whether the agent has a σ(s).
    pub has_sigma: bool,
    /// What the colours of a frame stand for; empty where that is plain.
    pub legend: Vec<(String, [u8; 3])>,
}

/// Draws the pictures of a film; holds what they have in common.
pub struct FilmRenderer {
    content: FilmContent,
    panel: Panel,
    game_area: Area,
    /// Upper left corner of the bars of the action values, and the range of all values.
    bars: (usize, usize),
    values: (f64, f64),
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
    /// For frames that are all of the size of `first`; the reason if they cannot be drawn.
    pub fn new(content: FilmContent, first: &Raster) -> Result<Self, String> {
        let FilmContent { title, actions, captions, has_sigma, legend } = &content;
        let (width, height) = first.fitted(LARGEST_FRAME.0, LARGEST_FRAME.1);
        let column = NAMES + BARS + MARGIN;
        let whole_width = (width + column + 3.0 * MARGIN).max(NARROWEST);
        let listed = &actions[..actions.len().min(MOST_ACTIONS)];
        let content_height = height.max(BAR_ROW * (listed.len() + 1) as f32);
        let game_area = Area {
            left: (MARGIN + (whole_width - column - 3.0 * MARGIN - width) / 2.0) as usize,
            top: HEADER as usize,
            width: width as usize,
            height: height as usize,
        };
        let (legend_top, places) = (HEADER + content_height + MARGIN, places(legend, whole_width - 2.0 * MARGIN));
        let legend_rows = places.last().map_or(0, |(_, row)| row + 1);
        let top = legend_top + LEGEND_ROW * legend_rows as f32;
        let panel = panel(captions, *has_sigma, (MARGIN, top), (whole_width - 2.0 * MARGIN, TRACE));
        let mut scene = Scene::new(whole_width, top + TRACE + MARGIN, title.clone());
        for ((meaning, _), (x, row)) in legend.iter().zip(&places) {
            let at = (MARGIN + x + LEGEND_SWATCH - 8.0, legend_top + LEGEND_ROW * *row as f32 + 12.0);
            scene.text(at, meaning.as_str(), 11.0, Anchor::Start, Paint::Muted);
        }
        let bars = ((whole_width - MARGIN - BARS) as usize, (HEADER + BAR_ROW) as usize);
        scene.text((bars.0 as f32, HEADER + 11.0), "Q of each action", 11.0, Anchor::Middle, Paint::Muted);
        for (i, action) in listed.iter().enumerate() {
            let at = (bars.0 as f32 - 6.0, bars.1 as f32 + BAR_ROW * i as f32 + 12.0);
            scene.text(at, shortened(action, NAMES), 11.0, Anchor::End, Paint::Ink);
        }
        let point = |caption: &FrameCaption| SeriesPoint {
            x: caption.state.interaction as f64,
            y: plotted(caption, *has_sigma),
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
        let mut canvas = Canvas { width: background.width(), rgb: background.rgb().to_vec() };
        for ((_, rgb), (x, row)) in legend.iter().zip(&places) {
            let at = ((MARGIN + x) as usize, (legend_top + LEGEND_ROW * *row as f32) as usize + 2);
            canvas.fill(at, (12, 12), Paint::Muted.rgb());
            canvas.fill((at.0 + 1, at.1 + 1), (10, 10), *rgb);
        }
        let background = canvas.raster(background.height())?;
        let all = captions.iter().flat_map(|caption| caption.state.q.iter().copied()).filter(|q| q.is_finite());
        let values = all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), q| (low.min(q), high.max(q)));
        Ok(Self { content, panel, game_area, bars, values, background })
    }

    /// Width and height of a picture of the film in pixels.
    pub fn size(&self) -> (usize, usize) {
        (self.background.width(), self.background.height())
    }

    /// Picture `i` of the film, around the pixels of its frame.
    pub fn draw(&self, i: usize, pixels: &Raster) -> Result<Raster, String> {
        let caption = &self.content.captions[i];
        let mut canvas = Canvas { width: self.background.width(), rgb: self.background.rgb().to_vec() };
        if caption.state.noise_changed_action {
            let Area { left, top, width, height } = self.game_area;
            canvas.fill((left - 4, top - 4), (width + 8, height + 8), Paint::Colour(0).rgb());
        }
        canvas.place(pixels, self.game_area);
        self.draw_values(&mut canvas, caption);
        let header = to_raster(&self.header(caption), 1.0)?;
        canvas.copy(&header);
        let plotted = plotted(caption, self.content.has_sigma);
        let (x, y) = self.panel.at(caption.state.interaction as f64, plotted);
        let [_, top, _, bottom] = self.panel.area();
        canvas.fill((x as usize, top as usize), (1, (bottom - top) as usize), Paint::Ink.rgb());
        canvas.fill((x as usize - 2, y as usize - 2), (5, 5), Paint::Ink.rgb());
        canvas.raster(self.size().1)
    }

    /// A bar per action, from the lowest value of the film; that of the action taken is filled, orange if noise chose it.
    fn draw_values(&self, canvas: &mut Canvas, caption: &FrameCaption) {
        let (low, high) = self.values;
        let span = high - low;
        for (i, q) in caption.state.q.iter().take(MOST_ACTIONS).enumerate() {
            let share = if 0.0 < span { ((q - low) / span).clamp(0.0, 1.0) } else { 0.5 };
            let length = (share * f64::from(BARS)) as usize + 1;
            let paint = match (i == caption.state.action, caption.state.noise_changed_action) {
                (true, true) => Paint::Colour(0),
                (true, false) => Paint::Colour(1),
                (false, _) => Paint::Grid,
            };
            let top = self.bars.1 + (BAR_ROW * i as f32) as usize + 3;
            canvas.fill((self.bars.0, top), (length.min(BARS as usize), 11), paint.rgb());
        }
    }

    fn header(&self, caption: &FrameCaption) -> Scene {
        let width = self.background.width() as f32;
        let mut scene = Scene::new(width, HEADER - 5.0, "");
        let action = self.content.actions.get(caption.state.action).map_or("?", String::as_str);
        let title = &self.content.title;
        let measured = if self.content.has_sigma {
            format!("|σ| {}", sigma(caption.state.sigma_abs))
        } else {
            format!("max Q {}", score(highest(caption)))
        };
        let left = [
            title.clone(),
            format!(
                "interaction {}   score {}   {measured}",
                grouped(caption.state.interaction),
                score_text(caption.return_raw)
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
        let free = width - 2.0 * MARGIN - text_width(title, 12.0, Weight::Regular);
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

/// What the trace shows of a state.
fn plotted(caption: &FrameCaption, has_sigma: bool) -> f64 {
    if has_sigma { caption.state.sigma_abs } else { highest(caption) }
}

/// The highest action value of a state.
fn highest(caption: &FrameCaption) -> f64 {
    caption.state.q.iter().copied().filter(|q| q.is_finite()).reduce(f64::max).unwrap_or(0.0)
}

/// A name that fits into this width.
fn shortened(name: &str, width: f32) -> String {
    let fits = |text: &str| text_width(text, 11.0, Weight::Regular) <= width;
    if fits(name) {
        return name.into();
    }
    let lengths = (1..name.chars().count()).rev();
    let mut cut = lengths.map(|length| name.chars().take(length).chain(['…']).collect::<String>());
    cut.find(|text| fits(text)).unwrap_or_default()
}

/// Where each entry of a legend stands: its distance from the left, and its row.
fn places(legend: &[(String, [u8; 3])], width: f32) -> Vec<(f32, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let place = |(meaning, _): &(String, [u8; 3])| {
        let own = LEGEND_SWATCH + text_width(meaning, 11.0, Weight::Regular);
        if 0.0 < x && width < x + own {
            (x, row) = (0.0, row + 1);
        }
        let place = (x, row);
        x += own;
        place
    };
    legend.iter().map(place).collect()
}

fn panel(captions: &[FrameCaption], has_sigma: bool, corner: (f32, f32), size: (f32, f32)) -> Panel {
    let (first, last) =
        (captions.first().map_or(0, |s| s.state.interaction), captions.last().map_or(1, |s| s.state.interaction));
    let values = captions.iter().map(|caption| plotted(caption, has_sigma));
    let name = if has_sigma { "|σ|" } else { "max Q" };
    Panel {
        title: format!("{name}; orange ticks: the noise changed the action"),
        x: Axis::exact("interaction of the episode", first as f64, last.max(first + 1) as f64, 6, TickStyle::Short),
        y: Axis::linear(name, values, 3, TickStyle::Short),
        corner,
        size,
    }
}

struct Canvas {
    width: usize,
    rgb: Vec<u8>,
}

impl Canvas {
    fn raster(self, height: usize) -> Result<Raster, String> {
        Raster::new(self.width, height, self.rgb).ok_or_else(|| "the film has no pixels".into())
    }

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

    fn content(captions: Vec<FrameCaption>, has_sigma: bool) -> FilmContent {
        let actions = vec!["NOOP".into(), "FIRE".into()];
        FilmContent { title: "boxing".into(), actions, captions, has_sigma, legend: Vec::new() }
    }

    #[test]
    fn the_game_is_drawn_in_its_area_and_a_changed_action_gets_a_border() {
        let picture = Raster::new(160, 210, [1, 2, 3].repeat(160 * 210)).unwrap();
        let captions = vec![caption(0, 0.1, false), caption(1, 0.3, true)];
        let renderer = FilmRenderer::new(content(captions, true), &picture).unwrap();
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
        for has_sigma in [true, false] {
            let renderer = FilmRenderer::new(content(vec![caption(5, 0.0, true)], has_sigma), &picture).unwrap();
            assert_eq!(renderer.draw(0, &picture).unwrap().width(), renderer.size().0);
        }
    }

    #[test]
    fn the_bar_of_the_action_taken_is_filled_and_the_legend_shows_its_colours() {
        let picture = Raster::new(320, 320, vec![0; 3 * 320 * 320]).unwrap();
        let mut shown = content(vec![caption(0, 0.0, false), caption(1, 0.0, true)], false);
        shown.legend = (0..12).map(|i| (format!("the meaning of colour {i}"), [7, 8, 100 + i])).collect();
        let renderer = FilmRenderer::new(shown, &picture).unwrap();
        let count = |raster: &Raster, rgb: [u8; 3]| raster.rgb().chunks_exact(3).filter(|pixel| *pixel == rgb).count();
        let [plain, changed] = [0, 1].map(|i| renderer.draw(i, &picture).unwrap());
        assert!((0..12).all(|i| count(&plain, [7, 8, 100 + i]) == 100), "twelve swatches in several rows");
        // Q is 0 and 1: the chosen action has the highest value, a whole bar.
        assert!(11 * BARS as usize <= count(&plain, Paint::Colour(1).rgb()));
        assert!(count(&changed, Paint::Colour(0).rgb()) > count(&plain, Paint::Colour(0).rgb()));
    }

    #[test]
    fn many_actions_with_long_names_and_a_flat_picture_fit() {
        let picture = Raster::new(48, 8, vec![0; 3 * 48 * 8]).unwrap();
        let mut shown = content(vec![caption(0, 0.0, false)], false);
        shown.actions = (0..40).map(|i| format!("an action with a long name {i}")).collect();
        shown.captions[0].state.q = (0..40).map(f64::from).collect();
        shown.captions[0].state.action = 39;
        let renderer = FilmRenderer::new(shown, &picture).unwrap();
        renderer.draw(0, &picture).unwrap();
        assert!(shortened("an action with a long name", NAMES).ends_with('…'));
    }
}
