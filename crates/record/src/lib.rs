//! The records of a run: plain serialisable structs with units in their names, and the files they are written to.
//!
//! Knows no live type of any other crate: training and evaluation convert to these structs, reports and pages read them. Reading order: [`Event`] (one JSON line each; everything that repeats bit for bit), [`Timing`] (what depends
//! on clock and machine), [`RunOrigin`] (where a run comes from), [`JsonlFile`] and [`read_jsonl`], [`RunSearch`] (where runs are). [`TensorBoard`] writes the same
//! numbers for the program of that name; [`export`] writes whole runs for others; [`write_film`] keeps an episode's frames; [`RiskAudit`] and [`RiskGallery`] hold
//! states and their σ; [`SuiteStatus`] is the progress of many runs; [`Baseline`] the human and random scores.
//!
//! ```
//! use sane_record::{Event, JsonlFile, RunFinished, read_jsonl};
//!
//! let path = std::env::temp_dir().join(format!("sane-record-{}.jsonl", std::process::id()));
//! let mut file = JsonlFile::resume(&path, 0)?;
//! let finished = RunFinished {
//!     interactions: 400,
//!     frames: 1_600,
//!     episodes: 3,
//!     train_steps: 100,
//!     return_mean_last_100: Some(1.5),
//!     digest: None,
//! };
//! file.write(&Event::RunFinished(finished.clone()))?;
//! file.sync()?;
//! assert_eq!(read_jsonl::<Event>(&path)?.records, [Event::RunFinished(finished)]);
//! # std::fs::remove_file(&path).unwrap();
//! # Ok::<(), sane_record::RecordError>(())
//! ```
#![forbid(unsafe_code)]

mod action_trace;
mod baseline;
mod disk;
mod error;
mod event;
pub mod export;
mod film;
mod in_training;
mod jsonl;
mod origin;
mod protobuf;
mod risk;
mod run_folders;
mod suite_status;
mod tensorboard;
mod timing;

pub use action_trace::{
    ACTION_TRACES_VERSION, ActionTraceError, ActionTraces, TracedEpisode, TracedEvaluation, TracesHeader,
    read_action_traces, write_action_traces,
};
pub use baseline::{Baseline, PAPER_GAMES};
pub use disk::{
    Disk, RealDisk, open_plain, read_plain, read_plain_text, replace_file, require_plain, temporary_beside,
};
pub use error::RecordError;
pub use event::{
    BoundRecord, EpisodeEnd, EpisodeFinished, EvaluationFinished, Event, ExplorationByRisk, IntervalFinished,
    ModuleHealth, RunFinished, RunStarted, SCHEMA_VERSION, SigmaRange,
};
pub use film::{FILM_VERSION, FilmFrames, FilmHeader, PackedFrames, read_film, write_film};
pub use in_training::{EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, read_evaluations_in_training};
pub use jsonl::{JsonlFile, Records, Scan, append_jsonl, digest_of_file, event_kind, read_jsonl, scan_jsonl};
pub use origin::{ORIGIN_FILE, RunOrigin};
pub use risk::{
    ActionFutures, ActionGap, AuditSettings, AuditedState, GalleryState, RiskAudit, RiskGallery, RiskSubject,
    SeenState, StateLaw, StateNoise,
};
pub use run_folders::{FoundRuns, RunSearch, is_moved_aside};
pub use suite_status::{RunState, RunStatus, SuiteStatus};
pub use tensorboard::{Histogram, HyperParameter, TensorBoard};
pub use timing::{Shares, StopReason, Timing};
