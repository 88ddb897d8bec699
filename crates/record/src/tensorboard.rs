//! Event files for the program `tensorboard`: scalars and histograms over interactions.
//!
//! One file per run. The length of a record does not depend on the values in it, so a resumed run cuts the file back to
//! the checkpoint's byte and continues there: no step appears twice, and a `tensorboard` that is reading the file keeps
//! its position. The format is TFRecord frames around a few protobuf messages, both encoded here:
//!
//! ```text
//! frame          u64 length   u32 checksum of the length   message   u32 checksum of the message
//! Event          { 1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary summary }
//! Summary        { 1: repeated Value { 1: string tag, 2: float simple_value, 5: HistogramProto histo, 8: TensorProto tensor,
//!                                      9: { 1: { 1: string plugin_name, 2: bytes content } } } }
//! HistogramProto { 1: min, 2: max, 3: num, 4: sum, 5: sum_squares, 6: packed bucket_limit, 7: packed bucket }  (doubles)
//! ```

use crate::RecordError;
use crate::disk::{Disk, RealDisk};
use crate::jsonl::open_at;
use crate::protobuf::Message;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// The distribution of the numbers of a tensor.
#[derive(Debug, Clone, PartialEq)]
pub struct Histogram {
    pub min: f64,
    pub max: f64,
    pub count: f64,
    pub sum: f64,
    pub sum_of_squares: f64,
    /// Upper limit of each bucket.
    pub limits: Vec<f64>,
    /// Count of numbers in each bucket.
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
        // All values equal: one unit around them keeps the limits increasing, as TensorBoard requires.
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

/// A setting as the page HPARAMS compares it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum HyperParameter<'a> {
    Number(f64),
    Text(&'a str),
    Truth(bool),
}

/// An open event file.
#[derive(Debug)]
pub struct TensorBoard {
    path: PathBuf,
    file: BufWriter<File>,
    position: u64,
    disk: Arc<dyn Disk>,
    /// Folder whose names are not on the disk yet.
    unsettled: Option<PathBuf>,
}

impl TensorBoard {
    /// Continues the event file in `folder` at `position`; 0 begins a new file.
    pub fn resume(folder: &Path, position: u64) -> Result<Self, RecordError> {
        Self::resume_on(RealDisk::shared(), folder, position)
    }

    /// As [`resume`](Self::resume), on this disk.
    pub fn resume_on(disk: Arc<dyn Disk>, folder: &Path, position: u64) -> Result<Self, RecordError> {
        disk.create_folder(folder).map_err(RecordError::io("create", folder))?;
        // TensorBoard recognises its files by the middle of the name.
        let path = folder.join("events.out.tfevents.sane");
        let file = BufWriter::new(open_at(&*disk, &path, position)?);
        let mut board = Self { path, file, position, disk, unsettled: Some(folder.into()) };
        if position == 0 {
            board.record(&file_version_message(seconds_now()))?;
        }
        Ok(board)
    }

    /// One point for each of `values`, all at the same interaction.
    pub fn scalars(&mut self, interactions: u64, values: &[(&str, f64)]) -> Result<(), RecordError> {
        self.record(&scalars_message(seconds_now(), interactions, values))
    }

    /// One histogram.
    pub fn histogram(&mut self, interactions: u64, tag: &str, histogram: &Histogram) -> Result<(), RecordError> {
        self.record(&histogram_message(seconds_now(), interactions, tag, histogram))
    }

    /// The run's settings, for the table and the plots of the page HPARAMS: at the beginning of a run.
    pub fn hyperparameters<'a>(
        &mut self,
        group: &str,
        settings: impl IntoIterator<Item = (&'a str, HyperParameter<'a>)>,
    ) -> Result<(), RecordError> {
        self.record(&hyperparameters_message(seconds_now(), group, settings))
    }

    /// The end of a run with hyperparameters.
    pub fn hyperparameters_end(&mut self) -> Result<(), RecordError> {
        self.record(&hyperparameters_end_message(seconds_now()))
    }

    /// Length of the file in bytes.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Hands everything written so far to the operating system.
    pub fn flush(&mut self) -> Result<(), RecordError> {
        self.file.flush().map_err(RecordError::io("write", &self.path))
    }

    /// Writes everything so far to the disk.
    pub fn sync(&mut self) -> Result<(), RecordError> {
        self.flush()?;
        self.disk.sync(&self.path, self.file.get_ref()).map_err(RecordError::io("sync", &self.path))?;
        if let Some(folder) = &self.unsettled {
            self.disk.sync_names(folder).map_err(RecordError::io("sync", folder))?;
            self.unsettled = None;
        }
        Ok(())
    }

    fn record(&mut self, message: &[u8]) -> Result<(), RecordError> {
        let framed = frame(message);
        self.file.write_all(&framed).map_err(RecordError::io("write", &self.path))?;
        self.position += framed.len() as u64;
        Ok(())
    }
}

/// Wall time of a point; a clock before 1970 counts as 1970.
fn seconds_now() -> f64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// The message every event file begins with.
fn file_version_message(wall_time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.bytes(3, b"brain.Event:2");
    event.0
}

