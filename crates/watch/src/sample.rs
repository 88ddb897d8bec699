//! A sample of a run's records: how far it is and how its return developed, from a few blocks of its files. A hundred runs
//! of 25 million interactions have a gigabyte of events; this reads a few megabytes of them. It keeps no state, so files
//! may be written, cut back or replaced at any time.

use crate::path_guard::PathGuard;
use crate::run_state::ProcessStatus;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Points of a trend.
const POINTS: u64 = 60;

/// Files up to this size are read whole.
const WHOLE_BYTES: u64 = 192 << 10;

/// Bytes read at the end of a longer file: many times the longest line.
const END_BYTES: u64 = 16 << 10;

/// Bytes of each sampled block: a few times the longest line.
const BLOCK_BYTES: u64 = 3 << 10;

/// What the sampled records say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunSample {
    /// Interactions of the last record.
    pub reached: u64,
    /// Of the last record.
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub return_mean: Option<f64>,
    /// Where the run ended, if its last record is that of its end.
    pub ended_at: Option<u64>,
    /// (interactions, mean of the last 100 returns), a few points over the whole run.
    pub trend: Vec<(u64, f64)>,
    /// Interactions per second in the last record.
    pub speed: Option<f64>,
    /// The last stretches of its last process: (from, to, interactions per second).
    pub laps: Vec<(u64, u64, f64)>,
    /// From the last timing record.
    pub process: ProcessStatus,
}

impl RunSample {
    /// Interactions per second of the stretches in which it learnt all the time. Before it learns, a run is many times as
    /// fast as afterwards.
    pub fn learning_speed(&self, learning_starts: u64) -> Option<f64> {
        let learning = self.laps.iter().filter(|lap| learning_starts <= lap.0);
        let (interactions, seconds) = learning.fold((0.0, 0.0), |(interactions, seconds), &(from, to, per_second)| {
            let done = (to - from) as f64;
            (interactions + done, seconds + done / per_second)
        });
        let speed = interactions / seconds;
        (speed.is_finite() && 0.0 < speed).then_some(speed)
    }
}

/// The fields of an event that are used; which of them are present depends on its kind.
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
    interactions: Option<u64>,
    from_interactions: Option<u64>,
    interactions_per_second: Option<f64>,
    reason: Option<Cow<'a, str>>,
}

/// How much of a run is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// The ends of its files: its current state.
    End,
    /// Blocks over its whole length as well: its trend. Much slower on a disk that has to seek.
    Trend,
}

/// Samples the run in `folder`; what is missing is left at its default.
pub fn sample(guard: &PathGuard, folder: &Path, depth: Depth) -> RunSample {
    let mut sample = RunSample::default();
    if let Ok(file) = guard.open(&folder.join("events.jsonl")) {
        sample_events(file, depth, &mut sample);
    }
    if let Ok(file) = guard.open(&folder.join("timings.jsonl")) {
        sample_timings(file, &mut sample);
    }
    sample
}

fn sample_events(mut file: File, depth: Depth, sample: &mut RunSample) {
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
    let is_short = length <= WHOLE_BYTES;
    if !is_short && depth == Depth::Trend {
        for i in 1..POINTS {
            let block = block(&mut file, length * i / POINTS, BLOCK_BYTES);
            let found = whole_lines(&block, Start::Anywhere).find_map(|line| point(&event(line)?));
            sample.trend.extend(found);
        }
    }
    let (from, start) = if is_short { (0, Start::OfFile) } else { (length - END_BYTES, Start::Anywhere) };
    let end = block(&mut file, from, END_BYTES.max(WHOLE_BYTES));
    let mut last = None;
    for event in whole_lines(&end, start).filter_map(event) {
        sample.reached = event.interactions.unwrap_or(sample.reached);
        sample.episodes = event.episode.or(event.episodes).unwrap_or(sample.episodes);
        sample.return_mean = event.return_mean_last_100.or(sample.return_mean);
        sample.ended_at = (event.event == "run_finished").then_some(sample.reached);
        last = point(&event).or(last);
        if is_short {
            sample.trend.extend(point(&event));
        }
    }
    sample.trend.extend(last);
    // A file that is cut back between two samples would give points out of order.
    sample.trend.sort_by_key(|point| point.0);
    sample.trend.dedup_by_key(|point| point.0);
    thin(&mut sample.trend);
}

