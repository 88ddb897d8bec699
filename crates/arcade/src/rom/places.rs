//! The folders in which ROMs may lie, in the order they are looked at.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// A folder that may hold ROMs.
#[derive(Debug, Clone)]
pub struct Place {
    /// Why it is looked at.
    pub kind: PlaceKind,
    known: Option<PathBuf>,
}

/// Why a folder is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceKind {
    /// `--roms DIR`.
    Option,
    /// `$SANE_ROMS`.
    Variable,
    /// The user's data folder, where fetched ROMs are stored.
    DataFolder,
    /// The `ale_py` package of the machine's Python.
    AlePackage,
}

impl PlaceKind {
    /// Whether the user named this folder, so that a damaged file in it must not be passed over.
    pub fn is_named_by_user(self) -> bool {
        matches!(self, Self::Option | Self::Variable)
    }

    /// As the user knows it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Option => "--roms",
            Self::Variable => "$SANE_ROMS",
            Self::DataFolder => "data folder",
            Self::AlePackage => "ale_py package",
        }
    }
}

impl Place {
    /// The folder, if there is one to look at. Python is asked for its package only when this is called, and once.
    pub fn folder(&self) -> Option<PathBuf> {
        match self.kind {
            PlaceKind::AlePackage => ale_package().map(Path::to_owned),
            _ => self.known.clone(),
        }
    }

    /// One line about it for people.
    pub fn described(&self) -> String {
        let name = self.kind.name();
        match self.folder() {
            Some(folder) if folder.is_dir() => format!("{name}: {}", folder.display()),
            Some(folder) => format!("{name}: {} (no such folder)", folder.display()),
            None if self.kind == PlaceKind::AlePackage => format!("{name}: not installed for python3 or python"),
            None => format!("{name}: not set"),
        }
    }
}

pub(super) fn in_order(option: Option<&Path>, data_folder: Option<&Path>) -> Vec<Place> {
    let variable = std::env::var_os("SANE_ROMS").filter(|value| !value.is_empty()).map(PathBuf::from);
    vec![
        Place { kind: PlaceKind::Option, known: option.map(Path::to_owned) },
        Place { kind: PlaceKind::Variable, known: variable },
        Place { kind: PlaceKind::DataFolder, known: data_folder.map(Path::to_owned) },
        Place { kind: PlaceKind::AlePackage, known: None },
    ]
}

/// Python itself knows best where its packages are; asking for the place of one does not run it.
fn ale_package() -> Option<&'static Path> {
    const QUESTION: &str =
        "import importlib.util as u; s = u.find_spec('ale_py'); print(s.submodule_search_locations[0] if s else '')";
    static ROMS: OnceLock<Option<PathBuf>> = OnceLock::new();
    let ask = |python: &str| {
        let answer = Command::new(python).args(["-c", QUESTION]).output().ok()?;
        let package = String::from_utf8(answer.stdout).ok()?;
        let roms = Path::new(package.trim()).join("roms");
        (!package.trim().is_empty() && roms.is_dir()).then_some(roms)
    };
    ROMS.get_or_init(|| ask("python3").or_else(|| ask("python"))).as_deref()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_comes_first_and_the_installed_package_last() {
        let places = in_order(Some(Path::new("mine")), Some(Path::new("data")));
        let kinds: Vec<_> = places.iter().map(|place| place.kind).collect();
        assert_eq!(kinds, [PlaceKind::Option, PlaceKind::Variable, PlaceKind::DataFolder, PlaceKind::AlePackage]);
        assert_eq!(places[0].folder(), Some(PathBuf::from("mine")));
    }

    #[test]
    fn a_folder_that_is_not_there_is_said_to_be_missing() {
        let places = in_order(Some(Path::new("no/such/folder")), None);
        assert_eq!(places[0].described(), "--roms: no/such/folder (no such folder)");
        assert_eq!(places[2].described(), "data folder: not set");
    }
}
