//! Files of one JSON record per line: a writer that can go back to an exact byte, a reader that forgives a torn end.

use crate::RecordError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// An open file of records. What is written reaches the operating system at each [`flush`](Self::flush) and the disk at
/// each [`sync`](Self::sync).
#[derive(Debug)]
pub struct JsonlFile {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
}

impl JsonlFile {
    /// Continues the file at `position`, dropping whatever stands behind it; position 0 begins a new file.
    pub fn resume(path: impl Into<PathBuf>, position: u64) -> Result<Self, RecordError> {
        let path = path.into();
        let mut file = open(&path)?;
        let found_bytes = file.metadata().map_err(RecordError::io("inspect", &path))?.len();
        if found_bytes < position {
            return Err(RecordError::Shortened { path, found_bytes, expected_bytes: position });
        }
        file.set_len(position).map_err(RecordError::io("cut", &path))?;
        file.seek(SeekFrom::Start(position)).map_err(RecordError::io("seek in", &path))?;
        Ok(Self { path, file: BufWriter::new(file), position })
    }

    /// Continues the file behind its last whole line; a line torn by a crash is dropped.
    pub fn append(path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        let path = path.into();
        let whole = match fs::read(&path) {
            Ok(bytes) => bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last as u64 + 1),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => 0,
            Err(source) => return Err(RecordError::Io { doing: "read", path, source }),
        };
        Self::resume(path, whole)
    }

    /// Adds one line.
    pub fn write(&mut self, record: &impl Serialize) -> Result<(), RecordError> {
        let mut line = serde_json::to_vec(record)
            .map_err(|error| RecordError::io("write", &self.path)(std::io::Error::other(error)))?;
        line.push(b'\n');
        self.file.write_all(&line).map_err(RecordError::io("write", &self.path))?;
        self.position += line.len() as u64;
        Ok(())
    }

    /// Bytes written so far: where [`resume`](Self::resume) goes on.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Lets other processes see everything written so far.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))
    }

    /// Puts everything written so far on the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(RecordError::io("sync", &self.path))
    }
}

fn open(path: &Path) -> Result<File, RecordError> {
    OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(path)
        .map_err(RecordError::io("open", path))
}

/// What a file of records held.
#[derive(Debug, Clone, PartialEq)]
pub struct Records<T> {
    /// The whole lines.
    pub records: Vec<T>,
    /// Whether the file ended in a torn line, as after a crash or while it is being written.
    pub torn: bool,
}

/// Reads all records of a file. A torn last line is left out and said; a bad line before it is an error.
pub fn read_jsonl<T: DeserializeOwned>(path: impl AsRef<Path>) -> Result<Records<T>, RecordError> {
    let path = path.as_ref();
    let bytes = fs::read(path).map_err(RecordError::io("read", path))?;
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let records = bytes[..whole]
        .split(|&byte| byte == b'\n')
        .enumerate()
        .filter(|(_, line)| !line.is_empty())
        .map(|(i, line)| {
            serde_json::from_slice(line).map_err(|source| RecordError::Line { path: path.into(), line: i + 1, source })
        })
        .collect::<Result<Vec<T>, _>>()?;
    Ok(Records { records, torn: whole < bytes.len() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().unwrap()
    }

    proptest! {
        #[test]
        fn a_file_cut_back_and_written_again_equals_one_written_in_one_go(
            lines in prop::collection::vec(any::<u32>(), 1..20), kept in 0_usize..20, surplus in prop::collection::vec(any::<u8>(), 0..30),
        ) {
            let folder = folder();
            let (straight, resumed) = (folder.path().join("a"), folder.path().join("b"));
            let kept = kept.min(lines.len());
            let mut file = JsonlFile::resume(&straight, 0).unwrap();
            for line in &lines { file.write(line).unwrap(); }
            file.sync().unwrap();

            let mut file = JsonlFile::resume(&resumed, 0).unwrap();
            for line in &lines[..kept] { file.write(line).unwrap(); }
            file.sync().unwrap();
            let position = file.position();
            drop(file);
            // What a killed process may have left behind the last checkpoint.
            fs::write(&resumed, [fs::read(&resumed).unwrap(), surplus].concat()).unwrap();
            let mut file = JsonlFile::resume(&resumed, position).unwrap();
            for line in &lines[kept..] { file.write(line).unwrap(); }
            file.sync().unwrap();
            prop_assert_eq!(fs::read(&straight).unwrap(), fs::read(&resumed).unwrap());
        }
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_said() {
        let folder = folder();
        let path = folder.path().join("events");
        fs::write(&path, "1\n2\n{\"thr").unwrap();
        assert_eq!(read_jsonl::<u32>(&path).unwrap(), Records { records: vec![1, 2], torn: true });
    }

    #[test]
    fn a_bad_line_in_the_middle_is_named() {
        let folder = folder();
        let path = folder.path().join("events");
        fs::write(&path, "1\nx\n3\n").unwrap();
        assert!(read_jsonl::<u32>(&path).unwrap_err().to_string().contains("line 2"));
    }

    #[test]
    fn a_shortened_file_is_refused() {
        let folder = folder();
        let path = folder.path().join("events");
        fs::write(&path, "1\n").unwrap();
        assert!(matches!(
            JsonlFile::resume(&path, 9),
            Err(RecordError::Shortened { found_bytes: 2, expected_bytes: 9, .. })
        ));
    }

    #[test]
    fn appending_drops_the_torn_line_and_goes_on() {
        let folder = folder();
        let path = folder.path().join("timings");
        fs::write(&path, "1\n2").unwrap();
        let mut file = JsonlFile::append(&path).unwrap();
        file.write(&3).unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n3\n");
    }
}
