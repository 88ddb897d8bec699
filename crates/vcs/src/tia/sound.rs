//! Whether a chip read back from a file could have come about by running: nothing in it can break the arithmetic, start an
//! endless line, or reach outside a row.

use super::{Ark, BLANK, LINE, Tia, WIDTH};

/// More lines than any set-up has.
const MOST_LINES: u32 = 1 << 16;

impl Tia {
    /// Whether the chip can go on from a cycle.
    pub fn is_sound(&self, cycle: u64) -> bool {
        let clock = 3 * cycle;
        let config = &self.config;
        let lines = config.first_line.saturating_add(config.height);
        let pixel = u64::from(self.next_x);
        let next = if self.next_x == WIDTH as u8 { LINE } else { BLANK + pixel } + 1;
        config.first_line <= MOST_LINES
            && config.height <= MOST_LINES
            && self.frame_start <= clock
            && self.frame_cycle <= cycle
            && self.dump_off_cycle <= cycle
            && self.hmove_clock <= clock
            && self.next_x <= WIDTH as u8
            && self.row <= lines
            // A window may still lie ahead of the first frame's end.
            && self.line_start <= clock + u64::from(lines) * LINE
            && self.window_end <= self.line_start + u64::from(lines) * LINE
            && (self.wake == u64::MAX || self.wake == self.line_start + next)
            && self.positions.iter().all(|&x| usize::from(x) < WIDTH)
            && self.motions.iter().all(|&nibble| nibble < 16)
            && self.playfield < 1 << 20
            && !matches!(self.ark, Ark::Running(4..))
    }

    /// Rows of the picture.
    pub fn height(&self) -> usize {
        self.config.height as usize
    }
}
