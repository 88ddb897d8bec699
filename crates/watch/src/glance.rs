//! A short look at a run's records: how far it came and how its return went, from a few samples of its files. A
//! hundred runs of 25 million interactions are a gigabyte of events; this reads a few megabytes of them, and since it
//! remembers nothing, files that are being written, cut back or replaced need no care.

use crate::fence::Fence;
use crate::run_state::LastWord;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Points of a trend.
const POINTS: u64 = 60;

/// Files up to this size are read whole.
const WHOLE_BYTES: u64 = 192 << 10;

/// Read at the end of a longer file: many times the longest line.
const END_BYTES: u64 = 16 << 10;

/// Read at each sampled place: a few times the longest line.
const SAMPLE_BYTES: u64 = 3 << 10;

/// What a short look tells.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Glance {
    /// Interactions of the last record.
    pub reached: u64,
    /// Whole episodes of the last record.
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub return_mean: Option<f64>,
    /// Where the run ended, if its last record is that of its end.
    pub ended_at: Option<u64>,
    /// (interactions, mean of the last 100 returns), a few points over the whole run.
    pub trend: Vec<(u64, f64)>,
    /// Interactions per second of the last stretch.
    pub speed: Option<f64>,
    /// What the last process that worked on it said last.
    pub last_word: LastWord,
}

/// The part of an event that is looked at; all kinds of events have it, more or less.
#[derive(Deserialize)]
struct EventLine<'a> {
    #[serde(borrow)]
    event: Cow<'a, str>,
    interactions: Option<u64>,
    episode: Option<u64>,
    episodes: Option<u64>,
    return_mean_last_100: Option<f64>,
}

#[derive(Deserialize)]
struct TimingLine<'a> {
    #[serde(borrow)]
    timing: Cow<'a, str>,
    interactions_per_second: Option<f64>,
    reason: Option<Cow<'a, str>>,
}

/// How much of a run is looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The ends of its files: where it stands.
    End,
    /// Samples of its whole length as well: its trend. From a disk that has to seek, this takes much longer.
    Trend,
}

/// Looks at the run in `folder`; what is not there (yet, or any more) is left at nothing.
pub fn glance(fence: &Fence, folder: &Path, depth: Depth) -> Glance {
    let mut glance = Glance::default();
    if let Ok(file) = fence.open(&folder.join("events.jsonl")) {
        look_at_events(file, depth, &mut glance);
    }
    if let Ok(file) = fence.open(&folder.join("timings.jsonl")) {
        look_at_timings(file, &mut glance);
    }
    glance
}

fn look_at_events(mut file: File, depth: Depth, glance: &mut Glance) {
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
    let is_short = length <= WHOLE_BYTES;
    if !is_short && depth == Depth::Trend {
        for i in 1..POINTS {
            let block = block(&mut file, length * i / POINTS, SAMPLE_BYTES);
            let sampled = whole_lines(&block, Start::Anywhere).find_map(|line| point(&event(line)?));
            glance.trend.extend(sampled);
        }
    }
    let (from, start) = if is_short { (0, Start::OfFile) } else { (length - END_BYTES, Start::Anywhere) };
    let end = block(&mut file, from, END_BYTES.max(WHOLE_BYTES));
    let mut last = None;
    for event in whole_lines(&end, start).filter_map(event) {
        glance.reached = event.interactions.unwrap_or(glance.reached);
        glance.episodes = event.episode.or(event.episodes).unwrap_or(glance.episodes);
        glance.return_mean = event.return_mean_last_100.or(glance.return_mean);
        glance.ended_at = (event.event == "run_finished").then_some(glance.reached);
        last = point(&event).or(last);
        if is_short {
            glance.trend.extend(point(&event));
        }
    }
    glance.trend.extend(last);
    // A file that is cut back between two samples would give points out of order.
    glance.trend.sort_by_key(|point| point.0);
    glance.trend.dedup_by_key(|point| point.0);
    thin(&mut glance.trend);
}

fn look_at_timings(mut file: File, glance: &mut Glance) {
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
    let (from, start) = if length <= END_BYTES { (0, Start::OfFile) } else { (length - END_BYTES, Start::Anywhere) };
    let end = block(&mut file, from, END_BYTES);
    for line in whole_lines(&end, start) {
        let Ok(timing) = serde_json::from_slice::<TimingLine<'_>>(line) else { continue };
        glance.last_word = match (timing.timing.as_ref(), timing.reason.as_deref()) {
            ("process_stopped", Some("fault")) => LastWord::Fault,
            ("process_stopped", _) => LastWord::Goodbye,
            _ => LastWord::AtWork,
        };
        glance.speed = timing.interactions_per_second.or(glance.speed);
    }
}

