//! `sane risk film`: an episode as an animated GIF, and as single pictures if asked for.

use super::{Inspection, Noise, raster, remove_stale};
use crate::args::count_in;
use crate::commands::play::default_rate;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use anyhow::{Context, anyhow};
use sane_lab::risk::{Film, FilmFrame, FilmRange, film};
use sane_report::plot::Raster;
use sane_report::risk::{FilmRenderer, FrameCaption, GifFile};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Record an episode as a film: the picture, σ below it, marks where the noise changed the action
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk film runs/boxing/q-sane/seed-1                          # into its folder risk/film.gif\n  \
    sane risk film runs/boxing/q-sane/seed-1 --episode 3 --from 200 --length 150 -o fight.gif\n  \
    sane risk film runs/risky-road/sane/seed-1 --frames pictures      # also a PNG per interaction\n\n\
    One picture per interaction, at the speed of the game (15 per second on Atari). An orange border and an orange tick \
    mean that the network without noise would have chosen another action.")]
pub struct Args {
    /// File to write [default: risk/film.gif in the run folder]
    #[arg(long, short, value_name = "OUT.gif")]
    output: Option<PathBuf>,
    /// Also write a PNG per interaction into this folder
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Number of the episode, counted from 0
    #[arg(long, value_name = "E", default_value_t = 0)]
    episode: u64,
    /// Interactions to skip at the start of the episode
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = count_in(0..))]
    from: u64,
    /// Maximum number of interactions to record
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = count_in(1..=10_000))]
    length: u64,
    /// Pictures per second [default: the game's own speed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: Option<u16>,
    /// Whether the policy plays with its noise
    #[arg(long, value_enum, default_value_t = Noise::On)]
    noise: Noise,
    #[command(flatten)]
    inspection: Inspection,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let inspected = args.inspection.load(output)?;
    let range = FilmRange { episode: args.episode, from: args.from, length: args.length };
    let bar = output.progress_bar(0, "playing");
    let progress = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let played = film(&inspected.probe(args.noise), range, progress).map_err(classify)?;
    let Some(Film { frames, was_cut }) = played else {
        bar.finish_and_clear();
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let spec = inspected.trained().spec();
    let rate = args.fps.map_or_else(|| default_rate(spec), f64::from);
    let title = format!("{}, {}, episode {}", spec.name, inspected.trained().config.agent, args.episode);
    let captions =
        frames.iter().map(|frame| FrameCaption { state: frame.state.clone(), return_raw: frame.return_raw }).collect();
    let pictures =
        frames.into_iter().map(|FilmFrame { picture, .. }| raster(picture)).collect::<Result<Vec<Raster>, _>>()?;
    let renderer = FilmRenderer::new(title, &spec.actions, captions, &pictures[0]).map_err(|reason| anyhow!(reason))?;
    let path = args.output.unwrap_or_else(|| args.inspection.folder().join("risk/film.gif"));
    bar.set_message("drawing");
    write_film(&path, args.frames.as_deref(), &renderer, &pictures, rate, |done| {
        bar.set_length(pictures.len() as u64);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    let rest =
        if was_cut { "; the episode continues, --length records more of it" } else { ", to the end of the episode" };
    output.note(format_args!("{} interactions{rest}", pictures.len()));
    output.result(path.display());
    Ok(())
}

fn write_film(
    path: &Path,
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
    let mut writer = BufWriter::new(fs::File::create(path).with_context(cannot_write)?);
    let mut gif = GifFile::new(&mut writer, renderer.size(), rate).with_context(cannot_write)?;
    for (i, picture) in pictures.iter().enumerate() {
        let drawn = renderer.draw(i, picture).map_err(|reason| anyhow!(reason))?;
        gif.push(&drawn).with_context(cannot_write)?;
        if let Some(folder) = folder {
            let path = folder.join(name(i));
            let png = drawn.png().map_err(|reason| anyhow!(reason))?;
            fs::write(&path, png).with_context(|| format!("cannot write {}", path.display()))?;
        }
        progress(i as u64 + 1);
    }
    drop(gif);
    writer.flush().with_context(cannot_write)?;
    Ok(())
}
