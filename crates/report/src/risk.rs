//! Risk, drawn and judged: the states of smallest and largest |σ| as annotated pictures on a page, an episode as a film
//! with its σ below, and what an audit says about low σ being high risk.

mod audit;
mod card;
mod film;
mod gallery;
mod gif_file;
mod judgement;
mod predictors;
mod scatter;
mod words;

pub use audit::{audit_files, audit_json, remarks};
pub use film::{FilmStrip, Shot};
pub use gallery::gallery_files;
pub use gif_file::GifFile;
pub use judgement::{Judgement, Measure, MeasureJudgement, Prediction, Predictor, Shuffled};
