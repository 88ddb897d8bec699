//! The file operations of a run: the writers' ones as a trait, so that tests can have a disk that fills up, fails or loses
//! power, and the readers' ones, which open plain files alone and stop at a limit.

use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What the writers of a run do to a disk. A name (a new file, a rename, a removal) is durable after
/// [`sync_names`](Self::sync_names) of its folder, the bytes of a file after [`sync`](Self::sync).
pub trait Disk: Debug + Send + Sync {
    /// Creates a folder and the missing ones above it; returns when their names are on the disk.
    fn create_folder(&self, folder: &Path) -> io::Result<()>;
    /// Opens a file for reading and writing; creates it if it is missing.
    fn open(&self, path: &Path) -> io::Result<File>;
    /// Returns when the bytes of an open file are on the disk.
    fn sync(&self, path: &Path, file: &File) -> io::Result<()>;
    /// Writes a new file and returns when its bytes are on the disk.
    fn write_durably(&self, path: &Path, pieces: &[&[u8]]) -> io::Result<()>;
    /// Gives a file its name, replacing what had it.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when all new names, renames and removals in the folder are on the disk.
    fn sync_names(&self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
}

/// The disk of this machine.
#[derive(Debug, Clone, Copy)]
pub struct RealDisk;

impl RealDisk {
    /// As a handle that writers share.
    pub fn shared() -> Arc<dyn Disk> {
        Arc::new(Self)
    }
}

impl Disk for RealDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let missing: Vec<&Path> =
            folder.ancestors().take_while(|above| !above.as_os_str().is_empty() && !above.exists()).collect();
        fs::create_dir_all(folder)?;
        missing.into_iter().try_for_each(|created| self.sync_names(parent(created)))
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        require_plain(path)?;
        OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)
    }

    fn sync(&self, _path: &Path, file: &File) -> io::Result<()> {
        file.sync_data()
    }

    fn write_durably(&self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let mut file = File::create(path)?;
        pieces.iter().try_for_each(|piece| file.write_all(piece))?;
        file.sync_all()
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_names(&self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

/// Replaces the file at `path` by way of `temporary`: a reader sees the old content or the new one, also after a loss of
/// power; when it returns, the new one is on the disk.
pub fn replace_file(disk: &dyn Disk, temporary: &Path, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
    disk.write_durably(temporary, pieces)?;
    disk.rename(temporary, path)?;
    disk.sync_names(parent(path))
}

/// Opens a plain file for reading. A folder is an error, and so are a pipe, a socket and a device, on which reading might
/// wait for ever; symbolic links are followed.
pub fn open_plain(path: &Path) -> io::Result<File> {
    let found = fs::metadata(path)?;
    refuse_kind(&found)?;
    File::open(path)
}

/// The bytes of a plain file; an error if there are more than `most`.
pub fn read_plain(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open_plain(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if most < bytes.len() as u64 {
        let reason = format!("it has more than {most} bytes, which no such file of a run has");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, reason));
    }
    Ok(bytes)
}

/// The text of a plain file; an error if it has more than `most` bytes.
pub fn read_plain_text(path: &Path, most: u64) -> io::Result<String> {
    let not_text = |_| io::Error::new(io::ErrorKind::InvalidData, "it is not text");
    String::from_utf8(read_plain(path, most)?).map_err(not_text)
}

/// The folder that holds the name of `path`.
pub(crate) fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    }
}

/// An error if there is something at `path` that is no plain file: opening a pipe for writing might wait for ever.
pub fn require_plain(path: &Path) -> io::Result<()> {
    match fs::metadata(path) {
        Ok(found) => refuse_kind(&found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
    }
}

fn refuse_kind(found: &fs::Metadata) -> io::Result<()> {
    match (found.is_file(), found.is_dir()) {
        (true, _) => Ok(()),
        (_, true) => Err(io::Error::new(io::ErrorKind::IsADirectory, "it is a folder, not a file")),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is a pipe, a socket or a device, not a file")),
    }
}

/// `path` with a last part that no other process uses for its temporary files.
pub fn temporary_beside(path: &Path) -> PathBuf {
    path.with_added_extension(format!("new-{}", std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_file_has_the_new_content_and_no_temporary_one_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a/b/file");
        RealDisk.create_folder(path.parent().unwrap()).unwrap();
        for text in [&b"one"[..], b"two"] {
            replace_file(&RealDisk, &temporary_beside(&path), &path, &[text]).unwrap();
            assert_eq!(read_plain(&path, 3).unwrap(), text);
        }
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_over_the_limit_a_folder_a_socket_and_a_loop_of_links_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        // A sparse file: no reader may load it.
        File::create(at("huge")).unwrap().set_len(1 << 40).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(at("socket")).unwrap();
        std::os::unix::fs::symlink(at("loop"), at("loop")).unwrap();
        for (name, said) in [("huge", "more than 100 bytes"), ("socket", "a socket"), (".", "a folder"), ("loop", "")] {
            let error = read_plain(&at(name), 100).unwrap_err().to_string();
            assert!(error.contains(said), "{name}: {error}");
        }
        assert!(RealDisk.open(&at("socket")).is_err() && RealDisk.open(&at("loop")).is_err());
    }
}
