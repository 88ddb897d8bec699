//! The DPC chip of Pitfall II: eight data fetchers over 2 KiB of display data, a random generator, three-voice music.
//!
//! No sound is produced, but a program can read the music's amplitude, so its clock is emulated.

use serde::{Deserialize, Serialize};

/// Offset of the display data in the program, and its last index.
const DISPLAY_START: usize = 8192;
const DISPLAY_LAST: usize = 2047;
/// Ticks of the music clock per second, and processor cycles per second.
const MUSIC_HERTZ: f64 = 15750.0;
const CPU_HERTZ: f64 = 1_193_191.666_666_67;
const AMPLITUDES: [u8; 8] = [0, 4, 5, 9, 6, 10, 11, 15];
const FIRST_VOICE: usize = 5;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Fetcher {
    top: u8,
    bottom: u8,
    counter: u16,
    flag: u8,
    music: bool,
}

/// The chip's registers. They survive a reset of the console.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(super) struct Dpc {
    fetchers: [Fetcher; 8],
    random: u8,
    music_cycle: u64,
    music_fraction: f64,
}

impl Default for Dpc {
    fn default() -> Self {
        Self { fetchers: [Fetcher::default(); 8], random: 1, music_cycle: 0, music_fraction: 0.0 }
    }
}

impl Dpc {
    /// Restarts the music's clock, since the console's clock is zero after a reset.
    pub(super) fn restart_music(&mut self) {
        self.music_cycle = 0;
        self.music_fraction = 0.0;
    }

    /// Advances the random generator; every access to the chip's addresses does.
    pub(super) fn step_random(&mut self) {
        let r = self.random;
        let fed_back = !((r >> 7) ^ (r >> 5) ^ (r >> 4) ^ (r >> 3)) & 1;
        self.random = (r << 1) | fed_back;
    }

    /// Reads one of the 64 read registers. `rom` holds the display data.
    pub(super) fn read(&mut self, offset: u16, cycle: u64, rom: &[u8; super::ROM_SIZE]) -> u8 {
        let index = usize::from(offset & 7);
        let fetcher = &mut self.fetchers[index];
        let low = fetcher.counter as u8;
        if low == fetcher.top {
            fetcher.flag = 0xff;
        } else if low == fetcher.bottom {
            fetcher.flag = 0;
        }
        let display = rom[DISPLAY_START + (DISPLAY_LAST - usize::from(fetcher.counter & 0x7ff))];
        let value = match (offset >> 3) & 7 {
            0 if index < 4 => self.random,
            0 => self.amplitude(cycle),
            1 => display,
            2 => display & fetcher.flag,
            7 => fetcher.flag,
            _ => 0,
        };
        let fetcher = &mut self.fetchers[index];
        if !fetcher.music {
            fetcher.counter = fetcher.counter.wrapping_sub(1) & 0x7ff;
        }
        value
    }

    /// Writes one of the 64 write registers.
    pub(super) fn write(&mut self, offset: u16, value: u8) {
        let index = usize::from(offset & 7);
        let fetcher = &mut self.fetchers[index];
        match (offset >> 3) & 7 {
            0 => {
                fetcher.top = value;
                fetcher.flag = 0;
            }
            1 => fetcher.bottom = value,
            2 => {
                let low = if fetcher.music { fetcher.top } else { value };
                fetcher.counter = (fetcher.counter & 0x700) | u16::from(low);
            }
            3 => {
                fetcher.counter = (u16::from(value & 7) << 8) | (fetcher.counter & 0xff);
                if FIRST_VOICE <= index {
                    fetcher.music = value & 0x10 != 0;
                }
            }
            6 => self.random = 1,
            _ => {}
        }
    }

    fn amplitude(&mut self, cycle: u64) -> u8 {
        self.play_until(cycle);
        let sounding = self.fetchers[FIRST_VOICE..]
            .iter()
            .enumerate()
            .map(|(voice, fetcher)| usize::from(fetcher.music && fetcher.flag != 0) << voice)
            .sum::<usize>();
        AMPLITUDES[sounding & 7]
    }