fn event(line: &[u8]) -> Option<EventLine<'_>> {
    serde_json::from_slice(line).ok()
}

fn point(event: &EventLine<'_>) -> Option<(u64, f64)> {
    Some((event.interactions?, event.return_mean_last_100?))
}

/// Whether the bytes begin with a line, or somewhere in one.
#[derive(Clone, Copy, PartialEq)]
enum Start {
    OfFile,
    Anywhere,
}

fn whole_lines(bytes: &[u8], start: Start) -> impl Iterator<Item = &[u8]> {
    let end = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1);
    let torn_first = usize::from(start == Start::Anywhere);
    bytes[..end].split(|&byte| byte == b'\n').skip(torn_first).filter(|line| !line.is_empty())
}

/// Up to `most` bytes from `from` on; fewer, or none, where the file has no more.
fn block(file: &mut File, from: u64, most: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if file.seek(SeekFrom::Start(from)).is_ok() {
        // A failed read leaves what was read before it.
        let _ = file.take(most).read_to_end(&mut bytes);
    }
    bytes
}

/// Keeps about [`POINTS`] of them, and always the last.
fn thin(trend: &mut Vec<(u64, f64)>) {
    let step = trend.len().div_ceil(POINTS as usize).max(1);
    let last = trend.len().saturating_sub(1);
    let mut place = 0;
    trend.retain(|_| {
        let kept = (last - place).is_multiple_of(step);
        place += 1;
        kept
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn episode(number: u64) -> String {
        format!(
            "{{\"event\":\"episode_finished\",\"interactions\":{},\"episode\":{number},\"return_raw\":1.0,\
             \"return_mean_last_100\":{}}}\n",
            number * 100,
            number as f64 / 10.0
        )
    }

    fn look(events: &str, timings: &str) -> Glance {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("events.jsonl"), events).unwrap();
        fs::write(folder.path().join("timings.jsonl"), timings).unwrap();
        glance(&Fence::around(&[folder.path().into()]).unwrap(), folder.path(), Depth::Trend)
    }

    #[test]
    fn a_long_file_is_sampled_over_its_whole_length() {
        let count = 20_000;
        let events: String = (1..=count).map(episode).collect();
        assert!(8 * WHOLE_BYTES < events.len() as u64);
        let glance = look(&(events + "{\"event\":\"epis"), "");
        assert_eq!((glance.reached, glance.episodes, glance.return_mean), (100 * count, count, Some(2_000.0)));
        assert!(50 <= glance.trend.len() && glance.trend.len() <= POINTS as usize + 1);
        assert!(glance.trend.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(glance.trend[0].0 < 100 * count / 20 && glance.trend.last() == Some(&(100 * count, 2_000.0)));
        assert!(glance.trend.iter().all(|&(x, y)| (x as f64 / 1_000.0 - y).abs() < 1e-9));
    }

    #[test]
    fn torn_lines_garbage_and_empty_files_are_no_obstacle() {
        let glance = look(&(episode(1) + "garbage\n\n" + &episode(2) + "{\"ev"), "{\"timing\":\"spe");
        assert_eq!((glance.episodes, glance.trend.len(), glance.last_word), (2, 2, LastWord::None));
        assert_eq!(look("", ""), Glance::default());
        assert_eq!(look("no line", "\n"), Glance::default());
    }

    #[test]
    fn the_end_of_a_run_counts_only_while_it_is_the_last_word() {
        let end = "{\"event\":\"run_finished\",\"interactions\":300,\"episodes\":3}\n";
        assert_eq!(look(&(episode(3) + end), "").ended_at, Some(300));
        assert_eq!(look(&(episode(3) + end + &episode(4)), "").ended_at, None);
    }

    #[test]
    fn the_last_timing_says_whether_the_process_stopped_in_order() {
        let (start, stop) = ("{\"timing\":\"process_started\"}\n", "{\"timing\":\"process_stopped\"}\n");
        let speed = "{\"timing\":\"speed\",\"interactions_per_second\":12.5}\n";
        let glance = look("", &[start, speed, stop].concat());
        assert_eq!((glance.last_word, glance.speed), (LastWord::Goodbye, Some(12.5)));
        assert_eq!(look("", &[start, stop, start].concat()).last_word, LastWord::AtWork);
        let fault = "{\"timing\":\"process_stopped\",\"reason\":\"fault\"}\n";
        assert_eq!(look("", &[start, fault].concat()).last_word, LastWord::Fault);
    }
}
