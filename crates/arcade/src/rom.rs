//! Finds the ROM of a game, and fetches it if it is missing. In: a [`Game`]; out: the bytes of its ROM.
//!
//! A file is the ROM of a game if its MD5 checksum is; its name does not matter. Nothing here prints: the caller passes an
//! observer, which receives each [`RomEvent`].

mod fetch;

pub use fetch::{fetch_into, roms_in_wheel};

use crate::game::Game;
use md5::{Digest, Md5};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The locations of ROMs, in the order in which they are searched.
#[derive(Debug, Clone)]
pub struct Roms {
    locations: Vec<RomLocation>,
    data_folder: Option<PathBuf>,
}

/// A folder that may hold ROMs.
#[derive(Debug, Clone)]
pub struct RomLocation {
    pub kind: LocationKind,
    /// The folder, unless it is that of an `ale_py` package yet to be found.
    configured: Option<PathBuf>,
}

/// Where a location comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LocationKind {
    /// `--roms DIR`.
    Option,
    /// `$SANE_ROMS`.
    Variable,
    /// The user's data folder, where fetched ROMs are stored.
    DataFolder,
    /// The `ale_py` package of an installed Python.
    AlePackage,
}

/// What an observer is told while ROMs are searched and fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RomEvent {
    /// A file has the name of a ROM and another checksum; the search continues.
    Damaged { path: PathBuf, expected: &'static str, found: String },
    /// A command that downloads the ale-py package starts.
    Downloading { command: String },
    /// ROMs were checked and stored.
    Stored {
        count: usize,
        folder: PathBuf,
        /// File name of the wheel they came from.
        wheel: String,
    },
}

/// Why there is no ROM.
#[derive(Debug, thiserror::Error)]
pub enum RomError {
    #[error("{} is not the ROM of {game}: its MD5 is {found}, that of {game} is {expected}; remove it or replace it (`sane roms fetch`)", path.display())]
    WrongChecksum { game: &'static str, path: PathBuf, expected: &'static str, found: String },
    #[error("no ROM of {game}. Looked in:{}\nfetching failed: {fetch}\nthree ways to supply ROMs:\n  1. `sane roms fetch` on a machine with pip and network\n  2. `pip install ale-py`, whose package carries them\n  3. put the .bin files into a folder and name it with --roms DIR or $SANE_ROMS", indented(.searched))]
    Missing {
        game: &'static str,
        /// Each location that was searched, described.
        searched: Vec<String>,
        fetch: Box<RomError>,
    },
    #[error("pip could not download ale-py:{}", indented(.attempts))]
    NoPip {
        /// Each command that was tried, and its error.
        attempts: Vec<String>,
    },
    #[error("the wheel {} is unusable: {reason}", wheel.display())]
    BadWheel { wheel: PathBuf, reason: String },
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: std::io::Error },
    #[error("this system names no folder for user data; name one with --roms DIR or $SANE_ROMS")]
    NoDataFolder,
}

fn indented(lines: &[String]) -> String {
    lines.iter().map(|line| format!("\n  {line}")).collect()
}

impl Roms {
    /// Searches `folder` (the option `--roms`), `$SANE_ROMS`, the user's data folder, an installed `ale_py` package.
    pub fn new(folder: Option<&Path>) -> Self {
        let data_folder = dirs::data_dir().map(|data| data.join("sane").join("roms"));
        Self { locations: locations(folder, data_folder.as_deref()), data_folder }
    }

    pub fn locations(&self) -> &[RomLocation] {
        &self.locations
    }

    /// Where fetched ROMs are stored.
    pub fn data_folder(&self) -> Result<&Path, RomError> {
        self.data_folder.as_deref().ok_or(RomError::NoDataFolder)
    }

    /// The file of the game's ROM, if any location has it. A file with the ROM's name and another checksum is an error if
    /// the user named the folder, and a [`RomEvent`] otherwise.
    pub fn find(&self, game: &'static Game, observer: &mut dyn FnMut(RomEvent)) -> Result<Option<PathBuf>, RomError> {
        for location in &self.locations {
            let Some(folder) = location.folder() else { continue };
            match search(&folder, game) {
                Search::Found(path) => return Ok(Some(path)),
                Search::Nothing => {}
                Search::WrongChecksum { path, found } if location.kind.is_named_by_user() => {
                    return Err(RomError::WrongChecksum { game: game.name, path, expected: game.md5, found });
                }
                Search::WrongChecksum { path, found } => {
                    observer(RomEvent::Damaged { path, expected: game.md5, found });
                }
            }
        }
        Ok(None)
    }

    /// The same locations, with the folder of the `ale_py` package's ROMs, if the caller knows it.
    pub fn with_ale_package(mut self, folder: Option<PathBuf>) -> Self {
        if let Some(location) = self.locations.iter_mut().find(|location| location.kind == LocationKind::AlePackage) {
            location.configured = folder;
        }
        self
    }

    /// The game's ROM, fetched if no location has it.
    pub fn load(&self, game: &'static Game, observer: &mut dyn FnMut(RomEvent)) -> Result<Vec<u8>, RomError> {
        let path = match self.find(game, observer)? {
            Some(path) => path,
            None => self.fetch(game, observer)?,
        };
        std::fs::read(&path).map_err(|source| RomError::Io { doing: "read", path, source })
    }

