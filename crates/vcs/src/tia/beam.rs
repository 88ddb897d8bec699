//! The beam: frames, lines, the window of visible lines, and catching up: drawing all pixels before a clock.

use super::{BALL, BLANK, Canvas, CosmicArk, LINE, M0, P0, P1, PLAYFIELD, Tia, WIDTH};

/// Pixels blanked by the comb.
const COMB_WIDTH: u8 = 8;
const LINE_WIDTH: u8 = WIDTH as u8;
/// By how much missile 0 moves left on each line of its effect.
const COSMIC_ARK_MOTION: [u8; 4] = [18, 33, 0, 17];

impl Tia {
    /// Starts a frame at a cycle. Lines stay aligned, so the frame begins with the line in progress.
    pub fn start_frame(&mut self, cycle: u64) {
        let clock = 3 * cycle;
        self.frame_start = clock - self.in_line(clock);
        self.frame_cycle = cycle;
        self.line_cap = self.frame_start + (self.config.tv.line_cap() + 1) * LINE;
        self.line_start = self.frame_start + u64::from(self.config.first_line) * LINE;
        self.window_end = self.line_start + u64::from(self.config.height) * LINE;
        self.row = 0;
        self.next_x = 0;
        self.next_draw = if self.config.height == 0 { u64::MAX } else { self.line_start + BLANK + 1 };
        let loss = self.colour_loss();
        self.colours = self.colours.map(|colour| (colour & 0xfe) | loss);
    }

    /// Ends a frame at a cycle and returns its number of lines.
    pub fn end_frame(&mut self, cycle: u64) -> u64 {
        self.lines_of_last_frame = self.lines(cycle);
        self.lines_of_last_frame
    }

    /// Lines since the start of the frame.
    pub fn lines(&self, cycle: u64) -> u64 {
        (3 * cycle - self.frame_start) / LINE
    }

    /// The next row cannot be copied from the one above: the canvas is a new one.
    pub fn forget_repetition(&mut self) {
        self.row_repeats = false;
    }

    /// Brings all masks up to date and forgets what repeats: nothing that is drawn changes.
    pub fn settle(&mut self) {
        self.rebuild_masks();
        self.row_repeats = false;
        self.collisions_repeat = false;
    }

    /// The number of pixels of the window drawn so far, counted row by row.
    pub fn drawn(&self) -> usize {
        self.row as usize * WIDTH + usize::from(self.next_x)
    }

    /// Draws up to the latest clock that was requested.
    pub fn draw_requested<C: Canvas>(&mut self, canvas: &mut C) {
        self.catch_up(self.requested, canvas);
    }

    /// The latest clock up to which pixels were requested.
    pub fn requested(&self) -> u64 {
        self.requested
    }

    /// Requests pixels up to a clock, as a write without effect does. Every write requests more than what was requested and
    /// not drawn yet: an instruction that writes takes nine clocks or more, and a delay at most eight.
    #[inline(always)]
    pub fn request(&mut self, clock: u64) {
        self.requested = clock;
    }

    /// Bit 0 of every colour: set on PAL after a frame with an odd number of lines.
    pub(super) fn colour_loss(&self) -> u8 {
        match self.config.tv {
            crate::config::TvFormat::Ntsc => 0,
            crate::config::TvFormat::Pal => (self.lines_of_last_frame & 1) as u8,
        }
    }

    /// Draws all pixels before a clock with the registers as they are.
    #[inline]
    pub(super) fn catch_up<C: Canvas>(&mut self, clock: u64, canvas: &mut C) {
        if self.next_draw <= clock {
            self.draw_to(clock, canvas);
        }
    }

    #[inline(never)]
    fn draw_to<C: Canvas>(&mut self, clock: u64, canvas: &mut C) {
        let clock = clock.min(self.window_end);
        if clock < self.next_draw {
            return;
        }
        let wants_pixels = canvas.wants_pixels();
        let ends_quietly = !wants_pixels && self.ends_quietly();
        // The masks of a line that repeats, or is not shown, cannot set a latch.
        if ends_quietly && (self.collisions_repeat || self.is_blanked()) {
            self.skip_to(clock);
            return;
        }
        let possible = self.possible_latches();
        if ends_quietly && possible & !self.latches == 0 {
            self.skip_to(clock);
            return;
        }
        while self.next_draw <= clock {
            if self.next_x == LINE_WIDTH {
                self.end_line();
                continue;
            }
            let first_pixel = self.line_start + BLANK;
            let end = (clock - first_pixel).min(u64::from(LINE_WIDTH)) as u8;
            self.draw(self.next_x, end, possible, canvas);
            self.next_x = end;
            // A line ends only for a clock strictly after its end.
            self.next_draw = if end == LINE_WIDTH { self.line_start + LINE } else { first_pixel + u64::from(end) } + 1;
        }
        if self.window_end < self.next_draw {
            self.next_draw = u64::MAX;
        }
    }

