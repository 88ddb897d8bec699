//! Fetches the ROMs with the installed pip: downloads the ale-py wheel, unpacks the ROMs, checks each, stores them.

use super::{RomError, RomEvent, Search, md5_hex, search};
use crate::game::Game;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Commands that may run pip, in the order in which they are tried.
const PIPS: [&[&str]; 4] = [&["python3", "-m", "pip"], &["python", "-m", "pip"], &["pip3"], &["pip"]];
const DOWNLOAD: [&str; 10] = [
    "download",
    "--no-deps",
    "--quiet",
    "--no-input",
    "--disable-pip-version-check",
    "--retries",
    "1",
    "--timeout",
    "20",
    "ale-py",
];

/// Downloads the package and stores every ROM of the table in `folder`; returns how many. Nothing is downloaded if
/// another process has stored the `wanted` game meanwhile.
pub fn fetch_into(folder: &Path, wanted: Option<&Game>, observer: &mut dyn FnMut(RomEvent)) -> Result<usize, RomError> {
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| RomError::Io { doing, path, source }
    };
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    // Processes started at the same time: one downloads, the others wait for the lock.
    let lock_path = folder.join(".fetch.lock");
    let lock = File::create(&lock_path).map_err(failed("create", &lock_path))?;
    lock.lock().map_err(failed("lock", &lock_path))?;
    if wanted.is_some_and(|game| matches!(search(folder, game), Search::Found(_))) {
        return Ok(0);
    }
    let download = tempfile::tempdir().map_err(failed("create a temporary folder beside", folder))?;
    let wheel = download_wheel(download.path(), observer)?;
    let roms = roms_in_wheel(&wheel)?;
    for (game, bytes) in &roms {
        store(folder, game, bytes)?;
    }
    let wheel = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    observer(RomEvent::Stored { count: roms.len(), folder: folder.to_owned(), wheel });
    Ok(roms.len())
}

fn download_wheel(folder: &Path, observer: &mut dyn FnMut(RomEvent)) -> Result<PathBuf, RomError> {
    let mut attempts = Vec::new();
    for pip in PIPS {
        let (program, first) = pip.split_first().expect("each entry names a program");
        let command_line = [pip, &DOWNLOAD].concat().join(" ");
        observer(RomEvent::Downloading { command: command_line.clone() });
        let result = Command::new(program).args(first).args(DOWNLOAD).arg("--dest").arg(folder).output();
        let error = match result {
            Err(error) => error.to_string(),
            Ok(output) if output.status.success() => match wheel_in(folder) {
                Some(wheel) => return Ok(wheel),
                None => "it downloaded no wheel".to_owned(),
            },
            Ok(output) => last_line(&output.stderr),
        };
        attempts.push(format!("{command_line}: {error}"));
    }
    Err(RomError::NoPip { attempts })
}

fn wheel_in(folder: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

/// pip prints the error itself last.
fn last_line(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed without a message").to_owned()
}

/// The largest cartridge has a sixteenth of this.
const MOST_ROM_BYTES: u64 = 1 << 20;

/// Files in a wheel; that of ale-py has a few hundred.
const MOST_FILES: usize = 10_000;

/// The ROMs in a wheel, identified by their checksums; all games of the table must be there.
pub fn roms_in_wheel(wheel: &Path) -> Result<Vec<(&'static Game, Vec<u8>)>, RomError> {
    let bad = |reason: String| RomError::BadWheel { wheel: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(|error| bad(error.to_string()))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| bad(error.to_string()))?;
    let mut roms: Vec<(&'static Game, Vec<u8>)> = Vec::new();
    if MOST_FILES < archive.len() {
        return Err(bad(format!("it holds {} files, a wheel of ale-py a few hundred", archive.len())));
    }
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|error| bad(error.to_string()))?;
        if !entry.name().is_ok_and(|name| name.ends_with(".bin")) {
            continue;
        }
        let mut bytes = Vec::new();
        entry.by_ref().take(MOST_ROM_BYTES + 1).read_to_end(&mut bytes).map_err(|error| bad(error.to_string()))?;
        if MOST_ROM_BYTES < bytes.len() as u64 {
            return Err(bad(format!("a file in it unpacks to more than {MOST_ROM_BYTES} bytes; no ROM is that large")));
        }
        roms.extend(Game::with_md5(&md5_hex(&bytes)).map(|game| (game, bytes)));
    }
    let has = |game: &&Game| roms.iter().any(|(found, _)| found.name == game.name);
    let missing: Vec<&str> = Game::all().iter().filter(|game| !has(game)).map(|game| game.name).collect();
    if roms.is_empty() {
        return Err(bad("it holds none of the ROMs".to_owned()));
    }
    if !missing.is_empty() {
        return Err(bad(format!("no file in it has the checksum of {}", missing.join(", "))));
    }
    Ok(roms)
}

/// Atomic: written to a temporary file in the same folder, then renamed.
fn store(folder: &Path, game: &Game, bytes: &[u8]) -> Result<(), RomError> {
    let path = folder.join(game.rom_file_name());
    let failed = |source| RomError::Io { doing: "write", path: path.clone(), source };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(bytes).and_then(|()| file.as_file().sync_all()).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_wheel_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("ale_py-0.whl");
        fs::write(&wheel, b"not a zip").unwrap();
        assert!(matches!(roms_in_wheel(&wheel), Err(RomError::BadWheel { .. })));
    }

    #[test]
    fn a_wheel_without_roms_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("ale_py-0.whl");
        let mut archive = zip::ZipWriter::new(File::create(&wheel).unwrap());
        archive.start_file("ale_py/roms/boxing.bin", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(b"not boxing").unwrap();
        archive.finish().unwrap();
        let error = roms_in_wheel(&wheel).unwrap_err().to_string();
        assert!(error.contains("none of the ROMs"), "{error}");
    }

    #[test]
    fn the_last_line_of_pip_is_its_error() {
        assert_eq!(last_line(b"WARNING: a\nERROR: No matching distribution\n\n"), "ERROR: No matching distribution");
    }
}
