//! Validates a deserialised chip: no value in it makes later arithmetic overflow, a line endless, or an index exceed a row.

use super::{BLANK, CosmicArk, LINE, Tia, WIDTH};

/// More lines than any configuration has.
const MAX_LINES: u32 = 1 << 16;

impl Tia {
    /// Whether the chip can continue from a cycle.
    pub fn is_valid(&self, cycle: u64) -> bool {
        let clock = 3 * cycle;
        let config = &self.config;
        let lines = config.first_line.saturating_add(config.height);
        let pixel = u64::from(self.next_x);
        let next = if self.next_x == WIDTH as u8 { LINE } else { BLANK + pixel } + 1;
        config.first_line <= MAX_LINES
            && config.height <= MAX_LINES
            && self.frame_start <= clock
            && self.frame_cycle <= cycle
            && self.dump_off_cycle <= cycle
            && self.hmove_clock <= clock
            && self.next_x <= WIDTH as u8
            && self.row <= lines
            // Before the first frame has ended, the window may lie ahead of the clock.
            && self.line_start <= clock + u64::from(lines) * LINE
            && self.window_end <= self.line_start + u64::from(lines) * LINE
            && (self.next_draw == u64::MAX || self.next_draw == self.line_start + next)
            && self.positions.iter().all(|&x| usize::from(x) < WIDTH)
            && self.motions.iter().all(|&nibble| nibble < 16)
            && self.playfield < 1 << 20
            && !matches!(self.cosmic_ark, CosmicArk::Running(4..))
    }
}
