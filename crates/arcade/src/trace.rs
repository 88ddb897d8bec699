//! Recorded runs of the Arcade Learning Environment. In: a gzipped trace file; out: its [`Header`] and [`Record`]s.
//!
//! ```text
//! magic "ALETRC02" · name length u8, name · MD5 of the ROM, 16 bytes · width u16 · height u16 · frames u32 ·
//! policy seed u32 · flags u8 (bit 0 = thin) · number of minimal actions u8, their ids; then records:
//! kind u8 (0 loaded, 1 reset, 2 acted) · action u8 · flags u8 (bit 0 game over, bit 1 key screen follows) · lives i8 ·
//! reward i32 · CRC-32 of RAM u32 · CRC-32 of the screen u32 · unless thin: number of changed RAM bytes u8, that many
//! pairs (index, value) · with a key screen: width × height colour indices            (little endian, whole file gzipped)
//! ```

use std::io::Read;
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"ALETRC02";
const THIN: u8 = 1;
const GAME_OVER: u8 = 1;
const KEY_SCREEN: u8 = 2;

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file is missing, unreadable, or its compressed data ends early.
    #[error("the trace {} cannot be read ({source}); a trace is a whole gzip file", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system or the decompressor said.
        source: std::io::Error,
    },
    /// It does not begin like a trace.
    #[error("{} is not a trace: it does not begin with ALETRC02", path.display())]
    NotATrace {
        /// The file.
        path: PathBuf,
    },
    /// It ends in the middle of something.
    #[error("the trace {} is cut short: it ends inside {inside}", path.display())]
    CutShort {
        /// The file.
        path: PathBuf,
        /// What was being read.
        inside: String,
    },
    /// It holds fewer or more frames than it announces.
    #[error("the trace {} announces {announced} frames and holds {held}", path.display())]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// Frames in the header.
        announced: u32,
        /// Frames in the file.
        held: u32,
    },
    /// A value that the format does not have.
    #[error("the trace {}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What it says.
        what: String,
    },
}

/// What a trace says about itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Name of the game.
    pub game: String,
    /// MD5 of the ROM it was made with, in lower-case hexadecimal.
    pub md5: String,
    /// Pixels per row.
    pub width: u16,
    /// Rows.
    pub height: u16,
    /// Number of acted frames.
    pub frames: u32,
    /// The minimal action set.
    pub minimal_actions: Vec<u8>,
}

/// What led to a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// The game was loaded.
    Loaded,
    /// The game was reset.
    Reset,
    /// One frame with this action.
    Acted(u8),
}

/// The state after a cause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// What led to it.
    pub cause: Cause,
    /// Whether the game was over.
    pub game_over: bool,
    /// Lives.
    pub lives: i32,
    /// Reward of the action.
    pub reward: i32,
    /// Checksum of the 128 bytes of RAM.
    pub ram_crc: u32,
    /// Checksum of the screen.
    pub screen_crc: u32,
    /// The RAM itself, if the trace has it.
    pub ram: Option<[u8; 128]>,
    /// The screen itself, at some records.
    pub screen: Option<Vec<u8>>,
}

/// A whole trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// What it says about itself.
    pub header: Header,
    /// Mode asked for in the file's name (`.m4`), set after loading.
    pub mode: Option<u32>,
    /// Difficulty asked for in the file's name (`.d1`), set after loading.
    pub difficulty: Option<u32>,
    /// All records, in order.
    pub records: Vec<Record>,
}

impl Trace {
    /// Reads a whole file, or says where it is broken.
    pub fn read(path: &Path) -> Result<Self, TraceError> {
        let failed = |source| TraceError::Read { path: path.to_owned(), source };
        let file = std::fs::File::open(path).map_err(failed)?;
        let mut bytes = Vec::new();
        flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).map_err(failed)?;
        let mut cursor = Cursor { path, bytes: &bytes };
        let (header, thin) = read_header(&mut cursor)?;
        let records = read_records(&mut cursor, &header, thin)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok(Self { header, mode: number_after(&name, 'm'), difficulty: number_after(&name, 'd'), records })
    }
}

/// The number in a part such as `.m4` of `atlantis.m4.d1.trc.gz`.
fn number_after(name: &str, letter: char) -> Option<u32> {
    name.split('.').skip(1).find_map(|part| part.strip_prefix(letter)?.parse().ok())
}

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

fn read_header(cursor: &mut Cursor<'_>) -> Result<(Header, bool), TraceError> {
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
    Ok((Header { game, md5, width, height, frames, minimal_actions }, flags & THIN != 0))
}

fn read_records(cursor: &mut Cursor<'_>, header: &Header, thin: bool) -> Result<Vec<Record>, TraceError> {
    let screen_bytes = usize::from(header.width) * usize::from(header.height);
    let mut records = Vec::new();
    let mut ram = [0; 128];
    let mut held = 0;
    while !cursor.bytes.is_empty() {
        let inside = || format!("record {} of {} announced frames", records.len(), header.frames);
        let [kind, action, flags, lives] = cursor.array(inside)?;
        let cause = match kind {
            0 => Cause::Loaded,
            1 => Cause::Reset,
            2 => Cause::Acted(action),
            _ => return Err(cursor.malformed(format!("record {} is of the unknown kind {kind}", records.len()))),
        };
        held += u32::from(kind == 2);
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
        records.push(Record { cause, game_over, lives, reward, ram_crc, screen_crc, ram, screen });
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
    fn mode_and_difficulty_stand_in_the_file_name() {
        assert_eq!(number_after("atlantis.m4.d1.trc.gz", 'm'), Some(4));
        assert_eq!(number_after("atlantis.m4.d1.trc.gz", 'd'), Some(1));
        assert_eq!(number_after("demon_attack.trc.gz", 'd'), None);
        assert_eq!(number_after("mr_do.trc.gz", 'm'), None);
    }
}
