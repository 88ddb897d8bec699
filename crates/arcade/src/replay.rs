//! Replays a recorded run and compares everything after every frame. In: a [`Trace`] and the ROM; out: a [`Comparison`].

use crate::action::Joystick;
use crate::ale::{Ale, AleError, Settings};
use crate::game::Game;
use crate::trace::{Cause, Record, Trace};

/// What a replay found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Frames that were acted.
    pub frames: u64,
    /// States (after loading, each reset and each frame) that differ in anything.
    pub differences: u64,
    /// The first of them.
    pub first: Option<Difference>,
}

/// One thing that is not as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Where: `loaded`, `reset 3`, `frame 512`.
    pub at: String,
    /// Which field.
    pub field: String,
    /// As recorded.
    pub recorded: String,
    /// As it came out here.
    pub found: String,
}

/// Runs `trace` on a freshly loaded `game`, sticky actions off and frame skip 1. `progress` hears of each frame.
pub fn replay(
    game: &'static Game,
    rom: &[u8],
    trace: &Trace,
    mut progress: impl FnMut(),
) -> Result<Comparison, AleError> {
    let mut ale = Ale::load(game, rom, Settings::default())?;
    if let Some(mode) = trace.mode {
        ale.set_mode(mode)?;
    }
    if let Some(difficulty) = trace.difficulty {
        ale.set_difficulty(difficulty)?;
    }
    let mut comparison = Comparison { frames: 0, differences: 0, first: compare_header(&ale, trace) };
    comparison.differences += u64::from(comparison.first.is_some());
    let mut resets = 0;
    for record in &trace.records {
        let (at, reward) = match record.cause {
            Cause::Loaded => ("loaded".to_owned(), 0),
            Cause::Reset => {
                ale.reset_game();
                resets += 1;
                (format!("reset {}", resets - 1), 0)
            }
            Cause::Acted(action) => {
                comparison.frames += 1;
                progress();
                // An id that is no action does nothing, as RESET does in ALE.
                let reward = ale.act(Joystick::from_id(action).unwrap_or(Joystick::NOOP));
                (format!("frame {}", comparison.frames - 1), reward)
            }
        };
        if let Some((field, recorded, found)) = compare(&ale, reward, record) {
            comparison.differences += 1;
            comparison.first.get_or_insert(Difference { at, field, recorded, found });
        }
    }
    Ok(comparison)
}

type Mismatch = (String, String, String);

fn compare_header(ale: &Ale, trace: &Trace) -> Option<Difference> {
    let header = &trace.header;
    let actions: Vec<u8> = ale.game().minimal_actions.iter().map(|action| action.id()).collect();
    let pixels = usize::from(header.width) * usize::from(header.height);
    let (field, recorded, found) = differs("minimal actions", &header.minimal_actions, &actions)
        .or_else(|| differs("screen size", &pixels, &ale.screen().len()))?;
    Some(Difference { at: "header".to_owned(), field, recorded, found })
}

/// The first field that differs; memory and pixels are named singly where the trace holds them.
fn compare(ale: &Ale, reward: i32, record: &Record) -> Option<Mismatch> {
    let ram_byte = || {
        let (i, (recorded, found)) = first_unequal(record.ram.as_ref()?, ale.ram())?;
        differs(&format!("RAM byte ${:02X}", 0x80 + i), &format!("{recorded:#04x}"), &format!("{found:#04x}"))
    };
    let pixel = || {
        let (i, (recorded, found)) = first_unequal(record.screen.as_ref()?, ale.screen())?;
        differs(&format!("pixel at row {}, column {}", i / 160, i % 160), &recorded, &found)
    };
    ram_byte()
        .or_else(|| differs_in_hex("RAM checksum", record.ram_crc, crc32fast::hash(ale.ram())))
        .or_else(pixel)
        .or_else(|| differs_in_hex("screen checksum", record.screen_crc, crc32fast::hash(ale.screen())))
        .or_else(|| differs("reward", &record.reward, &reward))
        .or_else(|| differs("lives", &record.lives, &ale.lives()))
        .or_else(|| differs("game over", &record.game_over, &ale.game_over()))
}

fn first_unequal(recorded: &[u8], found: &[u8]) -> Option<(usize, (u8, u8))> {
    recorded.iter().copied().zip(found.iter().copied()).enumerate().find(|(_, (a, b))| a != b)
}

fn differs_in_hex(field: &str, recorded: u32, found: u32) -> Option<Mismatch> {
    differs(field, &format!("{recorded:08x}"), &format!("{found:08x}"))
}

fn differs<T: PartialEq + std::fmt::Debug>(field: &str, recorded: &T, found: &T) -> Option<Mismatch> {
    let shown = |value: &T| format!("{value:?}").replace('"', "");
    (recorded != found).then(|| (field.to_owned(), shown(recorded), shown(found)))
}
