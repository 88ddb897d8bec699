//! Recorded runs of the Arcade Learning Environment, and the comparison of this emulator with them. In: a gzipped trace
//! file; out: a [`Trace`], and with the ROM a [`TraceComparison`] of every recorded frame.
//!
//! ```text
//! magic "ALETRC02" · name length u8, name · MD5 of the ROM, 16 bytes · width u16 · height u16 · frames u32 ·
//! policy seed u32 · flags u8 (bit 0 = thin) · number of minimal actions u8, their ids; then records:
//! kind u8 (0 loaded, 1 reset, 2 acted) · action u8 · flags u8 (bit 0 game over, bit 1 key screen follows) · lives i8 ·
//! reward i32 · CRC-32 of RAM u32 · CRC-32 of the screen u32 · unless thin: number of changed RAM bytes u8, that many
//! pairs (index, value) · with a key screen: width × height colour indices            (little endian, whole file gzipped)
//! ```

use crate::ale::{Ale, AleError, AleSettings};
use crate::game::Game;
use crate::joystick::Joystick;
use std::io::Read;
use std::path::{Path, PathBuf};

/// A recorded run.
#[derive(Debug, Clone)]
pub struct Trace {
    pub header: TraceHeader,
    /// Mode in the file's name (`.m4`), set after loading.
    pub mode: Option<u32>,
    /// Difficulty in the file's name (`.d1`), set after loading.
    pub difficulty: Option<u32>,
    pub records: Vec<TraceRecord>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceHeader {
    /// Name of the game.
    pub game: String,
    /// MD5 of the ROM it was recorded with, in lower-case hexadecimal.
    pub md5: String,
    /// Pixels per row.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Number of records of kind [`RecordKind::Acted`].
    pub frames: u32,
    pub minimal_actions: Vec<u8>,
}

/// The state after loading, after a reset or after a frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceRecord {
    pub kind: RecordKind,
    pub game_over: bool,
    pub lives: i32,
    /// Reward of the action.
    pub reward: i32,
    /// CRC-32 of the 128 bytes of RAM.
    pub ram_crc: u32,
    /// CRC-32 of the screen.
    pub screen_crc: u32,
    /// The RAM itself, unless the trace is thin.
    pub ram: Option<[u8; 128]>,
    /// The screen itself, in some records.
    pub screen: Option<Vec<u8>>,
}

/// What preceded a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    Loaded,
    Reset,
    /// One frame with this action id.
    Acted(u8),
}

/// The result of replaying a trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceComparison {
    /// Frames that were acted.
    pub frames: u64,
    /// States (after loading, each reset and each frame) that differ in anything.
    pub differences: u64,
    pub first: Option<TraceDifference>,
}

/// A field that differs from the recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceDifference {
    /// The state: `header`, `loaded`, `reset 3`, `frame 512`.
    pub at: String,
    pub field: String,
    pub recorded: String,
    pub found: String,
}

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    #[error("the trace {} cannot be read ({source}); a trace is a whole gzip file", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("{} is not a trace: it does not begin with ALETRC02", path.display())]
    NotATrace { path: PathBuf },
    #[error("the trace {} is cut short: it ends inside {inside}", path.display())]
    CutShort { path: PathBuf, inside: String },
    #[error("the trace {} announces {announced} frames and holds {held}", path.display())]
    WrongLength { path: PathBuf, announced: u32, held: u32 },
    #[error("the trace {}: {what}", path.display())]
    Malformed { path: PathBuf, what: String },
}

impl Trace {
    /// Reads a file; the error says where it is malformed.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(file).take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
        if MOST_BYTES < bytes.len() as u64 {
            let what = format!("it unpacks to more than {MOST_BYTES} bytes, which no recorded game does");
            return Err(TraceError::Malformed { path: path.to_owned(), what });
        }
        let mut cursor = Cursor { path, bytes: &bytes };
        let (header, thin) = read_header(&mut cursor)?;
        let records = read_records(&mut cursor, &header, thin)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self { header, mode: number_after(&name, 'm'), difficulty: number_after(&name, 'd'), records })
    }

    /// Replays the run on a freshly loaded `game`, without sticky actions and frame skip, and compares every state with
    /// its record. Calls `on_frame` for each frame.
    pub fn compare(
        &self,
        game: &'static Game,
        rom: &[u8],
        mut on_frame: impl FnMut(),
    ) -> Result<TraceComparison, AleError> {
        let mut ale = Ale::load(game, rom, AleSettings::default())?;
        if let Some(mode) = self.mode {
            ale.set_mode(mode)?;
        }
        if let Some(difficulty) = self.difficulty {
            ale.set_difficulty(difficulty)?;
        }
        let mut comparison = TraceComparison { frames: 0, differences: 0, first: compare_header(&ale, &self.header) };
        comparison.differences += u64::from(comparison.first.is_some());
        let mut resets = 0;
        for record in &self.records {
            let (at, reward) = match record.kind {
                RecordKind::Loaded => ("loaded".to_owned(), 0),
                RecordKind::Reset => {
                    ale.reset_game();
                    resets += 1;
                    (format!("reset {}", resets - 1), 0)
                }
                RecordKind::Acted(action) => {
                    comparison.frames += 1;
                    on_frame();
                    // An id above 17 is a no-op, as in ALE.
                    let reward = ale.act(Joystick::from_id(action).unwrap_or(Joystick::NOOP));
                    (format!("frame {}", comparison.frames - 1), reward)
                }
            };
            if let Some((field, recorded, found)) = compare_state(&ale, reward, record) {
                comparison.differences += 1;
                comparison.first.get_or_insert(TraceDifference { at, field, recorded, found });
            }
        }
        Ok(comparison)
    }
}

