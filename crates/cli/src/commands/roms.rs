//! `sane roms`: which Atari ROMs are present, where, and whether they are intact; downloading them.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::anyhow;
use clap::Subcommand;
use sane_arcade::{Game, RomLocation, Roms, fetch_into, md5_hex};
use serde_json::json;
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  sane roms list            # which of the 104 games have a ROM on this machine
  sane roms fetch           # download them with pip
  sane roms check           # compare every ROM with its checksum
  sane roms where boxing    # the file from which a game is loaded

ROMs are searched in --roms DIR, then $SANE_ROMS, then the user's data folder, then an installed ale_py package.";

/// Find, download and check the ROMs of the Atari games
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
    /// Folder with Atari ROMs, searched before all others
    #[arg(long, value_name = "DIR", global = true)]
    roms: Option<PathBuf>,
    /// Print one JSON object instead of lines
    #[arg(long, global = true)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all 104 games and the ROM file of each
    List,
    /// Download the ROMs with pip, check them, store them in the data folder (or in --roms DIR)
    Fetch,
    /// Compare the checksum of every ROM in the searched folders
    Check,
    /// Print the searched folders, or the ROM file of one game
    Where {
        /// The game
        game: Option<String>,
    },
}

pub fn run(args: Args, output: &Output) -> Outcome {
    if let Some(folder) =
        args.roms.as_deref().filter(|folder| !folder.is_dir() && !matches!(args.action, Action::Fetch))
    {
        return Err(Failure::Usage(format!(
            "--roms {} is not a folder; name one that contains ROMs",
            folder.display()
        )));
    }
    let roms = Roms::new(args.roms.as_deref());
    match args.action {
        Action::List => list(&roms, args.json, *output),
        Action::Fetch => fetch(&roms, args.roms.as_deref(), args.json, *output),
        Action::Check => check(&roms, args.json, *output),
        Action::Where { game: None } => searched_folders(&roms, args.json, *output),
        Action::Where { game: Some(name) } => rom_file(&roms, &name, args.json, *output),
    }
}

fn list(roms: &Roms, json: bool, output: Output) -> Outcome {
    let mut rows = Vec::new();
    for game in Game::all() {
        let path = roms.find(game, &mut |message| output.note(message))?;
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
    let spinner = output.spinner("downloading");
    let result = fetch_into(folder, None, &mut |message| spinner.suspend(|| output.note(message)));
    spinner.finish_and_clear();
    let count = result?;
    if json {
        output.result(json!({"stored": count, "folder": folder}));
    } else {
        output.result(format_args!("{count} ROMs in {}", folder.display()));
    }
    Ok(())
}

/// A file named after a game must have the checksum of its ROM.
fn check(roms: &Roms, json: bool, output: Output) -> Outcome {
    let mut rows = Vec::new();
    let (mut intact, mut damaged) = (0, 0);
    for folder in roms.locations().iter().filter_map(RomLocation::folder).filter(|folder| folder.is_dir()) {
        for game in Game::all() {
            let path = folder.join(game.rom_file_name());
            let Ok(bytes) = std::fs::read(&path) else { continue };
            let found = md5_hex(&bytes);
            let is_intact = found == game.md5;
            intact += u32::from(is_intact);
            damaged += u32::from(!is_intact);
            if json {
                rows.push(json!({"file": path, "md5": found, "expected": game.md5, "whole": is_intact}));
            } else if !is_intact {
                output.result(format_args!("{}: MD5 {found}, expected {}", path.display(), game.md5));
            }
        }
    }
    if json {
        output.result(json!({"whole": intact, "damaged": damaged, "files": rows}));
    } else {
        output.result(format_args!("{intact} ROMs intact, {damaged} damaged"));
    }
    match (intact, damaged) {
        (0, 0) => {
            Err(Failure::Failed(anyhow!("no ROM in any of the searched folders; `sane roms fetch` downloads them")))
        }
        (_, 0) => Ok(()),
        _ => Err(Failure::Failed(anyhow!(
            "{damaged} ROMs are damaged; `sane roms fetch` replaces those in the data folder"
        ))),
    }
}

fn searched_folders(roms: &Roms, json: bool, output: Output) -> Outcome {
    if json {
        let row = |location: &RomLocation| json!({"place": location.kind.name(), "folder": location.folder()});
        output.result(json!({"places": roms.locations().iter().map(row).collect::<Vec<_>>()}));
    } else {
        roms.locations().iter().for_each(|location| output.result(location.describe()));
    }
    Ok(())
}

fn rom_file(roms: &Roms, name: &str, json: bool, output: Output) -> Outcome {
    let game = Game::named(name).map_err(|error| Failure::Usage(error.to_string()))?;
    let path = roms.find(game, &mut |message| output.note(message))?;
    let path =
        path.ok_or_else(|| anyhow!("no ROM of {name} in any of the searched folders; `sane roms fetch` downloads it"))?;
    if json {
        output.result(json!({"game": name, "file": path}));
    } else {
        output.result(path.display());
    }
    Ok(())
}
