//! Files of one JSON record per line: a writer that can be cut back to an exact byte and knows the digest of what it has
//! written, an appender for several processes at once, and two readers, of all records and line by line. Both readers leave
//! out a torn last line.

use crate::RecordError;
use crate::disk::{Disk, RealDisk, open_plain, parent};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Large enough that system calls do not matter.
const READ_BUFFER_BYTES: usize = 1 << 20;

/// A longer line is not a record: the longest, an evaluation of many short episodes, has a few megabytes.
const LONGEST_LINE_BYTES: u64 = 64 << 20;

/// An open file of records. What is written reaches the operating system at each [`flush`](Self::flush) and the disk at
/// each [`sync`](Self::sync).
#[derive(Debug)]
pub struct JsonlFile {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
    digest: blake3::Hasher,
    disk: Arc<dyn Disk>,
    /// Whether the name of the file is on the disk.
    settled: bool,
}

impl JsonlFile {
    /// Continues the file at `position` and drops all bytes after it; position 0 begins a new file.
    pub fn resume(path: impl Into<PathBuf>, position: u64) -> Result<Self, RecordError> {
        Self::resume_on(RealDisk::shared(), path, position, None)
    }

    /// As [`resume`](Self::resume), on this disk. If the bytes before `position` do not have the `expected` digest, that is
    /// an error and nothing is changed.
    pub fn resume_on(
        disk: Arc<dyn Disk>,
        path: impl Into<PathBuf>,
        position: u64,
        expected: Option<&str>,
    ) -> Result<Self, RecordError> {
        let path = path.into();
        let mut file = disk.open(&path).map_err(RecordError::io("open", &path))?;
        let digest = digest_of_beginning(&path, &mut file, position)?;
        if expected.is_some_and(|expected| digest.finalize().to_hex().as_str() != expected) {
            return Err(RecordError::Altered { path, bytes: position });
        }
        cut(&path, &mut file, position)?;
        Ok(Self { path, file: BufWriter::new(file), position, digest, disk, settled: false })
    }

    /// Continues the file after its last whole line; a line torn by a crash is dropped.
    pub fn append(path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        Self::append_on(RealDisk::shared(), path)
    }

    /// As [`append`](Self::append), on this disk.
    pub fn append_on(disk: Arc<dyn Disk>, path: impl Into<PathBuf>) -> Result<Self, RecordError> {
        let path = path.into();
        let whole = match open_plain(&path) {
            Ok(mut file) => end_of_last_line(&mut file).map_err(RecordError::io("read", &path))?,
            Err(error) if error.kind() == ErrorKind::NotFound => 0,
            Err(source) => return Err(RecordError::Io { doing: "read", path, source }),
        };
        Self::resume_on(disk, path, whole, None)
    }

    /// Adds one line.
    pub fn write(&mut self, record: &impl Serialize) -> Result<(), RecordError> {
        let line = line_of(&self.path, record)?;
        self.file.write_all(&line).map_err(RecordError::io("write", &self.path))?;
        self.position += line.len() as u64;
        self.digest.update(&line);
        Ok(())
    }

    /// Length of the file in bytes: the position to pass to [`resume`](Self::resume).
    pub fn position(&self) -> u64 {
        self.position
    }

    /// BLAKE3 of the whole file, in hexadecimal.
    pub fn digest(&self) -> String {
        self.digest.finalize().to_hex().to_string()
    }

    /// Hands everything written so far to the operating system, so that other processes see it.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))
    }

    /// Writes everything so far to the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.disk.sync(&self.path, self.file.get_ref()).map_err(RecordError::io("sync", &self.path))?;
        if !self.settled {
            self.disk.sync_names(parent(&self.path)).map_err(RecordError::io("sync", parent(&self.path)))?;
            self.settled = true;
        }
        Ok(())
    }
}

/// Adds one line to a file that several processes may append to at once, and returns when it is on the disk. A line torn by a
/// crash is dropped.
pub fn append_jsonl(path: &Path, record: &impl Serialize) -> Result<(), RecordError> {
    let line = line_of(path, record)?;
    let mut file = RealDisk.open(path).map_err(RecordError::io("open", path))?;
    file.lock().map_err(RecordError::io("lock", path))?;
    let whole = end_of_last_line(&mut file).map_err(RecordError::io("read", path))?;
    cut(path, &mut file, whole)?;
    file.write_all(&line).and_then(|()| file.sync_all()).map_err(RecordError::io("write", path))?;
    RealDisk.sync_names(parent(path)).map_err(RecordError::io("sync", parent(path)))
}