/// Several points at one step.
fn scalars_message(wall_time: f64, step: u64, values: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Message::default();
    for &(tag, value) in values {
        let mut point = Message::default();
        point.bytes(1, tag.as_bytes());
        point.float(2, value as f32);
        summary.bytes(1, &point.0);
    }
    event_message(wall_time, step, &summary)
}

/// One histogram at one step.
fn histogram_message(wall_time: f64, step: u64, tag: &str, histogram: &Histogram) -> Vec<u8> {
    let mut proto = Message::default();
    let fields = [histogram.min, histogram.max, histogram.count, histogram.sum, histogram.sum_of_squares];
    for (field, value) in (1..).zip(fields) {
        proto.double(field, value);
    }
    proto.packed_doubles(6, &histogram.limits);
    proto.packed_doubles(7, &histogram.buckets);
    let mut value = Message::default();
    value.bytes(1, tag.as_bytes());
    value.bytes(5, &proto.0);
    let mut summary = Message::default();
    summary.bytes(1, &value.0);
    event_message(wall_time, step, &summary)
}

/// `HParamsPluginData { 3: SessionStartInfo { 1: map of settings, 4: group name, 5: double start time } }`.
fn hyperparameters_message<'a>(
    wall_time: f64,
    group: &str,
    settings: impl IntoIterator<Item = (&'a str, HyperParameter<'a>)>,
) -> Vec<u8> {
    let mut start = Message::default();
    for (key, setting) in settings {
        let mut value = Message::default();
        match setting {
            HyperParameter::Number(number) => value.double(2, number),
            HyperParameter::Text(text) => value.bytes(3, text.as_bytes()),
            HyperParameter::Truth(truth) => value.varint_field(4, u64::from(truth)),
        }
        let mut entry = Message::default();
        entry.bytes(1, key.as_bytes());
        entry.bytes(2, &value.0);
        start.bytes(1, &entry.0);
    }
    start.bytes(4, group.as_bytes());
    start.double(5, wall_time);
    let mut data = Message::default();
    data.bytes(3, &start.0);
    plugin_message(wall_time, "_hparams_/session_start_info", &data)
}

/// `HParamsPluginData { 4: SessionEndInfo { 1: status, 2: double end time } }`.
fn hyperparameters_end_message(wall_time: f64) -> Vec<u8> {
    const SUCCESS: u64 = 1;
    let mut end = Message::default();
    end.varint_field(1, SUCCESS);
    end.double(2, wall_time);
    let mut data = Message::default();
    data.bytes(4, &end.0);
    plugin_message(wall_time, "_hparams_/session_end_info", &data)
}

/// A message for the plugin of hyperparameters, around a tensor of no numbers, without which TensorBoard drops it.
fn plugin_message(wall_time: f64, tag: &str, data: &Message) -> Vec<u8> {
    const FLOAT: u64 = 1;
    let mut shape = Message::default();
    shape.bytes(2, &[]);
    let mut tensor = Message::default();
    tensor.varint_field(1, FLOAT);
    tensor.bytes(2, &shape.0);
    let mut plugin = Message::default();
    plugin.bytes(1, b"hparams");
    plugin.bytes(2, &data.0);
    let mut metadata = Message::default();
    metadata.bytes(1, &plugin.0);
    let mut value = Message::default();
    value.bytes(1, tag.as_bytes());
    value.bytes(8, &tensor.0);
    value.bytes(9, &metadata.0);
    let mut summary = Message::default();
    summary.bytes(1, &value.0);
    event_message(wall_time, 0, &summary)
}

fn event_message(wall_time: f64, step: u64, summary: &Message) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.varint_field(2, step);
    event.bytes(5, &summary.0);
    event.0
}

/// `message` in a TFRecord frame.
fn frame(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut framed = Vec::with_capacity(message.len() + 16);
    framed.extend_from_slice(&length);
    framed.extend_from_slice(&masked(crc32c(&length)).to_le_bytes());
    framed.extend_from_slice(message);
    framed.extend_from_slice(&masked(crc32c(message)).to_le_bytes());
    framed
}

/// Rotated and offset, so that checksums of data that contains checksums stay good.
fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), reflected, table of one byte.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
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

    #[test]
    fn a_scalar_has_the_bytes_the_protobuf_rules_give() {
        let expected = [
            &[0x09][..],
            &1.5_f64.to_le_bytes(), // wall_time
            &[0x10, 0xac, 0x02],    // step 300
            &[0x2a, 10, 0x0a, 8, 0x0a, 1, b'a', 0x15],
            &2.0_f32.to_le_bytes(), // summary, value, tag, simple_value
        ]
        .concat();
        assert_eq!(scalars_message(1.5, 300, &[("a", 2.0)]), expected);
    }

    #[test]
    fn the_checksum_equals_the_published_vectors() {
        // RFC 3720, B.4, and the customary check value.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn a_frame_adds_sixteen_bytes() {
        let framed = frame(b"abc");
        assert_eq!((framed.len(), &framed[..8], &framed[12..15]), (19, &[3, 0, 0, 0, 0, 0, 0, 0][..], &b"abc"[..]));
    }
}
