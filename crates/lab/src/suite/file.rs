//! The format of a suite file: plain structs, one per table. `docs/suites.md` explains each key.

use super::SuiteError;
use super::cluster_file::{ClusterFile, RayFile, SlurmFile};
use super::document::Document;
use serde::{Deserialize, Serialize};
use toml::Table;

/// A suite file. Every key that a variant has too is the default of all variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Names the suite and its default folder.
    pub name: String,
    /// What question it answers, in a sentence.
    #[serde(default)]
    pub about: String,
    /// Starting point of the settings; what suits each world if left out.
    pub preset: Option<String>,
    /// Length of each run in interactions; the preset's if left out.
    pub budget: Option<u64>,
    /// The worlds.
    #[serde(default)]
    pub games: Vec<String>,
    /// The agents.
    #[serde(default)]
    pub agents: Vec<String>,
    /// The seeds.
    #[serde(default)]
    pub seeds: Vec<u64>,
    /// Settings of all runs.
    #[serde(default)]
    pub set: Table,
    /// How finished runs are measured.
    #[serde(default)]
    pub evaluation: EvaluationFile,
    /// What a run may take of the machine.
    #[serde(default)]
    pub resources: Resources,
    /// What a job does before its run, on any cluster.
    #[serde(default)]
    pub cluster: ClusterFile,
    /// What is said to Slurm.
    #[serde(default)]
    pub slurm: SlurmFile,
    /// What is said to Ray.
    #[serde(default)]
    pub ray: RayFile,
    /// Named settings; each is run with all games, agents and seeds, or its own ones.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
}

/// Named settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Names the folder its runs are in.
    pub name: String,
    /// Instead of the suite's.
    pub preset: Option<String>,
    /// Instead of the suite's.
    pub budget: Option<u64>,
    /// Instead of the suite's.
    pub games: Option<Vec<String>>,
    /// Instead of the suite's.
    pub agents: Option<Vec<String>>,
    /// Instead of the suite's.
    pub seeds: Option<Vec<u64>>,
    /// On top of the suite's.
    #[serde(default)]
    pub set: Table,
}

/// How finished runs are measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationFile {
    /// Interactions in each noise mode.
    pub interactions: u64,
    /// In which modes.
    pub noise: EvaluationNoise,
    /// Seed of the starts.
    pub start_seed: u64,
}

/// In which modes finished runs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationNoise {
    /// Not at all.
    None,
    /// Without noise.
    Off,
    /// With noise.
    On,
    /// Without, then with.
    Both,
}

/// What a run may take of the machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resources {
    /// Worker threads of a run; 1 if left out.
    pub threads: Option<u16>,
    /// Memory of a run; measured if left out.
    pub memory_gb: Option<f64>,
}

impl Default for EvaluationFile {
    fn default() -> Self {
        Self { interactions: 500_000, noise: EvaluationNoise::Both, start_seed: 0 }
    }
}

impl EvaluationNoise {
    /// As `sane eval --noise` takes it; nothing if there is no evaluation.
    pub fn argument(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Off => Some("off"),
            Self::On => Some("on"),
            Self::Both => Some("both"),
        }
    }
}

impl SuiteFile {
    /// The file in this document.
    pub fn parse(document: &Document) -> Result<Self, SuiteError> {
        let file: Self = toml::from_str(&document.text).map_err(|error| SuiteError::Format {
            place: document.place_at(error.span().map_or(0, |span| span.start)),
            reason: error.message().replace('\n', " "),
        })?;
        let is_plain = |name: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
            !name.is_empty() && name.chars().all(allowed) && !name.starts_with('.')
        };
        let names = std::iter::once((vec!["name".into()], &file.name)).chain(
            file.variants
                .iter()
                .enumerate()
                .map(|(i, variant)| (vec!["variant".into(), i.into(), "name".into()], &variant.name)),
        );
        for (way, name) in names {
            if !is_plain(name) {
                let reason = format!("the name {name:?} becomes a folder: letters, digits and - _ . = only");
                return Err(SuiteError::Format { place: document.place(&way), reason });
            }
        }
        if file.evaluation.interactions == 0 {
            let place = document.place(&["evaluation".into(), "interactions".into()]);
            let reason = "0 interactions measure nothing; to leave the evaluation out, say noise = \"none\"".into();
            return Err(SuiteError::Format { place, reason });
        }
        file.resources.check(document)?;
        file.slurm.check(document)?;
        Ok(file)
    }
}

impl Resources {
    fn check(&self, document: &Document) -> Result<(), SuiteError> {
        let refuse = |key: &str, reason: &str| {
            let place = document.place(&["resources".into(), key.into()]);
            Err(SuiteError::Format { place, reason: reason.into() })
        };
        if self.threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
            return refuse("threads", "a run has from 1 to 1024 threads");
        }
        if self.memory_gb.is_some_and(|memory| !(0.0 < memory && memory.is_finite())) {
            return refuse("memory_gb", "the memory of a run is a number of gigabytes above 0");
        }
        Ok(())
    }
}
