//! `sane risk film`: an episode as an animated GIF, and as single pictures if wanted.

use super::looking::{Looking, Noise, bar, raster, remove_stale, sorted};
use crate::output::{Failure, Outcome, Output};
use anyhow::{Context, anyhow};
use sane_lab::risk::{Film, FilmFrame, Filming, film};
use sane_report::plot::Raster;
use sane_report::risk::{FilmStrip, GifFile, Shot};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// Pictures per second in worlds that have no speed of their own.
const SMALL_WORLD_RATE: f64 = 8.0;
/// Frames per second of the console.
const CONSOLE_RATE: f64 = 60.0;

/// Films an episode: the picture, σ below it, marks where the noise changed the action
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk film runs/boxing/q-sane/seed-1                          # into its folder risk/film.gif\n  \
    sane risk film runs/boxing/q-sane/seed-1 --episode 3 --from 200 --length 150 -o fight.gif\n  \
    sane risk film runs/risky-road/sane/seed-1 --frames pictures      # also a PNG per interaction\n\n\
    One picture per interaction, at the speed of the game (15 per second on Atari). An orange frame and an orange tick \
    say that the noise-free network would have chosen another action.")]
pub struct Args {
    #[command(flatten)]
    looking: Looking,
    /// The GIF [default: risk/film.gif in the run folder]
    #[arg(long, short, value_name = "OUT.gif")]
    output: Option<PathBuf>,
    /// Folder for a PNG per interaction as well
    #[arg(long, value_name = "DIR")]
    frames: Option<PathBuf>,
    /// Number of the episode, from 0
    #[arg(long, value_name = "E", default_value_t = 0)]
    episode: u64,
    /// Interactions to skip at its beginning
    #[arg(long, value_name = "N", default_value_t = 0)]
    from: u64,
    /// Interactions to film at most
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    length: u64,
    /// Pictures per second [default: the game's own speed]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=50))]
    fps: Option<u16>,
    /// Whether the policy plays with its noise
    #[arg(long, value_enum, default_value_t = Noise::On)]
    noise: Noise,
}

/// Films.
pub fn run(args: Args, output: &Output) -> Outcome {
    let opened = args.looking.open(output)?;
    let filming = Filming { episode: args.episode, from: args.from, length: args.length };
    let bar = bar("playing", output)?;
    let moved = |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    };
    let played = film(&opened.look(args.noise), filming, moved).map_err(sorted)?;
    let Some(Film { frames, was_cut }) = played else {
        bar.finish_and_clear();
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let spec = opened.trained.spec();
    let skip = f64::from(spec.frame_skip.0);
    let own_rate = if 1.0 < skip { CONSOLE_RATE / skip } else { SMALL_WORLD_RATE };
    let rate = args.fps.map_or(own_rate, f64::from);
    let title = format!("{}, {}, episode {}", spec.name, opened.trained.config.agent, args.episode);
    let shots = frames.iter().map(|frame| Shot { state: frame.state.clone(), return_raw: frame.return_raw }).collect();
    let pictures =
        frames.into_iter().map(|FilmFrame { picture, .. }| raster(picture)).collect::<Result<Vec<Raster>, _>>()?;
    let strip = FilmStrip::new(title, &spec.actions, shots, &pictures[0]).map_err(|reason| anyhow!(reason))?;
    let path = args.output.unwrap_or_else(|| args.looking.run.join("risk/film.gif"));
    bar.set_message("drawing");
    write_film(&path, args.frames.as_deref(), &strip, &pictures, rate, |done| {
        bar.set_length(pictures.len() as u64);
        bar.set_position(done);
    })?;
    bar.finish_and_clear();
    let rest = if was_cut { "; the episode goes on, --length films more of it" } else { ", to the end of the episode" };
    output.note(format_args!("{} interactions{rest}", pictures.len()));
    output.result(path.display());
    Ok(())
}

fn write_film(
    path: &Path,
    folder: Option<&Path>,
    strip: &FilmStrip,
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
    let wrong = || format!("cannot write {}", path.display());
    let mut writer = BufWriter::new(fs::File::create(path).with_context(wrong)?);
    let mut gif = GifFile::new(&mut writer, strip.size(), rate).with_context(wrong)?;
    for (i, picture) in pictures.iter().enumerate() {
        let drawn = strip.draw(i, picture).map_err(|reason| anyhow!(reason))?;
        gif.push(&drawn).with_context(wrong)?;
        if let Some(folder) = folder {
            let path = folder.join(name(i));
            let png = drawn.png().map_err(|reason| anyhow!(reason))?;
            fs::write(&path, png).with_context(|| format!("cannot write {}", path.display()))?;
        }
        progress(i as u64 + 1);
    }
    drop(gif);
    writer.flush().with_context(wrong)?;
    Ok(())
}