/// Field, recorded value, found value.
type Mismatch = (String, String, String);

fn compare_header(ale: &Ale, header: &TraceHeader) -> Option<TraceDifference> {
    let actions: Vec<u8> = ale.game().minimal_actions.iter().map(|action| action.id()).collect();
    let pixels = usize::from(header.width) * usize::from(header.height);
    let (field, recorded, found) = differs("minimal actions", &header.minimal_actions, &actions)
        .or_else(|| differs("screen size", &pixels, &ale.screen().len()))?;
    Some(TraceDifference { at: "header".to_owned(), field, recorded, found })
}

/// The first field that differs; the RAM byte or the pixel is named if the record holds them.
fn compare_state(ale: &Ale, reward: i32, record: &TraceRecord) -> Option<Mismatch> {
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

const MAGIC: &[u8; 8] = b"ALETRC02";
const THIN: u8 = 1;

/// Of an unpacked trace: many times the longest recorded one, and what any machine holds.
const MOST_BYTES: u64 = 128 << 20;
const GAME_OVER: u8 = 1;
const KEY_SCREEN: u8 = 2;

/// The number in a part such as `.m4` of `atlantis.m4.d1.trc.gz`.
fn number_after(name: &str, letter: char) -> Option<u32> {
    name.split('.').skip(1).find_map(|part| part.strip_prefix(letter)?.parse().ok())
}

/// The unread bytes of a trace.
struct Cursor<'a> {
    path: &'a Path,
    bytes: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn take(&mut self, count: usize, inside: impl FnOnce() -> String) -> Result<&'a [u8], TraceError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(TraceError::CutShort { path: self.path.to_owned(), inside: inside() });
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, inside: impl FnOnce() -> String) -> Result<[u8; N], TraceError> {
        Ok(self.take(N, inside)?.try_into().expect("take returns as many bytes as asked for"))
    }

    fn malformed(&self, what: String) -> TraceError {
        TraceError::Malformed { path: self.path.to_owned(), what }
    }
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<(TraceHeader, bool), TraceError> {
    let inside = || "the header".to_owned();
    if !cursor.bytes.starts_with(MAGIC) {
        return Err(TraceError::NotATrace { path: cursor.path.to_owned() });
    }
    cursor.take(MAGIC.len(), inside)?;
    let [name_bytes] = cursor.array(inside)?;
    let game = String::from_utf8_lossy(cursor.take(usize::from(name_bytes), inside)?).into_owned();
    let md5 = cursor.array::<16>(inside)?.iter().map(|byte| format!("{byte:02x}")).collect();
    let [width, height] = [cursor.array(inside)?, cursor.array(inside)?].map(u16::from_le_bytes);
    let [frames, _policy_seed] = [cursor.array(inside)?, cursor.array(inside)?].map(u32::from_le_bytes);
    let [flags, actions] = cursor.array(inside)?;
    let minimal_actions = cursor.take(usize::from(actions), inside)?.to_vec();
    Ok((TraceHeader { game, md5, width, height, frames, minimal_actions }, flags & THIN != 0))
}

fn read_records(cursor: &mut Cursor<'_>, header: &TraceHeader, thin: bool) -> Result<Vec<TraceRecord>, TraceError> {
    let screen_bytes = usize::from(header.width) * usize::from(header.height);
    let mut records = Vec::new();
    let mut ram = [0; 128];
    let mut held = 0;
    while !cursor.bytes.is_empty() {
        let inside = || format!("record {} of {} announced frames", records.len(), header.frames);
        let [kind_byte, action, flags, lives] = cursor.array(inside)?;
        let kind = match kind_byte {
            0 => RecordKind::Loaded,
            1 => RecordKind::Reset,
            2 => RecordKind::Acted(action),
            _ => return Err(cursor.malformed(format!("record {} is of the unknown kind {kind_byte}", records.len()))),
        };
        held += u32::from(kind_byte == 2);
        let reward = i32::from_le_bytes(cursor.array(inside)?);
        let [ram_crc, screen_crc] = [cursor.array(inside)?, cursor.array(inside)?].map(u32::from_le_bytes);
        if !thin {
            let [changes] = cursor.array(inside)?;
            for change in cursor.take(2 * usize::from(changes), inside)?.chunks_exact(2) {
                *ram.get_mut(usize::from(change[0])).ok_or_else(|| {
                    cursor.malformed(format!("record {} changes RAM byte {}", records.len(), change[0]))
                })? = change[1];
            }
        }
        let screen =
            if !thin && flags & KEY_SCREEN != 0 { Some(cursor.take(screen_bytes, inside)?.to_vec()) } else { None };
        let game_over = flags & GAME_OVER != 0;
        let (lives, ram) = (i32::from(lives as i8), (!thin).then_some(ram));
        records.push(TraceRecord { kind, game_over, lives, reward, ram_crc, screen_crc, ram, screen });
    }
    if held != header.frames {
        return Err(TraceError::WrongLength { path: cursor.path.to_owned(), announced: header.frames, held });
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mode_and_difficulty_are_read_from_the_file_name() {
        assert_eq!(number_after("atlantis.m4.d1.trc.gz", 'm'), Some(4));
        assert_eq!(number_after("atlantis.m4.d1.trc.gz", 'd'), Some(1));
        assert_eq!(number_after("demon_attack.trc.gz", 'd'), None);
        assert_eq!(number_after("mr_do.trc.gz", 'm'), None);
    }
}
