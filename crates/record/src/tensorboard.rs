//! Event files for the program `tensorboard`: scalars and histograms over interactions.
//!
//! One file per run. Every record of it has a length that does not depend on the values in it, so a resumed run cuts
//! the file back to the checkpoint's byte and writes on: no step appears twice, and a `tensorboard` that is reading
//! meanwhile stays in step with the records.

mod framing;
mod message;

use crate::RecordError;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// How the numbers of a tensor are spread.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// How many.
    pub count: f64,
    /// Their sum.
    pub sum: f64,
    /// Sum of their squares.
    pub sum_of_squares: f64,
    /// Upper limit of each bucket.
    pub limits: Vec<f64>,
    /// How many numbers lie in each bucket.
    pub buckets: Vec<f64>,
}

impl Histogram {
    /// Buckets of equal width between the smallest and the largest value.
    pub fn of(values: &[f32], buckets: usize) -> Self {
        assert!(0 < buckets, "of: a histogram needs a bucket");
        let fold =
            |start, pick: fn(f64, f64) -> f64| values.iter().fold(start, |held, &value| pick(held, f64::from(value)));
        let (min, max) = if values.is_empty() {
            (0.0, 0.0)
        } else {
            (fold(f64::INFINITY, f64::min), fold(f64::NEG_INFINITY, f64::max))
        };
        // All values equal: one unit around them keeps the limits increasing, as the viewer demands.
        let width = if min < max { (max - min) / buckets as f64 } else { 1.0 / buckets as f64 };
        let mut counts = vec![0.0; buckets];
        for &value in values {
            counts[(((f64::from(value) - min) / width) as usize).min(buckets - 1)] += 1.0;
        }
        Self {
            min,
            max,
            count: values.len() as f64,
            sum: fold(0.0, |held, value| held + value),
            sum_of_squares: fold(0.0, |held, value| held + value * value),
            limits: (1..=buckets).map(|i| min + width * i as f64).collect(),
            buckets: counts,
        }
    }
}

/// An open event file.
#[derive(Debug)]
pub struct TensorBoard {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
}

impl TensorBoard {
    /// Continues the event file in `folder` at `position`; 0 begins it anew.
    pub fn resume(folder: &Path, position: u64) -> Result<Self, RecordError> {
        std::fs::create_dir_all(folder).map_err(RecordError::io("create", folder))?;
        // The viewer knows its files by the middle of the name.
        let path = folder.join("events.out.tfevents.sane");
        let mut file = OpenOptions::new()
            .create(true)
            .write(true)
            .truncate(false)
            .open(&path)
            .map_err(RecordError::io("open", &path))?;
        let found_bytes = file.metadata().map_err(RecordError::io("inspect", &path))?.len();
        if found_bytes < position {
            return Err(RecordError::Shortened { path, found_bytes, expected_bytes: position });
        }
        file.set_len(position).map_err(RecordError::io("cut", &path))?;
        file.seek(SeekFrom::Start(position)).map_err(RecordError::io("seek in", &path))?;
        let mut board = Self { path, file: BufWriter::new(file), position };
        if position == 0 {
            board.record(&message::file_version(seconds_now()))?;
        }
        Ok(board)
    }

    /// One point for each of `values`, all at the same interaction.
    pub fn scalars(&mut self, interactions: u64, values: &[(&str, f64)]) -> Result<(), RecordError> {
        self.record(&message::scalars(seconds_now(), interactions, values))
    }

    /// One histogram.
    pub fn histogram(&mut self, interactions: u64, tag: &str, histogram: &Histogram) -> Result<(), RecordError> {
        self.record(&message::histogram(seconds_now(), interactions, tag, histogram))
    }

    /// Bytes written so far.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Lets a reader see everything written so far.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))
    }

    /// Puts everything written so far on the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.file.get_ref().sync_data().map_err(RecordError::io("sync", &self.path))
    }

    fn record(&mut self, message: &[u8]) -> Result<(), RecordError> {
        let framed = framing::frame(message);
        self.file.write_all(&framed).map_err(RecordError::io("write", &self.path))?;
        self.position += framed.len() as u64;
        Ok(())
    }
}

/// The viewer's time axis; a clock before 1970 counts as 1970.
fn seconds_now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_histogram_counts_each_value_once_and_keeps_the_ends_in() {
        let histogram = Histogram::of(&[-1.0, 0.0, 0.0, 1.0], 4);
        assert_eq!(histogram.buckets, [1.0, 0.0, 2.0, 1.0]);
        assert_eq!((histogram.min, histogram.max, histogram.sum_of_squares), (-1.0, 1.0, 2.0));
        assert!(histogram.limits.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn equal_values_and_no_values_give_increasing_limits_too() {
        for values in [&[2.0, 2.0][..], &[]] {
            let histogram = Histogram::of(values, 3);
            assert!(histogram.limits.windows(2).all(|pair| pair[0] < pair[1]), "{histogram:?}");
            assert_eq!(histogram.buckets.iter().sum::<f64>(), values.len() as f64);
        }
    }

    #[test]
    fn a_resumed_file_is_as_long_as_an_uninterrupted_one() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, interrupted_at: Option<u64>| {
            let folder = folder.path().join(name);
            let mut board = TensorBoard::resume(&folder, 0).unwrap();
            for step in 0..5 {
                if interrupted_at == Some(step) {
                    board.sync().unwrap();
                    let position = board.position();
                    board.scalars(99, &[("lost", 1.0)]).unwrap();
                    drop(board);
                    board = TensorBoard::resume(&folder, position).unwrap();
                }
                board.scalars(step, &[("a/b", step as f64), ("c", 0.5)]).unwrap();
            }
            board.sync().unwrap();
            board.position()
        };
        assert_eq!(write("straight", None), write("resumed", Some(3)));
    }
}
