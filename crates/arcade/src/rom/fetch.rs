//! Fetches the ROMs with the machine's own pip: downloads the ale-py wheel, takes the ROMs out, checks each, stores them.

use super::{Looked, News, RomError, file_name, look_in, md5_hex};
use crate::game::Game;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs that may be or have pip, in the order they are tried.
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

/// Downloads the package and stores every ROM of the table in `folder`; returns how many. With `wanted`, nothing is
/// downloaded when another process has stored that game meanwhile.
pub fn fetch_into(folder: &Path, wanted: Option<&Game>, news: &mut dyn FnMut(News)) -> Result<usize, RomError> {
    let failed = |doing, path: &Path| {
        let path = path.to_owned();
        move |source| RomError::Io { doing, path, source }
    };
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    // Test processes start side by side: one downloads, the others wait for it. Files appear whole or not at all.
    let lock_path = folder.join(".fetch.lock");
    let lock = File::create(&lock_path).map_err(failed("create", &lock_path))?;
    lock.lock().map_err(failed("lock", &lock_path))?;
    if wanted.is_some_and(|game| matches!(look_in(folder, game), Looked::Found(_))) {
        return Ok(0);
    }
    let download = tempfile::tempdir().map_err(failed("create a temporary folder beside", folder))?;
    let wheel = download_wheel(download.path(), news)?;
    let roms = unpack(&wheel)?;
    for (game, bytes) in &roms {
        store(folder, game, bytes)?;
    }
    let wheel = wheel.file_name().unwrap_or_default().to_string_lossy().into_owned();
    news(News::Stored { count: roms.len(), folder: folder.to_owned(), wheel });
    Ok(roms.len())
}

fn download_wheel(folder: &Path, news: &mut dyn FnMut(News)) -> Result<PathBuf, RomError> {
    let mut attempts = Vec::new();
    for pip in PIPS {
        let (program, first) = pip.split_first().expect("each entry names a program");
        let command_line = [pip, &DOWNLOAD].concat().join(" ");
        news(News::Downloading { command: command_line.clone() });
        let result = Command::new(program).args(first).args(DOWNLOAD).arg("--dest").arg(folder).output();
        let said = match result {
            Err(error) => error.to_string(),
            Ok(output) if output.status.success() => match wheel_in(folder) {
                Some(wheel) => return Ok(wheel),
                None => "it downloaded no wheel".to_owned(),
            },
            Ok(output) => last_words(&output.stderr),
        };
        attempts.push(format!("{command_line}: {said}"));
    }
    Err(RomError::NoPip { attempts })
}

fn wheel_in(folder: &Path) -> Option<PathBuf> {
    let paths = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path());
    paths.into_iter().find(|path| path.extension().is_some_and(|extension| extension == "whl"))
}

/// pip's last line is its verdict.
fn last_words(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it failed without a word").to_owned()
}

/// The ROMs in a wheel, each known by its checksum; all games of the table must be there.
fn unpack(wheel: &Path) -> Result<Vec<(&'static Game, Vec<u8>)>, RomError> {
    let bad = |reason: String| RomError::BadWheel { wheel: wheel.to_owned(), reason };
    let file = File::open(wheel).map_err(|error| bad(error.to_string()))?;
    let mut archive = zip::ZipArchive::new(file).map_err(|error| bad(error.to_string()))?;
    let mut roms: Vec<(&'static Game, Vec<u8>)> = Vec::new();
    for i in 0..archive.len() {
        let mut entry = archive.by_index(i).map_err(|error| bad(error.to_string()))?;
        if !entry.name().is_ok_and(|name| name.ends_with(".bin")) {
            continue;
        }
        let mut bytes = Vec::new();
        entry.read_to_end(&mut bytes).map_err(|error| bad(error.to_string()))?;
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

/// Whole or not at all: written beside its place, then renamed into it.
fn store(folder: &Path, game: &Game, bytes: &[u8]) -> Result<(), RomError> {
    let path = folder.join(file_name(game));
    let failed = |source| RomError::Io { doing: "write", path: path.clone(), source };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(bytes).map_err(failed)?;
    file.persist(&path).map_err(|error| failed(error.error))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_wheel_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("ale_py-0.whl");
        fs::write(&wheel, b"not a zip").unwrap();
        assert!(matches!(unpack(&wheel), Err(RomError::BadWheel { .. })));
    }

    #[test]
    fn a_wheel_without_roms_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let wheel = folder.path().join("ale_py-0.whl");
        let mut archive = zip::ZipWriter::new(File::create(&wheel).unwrap());
        archive.start_file("ale_py/roms/boxing.bin", zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(b"not boxing").unwrap();
        archive.finish().unwrap();
        let error = unpack(&wheel).unwrap_err().to_string();
        assert!(error.contains("none of the ROMs"), "{error}");
    }

    #[test]
    fn the_last_line_of_pip_is_its_verdict() {
        assert_eq!(last_words(b"WARNING: a\nERROR: No matching distribution\n\n"), "ERROR: No matching distribution");
    }
}
