//! Two pictures that take turns, and how to colour a frame afterwards.
//!
//! Lines that a program does not reach keep what was there two frames ago, so an uncoloured frame may be missed later.
//! An uncoloured frame therefore leaves an [`Exposure`]: the picture chip as it was, and the writes that changed it.
//! Running the writes through the same chip with a picture attached gives exactly the pixels that were left out. An
//! exposure is thrown away as soon as a later frame has covered the whole window of the same picture.

use serde::{Deserialize, Serialize};

use crate::config::PictureMode;
use crate::tia::{BLACK_ROW, Canvas, NO_REGISTER, PictureRow, Tia, WIDTH};

/// More exposures than this are developed rather than kept.
const MOST_EXPOSURES: usize = 4;

/// A write that changed the picture chip: from the top, clocks since the exposure began, register, value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Write(u64);

impl Write {
    #[inline(always)]
    fn new(clocks: u64, register: u8, value: u8) -> Self {
        Self(clocks << 16 | u64::from(register) << 8 | u64::from(value))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Exposure {
    before: Tia,
    first_clock: u64,
    writes: Vec<Write>,
    /// The clock up to which pixels were asked for.
    asked: u64,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct Picture {
    rows: Vec<PictureRow>,
    undeveloped: Vec<Exposure>,
}

/// The two pictures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Film {
    pictures: [Picture; 2],
    current: u8,
    coloured: bool,
    /// The writes of the run in progress, if it is not coloured.
    writes: Vec<Write>,
    first_clock: u64,
    /// Exposures of the current picture that are older than the frame in progress.
    older: usize,
    /// The undrawn rows of a frame that did not end were dimmed already.
    dimmed: bool,
}

impl Exposure {
    /// Whether one read back from a file can be developed: its writes follow each other, except those that only tell how
    /// far was drawn.
    fn is_sound(&self, clock: u64) -> bool {
        let mut latest = 0;
        let in_order = self.writes.iter().all(|&Write(write)| {
            let (at, register) = (write >> 16, (write >> 8) as u8);
            let follows = latest <= at && register < NO_REGISTER;
            latest = if follows { at } else { latest };
            follows || register == NO_REGISTER
        });
        in_order && self.first_clock <= clock && self.before.is_sound(self.first_clock / 3)
    }
}

impl Film {
    /// Whether a film read back from a file belongs to this chip, which has come to a clock.
    pub fn is_sound(&self, tia: &Tia, clock: u64) -> bool {
        self.writes.is_empty()
            && self.pictures.iter().all(|picture| {
                picture.rows.len() == tia.height()
                    && picture.undeveloped.len() <= MOST_EXPOSURES
                    && picture.undeveloped.iter().all(|exposure| exposure.is_sound(clock))
            })
    }

    /// Two black pictures.
    pub fn black(height: u32) -> Self {
        let picture = Picture { rows: vec![BLACK_ROW; height as usize], undeveloped: Vec::new() };
        Self {
            pictures: [picture.clone(), picture],
            current: 0,
            coloured: true,
            writes: Vec::new(),
            first_clock: 0,
            older: 0,
            dimmed: false,
        }
    }

    /// Makes both pictures black and forgets all exposures.
    pub fn clear(&mut self, height: u32) {
        for picture in &mut self.pictures {
            picture.rows.clear();
            picture.rows.resize(height as usize, BLACK_ROW);
            picture.undeveloped.clear();
        }
        self.older = 0;
    }

    /// The pixels of the frame last run.
    pub fn pixels(&self) -> &[u8] {
        self.pictures[self.index()].rows.as_flattened().as_flattened()
    }

    /// A new frame goes to the other picture.
    pub fn start_frame(&mut self) {
        self.current ^= 1;
        self.older = self.picture().undeveloped.len();
        self.dimmed = false;
    }

    /// A frame, or the continuation of one that did not end, is about to run.
    pub fn start_run(&mut self, tia: &Tia, clock: u64, mode: PictureMode) {
        self.coloured = mode == PictureMode::Coloured;
        let continues = self.older < self.picture().undeveloped.len();
        if MOST_EXPOSURES <= self.picture().undeveloped.len() || (self.coloured && continues) {
            self.develop();
        }
        if !self.coloured {
            self.first_clock = clock;
            let exposure = Exposure { before: *tia, first_clock: clock, writes: Vec::new(), asked: 0 };
            self.picture().undeveloped.push(exposure);
        }
    }

    /// The run ended; the chip has drawn as far as it was asked to, and whether that is the whole window.
    pub fn end_run(&mut self, tia: &Tia) {
        let coloured = self.coloured;
        let older = self.older;
        let mut writes = std::mem::take(&mut self.writes);
        let picture = self.picture();
        if !coloured && let Some(exposure) = picture.undeveloped.last_mut() {
            exposure.asked = tia.asked();
            std::mem::swap(&mut exposure.writes, &mut writes);
        }
        if picture.rows.len() * WIDTH <= tia.drawn() {
            // Their lists of writes are used again.
            for exposure in picture.undeveloped.drain(..older.min(picture.undeveloped.len())) {
                writes = exposure.writes;
            }
            writes.clear();
            self.writes = writes;
            self.older = 0;
        } else if coloured && !picture.undeveloped.is_empty() {
            // The older frames show below what this one reached.
            let reached = picture.rows.as_flattened().as_flattened()[..tia.drawn()].to_vec();
            self.develop();
            let pixels = self.picture().rows.as_flattened_mut().as_flattened_mut();
            pixels[..reached.len()].copy_from_slice(&reached);
        }
    }

    /// Colours everything that was left out of the current picture.
    pub fn develop(&mut self) {
        let picture = self.picture();
        for exposure in picture.undeveloped.drain(..) {
            let mut tia = exposure.before;
            let mut print = Print { rows: &mut picture.rows };
            for Write(write) in exposure.writes {
                tia.replay((write >> 8) as u8, write as u8, exposure.first_clock + (write >> 16), &mut print);
            }
            tia.ask(exposure.asked);
            tia.draw_what_was_asked(&mut print);
        }
        self.older = 0;
    }

    /// Dims the rows from `first` on, once per frame: a frame that does not end shows the old one through.
    pub fn dim_from(&mut self, first: u64) {
        if std::mem::replace(&mut self.dimmed, true) || self.picture().rows.len() as u64 <= first {
            return;
        }
        self.develop();
        for row in &mut self.picture().rows[first as usize..] {
            for pixel in row.as_flattened_mut() {
                *pixel = (*pixel & 0x0f) >> 1;
            }
        }
    }

    fn index(&self) -> usize {
        usize::from(self.current & 1)
    }

    fn picture(&mut self) -> &mut Picture {
        let index = self.index();
        &mut self.pictures[index]
    }
}

impl Canvas for Film {
    #[inline]
    fn is_coloured(&self) -> bool {
        self.coloured
    }

    #[inline]
    fn row(&mut self, index: u32) -> Option<&mut PictureRow> {
        if self.coloured { self.picture().rows.get_mut(index as usize) } else { None }
    }

    #[inline]
    fn repeat_row(&mut self, index: u32) {
        if self.coloured {
            repeat_row(&mut self.picture().rows, index);
        }
    }

    #[inline(always)]
    fn note(&mut self, clock: u64, register: u8, value: u8) {
        if !self.coloured {
            self.writes.push(Write::new(clock - self.first_clock, register, value));
        }
    }
}

/// A picture being developed.
struct Print<'a> {
    rows: &'a mut [PictureRow],
}

impl Canvas for Print<'_> {
    fn is_coloured(&self) -> bool {
        true
    }

    fn row(&mut self, index: u32) -> Option<&mut PictureRow> {
        self.rows.get_mut(index as usize)
    }

    fn repeat_row(&mut self, index: u32) {
        repeat_row(self.rows, index);
    }

    fn note(&mut self, _clock: u64, _register: u8, _value: u8) {}
}

fn repeat_row(rows: &mut [PictureRow], index: u32) {
    let index = index as usize;
    if 0 < index && index < rows.len() {
        rows.copy_within(index - 1..index, index);
    }
}
