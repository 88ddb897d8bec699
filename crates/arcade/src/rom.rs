//! Where ROMs are found and how they are fetched. In: a [`Game`]; out: its ROM's bytes, known by their MD5 checksum.
//!
//! A name says nothing: a file is the ROM of a game when its checksum is. Nothing here prints; what happened is told to
//! the caller's [`News`] listener.

mod fetch;
mod places;

pub use fetch::fetch_into;
pub use places::{Place, PlaceKind};

use crate::game::Game;
use md5::{Digest, Md5};
use std::path::{Path, PathBuf};

/// Why there is no ROM.
#[derive(Debug, thiserror::Error)]
pub enum RomError {
    /// A file is called like the ROM, but it is something else.
    #[error("{} is not the ROM of {game}: its MD5 is {found}, that of {game} is {expected}; remove it or replace it (`sane roms fetch`)", path.display())]
    WrongChecksum {
        /// Name of the game.
        game: &'static str,
        /// The file.
        path: PathBuf,
        /// Checksum the ROM has.
        expected: &'static str,
        /// Checksum the file has.
        found: String,
    },
    /// It is nowhere, and could not be fetched.
    #[error("no ROM of {game}. Looked in:{}\nfetching failed: {fetch}\nthree ways to supply ROMs:\n  1. `sane roms fetch` on a machine with pip and network\n  2. `pip install ale-py`, whose package carries them\n  3. put the .bin files into a folder and name it with --roms DIR or $SANE_ROMS", indented(.looked))]
    Missing {
        /// Name of the game.
        game: &'static str,
        /// Each place that was looked at, and what was there.
        looked: Vec<String>,
        /// Why fetching did not help.
        fetch: Box<RomError>,
    },
    /// No program could download the package.
    #[error("pip could not download ale-py:{}", indented(.attempts))]
    NoPip {
        /// Each command that was tried, and what became of it.
        attempts: Vec<String>,
    },
    /// The downloaded wheel is not what it should be.
    #[error("the wheel {} is unusable: {reason}", wheel.display())]
    BadWheel {
        /// The wheel.
        wheel: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A folder or file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system has no folder for user data.
    #[error("this system names no folder for user data; name one with --roms DIR or $SANE_ROMS")]
    NoDataFolder,
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

/// Something worth telling the user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// A file is called like a ROM but is something else; the search goes on.
    Damaged {
        /// The file.
        path: PathBuf,
        /// Checksum it should have.
        expected: &'static str,
        /// Checksum it has.
        found: String,
    },
    /// A command is being run that downloads the package.
    Downloading {
        /// The command line.
        command: String,
    },
    /// ROMs were checked and stored.
    Stored {
        /// How many.
        count: usize,
        /// Where.
        folder: PathBuf,
        /// File name of the wheel they came from.
        wheel: String,
    },
}

impl std::fmt::Display for News {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Damaged { path, expected, found } => {
                write!(f, "{} is damaged: its MD5 is {found}, it should be {expected}", path.display())
            }
            Self::Downloading { command } => write!(f, "fetching the ROMs: {command}"),
            Self::Stored { count, folder, wheel } => {
                write!(f, "{count} ROMs of {wheel} checked and stored in {}", folder.display())
            }
        }
    }
}

/// The places to look at, in order.
#[derive(Debug, Clone)]
pub struct Roms {
    places: Vec<Place>,
    data_folder: Option<PathBuf>,
}

impl Roms {
    /// `folder` (the option `--roms`) first, then `$SANE_ROMS`, the user's data folder, an installed `ale_py` package.
    pub fn new(folder: Option<&Path>) -> Self {
        let data_folder = dirs::data_dir().map(|data| data.join("sane").join("roms"));
        Self { places: places::in_order(folder, data_folder.as_deref()), data_folder }
    }

    /// The places, in order.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// Where fetched ROMs are stored.
    pub fn data_folder(&self) -> Result<&Path, RomError> {
        self.data_folder.as_deref().ok_or(RomError::NoDataFolder)
    }

    /// The file that holds the game's ROM, if any place has it. A file of its name with another checksum is an error
    /// where the user named the folder, and news elsewhere.
    pub fn find(&self, game: &'static Game, news: &mut dyn FnMut(News)) -> Result<Option<PathBuf>, RomError> {
        for place in &self.places {
            let Some(folder) = place.folder() else { continue };
            match look_in(&folder, game) {
                Looked::Found(path) => return Ok(Some(path)),
                Looked::Nothing => {}
                Looked::Other { path, found } if place.kind.is_named_by_user() => {
                    return Err(RomError::WrongChecksum { game: game.name, path, expected: game.md5, found });
                }
                Looked::Other { path, found } => news(News::Damaged { path, expected: game.md5, found }),
            }
        }
        Ok(None)
    }

    /// The game's ROM, fetched if no place has it.
    pub fn load(&self, game: &'static Game, news: &mut dyn FnMut(News)) -> Result<Vec<u8>, RomError> {
        let path = match self.find(game, news)? {
            Some(path) => path,
            None => self.fetch_for(game, news)?,
        };
        read(&path)
    }

    fn fetch_for(&self, game: &'static Game, news: &mut dyn FnMut(News)) -> Result<PathBuf, RomError> {
        let missing = |fetch| {
            let looked = self.places.iter().map(Place::described).collect();
            RomError::Missing { game: game.name, looked, fetch: Box::new(fetch) }
        };
        let folder = self.data_folder().map_err(missing)?;
        fetch_into(folder, Some(game), news).map_err(missing)?;
        Ok(folder.join(file_name(game)))
    }
}

/// Name under which a ROM is stored.
pub(crate) fn file_name(game: &Game) -> String {
    format!("{}.bin", game.name)
}

/// MD5 checksum in lower-case hexadecimal.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What a folder has of a game.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Looked {
    /// The ROM.
    Found(PathBuf),
    /// A file of its name, with another checksum.
    Other { path: PathBuf, found: String },
    /// Neither.
    Nothing,
}

/// The file of the usual name first; then every file of the ROM's size, whatever its name.
pub(crate) fn look_in(folder: &Path, game: &Game) -> Looked {
    let usual = folder.join(file_name(game));
    let usual_md5 = std::fs::read(&usual).ok().map(|bytes| md5_hex(&bytes));
    if usual_md5.as_deref() == Some(game.md5) {
        return Looked::Found(usual);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    let of_its_size = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.len() == game.rom_bytes as u64);
    let is_it = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| md5_hex(&bytes) == game.md5);
    match (files.into_iter().filter(of_its_size).find(is_it), usual_md5) {
        (Some(path), _) => Looked::Found(path),
        (None, Some(found)) => Looked::Other { path: usual, found },
        (None, None) => Looked::Nothing,
    }
}

fn read(path: &Path) -> Result<Vec<u8>, RomError> {
    std::fs::read(path).map_err(|source| RomError::Io { doing: "read", path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_the_user_names_with_a_damaged_rom_is_an_error_with_both_checksums() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("boxing.bin"), [0; 2048]).unwrap();
        let error = Roms::new(Some(folder.path())).find(Game::named("boxing").unwrap(), &mut |_| {}).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("c99a74c555371a433d121f551d6c6398"), "{text}");
        assert!(text.contains("c3ef5c4653212088eda54dc91d787870"), "{text}");
    }

    #[test]
    fn an_empty_folder_has_nothing() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(look_in(folder.path(), Game::named("boxing").unwrap()), Looked::Nothing);
    }

    #[test]
    fn a_checksum_is_the_published_md5() {
        assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
    }
}
