//! The last lines a worker wrote to standard error: all that is left to read when it has died.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Mutex};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::Duration;

/// Lines that are kept.
const KEPT: usize = 12;

/// Bytes of a line that are kept.
const LONGEST: usize = 500;

/// How long a dead worker's last words are waited for. Processes it left behind may hold the pipe open for ever.
const PATIENCE: Duration = Duration::from_millis(300);

/// Reads a pipe to its end on a thread of its own, so that the writer never waits, and remembers its last lines.
#[derive(Debug)]
pub(crate) struct Tail {
    lines: Arc<Mutex<VecDeque<String>>>,
    reader: JoinHandle<()>,
}

impl Tail {
    /// Follows `pipe`.
    pub fn of(pipe: impl Read + Send + 'static) -> Self {
        let lines = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&lines);
        Self { lines, reader: spawn(move || follow(pipe, &kept)) }
    }

    /// The last lines; a writer that is gone has said all it had to say.
    pub fn last_words(&self) -> Vec<String> {
        let step = Duration::from_millis(5);
        let mut waited = Duration::ZERO;
        while !self.reader.is_finished() && waited < PATIENCE {
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
        let text = String::from_utf8_lossy(&line[..line.len().min(LONGEST)]).trim_end().to_owned();
        if let Ok(mut kept) = kept.lock()
            && !text.is_empty()
        {
            kept.push_back(text);
            if KEPT < kept.len() {
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
        let words = Tail::of(std::io::Cursor::new(text)).last_words();
        assert_eq!(words.len(), KEPT);
        assert_eq!(words.last().map(String::as_str), Some("line 99"));
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let words = Tail::of(std::io::repeat(b'x').take(1 << 20)).last_words();
        assert!(words.iter().all(|line| line.len() <= LONGEST));
    }
}
