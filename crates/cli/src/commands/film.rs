//! `sane film`: an episode of any agent as a GIF, as an MP4 where there is an ffmpeg, and as single pictures if asked for.

use crate::args::{LoadedRun, RunSelection};
use crate::commands::play::default_rate;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use anyhow::{Context, anyhow};
use clap::ValueEnum;
use sane_env::Picture;
use sane_lab::ffmpeg::{Ffmpeg, FilmFormat, Mp4File};
use sane_lab::{
    EpisodeFilm, FilmFrame, FilmRange, NoiseMode, TrainedAgent, WorldSource, film_episode, open_to_film,
    stop_on_signals,
};
use sane_report::plot::Raster;
use sane_report::risk::{FilmContent, FilmRenderer, FrameCaption, GifFile};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Record an episode of any agent as a film, GIF or MP4
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane film runs/boxing/eps-greedy/seed-1                       # into its folder, film.gif\n  \
    sane film runs/boxing/q-sane/seed-1 --episode 3 --from 200 --length 150 -o fight.mp4\n  \
    sane film runs/minatar/breakout/sane/seed-1 --checkpoint best --noise off\n  \
    sane film runs/gym:CartPole-v1/sane/seed-1 --frames pictures  # also a PNG per interaction\n\n\
    Beside the game: the value of each action, the chosen one filled; below it |σ| where the agent has one, else the highest \
    value. An orange border and an orange tick mean that the network without noise would have chosen another action. One \
    picture per interaction, at the speed of the game (15 per second on Atari). MP4 needs an `ffmpeg` on the PATH. A Gymnasium \
    environment draws itself (render_mode rgb_array) if it can.")]
pub struct Args {
    /// File to write, .gif or .mp4 [default: film.gif in the run folder]
    #[arg(long, short, value_name = "OUT.gif|OUT.mp4")]
    output: Option<PathBuf>,
    #[command(flatten)]
    pub part: FilmPart,
    #[command(flatten)]
    selection: RunSelection,
}

/// Which episode is filmed, and how.
#[derive(Debug, clap::Args)]
pub struct FilmPart {
    /// Also write a PNG per interaction into this folder
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Number of the episode, counted from 0
    #[arg(long, value_name = "E", default_value_t = 0)]
    episode: u64,
    /// Interactions to skip at the start of the episode
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Maximum number of interactions to record
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    length: u64,
    /// Pictures per second [default: the game's own speed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: Option<u16>,
    /// Whether the policy plays with its noise
    #[arg(long, value_enum, default_value_t = Noise::On)]
    noise: Noise,
    /// Seed from which the starts of the episodes are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
}

/// Whether the policy plays with its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Noise {
    /// No noise, no exploration
    Off,
    /// With noise
    On,
}

impl FilmPart {
    /// The first interactions of the first episode, as at the end of a training.
    pub fn beginning(length: u64) -> Self {
        Self { frames: None, episode: 0, from: 0, length, fps: None, noise: Noise::On, start_seed: 0 }
    }
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let path = args.output.unwrap_or_else(|| args.selection.run.join("film.gif"));
    FilmKind::of(&path)?;
    let LoadedRun { trained, .. } = args.selection.load(output)?;
    record(&trained, &path, &args.part, args.selection.roms.folder(), output)
}

