//! Files of one JSON record per line: a writer that can be cut back to an exact byte, and two readers, of all records and
//! line by line. Both readers leave out a torn last line.

use crate::RecordError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{self, File, OpenOptions};
use std::io::{BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Large enough that system calls do not matter.
const READ_BUFFER_BYTES: usize = 1 << 20;

/// An open file of records. What is written reaches the operating system at each [`flush`](Self::flush) and the disk at
/// each [`sync`](Self::sync).
#[derive(Debug)]
pub struct JsonlFile {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
}

impl JsonlFile {
    /// Continues the file at `position` and drops all bytes after it; position 0 begins a new file.
    pub fn resume(path: impl Into<PathBuf>, position: u64) -> Result<Self, RecordError> {
        let path = path.into();
        let file = BufWriter::new(open_at(&path, position)?);
        Ok(Self { path, file, position })
    }

    /// Continues the file after its last whole line; a line torn by a crash is dropped.
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

    /// Length of the file in bytes: the position to pass to [`resume`](Self::resume).
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Hands everything written so far to the operating system, so that other processes see it.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))
    }

    /// Writes everything so far to the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(RecordError::io("sync", &self.path))
    }
}

/// The content of a file of records.
#[derive(Debug, Clone, PartialEq)]
pub struct Records<T> {
    /// One per whole line.
    pub records: Vec<T>,
    /// Whether the file ended in a torn line, as after a crash or while it is being written.
    pub torn: bool,
}

/// Reads all records of a file. A torn last line is left out and reported; a bad line before it is an error.
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

/// The outcome of [`scan_jsonl`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Whole lines.
    pub lines: usize,
    /// Whether the file ended in a torn line, as after a crash or while it is being written.
    pub torn: bool,
}

/// Calls `visit` with each whole line, its end of line included, without keeping the file in memory. The first line that
/// `visit` refuses is an error that names it; empty lines are skipped.
pub fn scan_jsonl(
    path: impl AsRef<Path>,
    mut visit: impl FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Result<Scan, RecordError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(RecordError::io("open", path))?;
    let mut reader = BufReader::with_capacity(READ_BUFFER_BYTES, file);
    let mut line = Vec::new();
    let mut lines = 0;
    loop {
        line.clear();
        let bytes = reader.read_until(b'\n', &mut line).map_err(RecordError::io("read", path))?;
        if line.last() != Some(&b'\n') {
            return Ok(Scan { lines, torn: 0 < bytes });
        }
        lines += 1;
        if 1 < line.len() {
            visit(&line).map_err(|source| RecordError::Line { path: path.into(), line: lines, source })?;
        }
    }
}

/// The kind of event in a line, from its first bytes: the writer puts the kind first. `None` for any other line, which
/// needs a full parse.
pub fn event_kind(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(br#"{"event":""#)?;
    let end = rest.iter().take(40).position(|&byte| byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}

/// Opens a file for writing at `position` and drops all bytes after it.
pub(crate) fn open_at(path: &Path, position: u64) -> Result<File, RecordError> {
    let mut file = OpenOptions::new()
        .create(true)
        .read(true)
        .write(true)
        .truncate(false)
        .open(path)
        .map_err(RecordError::io("open", path))?;
    let found_bytes = file.metadata().map_err(RecordError::io("inspect", path))?.len();
    if found_bytes < position {
        return Err(RecordError::Shortened { path: path.into(), found_bytes, expected_bytes: position });
    }
    file.set_len(position).map_err(RecordError::io("cut", path))?;
    file.seek(SeekFrom::Start(position)).map_err(RecordError::io("seek in", path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, RunFinished};
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
    fn a_torn_last_line_is_left_out_and_reported() {
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
    fn appending_drops_the_torn_line() {
        let folder = folder();
        let path = folder.path().join("timings");
        fs::write(&path, "1\n2").unwrap();
        let mut file = JsonlFile::append(&path).unwrap();
        file.write(&3).unwrap();
        file.sync().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n3\n");
    }

    proptest! {
        #[test]
        fn scanning_visits_the_records_that_reading_returns(
            numbers in prop::collection::vec(any::<u32>(), 0..30), torn in prop::option::of("[0-9]{1,5}"),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("numbers");
            let whole: String = numbers.iter().map(|number| format!("{number}\n")).collect();
            fs::write(&path, whole + torn.as_deref().unwrap_or_default()).unwrap();
            let mut visited = Vec::new();
            let scan = scan_jsonl(&path, |line| { visited.push(serde_json::from_slice::<u32>(line)?); Ok(()) }).unwrap();
            let read = read_jsonl::<u32>(&path).unwrap();
            prop_assert_eq!(scan, Scan { lines: numbers.len(), torn: read.torn });
            prop_assert_eq!(visited, read.records);
        }
    }

    #[test]
    fn the_line_that_is_refused_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("numbers");
        fs::write(&path, "1\n\nx\n").unwrap();
        let error = scan_jsonl(&path, |line| serde_json::from_slice::<u32>(line).map(drop)).unwrap_err();
        assert!(error.to_string().contains("line 3"), "{error}");
    }

    #[test]
    fn the_kind_is_read_off_the_first_bytes_of_a_written_event() {
        let finished = RunFinished {
            interactions: 1,
            frames: 4,
            episodes: 0,
            train_steps: 0,
            return_mean_last_100: None,
            digest: None,
        };
        let line = serde_json::to_vec(&Event::RunFinished(finished)).unwrap();
        assert_eq!(event_kind(&line), Some("run_finished"));
        assert_eq!(event_kind(br#"{"interactions":1,"event":"run_finished"}"#), None);
        assert_eq!(event_kind(b"{\"event\":\""), None);
    }
}
