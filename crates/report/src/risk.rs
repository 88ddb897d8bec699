//! Risk, drawn and analysed: the states of smallest and largest |σ| as annotated pictures on a page ([`gallery_files`]), an
//! episode as a film with its σ below ([`FilmRenderer`], [`GifFile`]), and the evidence of an audit for or against low σ
//! meaning high risk ([`RiskAnalysis`], [`audit_files`]), of one run or over seeds ([`SeedAudits`]), with the laws of the noise
//! ([`NoiseLaws`], [`FlipLaw`]).

mod analysis;
mod audit;
mod audit_figures;
mod film;
mod flip_law;
mod format;
mod gallery;
mod gif_file;
mod law_figure;
mod laws;
mod seeds;

pub use analysis::{
    MeasureAnalysis, NamedPrediction, NoiseByRisk, Prediction, Predictor, RiskAnalysis, RiskMeasure, Shuffled,
};
pub use audit::{audit_files, audit_json, remarks};
pub use film::{FilmContent, FilmRenderer, FrameCaption};
pub use flip_law::{FlipLaw, FlipPoint};
pub use gallery::gallery_files;
pub use gif_file::GifFile;
pub use laws::{LawPoint, NoiseLaws, SigmaLaw, law_points};
pub use seeds::{AuditedAgent, AuditedRun, SeedAudits};