/// BLAKE3 of the first `bytes` of a file, in hexadecimal.
pub fn digest_of_file(path: &Path, bytes: u64) -> Result<String, RecordError> {
    let mut file = open_plain(path).map_err(RecordError::io("open", path))?;
    Ok(digest_of_beginning(path, &mut file, bytes)?.finalize().to_hex().to_string())
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
    let mut records = Vec::new();
    let scan = scan_jsonl(path, |line| {
        records.push(serde_json::from_slice(line)?);
        Ok(())
    })?;
    Ok(Records { records, torn: scan.torn })
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
    let file = open_plain(path).map_err(RecordError::io("open", path))?;
    let mut reader = BufReader::with_capacity(READ_BUFFER_BYTES, file);
    let mut line = Vec::new();
    let mut lines = 0;
    loop {
        line.clear();
        let mut limited = reader.by_ref().take(LONGEST_LINE_BYTES);
        let bytes = limited.read_until(b'\n', &mut line).map_err(RecordError::io("read", path))?;
        if bytes as u64 == LONGEST_LINE_BYTES {
            return Err(RecordError::LongLine {
                path: path.into(),
                line: lines + 1,
                longest_bytes: LONGEST_LINE_BYTES,
            });
        }
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
pub(crate) fn open_at(disk: &dyn Disk, path: &Path, position: u64) -> Result<File, RecordError> {
    let mut file = disk.open(path).map_err(RecordError::io("open", path))?;
    cut(path, &mut file, position)?;
    Ok(file)
}

/// Drops all bytes from `position` on; what is written next begins there.
fn cut(path: &Path, file: &mut File, position: u64) -> Result<(), RecordError> {
    let found_bytes = file.metadata().map_err(RecordError::io("inspect", path))?.len();
    if found_bytes < position {
        return Err(RecordError::Shortened { path: path.into(), found_bytes, expected_bytes: position });
    }
    file.set_len(position).map_err(RecordError::io("cut", path))?;
    file.seek(SeekFrom::Start(position)).map_err(RecordError::io("seek in", path))?;
    Ok(())
}

fn digest_of_beginning(path: &Path, file: &mut File, bytes: u64) -> Result<blake3::Hasher, RecordError> {
    let mut digest = blake3::Hasher::new();
    file.rewind().map_err(RecordError::io("seek in", path))?;
    let read = io::copy(&mut BufReader::with_capacity(READ_BUFFER_BYTES, file.take(bytes)), &mut digest);
    let found_bytes = read.map_err(RecordError::io("read", path))?;
    if found_bytes < bytes {
        return Err(RecordError::Shortened { path: path.into(), found_bytes, expected_bytes: bytes });
    }
    Ok(digest)
}

/// The byte after the last end of line, read from the end of the file.
fn end_of_last_line(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut block = Vec::new();
    while 0 < end {
        let start = end.saturating_sub(READ_BUFFER_BYTES as u64);
        file.seek(SeekFrom::Start(start))?;
        block.resize((end - start) as usize, 0);
        file.read_exact(&mut block)?;
        if let Some(last) = block.iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

fn line_of(path: &Path, record: &impl Serialize) -> Result<Vec<u8>, RecordError> {
    let mut line =
        serde_json::to_vec(record).map_err(|error| RecordError::io("write", path)(io::Error::other(error)))?;
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, RunFinished};
    use proptest::prelude::*;
    use std::fs;

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
    fn altered_bytes_are_refused_and_left_as_they_are() {
        let folder = folder();
        let path = folder.path().join("events");
        let mut file = JsonlFile::resume(&path, 0).unwrap();
        (1..=3).for_each(|number| file.write(&number).unwrap());
        file.sync().unwrap();
        let (position, digest) = (file.position(), file.digest());
        assert_eq!(digest, digest_of_file(&path, position).unwrap());
        fs::write(&path, "1\n2\n3\nafter the checkpoint").unwrap();
        JsonlFile::resume_on(RealDisk::shared(), &path, position, Some(&digest)).unwrap();
        fs::write(&path, "1\n9\n3\nafter the checkpoint").unwrap();
        let error = JsonlFile::resume_on(RealDisk::shared(), &path, position, Some(&digest)).unwrap_err();
        assert!(matches!(error, RecordError::Altered { bytes: 6, .. }), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "1\n9\n3\nafter the checkpoint");
    }

    #[test]
    fn what_several_writers_append_at_once_is_all_there() {
        let folder = folder();
        let path = folder.path().join("evaluations");
        fs::write(&path, "0\n{\"torn").unwrap();
        std::thread::scope(|scope| {
            for writer in 0..4_u32 {
                let path = &path;
                scope.spawn(move || (0..25).for_each(|i| append_jsonl(path, &(1 + 25 * writer + i)).unwrap()));
            }
        });
        let mut records = read_jsonl::<u32>(&path).unwrap().records;
        records.sort_unstable();
        assert_eq!(records, (0..=100).collect::<Vec<_>>());
    }

    #[test]
    fn a_file_without_an_end_of_line_is_refused_before_it_fills_the_memory() {
        let folder = folder();
        let path = folder.path().join("events");
        File::create(&path).unwrap().set_len(1 << 40).unwrap();
        let error = read_jsonl::<u32>(&path).unwrap_err().to_string();
        assert!(error.contains("line 1 is longer than"), "{error}");
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
