//! What all of `sane risk` share: which run, which checkpoint, which starts; the bar; the files.

use crate::output::{Failure, Output};
use anyhow::Context;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_env::{AgentSteps, Picture};
use sane_lab::risk::Look;
use sane_lab::{LabError, NoiseMode, Trained, WorldSource, read_config, read_trained, stop_on_signals};
use sane_report::OutputFile;
use sane_report::plot::Raster;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Whom to look at.
#[derive(Debug, clap::Args)]
pub struct Looking {
    /// Folder of the run
    pub run: PathBuf,
    /// The checkpoint at this interaction instead of the newest
    #[arg(long, value_name = "N")]
    checkpoint: Option<u64>,
    /// Seed the starts of the episodes come from
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
    /// Folder with Atari ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
}

/// Whether the policy plays with its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Noise {
    /// No noise, no exploration
    Off,
    /// Noise injected
    On,
}

impl From<Noise> for NoiseMode {
    fn from(noise: Noise) -> Self {
        match noise {
            Noise::Off => Self::Off,
            Noise::On => Self::On,
        }
    }
}

/// A run read from its folder, ready to be looked at.
pub struct Opened {
    /// What the run has learned.
    pub trained: Trained,
    source: WorldSource,
    start_seed: u64,
    stop: Arc<AtomicBool>,
}

impl Looking {
    /// Reads the run; nothing in its folder changes.
    pub fn open(&self, output: &Output) -> Result<Opened, Failure> {
        let config = read_config(&self.run)?;
        let source = WorldSource::open(&config.world, self.roms.as_deref(), &mut |news| output.note(news))?;
        let trained = read_trained(&self.run, &source, self.checkpoint.map(AgentSteps))?;
        trained.notes.iter().for_each(|note| output.note(note));
        Ok(Opened { trained, source, start_seed: self.start_seed, stop: stop_on_signals()? })
    }
}

impl Opened {
    /// What to look at.
    pub fn look(&self, noise: Noise) -> Look<'_> {
        let Self { trained, source, start_seed, stop } = self;
        Look { trained, source, noise: noise.into(), start_seed: *start_seed, stop }
    }
}

/// An agent without σ(s) is a wrong command line; everything else failed.
pub fn sorted(error: LabError) -> Failure {
    match error {
        LabError::NoSigma { .. } | LabError::EpisodeTooShort { .. } | LabError::World { .. } => {
            Failure::Usage(error.to_string())
        }
        other => other.into(),
    }
}

/// A bar that is seen on a terminal only.
pub fn bar(what: &'static str, output: &Output) -> Result<ProgressBar, Failure> {
    let is_seen = !output.is_quiet() && std::io::stderr().is_terminal();
    let target = if is_seen { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(0), target);
    bar.set_style(ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} ETA {eta}")?);
    bar.set_message(what);
    Ok(bar)
}

/// Writes files below a folder.
pub fn write_all(folder: &Path, files: &[OutputFile]) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        fs::write(&path, &file.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Removes numbered pictures of an earlier call, which would be taken for this one's: those named `beginning`-number.png
/// that are not among `kept`.
pub fn remove_stale(folder: &Path, beginning: &str, kept: &[String]) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix(beginning).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".png"));
        let is_picture = number.is_some_and(|number| number.parse::<u64>().is_ok());
        if is_picture && !kept.contains(&name) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// A world's picture for drawing.
pub fn raster(picture: Picture) -> Result<Raster, Failure> {
    let Picture { width, height, rgb } = picture;
    let refused = format!("the world's picture of {width}×{height} pixels has {} bytes", rgb.len());
    Raster::new(width, height, rgb).ok_or_else(|| Failure::Failed(anyhow::anyhow!(refused)))
}
