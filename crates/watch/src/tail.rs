//! A growing file of lines, followed from where reading stopped. Detects when it was cut back or replaced.

use crate::path_guard::PathGuard;
use std::fs::{File, Metadata};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

/// A longer line is not a record.
const LONGEST_LINE: u64 = 16 << 20;

/// Bytes before the offset that are compared with the file to detect a replacement.
const COMPARED: usize = 256;

/// The position at which reading stopped.
#[derive(Debug, Clone, Default)]
pub struct Tail {
    offset: u64,
    inode: u64,
    /// The bytes right before `offset`.
    last: Vec<u8>,
}

/// A change of the file.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Update<'a> {
    /// The file was replaced, deleted or cut back: all lines so far are void.
    Restarted,
    /// A whole line, without its end of line.
    Line(&'a [u8]),
}

impl Tail {
    /// Calls `observe` with what changed in the file at `path`. A torn last line is left for the next call.
    pub fn follow(&mut self, guard: &PathGuard, path: &Path, mut observe: impl FnMut(Update<'_>)) {
        let opened = guard.open(path).and_then(|file| file.metadata().map(|metadata| (file, metadata)));
        let Ok((mut file, metadata)) = opened else {
            if 0 < self.offset {
                *self = Self::default();
                observe(Update::Restarted);
            }
            return;
        };
        if !self.is_same(&mut file, &metadata) {
            if 0 < self.offset {
                observe(Update::Restarted);
            }
            *self = Self { inode: inode(&metadata), ..Self::default() };
        }
        if file.seek(SeekFrom::Start(self.offset)).is_err() {
            return;
        }
        let mut reader = BufReader::with_capacity(1 << 18, file);
        let mut line = Vec::new();
        loop {
            line.clear();
            let Ok(bytes) = reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line) else { return };
            let is_whole = line.last() == Some(&b'\n');
            if !is_whole && (bytes as u64) < LONGEST_LINE {
                return;
            }
            self.offset += bytes as u64;
            self.last.extend_from_slice(&line[line.len().saturating_sub(COMPARED)..]);
            self.last.drain(..self.last.len().saturating_sub(COMPARED));
            if is_whole && 1 < line.len() {
                observe(Update::Line(&line[..line.len() - 1]));
            }
        }
    }

    /// A run that was killed and resumed cuts its events back and continues; by the next call the file may be longer than
    /// before. If the bytes before the offset are unchanged, reading can continue: a resumed run repeats itself.
    fn is_same(&self, file: &mut File, metadata: &Metadata) -> bool {
        if self.inode != inode(metadata) || metadata.len() < self.offset {
            return false;
        }
        let mut found = vec![0; self.last.len()];
        let from = self.offset - self.last.len() as u64;
        file.seek(SeekFrom::Start(from)).and_then(|_| file.read_exact(&mut found)).is_ok() && found == self.last
    }
}

#[cfg(unix)]
fn inode(metadata: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::ino(metadata)
}

#[cfg(not(unix))]
fn inode(_metadata: &Metadata) -> u64 {
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;
    use std::path::PathBuf;

    struct Followed {
        folder: tempfile::TempDir,
        tail: Tail,
        lines: Vec<String>,
        restarts: usize,
    }

    impl Followed {
        fn new() -> Self {
            Self { folder: tempfile::tempdir().unwrap(), tail: Tail::default(), lines: Vec::new(), restarts: 0 }
        }

        fn path(&self) -> PathBuf {
            self.folder.path().join("file")
        }

        fn after(&mut self, text: &str) -> Vec<String> {
            fs::write(self.path(), text).unwrap();
            self.follow()
        }

        fn follow(&mut self) -> Vec<String> {
            let guard = PathGuard::new(&[self.folder.path().into()]).unwrap();
            let (lines, restarts) = (&mut self.lines, &mut self.restarts);
            self.tail.follow(&guard, &self.folder.path().join("file"), |update| match update {
                Update::Restarted => {
                    lines.clear();
                    *restarts += 1;
                }
                Update::Line(line) => lines.push(String::from_utf8_lossy(line).into_owned()),
            });
            self.lines.clone()
        }
    }

    proptest! {
        #[test]
        fn after_any_change_the_observed_lines_are_those_of_the_file(
            versions in prop::collection::vec("[ab\n]{0,30}", 1..8),
        ) {
            let mut followed = Followed::new();
            let mut kept = String::new();
            for version in versions {
                // Half of the changes only append, as most real ones do.
                kept = if version.len() % 2 == 0 { kept + &version } else { version };
                let whole = kept.rfind('\n').map_or("", |end| &kept[..end]);
                let expected: Vec<&str> = whole.split('\n').filter(|line| !line.is_empty()).collect();
                let lines = followed.after(&kept);
                prop_assert_eq!(lines, expected);
            }
        }
    }

    #[test]
    fn a_torn_line_is_observed_once_it_is_whole() {
        let mut followed = Followed::new();
        assert_eq!(followed.after("one\ntw"), ["one"]);
        assert_eq!(followed.after("one\ntwo\nthree\n"), ["one", "two", "three"]);
        assert_eq!(followed.restarts, 0);
    }

    #[test]
    fn a_file_cut_back_and_grown_past_its_old_end_is_read_again() {
        let mut followed = Followed::new();
        followed.after("one\ntwo\nend\n");
        assert_eq!(followed.after("one\ntwo\nthree\nfour\n"), ["one", "two", "three", "four"]);
        assert_eq!(followed.restarts, 1);
    }

    #[test]
    fn a_deleted_file_is_void_and_may_be_created_again() {
        let mut followed = Followed::new();
        followed.after("one\n");
        fs::remove_file(followed.path()).unwrap();
        assert!(followed.follow().is_empty());
        assert_eq!(followed.after("two\n"), ["two"]);
    }
}
