//! `sane roms`: which Atari ROMs there are, where they are, whether they are whole; and fetching them.

use crate::output::{Failure, Outcome, Output};
use anyhow::anyhow;
use clap::Subcommand;
use indicatif::{ProgressBar, ProgressDrawTarget};
use sane_arcade::{Game, Roms, fetch_into, md5_hex};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  sane roms list            which of the 104 games have their ROM here
  sane roms fetch           download them with the machine's own pip
  sane roms check           compare every stored ROM with its checksum
  sane roms where boxing    the file a game would be loaded from

ROMs are looked for in --roms DIR, then $SANE_ROMS, then the user's data folder, then an installed ale_py package.";

/// Find, fetch and check the ROMs of the Atari games.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    deed: Deed,
    /// Folder with ROMs, looked at before all others
    #[arg(long, value_name = "DIR", global = true)]
    roms: Option<PathBuf>,
    /// Print one JSON object instead of lines
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// All 104 games, and where the ROM of each lies
    List,
    /// Download the ROMs with pip, check them, store them in the data folder (or in --roms DIR)
    Fetch,
    /// Compare the checksum of every ROM in the places looked at
    Check,
    /// The places looked at, or the file of one game
    Where {
        /// The game
        game: Option<String>,
    },
}

/// Lists, fetches, checks or points.
pub fn run(args: Args, output: &Output) -> Outcome {
    if let Some(folder) = args.roms.as_deref().filter(|folder| !folder.is_dir() && !matches!(args.deed, Deed::Fetch)) {
        return Err(Failure::Usage(format!("--roms {} is not a folder; name one that holds ROMs", folder.display())));
    }
    let roms = Roms::new(args.roms.as_deref());
    match args.deed {
        Deed::List => list(&roms, args.json, *output),
        Deed::Fetch => fetch(&roms, args.roms.as_deref(), args.json, *output),
        Deed::Check => check(&roms, args.json, *output),
        Deed::Where { game: None } => places(&roms, args.json, *output),
        Deed::Where { game: Some(name) } => whereabouts(&roms, &name, args.json, *output),
    }
}

fn list(roms: &Roms, json: bool, output: Output) -> Outcome {
    let mut rows = Vec::new();
    for game in Game::all() {
        let path = roms.find(game, &mut |news| output.note(news))?;
        if json {
            rows.push(json!({"game": game.name, "md5": game.md5, "file": path}));
        } else {
            let path = path.map_or("-".to_owned(), |path| path.display().to_string());
            output.result(format_args!("{:18} {} {path}", game.name, game.md5));
        }
    }
    if json {
        output.result(json!({"games": rows}));
    }
    Ok(())
}

fn fetch(roms: &Roms, folder: Option<&Path>, json: bool, output: Output) -> Outcome {
    let folder = folder.map_or_else(|| roms.data_folder(), Ok)?;
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let spinner = ProgressBar::with_draw_target(None, target).with_message("downloading");
    spinner.enable_steady_tick(Duration::from_millis(120));
    let result = fetch_into(folder, None, &mut |news| spinner.suspend(|| output.note(news)));
    spinner.finish_and_clear();
    let count = result?;
    if json {
        output.result(json!({"stored": count, "folder": folder}));
    } else {
        output.result(format_args!("{count} ROMs in {}", folder.display()));
    }
    Ok(())
}

/// A file is judged by its name: one that is called like a game must be its ROM.
fn check(roms: &Roms, json: bool, output: Output) -> Outcome {
    let mut rows = Vec::new();
    let (mut whole, mut damaged) = (0, 0);
    for folder in roms.places().iter().filter_map(|place| place.folder()).filter(|folder| folder.is_dir()) {
        for game in Game::all() {
            let path = folder.join(format!("{}.bin", game.name));
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let found = md5_hex(&bytes);
            let is_whole = found == game.md5;
            whole += u32::from(is_whole);
            damaged += u32::from(!is_whole);
            if json {
                rows.push(json!({"file": path, "md5": found, "expected": game.md5, "whole": is_whole}));
            } else if !is_whole {
                output.result(format_args!("{}: MD5 {found}, expected {}", path.display(), game.md5));
            }
        }
    }
    if json {
        output.result(json!({"whole": whole, "damaged": damaged, "files": rows}));
    } else {
        output.result(format_args!("{whole} ROMs whole, {damaged} damaged"));
    }
    match (whole, damaged) {
        (0, 0) => Err(Failure::Failed(anyhow!("there is no ROM in any of the places; `sane roms fetch` gets them"))),
        (_, 0) => Ok(()),
        _ => Err(Failure::Failed(anyhow!(
            "{damaged} ROMs are damaged; `sane roms fetch` replaces those in the data folder"
        ))),
    }
}

fn places(roms: &Roms, json: bool, output: Output) -> Outcome {
    if json {
        let place = |place: &sane_arcade::Place| json!({"place": place.kind.name(), "folder": place.folder()});
        output.result(json!({"places": roms.places().iter().map(place).collect::<Vec<_>>()}));
    } else {
        roms.places().iter().for_each(|place| output.result(place.described()));
    }
    Ok(())
}

fn whereabouts(roms: &Roms, name: &str, json: bool, output: Output) -> Outcome {
    let game = Game::named(name).map_err(|error| Failure::Usage(error.to_string()))?;
    let path = roms.find(game, &mut |news| output.note(news))?;
    let path = path.ok_or_else(|| anyhow!("no place has the ROM of {name}; `sane roms fetch` gets it"))?;
    if json {
        output.result(json!({"game": name, "file": path}));
    } else {
        output.result(path.display());
    }
    Ok(())
}
