//! Events in; tables, figures and pages out.
//!
//! [`find_runs`] and [`read_run`] read run folders; [`Report::of`] sorts the runs into sections that may be averaged,
//! compares their agents and says what the data support; [`Report::files`] turns that into one self-contained page,
//! tables (Markdown, CSV, LaTeX) and figures (SVG, PNG). Only reading touches the disk; everything else is a pure
//! function of the runs, so the same runs give the same bytes.
#![forbid(unsafe_code)]

mod agent;
mod claims;
mod comparison;
mod curve;
mod data;
mod error;
mod figures;
mod page;
mod paper;
pub mod plot;
mod read;
mod report;
pub mod risk;
mod run;
mod section;
mod settings;
mod table;
mod tables;

pub use agent::{Agent, Look};
pub use comparison::Comparison;
pub use curve::mean_of_seeds;
pub use error::ReportError;
pub use figures::Figure;
pub use paper::{Noise, PaperScore, paper_score, printed_mean, recomputed_mean};
pub use read::{find_runs, read_head, read_run};
pub use report::{ComparisonReport, OutputFile, Report, SectionReport};
pub use run::{Point, Process, Run};
pub use section::{Common, Measure, Section, SetAside, sections};
pub use settings::Settings;
pub use table::{Row, RowKind, Table};

/// The colours of a page, in light and dark, as variables of a style sheet: `--paper`, `--ink`, `--muted`, `--grid`,
/// `--tint`, and `--c0` to `--c7` for the places in [`plot::COLOURS`].
pub const PALETTE_CSS: &str = include_str!("../assets/palette.css");
