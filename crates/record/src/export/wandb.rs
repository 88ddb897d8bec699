//! Runs in the offline format of Weights & Biases, which `wandb sync DIR/offline-run-*` uploads:
//!
//! ```text
//! offline-run-DATE_TIME-ID/run-ID.wandb     a log in the framing of LevelDB
//! file     ":W&B" u16 0xbee1 u8 0, then blocks of 32 KiB
//! block    frames: u32 CRC-32 of kind and data, u16 length, u8 kind (1 whole, 2 first, 3 middle, 4 last), data
//! data     a protobuf message Record { 1: number, 2: history, 3: summary, 17: run, 18: exit, 21: header, 22: footer }
//! ```
//!
//! Field numbers are those of `wandb_internal.proto`. Records of one interaction become one step of the history.

use super::{Cell, ExportRun, Row, create_folder, write_file};
use crate::RecordError;
use crate::protobuf::Message;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Writes each run into a folder of its own below `folder`; runs exported before are replaced. The folders.
pub fn export_wandb(runs: &[ExportRun], folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    create_folder(folder)?;
    runs.iter().map(|run| export(run, folder)).collect()
}

fn export(run: &ExportRun, folder: &Path) -> Result<PathBuf, RecordError> {
    let id = run.id()[..8].to_owned();
    let mut log = RecordLog::new();
    log.record(21, {
        let mut version = Message::default();
        version.bytes(1, concat!("sane ", env!("CARGO_PKG_VERSION")).as_bytes());
        let mut header = Message::default();
        header.bytes(1, &version.0);
        header
    });
    log.record(17, run_message(run, &id));
    let mut summary = BTreeMap::new();
    for (step, metrics) in history(run)? {
        let seconds = run.clock.seconds_at(step);
        let own = [("_step", step as f64), ("_timestamp", seconds), ("_runtime", seconds - run.clock.start())];
        let mut history = Message::default();
        let own = own.map(|(key, value)| (key.to_owned(), value));
        for (key, value) in metrics.iter().map(|(key, value)| (key.clone(), *value)).chain(own) {
            history.bytes(1, &item(&key, &number(&key, value)).0);
        }
        let mut at = Message::default();
        at.varint_field(1, step);
        history.bytes(2, &at.0);
        log.record(2, history);
        summary.extend(metrics);
    }
    let mut last = Message::default();
    for (key, value) in &summary {
        last.bytes(1, &item(key, &number(key, *value)).0);
    }
    log.record(3, last);
    let mut exit = Message::default();
    exit.varint_field(1, u64::from(!run.finished));
    exit.varint_field(2, (run.clock.end() - run.clock.start()) as u64);
    log.record(18, exit);
    log.record(22, Message::default());
    let folder = folder.join(format!("offline-run-{}-{id}", date_and_time(run.clock.start() as u64)));
    create_folder(&folder)?;
    write_file(&folder.join(format!("run-{id}.wandb")), &log.bytes)?;
    Ok(folder)
}

/// The metrics at each step, in ascending order.
fn history(run: &ExportRun) -> Result<BTreeMap<u64, BTreeMap<String, f64>>, RecordError> {
    let mut history: BTreeMap<u64, BTreeMap<String, f64>> = BTreeMap::new();
    run.rows(|row: Row| {
        if !matches!(row.kind.as_str(), "run_started" | "run_finished") {
            history.entry(row.step).or_default().extend(row.metrics());
        }
        Ok(())
    })?;
    Ok(history)
}

fn run_message(run: &ExportRun, id: &str) -> Message {
    let mut config = Message::default();
    for (key, cell) in &run.settings {
        let value = match cell {
            Cell::Text(text) => serde_json::to_string(text).expect("a text is plain data"),
            other => other.text(),
        };
        config.bytes(1, &item(key, &value).0);
    }
    let mut message = Message::default();
    message.bytes(1, id.as_bytes());
    message.bytes(3, b"sane");
    message.bytes(4, &config.0);
    message.bytes(6, run.setting("world.name").as_bytes());
    message.bytes(7, run.setting("agent").as_bytes());
    message.bytes(8, run.name().as_bytes());
    message.bytes(9, format!("exported from {}", run.folder.display()).as_bytes());
    let mut start = Message::default();
    start.varint_field(1, run.clock.start() as u64);
    message.bytes(17, &start.0);
    if let Some(commit) = run.origin.as_ref().and_then(|origin| origin.git_commit.as_ref()) {
        let mut git = Message::default();
        git.bytes(2, commit.as_bytes());
        message.bytes(21, &git.0);
    }
    message
}