    fn play_until(&mut self, cycle: u64) {
        let elapsed = cycle.saturating_sub(self.music_cycle);
        self.music_cycle = cycle;
        let ticks = MUSIC_HERTZ * elapsed as f64 / CPU_HERTZ + self.music_fraction;
        let whole = ticks.floor();
        self.music_fraction = ticks - whole;
        for fetcher in self.fetchers[FIRST_VOICE..].iter_mut().filter(|fetcher| fetcher.music) {
            let period = i64::from(fetcher.top) + 1;
            let moved = i64::from(fetcher.counter & 0xff) - whole as i64 % period;
            let low = match (fetcher.top, moved) {
                (0, _) => 0,
                (_, ..0) => (moved + period) as u8,
                _ => moved as u8,
            };
            fetcher.counter = (fetcher.counter & 0x700) | u16::from(low);
            if low <= fetcher.bottom {
                fetcher.flag = 0;
            } else if low <= fetcher.top {
                fetcher.flag = 0xff;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Display data in which a byte follows from its offset.
    fn rom() -> [u8; super::super::ROM_SIZE] {
        std::array::from_fn(|i| (i % 251) as u8)
    }

    fn display(counter: usize) -> u8 {
        ((DISPLAY_START + DISPLAY_LAST - counter) % 251) as u8
    }

    /// A chip whose fetcher 2 has a counter.
    fn at(counter: u16) -> Dpc {
        let mut dpc = Dpc::default();
        dpc.write(0x52, counter as u8);
        dpc.write(0x5a, (counter >> 8) as u8);
        dpc
    }

    #[test]
    fn a_fetcher_reads_the_display_data_backwards_and_wraps_around() {
        let (rom, mut dpc) = (rom(), at(0x101));
        let read: Vec<u8> = (0..4).map(|_| dpc.read(0x0a, 0, &rom)).collect();
        assert_eq!(read, [0x101, 0x100, 0xff, 0xfe].map(display));
        let mut last = at(0);
        assert_eq!([0; 2].map(|_| last.read(0x0a, 0, &rom)), [display(0), display(0x7ff)]);
    }

    #[test]
    fn a_masked_read_returns_display_data_from_top_to_bottom_only() {
        let (rom, mut dpc) = (rom(), at(0x23));
        dpc.write(0x42, 0x22);
        dpc.write(0x4a, 0x20);
        let read: Vec<u8> = (0..5).map(|_| dpc.read(0x12, 0, &rom)).collect();
        assert_eq!(read, [0, display(0x22), display(0x21), 0, 0]);
    }

    #[test]
    fn the_random_generator_has_period_255_and_is_reset_to_one() {
        let (rom, mut dpc) = (rom(), Dpc::default());
        let mut seen = std::collections::HashSet::new();
        for _ in 0..255 {
            assert!(seen.insert(dpc.read(0x00, 0, &rom)));
            dpc.step_random();
        }
        assert_eq!(dpc.read(0x00, 0, &rom), 1, "the period is over");
        dpc.step_random();
        dpc.write(0x70, 0);
        assert_eq!(dpc.read(0x00, 0, &rom), 1);
    }

    #[test]
    fn a_voice_sounds_while_its_counter_is_above_its_bottom() {
        let (rom, mut dpc) = (rom(), Dpc::default());
        dpc.write(0x5d, 0x10);
        dpc.write(0x45, 3);
        dpc.write(0x4d, 1);
        // One tick of the music takes nearly 76 cycles; the counter runs 3, 2, 1, 0.
        let heard: Vec<u8> = (1..=8).map(|tick| dpc.read(0x04, 76 * tick, &rom)).collect();
        assert_eq!(heard, [4, 4, 0, 0, 4, 4, 0, 0]);
    }
}
