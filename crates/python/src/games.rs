//! The table of games for Python, and their ROMs.

use crate::errors::value_error;
use pyo3::exceptions::PyFileNotFoundError;
use pyo3::prelude::*;
use sane_arcade::{Game, Roms, md5_hex};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// One row of the table: name, modes, difficulties, ids of the minimal and of the legal actions, rows of the screen.
type GameRow = (&'static str, Vec<u32>, Vec<u32>, Vec<u8>, Vec<u8>, u32);

/// The games: name, modes, difficulties, ids of the minimal actions, ids of the legal actions, rows of the screen.
#[pyfunction]
pub fn games() -> Vec<GameRow> {
    let ids = |actions: &[sane_arcade::Joystick]| actions.iter().map(|action| action.id()).collect();
    let row = |game: &'static Game| {
        let (minimal, legal) = (ids(&game.minimal_actions), ids(&game.legal_actions()));
        (game.name, game.modes.clone(), game.difficulties.clone(), minimal, legal, game.height)
    };
    Game::all().iter().map(row).collect()
}

/// The name of the game whose ROM this file is, if it is one of the table.
#[pyfunction]
pub fn game_of_rom(path: PathBuf) -> PyResult<Option<&'static str>> {
    let bytes = std::fs::read(&path)
        .map_err(|error| PyFileNotFoundError::new_err(format!("cannot read the ROM {}: {error}", path.display())))?;
    Ok(Game::with_md5(&md5_hex(&bytes)).map(|game| game.name))
}

/// The game of this name.
pub fn game(name: &str) -> PyResult<&'static Game> {
    Game::named(name).map_err(value_error)
}

/// The ROM of a game, from the locations that the program searches, or fetched; read once per process.
pub fn rom(py: Python<'_>, game: &'static Game, ale_package: Option<PathBuf>) -> PyResult<Arc<[u8]>> {
    static READ: Mutex<BTreeMap<&'static str, Arc<[u8]>>> = Mutex::new(BTreeMap::new());
    let read = || READ.lock().unwrap_or_else(PoisonError::into_inner);
    let known = read().get(game.name).cloned();
    if let Some(bytes) = known {
        return Ok(bytes);
    }
    let roms = Roms::new(None).with_ale_package(ale_package);
    let bytes = py.detach(|| roms.load(game, &mut |_| ()));
    let bytes: Arc<[u8]> = bytes.map_err(|error| PyFileNotFoundError::new_err(error.to_string()))?.into();
    read().insert(game.name, Arc::clone(&bytes));
    Ok(bytes)
}
