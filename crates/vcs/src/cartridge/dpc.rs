//! The DPC chip of one cartridge: eight fetchers over 2 KiB of picture data, a random generator, three-voice music.
//!
//! Music never reaches the ears here, but its amplitude can be read, so its clock is kept.

use serde::{Deserialize, Serialize};

/// Where the picture data lies in the program, and its size.
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
    /// The console's clock went back to zero.
    pub(super) fn restart_music(&mut self) {
        self.music_cycle = 0;
        self.music_fraction = 0.0;
    }

    /// Every access to the chip's addresses moves the random generator on.
    pub(super) fn touch(&mut self) {
        let r = self.random;
        let fed_back = !((r >> 7) ^ (r >> 5) ^ (r >> 4) ^ (r >> 3)) & 1;
        self.random = (r << 1) | fed_back;
    }

    /// Reads one of the 64 read registers. `rom` holds the picture data.
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
