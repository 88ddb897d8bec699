//! What a run writes down: plain structs with units in their names, and the files they go to.
//!
//! [`Event`]s (one JSON line each) hold everything that repeats bit for bit; [`Timing`]s hold what does not: clocks,
//! speeds, thread counts. [`TensorBoard`] writes the same numbers once more, for the program of that name.
#![forbid(unsafe_code)]

mod baseline;
mod error;
mod event;
mod film;
mod jsonl;
mod risk;
mod run_folders;
mod scan;
mod suite_status;
mod tensorboard;
mod timing;

pub use baseline::{Baseline, PAPER_GAMES};
pub use error::RecordError;
pub use event::{
    EpisodeEnd, EpisodeFinished, EvaluationFinished, Event, IntervalFinished, ModuleHealth, RunFinished, RunStarted,
    SCHEMA_VERSION, SigmaRange,
};
pub use film::{FILM_VERSION, FilmHead, FilmPictures, PackedPictures, read_film, write_film};
pub use jsonl::{JsonlFile, Records, read_jsonl};
pub use risk::{
    ActionFutures, AuditSettings, AuditedState, GalleryState, RiskAudit, RiskGallery, RiskSubject, SeenState,
};
pub use run_folders::{RunSearch, is_moved_aside};
pub use scan::{Scan, event_kind, scan_jsonl};
pub use suite_status::{RunState, RunStatus, SuiteStatus};
pub use tensorboard::{Histogram, TensorBoard};
pub use timing::{Shares, StopReason, Timing};
