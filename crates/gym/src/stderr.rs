//! The last lines that a worker wrote to standard error, for the message about its death.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Number of lines kept.
const MAX_LINES: usize = 12;

/// Bytes kept of a line.
const MAX_LINE_BYTES: usize = 500;

/// How long the end of a dead worker's output is awaited. Its child processes may keep the pipe open for ever.
const DRAIN_TIMEOUT: Duration = Duration::from_millis(300);

/// Reads a pipe to its end on a thread of its own, so that the writer never blocks, and keeps its last lines.
#[derive(Debug)]
pub(crate) struct StderrTail {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl StderrTail {
    pub fn new(pipe: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        Self { lines, reader: spawn(move || follow(pipe, &kept)) }
    }

    /// The last lines. If the writer has exited, they are complete.
    pub fn last_lines(&self) -> Vec<String> {
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.reader.is_finished() && waited < DRAIN_TIMEOUT {
            sleep(step);
            waited += step;
        }
        self.lines.lock().map(|lines| lines.iter().cloned().collect()).unwrap_or_default()
    }
}

fn follow(pipe: impl Read, kept: &Mutex<VecDeque<String>>) {
    let mut pipe = BufReader::new(pipe);
    let mut line = Vec::new();
    while pipe.by_ref().take(1 << 16).read_until(b'\n', &mut line).is_ok_and(|read| 0 < read) {
        let text = String::from_utf8_lossy(&line[..line.len().min(MAX_LINE_BYTES)]).trim_end().to_owned();
        if let Ok(mut kept) = kept.lock()
            && !text.is_empty()
        {
            kept.push_back(text);
            if MAX_LINES < kept.len() {
                kept.pop_front();
            }
        }
        line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_kept_and_no_more() {
        let text: String = (0..100).map(|i| format!("line {i}\n\n")).collect();
        let lines = StderrTail::new(std::io::Cursor::new(text)).last_lines();
        assert_eq!(lines.len(), MAX_LINES);
        assert_eq!(lines.last().map(String::as_str), Some("line 99"));
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory() {
        let lines = StderrTail::new(std::io::repeat(b'x').take(1 << 20)).last_lines();
        assert!(lines.iter().all(|line| line.len() <= MAX_LINE_BYTES));
    }
}
