//! Files of records walked line by line, for readers that want a few kinds of them out of gigabytes.

use crate::RecordError;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// Large enough that the system calls do not count.
const BUFFER_BYTES: usize = 1 << 20;

/// What was met on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Whole lines.
    pub lines: usize,
    /// Whether the file ended in a torn line, as after a crash or while it is being written.
    pub torn: bool,
}

/// Shows each whole line, with its end of line, to `visit`; the first one it refuses is an error that names the line. A
/// torn last line is left out and said, an empty line is passed over.
pub fn scan_jsonl(
    path: impl AsRef<Path>,
    mut visit: impl FnMut(&[u8]) -> Result<(), serde_json::Error>,
) -> Result<Scan, RecordError> {
    let path = path.as_ref();
    let file = File::open(path).map_err(RecordError::io("open", path))?;
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, file);
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

/// The kind of event a line holds, as far as its first bytes say: our writer puts the kind first. `None` for any other
/// line, which a full parse has to judge.
pub fn event_kind(line: &[u8]) -> Option<&str> {
    let rest = line.strip_prefix(br#"{"event":""#)?;
    let end = rest.iter().take(40).position(|&byte| byte == b'"')?;
    std::str::from_utf8(&rest[..end]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Event, RunFinished, read_jsonl};
    use proptest::prelude::*;
    use std::fs;

    proptest! {
        #[test]
        fn scanning_meets_what_reading_returns(
            numbers in prop::collection::vec(any::<u32>(), 0..30), torn in prop::option::of("[0-9]{1,5}"),
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("numbers");
            let whole: String = numbers.iter().map(|number| format!("{number}\n")).collect();
            fs::write(&path, whole + torn.as_deref().unwrap_or_default()).unwrap();
            let mut met = Vec::new();
            let scan = scan_jsonl(&path, |line| { met.push(serde_json::from_slice::<u32>(line)?); Ok(()) }).unwrap();
            let read = read_jsonl::<u32>(&path).unwrap();
            prop_assert_eq!(scan, Scan { lines: numbers.len(), torn: read.torn });
            prop_assert_eq!(met, read.records);
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