fn sample_timings(mut file: File, sample: &mut RunSample) {
    let Ok(length) = file.metadata().map(|metadata| metadata.len()) else { return };
    let (from, start) = if length <= END_BYTES { (0, Start::OfFile) } else { (length - END_BYTES, Start::Anywhere) };
    let end = block(&mut file, from, END_BYTES);
    let mut last_lap = None;
    for line in whole_lines(&end, start) {
        let Ok(timing) = serde_json::from_slice::<TimingLine<'_>>(line) else { continue };
        sample.process = match (timing.timing.as_ref(), timing.reason.as_deref()) {
            ("process_stopped", Some("fault" | "diverged")) => ProcessStatus::Faulted,
            ("process_stopped", _) => ProcessStatus::Stopped,
            _ => ProcessStatus::Running,
        };
        sample.speed = timing.interactions_per_second.or(sample.speed);
        if timing.timing == "process_started" {
            sample.laps.clear();
            last_lap = timing.from_interactions;
        }
        if let (Some(to), Some(per_second)) = (timing.interactions, timing.interactions_per_second) {
            let from = last_lap.replace(to).filter(|from| *from < to);
            sample.laps.extend(from.filter(|_| 0.0 < per_second).map(|from| (from, to, per_second)));
        }
    }
}

fn event(line: &[u8]) -> Option<EventLine<'_>> {
    serde_json::from_slice(line).ok()
}

fn point(event: &EventLine<'_>) -> Option<(u64, f64)> {
    Some((event.interactions?, event.return_mean_last_100?))
}

/// Whether the bytes begin at the start of a line.
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
    let mut index = 0;
    trend.retain(|_| {
        let kept = (last - index).is_multiple_of(step);
        index += 1;
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

    fn sample_of(events: &str, timings: &str) -> RunSample {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("events.jsonl"), events).unwrap();
        fs::write(folder.path().join("timings.jsonl"), timings).unwrap();
        sample(&PathGuard::new(&[folder.path().into()]).unwrap(), folder.path(), Depth::Trend)
    }

    #[test]
    fn a_long_file_is_sampled_over_its_whole_length() {
        let count = 20_000;
        let events: String = (1..=count).map(episode).collect();
        assert!(8 * WHOLE_BYTES < events.len() as u64);
        let sample = sample_of(&(events + "{\"event\":\"epis"), "");
        assert_eq!((sample.reached, sample.episodes, sample.return_mean), (100 * count, count, Some(2_000.0)));
        assert!(50 <= sample.trend.len() && sample.trend.len() <= POINTS as usize + 1);
        assert!(sample.trend.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(sample.trend[0].0 < 100 * count / 20 && sample.trend.last() == Some(&(100 * count, 2_000.0)));
        assert!(sample.trend.iter().all(|&(x, y)| (x as f64 / 1_000.0 - y).abs() < 1e-9));
    }

    #[test]
    fn torn_lines_garbage_and_empty_files_are_skipped() {
        let sample = sample_of(&(episode(1) + "garbage\n\n" + &episode(2) + "{\"ev"), "{\"timing\":\"spe");
        assert_eq!((sample.episodes, sample.trend.len(), sample.process), (2, 2, ProcessStatus::NeverStarted));
        assert_eq!(sample_of("", ""), RunSample::default());
        assert_eq!(sample_of("no line", "\n"), RunSample::default());
    }

    #[test]
    fn the_end_of_a_run_counts_only_while_it_is_the_last_record() {
        let end = "{\"event\":\"run_finished\",\"interactions\":300,\"episodes\":3}\n";
        assert_eq!(sample_of(&(episode(3) + end), "").ended_at, Some(300));
        assert_eq!(sample_of(&(episode(3) + end + &episode(4)), "").ended_at, None);
    }

    #[test]
    fn the_last_timing_says_whether_the_process_stopped() {
        let (start, stop) = ("{\"timing\":\"process_started\"}\n", "{\"timing\":\"process_stopped\"}\n");
        let speed = "{\"timing\":\"speed\",\"interactions_per_second\":12.5}\n";
        let sample = sample_of("", &[start, speed, stop].concat());
        assert_eq!((sample.process, sample.speed), (ProcessStatus::Stopped, Some(12.5)));
        let lap = |to: u64| speed.replace("\"interactions_per", &format!("\"interactions\":{to},\"interactions_per"));
        let resumed = start.replace('}', ",\"from_interactions\":50}");
        let laps = sample_of("", &[start, &lap(70), &resumed, &lap(60), &lap(60), &lap(90)].concat()).laps;
        assert_eq!(laps, [(50, 60, 12.5), (60, 90, 12.5)]);
        assert_eq!(sample_of("", &[start, stop, start].concat()).process, ProcessStatus::Running);
        let fault = "{\"timing\":\"process_stopped\",\"reason\":\"fault\"}\n";
        assert_eq!(sample_of("", &[start, fault].concat()).process, ProcessStatus::Faulted);
        let diverged = fault.replace("fault", "diverged");
        assert_eq!(sample_of("", &[start, &diverged].concat()).process, ProcessStatus::Faulted);
    }
}
