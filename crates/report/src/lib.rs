//! Records in; tables, figures and one self-contained page out.
//!
//! Never links the emulator or the engine: it knows runs by the files they wrote. Reading order: [`find_runs`] and
//! [`read_run`] read run folders; [`sections`] groups the runs that may be averaged; [`Comparison`] compares their agents;
//! [`Report::of`] does all of that and states what the data support; [`Report::files`] turns it into a page, tables
//! (Markdown, CSV, LaTeX) and figures (SVG, PNG). [`frontier`] shows what exploring costs; [`risk`] does the same for galleries, films and audits of σ. Only reading
//! touches the disk; everything else is a pure function of the runs, so the same runs give the same bytes.
//!
//! ```
//! use sane_report::{Point, RecordedRun, Report};
//!
//! // Usually `find_runs` and `read_run` give these; here, two runs with a curve of two points each.
//! let runs = [("sane", 3.0), ("noisynet", 2.0)].map(|(agent, last)| RecordedRun {
//!     world: "boxing".into(),
//!     agent: agent.into(),
//!     seed: 1,
//!     budget_interactions: 2_000,
//!     reached_interactions: 2_000,
//!     finished: true,
//!     final_return: Some(last),
//!     points: [(1_000, 0.0), (2_000, last)]
//!         .map(|(interactions, value)| Point { interactions, return_mean: Some(value), ..Point::default() })
//!         .to_vec(),
//!     ..RecordedRun::default()
//! });
//! let report = Report::of(runs.into(), Vec::new(), None);
//! let files = report.files()?;
//! assert_eq!(files[0].path, "index.html");
//! assert!(files.iter().any(|file| file.path == "figures/learning-curve-boxing.svg"));
//! # Ok::<(), sane_report::ReportError>(())
//! ```
#![forbid(unsafe_code)]

mod agent;
mod checklist;
mod comparison;
mod curve;
mod data;
mod error;
mod figures;
mod findings;
pub mod frontier;
mod page;
mod paper;
pub mod plot;
mod recorded_run;
mod report;
pub mod risk;
mod section;
mod sensitivity;
mod set_aside;
mod settings;
mod table;
mod tables;
mod variant;

pub use agent::{Agent, Look, run_names};
pub use checklist::ChecklistItem;
pub use comparison::Comparison;
pub use curve::mean_of_seeds;
pub use error::ReportError;
pub use figures::Figure;
pub use paper::{Noise, PaperScore, paper_score, printed_mean, recomputed_mean};
pub use recorded_run::{
    Point, ProcessSummary, RecordedEvaluation, RecordedRun, find_runs, read_run, read_run_config, search_runs,
};
pub use report::{ComparisonReport, OutputFile, Report, ReportOptions, SectionReport};
pub use section::{Common, Measure, Section, sections};
pub use sensitivity::Sensitivity;
pub use set_aside::SetAside;
pub use settings::Settings;
pub use table::{Row, RowKind, Table};

/// The colours of a page, in light and dark, as variables of a style sheet: `--paper`, `--ink`, `--muted`, `--grid`,
/// `--tint`, and `--c0` to `--c7` for [`plot::COLOURS`].
pub const PALETTE_CSS: &str = include_str!("../assets/palette.css");