    fn fetch(&self, game: &'static Game, observer: &mut dyn FnMut(RomEvent)) -> Result<PathBuf, RomError> {
        let missing = |fetch| {
            let searched = self.locations.iter().map(RomLocation::describe).collect();
            RomError::Missing { game: game.name, searched, fetch: Box::new(fetch) }
        };
        let folder = self.data_folder().map_err(missing)?;
        fetch_into(folder, Some(game), observer).map_err(missing)?;
        Ok(folder.join(game.rom_file_name()))
    }
}

impl LocationKind {
    /// Whether the user named this folder, so that a damaged file in it is an error.
    pub fn is_named_by_user(self) -> bool {
        matches!(self, Self::Option | Self::Variable)
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "--roms",
            Self::Variable => "$SANE_ROMS",
            Self::DataFolder => "data folder",
            Self::AlePackage => "ale_py package",
        }
    }
}

impl RomLocation {
    /// The folder, if it is set. For an `ale_py` package that was not named this runs Python, once per process.
    pub fn folder(&self) -> Option<PathBuf> {
        match (&self.configured, self.kind) {
            (None, LocationKind::AlePackage) => ale_package().map(Path::to_owned),
            (configured, _) => configured.clone(),
        }
    }

    /// One line for people: name, folder, whether it exists.
    pub fn describe(&self) -> String {
        let name = self.kind.name();
        match self.folder() {
            Some(folder) if folder.is_dir() => format!("{name}: {}", folder.display()),
            Some(folder) => format!("{name}: {} (no such folder)", folder.display()),
            None if self.kind == LocationKind::AlePackage => format!("{name}: not installed for python3 or python"),
            None => format!("{name}: not set"),
        }
    }
}

impl fmt::Display for RomEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
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

/// MD5 checksum in lower-case hexadecimal.
pub fn md5_hex(bytes: &[u8]) -> String {
    Md5::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn locations(option: Option<&Path>, data_folder: Option<&Path>) -> Vec<RomLocation> {
    let variable = std::env::var_os("SANE_ROMS").filter(|value| !value.is_empty()).map(PathBuf::from);
    vec![
        RomLocation { kind: LocationKind::Option, configured: option.map(Path::to_owned) },
        RomLocation { kind: LocationKind::Variable, configured: variable },
        RomLocation { kind: LocationKind::DataFolder, configured: data_folder.map(Path::to_owned) },
        RomLocation { kind: LocationKind::AlePackage, configured: None },
    ]
}

/// The ROM folder of the `ale_py` package. `find_spec` locates a package without importing it.
fn ale_package() -> Option<&'static Path> {
    const SCRIPT: &str =
        "import importlib.util as u; s = u.find_spec('ale_py'); print(s.submodule_search_locations[0] if s else '')";
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let run = |python: &str| {
        let output = Command::new(python).args(["-c", SCRIPT]).output().ok()?;
        let package = String::from_utf8(output.stdout).ok()?;
        let roms = Path::new(package.trim()).join("roms");
        (!package.trim().is_empty() && roms.is_dir()).then_some(roms)
    };
    FOLDER.get_or_init(|| run("python3").or_else(|| run("python"))).as_deref()
}

/// What a folder holds of a game.
#[derive(Debug, PartialEq, Eq)]
enum Search {
    Found(PathBuf),
    /// A file with the ROM's name and another checksum, and no file with the right one.
    WrongChecksum {
        path: PathBuf,
        found: String,
    },
    Nothing,
}

/// Searches a folder: the file with the ROM's usual name first, then every file of its size.
fn search(folder: &Path, game: &Game) -> Search {
    let usual = folder.join(game.rom_file_name());
    let usual_md5 = std::fs::read(&usual).ok().map(|bytes| md5_hex(&bytes));
    if usual_md5.as_deref() == Some(game.md5) {
        return Search::Found(usual);
    }
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.path()).collect();
    files.sort();
    let has_size = |path: &PathBuf| path.metadata().is_ok_and(|m| m.is_file() && m.len() == game.rom_bytes as u64);
    let has_checksum = |path: &PathBuf| std::fs::read(path).is_ok_and(|bytes| md5_hex(&bytes) == game.md5);
    match (files.into_iter().filter(has_size).find(has_checksum), usual_md5) {
        (Some(path), _) => Search::Found(path),
        (None, Some(found)) => Search::WrongChecksum { path: usual, found },
        (None, None) => Search::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_damaged_rom_in_a_folder_that_the_user_names_is_an_error_with_both_checksums() {
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
        assert_eq!(search(folder.path(), Game::named("boxing").unwrap()), Search::Nothing);
    }

    #[test]
    fn a_checksum_is_the_published_md5() {
        assert_eq!(md5_hex(b"abc"), "900150983cd24fb0d6963f7d28e17f72");
    }

    #[test]
    fn the_option_comes_first_and_the_installed_package_last() {
        let locations = locations(Some(Path::new("mine")), Some(Path::new("data")));
        let kinds: Vec<_> = locations.iter().map(|location| location.kind).collect();
        use LocationKind::{AlePackage, DataFolder, Option, Variable};
        assert_eq!(kinds, [Option, Variable, DataFolder, AlePackage]);
        assert_eq!(locations[0].folder(), Some(PathBuf::from("mine")));
    }

    #[test]
    fn a_folder_that_does_not_exist_is_described_as_such() {
        let locations = locations(Some(Path::new("no/such/folder")), None);
        assert_eq!(locations[0].describe(), "--roms: no/such/folder (no such folder)");
        assert_eq!(locations[2].describe(), "data folder: not set");
    }
}
