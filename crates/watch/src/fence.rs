//! The folders that may be seen. Whatever lies outside, by `..` or by a symbolic link, does not exist for a visitor.

use crate::WatchError;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The given folders; every file is opened through here.
#[derive(Debug, Clone)]
pub struct Fence {
    roots: Vec<Root>,
}

/// A folder as it was named and where it really is.
#[derive(Debug, Clone)]
pub struct Root {
    /// As named.
    pub named: PathBuf,
    /// Without links and dots.
    pub real: PathBuf,
}

impl Fence {
    /// Around these folders, which must be there.
    pub fn around(folders: &[PathBuf]) -> Result<Self, WatchError> {
        let root = |named: &PathBuf| match fs::canonicalize(named) {
            Ok(real) if real.is_dir() => Ok(Root { named: named.clone(), real }),
            _ => Err(WatchError::NotAFolder { folder: named.clone() }),
        };
        Ok(Self { roots: folders.iter().map(root).collect::<Result<_, _>>()? })
    }

    /// The folders.
    pub fn roots(&self) -> &[Root] {
        &self.roots
    }

    /// Where `path` really is, if that is inside.
    pub fn admit(&self, path: &Path) -> io::Result<PathBuf> {
        let real = fs::canonicalize(path)?;
        if self.roots.iter().any(|root| real.starts_with(&root.real)) {
            return Ok(real);
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "it lies outside the given folders"))
    }

    /// Opens a file inside.
    pub fn open(&self, path: &Path) -> io::Result<File> {
        File::open(self.admit(path)?)
    }

    /// The bytes of a file inside, if they are not more than `most`.
    pub fn read(&self, path: &Path, most: u64) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.open(path)?.take(most + 1).read_to_end(&mut bytes)?;
        if most < bytes.len() as u64 {
            return Err(io::Error::new(io::ErrorKind::InvalidData, format!("it has more than {most} bytes")));
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_outside_is_not_there_neither_by_dots_nor_by_links() {
        let folder = tempfile::tempdir().unwrap();
        let (inside, outside) = (folder.path().join("inside"), folder.path().join("outside"));
        fs::create_dir(&inside).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(inside.join("file"), "1").unwrap();
        fs::write(outside.join("secret"), "2").unwrap();
        std::os::unix::fs::symlink(outside.join("secret"), inside.join("link")).unwrap();
        std::os::unix::fs::symlink(&outside, inside.join("folder")).unwrap();
        let fence = Fence::around(std::slice::from_ref(&inside)).unwrap();
        assert_eq!(fence.read(&inside.join("file"), 9).unwrap(), b"1");
        for path in ["link", "folder/secret", "../outside/secret", "../outside", ".."] {
            assert_eq!(fence.open(&inside.join(path)).unwrap_err().kind(), io::ErrorKind::NotFound, "{path}");
        }
        // A folder whose name begins like the fence's is another folder.
        fs::create_dir(folder.path().join("inside-not")).unwrap();
        assert!(fence.admit(&folder.path().join("inside-not")).is_err());
    }

    #[test]
    fn a_file_larger_than_asked_for_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "123").unwrap();
        let fence = Fence::around(&[folder.path().into()]).unwrap();
        assert!(fence.read(&folder.path().join("file"), 3).is_ok());
        assert!(fence.read(&folder.path().join("file"), 2).is_err());
    }
}
