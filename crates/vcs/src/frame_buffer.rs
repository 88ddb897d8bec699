//! The pixels of the last two frames, and deferred rendering of frames that were run without pixels.
//!
//! Frames alternate between two buffers, and rows that a program does not reach keep the pixels of two frames before. A
//! frame run with [`RenderMode::CollisionsOnly`] may therefore be needed later. It leaves a [`DeferredRun`]: a copy of the
//! TIA at its start and the log of the writes that changed it. Applying the log to the copy, with pixels, gives exactly
//! the pixels that were left out. A deferred run is discarded once a later frame has covered the whole buffer.

use serde::{Deserialize, Serialize};

use crate::config::RenderMode;
use crate::tia::{BLACK_ROW, Canvas, NO_REGISTER, PixelRow, Tia, WIDTH};

/// Runs beyond this number are rendered instead of kept.
const MAX_DEFERRED: usize = 4;

/// A write that changed the TIA: clocks since the run began, register, value, from the high bits down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Write(u64);

impl Write {
    #[inline(always)]
    fn new(clocks: u64, register: u8, value: u8) -> Self {
        Self(clocks << 16 | u64::from(register) << 8 | u64::from(value))
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct DeferredRun {
    /// The chip before the first write.
    tia: Tia,
    first_clock: u64,
    writes: Vec<Write>,
    /// The clock up to which pixels were requested.
    requested: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Buffer {
    rows: Vec<PixelRow>,
    deferred: Vec<DeferredRun>,
}

/// The two buffers and the log of the run in progress.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct FrameBuffer {
    buffers: [Buffer; 2],
    current: u8,
    /// Whether the run in progress draws pixels.
    rendering: bool,
    /// The writes of the run in progress, if it draws no pixels.
    writes: Vec<Write>,
    first_clock: u64,
    /// Deferred runs of the current buffer that are older than the frame in progress.
    older: usize,
    /// Whether the undrawn rows of a frame that did not end were dimmed already.
    dimmed: bool,
}

impl FrameBuffer {
    pub fn black(height: u32) -> Self {
        let buffer = Buffer { rows: vec![BLACK_ROW; height as usize], deferred: Vec::new() };
        Self {
            buffers: [buffer.clone(), buffer],
            current: 0,
            rendering: true,
            writes: Vec::new(),
            first_clock: 0,
            older: 0,
            dimmed: false,
        }
    }

    /// Makes both buffers black and discards all deferred runs.
    pub fn clear(&mut self, height: u32) {
        for buffer in &mut self.buffers {
            buffer.rows.clear();
            buffer.rows.resize(height as usize, BLACK_ROW);
            buffer.deferred.clear();
        }
        self.older = 0;
    }

    /// The pixels of the frame last run.
    pub fn pixels(&self) -> &[u8] {
        self.buffers[self.index()].rows.as_flattened().as_flattened()
    }

    /// Switches to the other buffer for a new frame.
    pub fn start_frame(&mut self) {
        self.current ^= 1;
        self.older = self.buffer().deferred.len();
        self.dimmed = false;
    }

    /// Prepares for a run: a frame, or the continuation of one that did not end.
    pub fn start_run(&mut self, tia: &Tia, clock: u64, mode: RenderMode) {
        self.rendering = mode == RenderMode::Full;
        let continues = self.older < self.buffer().deferred.len();
        if MAX_DEFERRED <= self.buffer().deferred.len() || (self.rendering && continues) {
            self.render_deferred();
        }
        if !self.rendering {
            self.first_clock = clock;
            let run = DeferredRun { tia: *tia, first_clock: clock, writes: Vec::new(), requested: 0 };
            self.buffer().deferred.push(run);
        }
    }

    /// Ends a run. The chip has drawn as far as was requested.
    pub fn end_run(&mut self, tia: &Tia) {
        let rendering = self.rendering;
        let older = self.older;
        let mut writes = std::mem::take(&mut self.writes);
        let buffer = self.buffer();
        if !rendering && let Some(run) = buffer.deferred.last_mut() {
            run.requested = tia.requested();
            std::mem::swap(&mut run.writes, &mut writes);
        }
        if buffer.rows.len() * WIDTH <= tia.drawn() {
            // The allocation of a discarded log is used again.
            for run in buffer.deferred.drain(..older.min(buffer.deferred.len())) {
                writes = run.writes;
            }
            writes.clear();
            self.writes = writes;
            self.older = 0;
        } else if rendering && !buffer.deferred.is_empty() {
            // Below what this frame reached, the older frames are visible.
            let reached = buffer.rows.as_flattened().as_flattened()[..tia.drawn()].to_vec();
            self.render_deferred();
            let pixels = self.buffer().rows.as_flattened_mut().as_flattened_mut();
            pixels[..reached.len()].copy_from_slice(&reached);
        }
    }

    /// Renders all deferred runs of the current buffer.
    pub fn render_deferred(&mut self) {
        let buffer = self.buffer();
        for run in buffer.deferred.drain(..) {
            let mut tia = run.tia;
            let mut canvas = RowCanvas { rows: &mut buffer.rows };
            for Write(write) in run.writes {
                tia.apply_logged((write >> 8) as u8, write as u8, run.first_clock + (write >> 16), &mut canvas);
            }
            tia.request(run.requested);
            tia.draw_requested(&mut canvas);
        }
        self.older = 0;
    }

    /// Renders all deferred runs of both buffers, and forgets how they came about.
    pub fn settle(&mut self) {
        for _ in 0..2 {
            self.render_deferred();
            self.current ^= 1;
        }
        self.writes.clear();
        (self.rendering, self.first_clock) = (true, 0);
    }

    /// Dims the rows from `first` on, once per frame: what ALE shows of the older frame if a frame does not end.
    pub fn dim_from(&mut self, first: u64) {
        if std::mem::replace(&mut self.dimmed, true) || self.buffer().rows.len() as u64 <= first {
            return;
        }
        self.render_deferred();
        for row in &mut self.buffer().rows[first as usize..] {
            for pixel in row.as_flattened_mut() {
                *pixel = (*pixel & 0x0f) >> 1;
            }
        }
    }

    /// Whether a deserialised frame buffer fits this chip at a clock.
    pub fn is_valid(&self, tia: &Tia, clock: u64) -> bool {
        self.writes.is_empty()
            && self.buffers.iter().all(|buffer| {
                buffer.rows.len() == tia.height()
                    && buffer.deferred.len() <= MAX_DEFERRED
                    && buffer.deferred.iter().all(|run| run.is_valid(clock))
            })
    }

    fn index(&self) -> usize {
        usize::from(self.current & 1)
    }

    fn buffer(&mut self) -> &mut Buffer {
        let index = self.index();
        &mut self.buffers[index]
    }
}

impl Canvas for FrameBuffer {
    #[inline]
    fn wants_pixels(&self) -> bool {
        self.rendering
    }

    #[inline]
    fn row(&mut self, index: u32) -> Option<&mut PixelRow> {
        if self.rendering { self.buffer().rows.get_mut(index as usize) } else { None }
    }

    #[inline]
    fn repeat_row(&mut self, index: u32) {
        if self.rendering {
            repeat_row(&mut self.buffer().rows, index);
        }
    }

    #[inline(always)]
    fn log_write(&mut self, clock: u64, register: u8, value: u8) {
        if !self.rendering {
            self.writes.push(Write::new(clock - self.first_clock, register, value));
        }
    }
}

impl DeferredRun {
    /// Whether a deserialised run can be rendered: its writes are ordered by clock, except those of `NO_REGISTER`, which
    /// only say how far was drawn.
    fn is_valid(&self, clock: u64) -> bool {
        let mut latest = 0;
        let ordered = self.writes.iter().all(|&Write(write)| {
            let (at, register) = (write >> 16, (write >> 8) as u8);
            let follows = latest <= at && register < NO_REGISTER;
            latest = if follows { at } else { latest };
            follows || register == NO_REGISTER
        });
        ordered && self.first_clock <= clock && self.tia.is_valid(self.first_clock / 3)
    }
}

/// The canvas of deferred rendering.
struct RowCanvas<'a> {
    rows: &'a mut [PixelRow],
}

impl Canvas for RowCanvas<'_> {
    fn wants_pixels(&self) -> bool {
        true
    }

    fn row(&mut self, index: u32) -> Option<&mut PixelRow> {
        self.rows.get_mut(index as usize)
    }

    fn repeat_row(&mut self, index: u32) {
        repeat_row(self.rows, index);
    }

    fn log_write(&mut self, _clock: u64, _register: u8, _value: u8) {}
}

fn repeat_row(rows: &mut [PixelRow], index: u32) {
    let index = index as usize;
    if 0 < index && index < rows.len() {
        rows.copy_within(index - 1..index, index);
    }
}