    /// Whether the end of a line changes nothing.
    #[inline]
    fn ends_quietly(&self) -> bool {
        (self.ctrlpf & 1 != 0) == self.reflect_playfield
            && self.suppressed == [false; 2]
            && self.cosmic_ark == CosmicArk::Off
    }

    /// Advances to a clock, not before `next_draw`, without drawing.
    fn skip_to(&mut self, clock: u64) {
        // A line ends only for a clock strictly after its end.
        let ended = (clock - self.line_start - 1) / LINE;
        let from_x = self.next_x;
        self.line_start += ended * LINE;
        self.row += ended as u32;
        let first_pixel = self.line_start + BLANK;
        self.next_x = clock.saturating_sub(first_pixel).min(u64::from(LINE_WIDTH)) as u8;
        self.next_draw =
            if self.next_x == LINE_WIDTH { self.line_start + LINE } else { first_pixel + u64::from(self.next_x) } + 1;
        if self.window_end < self.next_draw {
            self.next_draw = u64::MAX;
        }
        if self.comb {
            self.skip_comb(ended, from_x);
        }
    }

    /// Advances the comb over `ended` lines from pixel `from_x` on. It ends on the first line that passes its last pixel,
    /// unless that line is above the write that switched it on.
    fn skip_comb(&mut self, ended: u64, from_x: u8) {
        let latest = if COMB_WIDTH <= self.next_x && (ended != 0 || from_x < COMB_WIDTH) {
            self.line_start
        } else if 1 < ended || (ended == 1 && from_x < COMB_WIDTH) {
            self.line_start - LINE
        } else {
            return;
        };
        self.comb = latest + BLANK + u64::from(COMB_WIDTH - 1) < self.comb_clock;
    }

    fn end_line(&mut self) {
        self.line_start += LINE;
        self.row += 1;
        self.next_x = 0;
        self.next_draw = self.line_start + BLANK + 1;
        let reflect = self.ctrlpf & 1 != 0;
        if reflect != self.reflect_playfield {
            self.reflect_playfield = reflect;
            self.changed(PLAYFIELD);
        }
        for player in [P0, P1] {
            if self.suppressed[player] {
                self.suppressed[player] = false;
                self.changed(player);
            }
        }
        if let CosmicArk::Running(lines) = self.cosmic_ark {
            let lines = (lines + 1) & 3;
            self.cosmic_ark = CosmicArk::Running(lines);
            self.cosmic_ark_shape = true;
            let left = COSMIC_ARK_MOTION[usize::from(lines)];
            let x = self.positions[M0];
            self.positions[M0] = if x < left { x + LINE_WIDTH - left } else { x - left };
            self.changed(M0);
        }
    }

    /// Marks an object's mask as stale; the next line differs from the last.
    #[inline]
    pub(super) fn changed(&mut self, object: usize) {
        self.stale |= 1 << object;
        self.row_repeats = false;
        self.collisions_repeat = false;
    }

    /// Draws pixels of the current line; the objects shown can set the `possible` latches.
    fn draw<C: Canvas>(&mut self, first: u8, end: u8, possible: u16, canvas: &mut C) {
        let whole = first == 0 && end == LINE_WIDTH;
        if self.is_blanked() {
            if let Some(row) = canvas.row(self.row) {
                row.as_flattened_mut()[usize::from(first)..usize::from(end)].fill(0);
            }
            self.row_repeats = false;
        } else {
            let open = if whole && self.collisions_repeat { 0 } else { possible & !self.latches };
            if self.stale != 0 && (open != 0 || canvas.wants_pixels()) {
                self.rebuild_masks();
            }
            if open != 0 {
                self.collide(open, first, end);
            }
            self.collisions_repeat = whole;
            if whole && self.row_repeats {
                canvas.repeat_row(self.row);
            } else if let Some(row) = canvas.row(self.row) {
                self.paint(row, first, end);
                self.row_repeats = whole;
            }
        }
        if self.comb && first < COMB_WIDTH {
            if let Some(row) = canvas.row(self.row) {
                row.as_flattened_mut()[usize::from(first)..usize::from(end.min(COMB_WIDTH))].fill(0);
            }
            self.row_repeats = false;
            // An HMOVE that moved nothing may have been applied before the lines above it were drawn.
            let last_blanked = self.line_start + BLANK + u64::from(COMB_WIDTH - 1);
            self.comb = end < COMB_WIDTH || last_blanked < self.comb_clock;
        }
    }

    fn rebuild_masks(&mut self) {
        let stale = std::mem::take(&mut self.stale);
        for player in [0, 1] {
            if stale >> (P0 + player) & 1 == 1 {
                self.rebuild_player(player);
            }
            if stale >> (M0 + player) & 1 == 1 {
                self.rebuild_missile(player);
            }
        }
        if stale >> BALL & 1 == 1 {
            self.rebuild_ball();
        }
        if stale >> PLAYFIELD & 1 == 1 {
            self.rebuild_playfield();
        }
    }
}
