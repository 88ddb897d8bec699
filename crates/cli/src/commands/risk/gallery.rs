//! `sane risk gallery`: the states with the smallest and largest |σ| as annotated pictures and a page.

use super::{Inspection, Noise, raster, remove_stale, write_all};
use crate::args::count_in;
use crate::failure::{Outcome, classify};
use crate::output::Output;
use sane_lab::risk::{Gallery, GalleryWithPictures, gallery};
use sane_report::plot::Raster;
use sane_report::risk::gallery_files;
use std::path::PathBuf;

/// Show the states with the smallest and largest |σ| of an evaluation
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk gallery runs/boxing/q-sane/seed-1                       # into its folder risk/gallery\n  \
    sane risk gallery runs/boxing/sane/seed-1 --states 12 --interactions 50000 -o pictures\n  \
    sane risk gallery runs/risky-road/sane/seed-1 --noise on --json\n\n\
    Written: index.html (one self-contained page), smallest-1.png, …, largest-1.png, …, and gallery.json with σ, action \
    values and action of each state. The same command writes the same bytes.")]
pub struct Args {
    /// Folder for the gallery [default: risk/gallery in the run folder]
    #[arg(long, short, value_name = "OUT")]
    output: Option<PathBuf>,
    /// States to show at each end
    #[arg(long, value_name = "K", default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..=100))]
    states: u16,
    /// Interactions of the evaluation
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = count_in(1..))]
    interactions: u64,
    /// Minimum number of interactions between two shown states of one episode
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = count_in(1..))]
    apart: u64,
    /// Whether the policy plays with its noise
    #[arg(long, value_enum, default_value_t = Noise::Off)]
    noise: Noise,
    #[command(flatten)]
    inspection: Inspection,
    /// Print the gallery's numbers as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let inspected = args.inspection.load(output)?;
    let wanted = Gallery { states: usize::from(args.states), interactions: args.interactions, apart: args.apart };
    let bar = output.progress_bar(0, "interactions");
    let found = gallery(&inspected.probe(args.noise), wanted, |done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let Some(GalleryWithPictures { gallery, pictures }) = found.map_err(classify)? else {
        output.note("stopped; nothing was written");
        return Ok(());
    };
    let pictures = pictures.into_iter().map(raster).collect::<Result<Vec<Raster>, _>>()?;
    let folder = args.output.unwrap_or_else(|| args.inspection.folder().join("risk/gallery"));
    let files = gallery_files(&gallery, &pictures)?;
    let names: Vec<String> = files.iter().map(|file| file.path.clone()).collect();
    for end in ["smallest", "largest"] {
        remove_stale(&folder, end, &names)?;
    }
    write_all(&folder, &files)?;
    for (end, shown) in [("smallest", &gallery.smallest), ("largest", &gallery.largest)] {
        if shown.len() < wanted.states {
            output.note(format_args!(
                "only {} state{} with {end} |σ| {} far enough apart; more --interactions or a smaller --apart may find more",
                shown.len(),
                if shown.len() == 1 { "" } else { "s" },
                if shown.len() == 1 { "is" } else { "are" },
            ));
        }
    }
    if args.json {
        output.result(serde_json::to_string_pretty(&gallery)?);
    } else {
        output.result(folder.join("index.html").display());
    }
    Ok(())
}