/// A key and its value as JSON: of the configuration, the history and the summary alike.
fn item(key: &str, value_json: &str) -> Message {
    let mut item = Message::default();
    item.bytes(1, key.as_bytes());
    item.bytes(16, value_json.as_bytes());
    item
}

/// Steps and episodes are whole; JSON of other numbers keeps every digit.
fn number(key: &str, value: f64) -> String {
    if key == "_step" { format!("{value:.0}") } else { Cell::Number(value).text() }
}

/// The log: framed records after a header.
struct RecordLog {
    bytes: Vec<u8>,
    count: u64,
}

impl RecordLog {
    const BLOCK: usize = 32_768;
    const FRAME: usize = 7;

    fn new() -> Self {
        let mut bytes = b":W&B".to_vec();
        bytes.extend(0xbee1_u16.to_le_bytes());
        bytes.push(0);
        Self { bytes, count: 0 }
    }

    /// Appends a record of the kind with this field number.
    fn record(&mut self, field: u64, message: Message) {
        self.count += 1;
        let mut record = Message::default();
        record.varint_field(1, self.count);
        record.bytes(field, &message.0);
        self.framed(&record.0);
    }

    fn framed(&mut self, mut data: &[u8]) {
        let mut first = true;
        loop {
            let mut left = Self::BLOCK - self.bytes.len() % Self::BLOCK;
            if left < Self::FRAME {
                self.bytes.resize(self.bytes.len() + left, 0);
                left = Self::BLOCK;
            }
            let (part, rest) = data.split_at(data.len().min(left - Self::FRAME));
            let kind = match (first, rest.is_empty()) {
                (true, true) => 1,
                (true, false) => 2,
                (false, false) => 3,
                (false, true) => 4,
            };
            let mut check = flate2::Crc::new();
            check.update(&[kind]);
            check.update(part);
            self.bytes.extend(check.sum().to_le_bytes());
            self.bytes.extend((part.len() as u16).to_le_bytes());
            self.bytes.push(kind);
            self.bytes.extend(part);
            if rest.is_empty() {
                return;
            }
            (data, first) = (rest, false);
        }
    }
}

/// `YYYYMMDD_HHMMSS` in UTC (Howard Hinnant's days-to-civil algorithm).
fn date_and_time(unix_seconds: u64) -> String {
    let (days, second) = ((unix_seconds / 86_400) as i64 + 719_468, unix_seconds % 86_400);
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let (day, month) =
        (day_of_year - (153 * shifted + 2) / 5 + 1, if shifted < 10 { shifted + 3 } else { shifted - 9 });
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    format!("{year:04}{month:02}{day:02}_{:02}{:02}{:02}", second / 3_600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        for (seconds, text) in
            [(0, "19700101_000000"), (951_827_696, "20000229_123456"), (1_735_689_599, "20241231_235959")]
        {
            assert_eq!(date_and_time(seconds), text);
        }
    }

    #[test]
    fn a_record_longer_than_a_block_is_cut_into_first_middle_and_last() {
        let mut log = RecordLog::new();
        log.framed(&vec![7; 70_000]);
        // The header of the file is part of the first block.
        let kind_at = |offset: usize| log.bytes[offset + 6];
        assert_eq!([kind_at(7), kind_at(32_768), kind_at(65_536)], [2, 3, 4]);
        assert_eq!(log.bytes.len(), 7 + 70_000 + 3 * 7);
    }

    #[test]
    fn a_block_with_no_space_for_a_frame_is_filled_with_zeros() {
        let mut log = RecordLog::new();
        log.framed(&vec![7; 32_768 - 7 - 7 - 3]);
        log.framed(&[1]);
        assert_eq!(log.bytes[32_765..32_768], [0, 0, 0]);
        assert_eq!(log.bytes[32_768 + 6], 1);
    }
}
