//! The folders that may be read. Every file is opened through here; paths that leave the folders by `..` or by a symbolic
//! link are not found.

use crate::WatchError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The given folders.
#[derive(Debug, Clone)]
pub struct PathGuard {
    roots: Vec<Root>,
}

/// A folder as named by the user, and its canonical path.
#[derive(Debug, Clone)]
pub struct Root {
    pub named: PathBuf,
    pub real: PathBuf,
}

impl PathGuard {
    /// For these folders, which must exist.
    pub fn new(folders: &[PathBuf]) -> Result<Self, WatchError> {
        let root = |named: &PathBuf| match fs::canonicalize(named) {
            Ok(real) if real.is_dir() => Ok(Root { named: named.clone(), real }),
            _ => Err(WatchError::NotAFolder { folder: named.clone() }),
        };
        Ok(Self { roots: folders.iter().map(root).collect::<Result<_, _>>()? })
    }

    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// The canonical path of `path`, if it is inside one of the folders.
    pub fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        let real = fs::canonicalize(path)?;
        if self.roots.iter().any(|root| real.starts_with(&root.real)) {
            return Ok(real);
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "outside the given folders"))
    }

    /// Opens a plain file inside the folders: no pipe, on which reading would wait.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        sane_record::open_plain(&self.resolve(path)?)
    }

    /// The bytes of a file inside the folders; an error if there are more than `most`.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if most < bytes.len() as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("more than {most} bytes")));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_outside_are_not_found_neither_by_dots_nor_by_links() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("file"), "1").unwrap();
        fs::write(outside.join("secret"), "2").unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        let guard = PathGuard::new(std::slice::from_ref(&inside)).unwrap();
        assert_eq!(guard.read(&inside.join("file"), 9).unwrap(), b"1");
        for path in ["link", "folder/secret", "../outside/secret", "../outside", ".."] {
            assert_eq!(guard.open(&inside.join(path)).unwrap_err().kind(), io::ErrorKind::NotFound, "{path}");
        }
        // A folder whose name begins like an allowed one is another folder.
        fs::create_dir(folder.path().join("inside-not")).unwrap();
        assert!(guard.resolve(&folder.path().join("inside-not")).is_err());
    }

    #[test]
    fn a_file_larger_than_the_limit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "123").unwrap();
        let guard = PathGuard::new(&[folder.path().into()]).unwrap();
        assert!(guard.read(&folder.path().join("file"), 3).is_ok());
        assert!(guard.read(&folder.path().join("file"), 2).is_err());
    }
}