/// Films a policy and prints where the film is.
pub fn record(trained: &TrainedAgent, path: &Path, part: &FilmPart, roms: Option<&Path>, output: &Output) -> Outcome {
    let source = open_to_film(&trained.config.world, roms, &mut |message| output.note(message)).map_err(classify)?;
    let stop = stop_on_signals()?;
    let Some(filmed) = film_into(path, trained, &source, part, &stop, output)? else {
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let rest = if filmed.was_cut {
        "; the episode continues, --length records more of it"
    } else {
        ", to the end of the episode"
    };
    output.note(format_args!("{} interactions{rest}", filmed.interactions));
    output.result(path.display());
    Ok(())
}

/// What a film shows.
pub struct Filmed {
    pub interactions: usize,
    /// Whether the episode continued.
    pub was_cut: bool,
}

/// Plays, draws and writes a film; `None` if stopped.
pub fn film_into(
    path: &Path,
    trained: &TrainedAgent,
    source: &WorldSource,
    part: &FilmPart,
    stop: &AtomicBool,
    output: &Output,
) -> Result<Option<Filmed>, Failure> {
    let kind = FilmKind::of(path)?;
    let noise = match part.noise {
        Noise::Off => NoiseMode::Off,
        Noise::On => NoiseMode::On,
    };
    let FilmPart { episode, from, length, start_seed, .. } = *part;
    let range = FilmRange { noise, start_seed, episode, from, length };
    let bar = output.progress_bar(0, "playing");
    let progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let played = film_episode(trained, source, range, progress, stop).map_err(classify)?;
    let Some(EpisodeFilm { frames, legend, was_cut }) = played else {
        bar.finish_and_clear();
        return Ok(None);
    };
    let spec = trained.spec();
    let rate = part.fps.map_or_else(|| default_rate(spec), f64::from);
    let captions =
        frames.iter().map(|frame| FrameCaption { state: frame.state.clone(), return_raw: frame.return_raw }).collect();
    let content = FilmContent {
        title: format!("{}, {}, episode {episode}", spec.name, trained.config.agent),
        actions: spec.actions.clone(),
        captions,
        has_sigma: trained.config.learner.exploration.has_state_sigma(),
        legend: legend.into_iter().map(|entry| (entry.meaning.to_owned(), entry.rgb)).collect(),
    };
    let pictures =
        frames.into_iter().map(|FilmFrame { picture, .. }| raster(picture)).collect::<Result<Vec<Raster>, _>>()?;
    let renderer = FilmRenderer::new(content, &pictures[0]).map_err(|reason| anyhow!(reason))?;
    bar.set_message("drawing");
    write(path, kind, part.frames.as_deref(), &renderer, &pictures, rate, |done| {
        bar.set_length(pictures.len() as u64);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    Ok(Some(Filmed { interactions: pictures.len(), was_cut }))
}

/// The formats of a film.
#[derive(Debug, Clone)]
enum FilmKind {
    Gif,
    Mp4(Ffmpeg),
}

impl FilmKind {
    /// By the ending of the file; another one, and an MP4 without an ffmpeg, are refused before anything is played.
    fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_ascii_lowercase).as_deref() {
            Some("gif") => Ok(Self::Gif),
            Some("mp4") => Ffmpeg::find().map(Self::Mp4).ok_or_else(|| {
                Failure::Usage(format!(
                    "{}: no ffmpeg on the PATH, which MP4 needs; install it, or write a .gif",
                    path.display()
                ))
            }),
            _ => Err(Failure::Usage(format!("{}: a film ends in .gif or .mp4", path.display()))),
        }
    }
}

/// A film being written.
enum FilmFile {
    Gif(Box<GifFile<BufWriter<File>>>),
    Mp4(Mp4File),
}

fn write(
    path: &Path,
    kind: FilmKind,
    folder: Option<&Path>,
    renderer: &FilmRenderer,
    pictures: &[Raster],
    rate: f64,
    progress: impl Fn(u64),
) -> Result<(), Failure> {
    for parent in [path.parent().filter(|parent| !parent.as_os_str().is_empty()), folder].into_iter().flatten() {
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
    }
    let name = |i: usize| format!("frame-{i:05}.png");
    if let Some(folder) = folder {
        remove_stale(folder, "frame", &(0..pictures.len()).map(name).collect::<Vec<_>>())?;
    }
    let cannot_write = || format!("cannot write {}", path.display());
    // Under its own name a film is whole: an old one stays until then.
    let unfinished = path.with_added_extension("new");
    let (width, height) = renderer.size();
    let mut film = match kind {
        FilmKind::Gif => {
            let writer = BufWriter::new(File::create(&unfinished).with_context(cannot_write)?);
            FilmFile::Gif(Box::new(GifFile::new(writer, (width, height), rate).with_context(cannot_write)?))
        }
        FilmKind::Mp4(ffmpeg) => {
            let format = FilmFormat { width, height, pictures_per_second: rate, enlarge: 1 };
            FilmFile::Mp4(ffmpeg.film(path, format)?)
        }
    };
    for (i, picture) in pictures.iter().enumerate() {
        let drawn = renderer.draw(i, picture).map_err(|reason| anyhow!(reason))?;
        match &mut film {
            FilmFile::Gif(gif) => gif.push(&drawn).with_context(cannot_write)?,
            FilmFile::Mp4(mp4) => mp4.push(drawn.rgb())?,
        }
        if let Some(folder) = folder {
            let path = folder.join(name(i));
            let png = drawn.png().map_err(|reason| anyhow!(reason))?;
            fs::write(&path, png).with_context(|| format!("cannot write {}", path.display()))?;
        }
        progress(i as u64 + 1);
    }
    match film {
        FilmFile::Gif(gif) => {
            gif.finish().with_context(cannot_write)?.flush().with_context(cannot_write)?;
            fs::rename(&unfinished, path).with_context(cannot_write)?;
        }
        FilmFile::Mp4(mp4) => mp4.finish()?,
    }
    Ok(())
}

/// Removes the files `<prefix>-<number>.png` that are not among `kept`: pictures of an earlier call, which would be
/// mistaken for this one's.
pub fn remove_stale(folder: &Path, prefix: &str, kept: &[String]) -> Result<(), Failure> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let number = name.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('-')?.strip_suffix(".png"));
        let is_picture = number.is_some_and(|number| number.parse::<u64>().is_ok());
        if is_picture && !kept.contains(&name) {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

/// The picture of a world, as the drawing code takes it.
pub fn raster(picture: Picture) -> Result<Raster, Failure> {
    let Picture { width, height, rgb } = picture;
    let wrong_size = format!("the world's picture of {width}×{height} pixels has {} bytes", rgb.len());
    Raster::new(width, height, rgb).ok_or_else(|| Failure::Failed(anyhow!(wrong_size)))
}
