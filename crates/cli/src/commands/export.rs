//! `sane export`: a trained policy as a file that PyTorch reads, or as a folder for a model hub.

use crate::args::{LoadedRun, RunSelection};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::Context;
use sane_env::Picture;
use sane_lab::ffmpeg::{FfmpegError, FilmFormat, write_mp4};
use sane_lab::hub::{CONFIG_FILE, GIF_FILE, MP4_FILE, POLICY_FILE, episode_pictures, evaluations_of, model_card};
use sane_lab::{export_policy, to_toml};
use sane_report::plot::Raster;
use sane_report::risk::GifFile;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::{Path, PathBuf};

/// Longest film: about a minute and a half of an Atari game.
const MOST_PICTURES: usize = 1_500;
/// Decisions per second: 60 frames per second and four frames per decision.
const PICTURES_PER_SECOND: f64 = 15.0;
/// Screen pixels per pixel of an MP4, so that 160 × 210 fill a part of a page and small colours survive.
const ENLARGED: usize = 3;

/// Write a run's policy as safetensors, with PyTorch's names and layouts, or as a folder for a model hub
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane export runs/boxing/q-sane/seed-1 -o policy.safetensors\n  \
    sane eval runs/boxing/q-sane/seed-1 --dump-states 100 -o states.safetensors\n  \
    python tools/load_policy.py policy.safetensors states.safetensors\n  \
    sane export runs/boxing/q-sane/seed-1 --hub boxing-q-sane      # model card, policy, settings, film\n\n\
    The third line computes the same action values with numpy. --hub writes a folder as the Hugging Face hub expects it and\n\
    contacts no server; the card has the evaluations of this checkpoint (`sane eval` makes them). The film is an MP4 where\n\
    ffmpeg is installed, and a GIF elsewhere.")]
pub struct Args {
    /// File to write
    #[arg(short, long, value_name = "FILE.safetensors", required_unless_present = "hub")]
    output: Option<PathBuf>,
    /// Folder to write: model card, policy, settings and a film; it must be empty or new
    #[arg(long, value_name = "DIR")]
    hub: Option<PathBuf>,
    #[command(flatten)]
    selection: RunSelection,
}

/// The ending of the only format there is.
const ENDING: &str = "safetensors";

/// Refuses a file whose ending promises another format than the one that is written.
fn check_ending(path: &Path) -> Result<(), Failure> {
    if path.extension().is_none_or(|ending| ending.eq_ignore_ascii_case(ENDING)) {
        return Ok(());
    }
    let better = path.with_extension(ENDING);
    Err(Failure::Usage(format!(
        "{} would hold safetensors, whatever its name says; name it {} (PyTorch reads it with \
         safetensors.torch.load_file)",
        path.display(),
        better.display()
    )))
}

pub fn run(args: Args, output: &Output) -> Outcome {
    args.output.iter().try_for_each(|path| check_ending(path))?;
    let loaded = args.selection.load(output)?;
    let config = &loaded.trained.config;
    let (agent, world, steps) = (&config.agent, &config.world.name, loaded.trained.interactions.0);
    if let Some(path) = &args.output {
        export_policy(&loaded.trained, path)?;
        output.note(format_args!("{agent} on {world} after {steps} interactions written to {}", path.display()));
    }
    if let Some(folder) = &args.hub {
        write_hub_folder(&loaded, &args.selection.run, folder, output)?;
        output.note(format_args!("{agent} on {world} after {steps} interactions written to {}", folder.display()));
    }
    Ok(())
}

fn write_hub_folder(loaded: &LoadedRun, run: &Path, folder: &Path, output: &Output) -> Outcome {
    let LoadedRun { trained, source } = loaded;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(Failure::Usage(format!("{} is not empty; name a new folder for --hub", folder.display())));
    }
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let write = |name: &str, text: String| {
        let path = folder.join(name);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    export_policy(trained, &folder.join(POLICY_FILE))?;
    write(CONFIG_FILE, to_toml(&trained.config))?;
    let film = write_film(folder, &episode_pictures(trained, source, MOST_PICTURES)?, output)?;
    write("README.md", model_card(trained, &evaluations_of(run, trained)?, film))?;
    Ok(())
}

/// Writes the film and returns its name: an MP4, or a GIF where ffmpeg is missing or fails.
fn write_film(folder: &Path, pictures: &[Picture], output: &Output) -> Result<&'static str, Failure> {
    let Some(&Picture { width, height, .. }) = pictures.first() else {
        return Err(Failure::Usage("the episode has no picture to film".into()));
    };
    let format = FilmFormat { width, height, pictures_per_second: PICTURES_PER_SECOND, enlarge: ENLARGED };
    match write_mp4(&folder.join(MP4_FILE), format, pictures.iter().map(|picture| &picture.rgb)) {
        Ok(()) => return Ok(MP4_FILE),
        Err(FfmpegError::NotFound) => {}
        Err(error) => output.note(format_args!("{error}; the film becomes a GIF")),
    }
    let path = folder.join(GIF_FILE);
    let file = File::create(&path).with_context(|| format!("cannot write {}", path.display()))?;
    let mut film = GifFile::new(BufWriter::new(file), (width, height), PICTURES_PER_SECOND)?;
    for picture in pictures {
        let raster = Raster::new(picture.width, picture.height, picture.rgb.clone());
        film.push(&raster.context("a picture has three bytes per pixel")?)?;
    }
    Ok(GIF_FILE)
}
