//! The figure of the verdict shows the runs whose numbers stand beside it.

use sane_report::RecordedRun;
use sane_report::frontier::{Frontier, FrontierRun};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The curves of the figure: those of `sane frontier` on its page.
const SHOWN: [&str; 6] = ["sane", "noisynet", "eps-greedy", "oracle", "sane-constant-elbo", "sane-elbo"];

fn results() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results")
}

/// The rows of a `frontier-runs.csv`, whose folders end in VARIANT/WORLD/AGENT/SEED; a variant ends in its knob.
fn runs(file: &str) -> Vec<FrontierRun> {
    let text = fs::read_to_string(results().join("data").join(file)).unwrap();
    assert!(!text.contains('"'), "{file}: cells are read as they are");
    let mut lines = text.lines();
    let columns: Vec<&str> = lines.next().unwrap().split(',').collect();
    lines
        .map(|line| {
            let cells: BTreeMap<&str, &str> = columns.iter().copied().zip(line.split(',')).collect();
            let number = |column: &str| cells[column].parse::<f64>().unwrap();
            let variant = cells["folder"].rsplit('/').nth(3).unwrap();
            let knob = variant.rsplit('-').next().unwrap();
            FrontierRun {
                recorded: RecordedRun {
                    folder: cells["folder"].into(),
                    world: cells["world"].into(),
                    agent: cells["agent"].into(),
                    seed: cells["seed"].parse().unwrap(),
                    settings: [("learner.exploration.knob".to_owned(), knob.to_owned())].into(),
                    ..RecordedRun::default()
                },
                interactions: cells["interactions"].parse().unwrap(),
                changed_share: number("changed_share"),
                harms_per_1000: number("harms_per_1000"),
                return_mean: Some(number("return_mean")),
                episodes: cells["episodes"].parse().unwrap(),
                ..FrontierRun::default()
            }
        })
        .collect()
}

#[test]
fn the_frontier_of_the_risky_road_is_drawn_from_all_runs_of_its_agents() {
    let mut shown: Vec<FrontierRun> = ["frontier.csv", "frontier-headline.csv"].into_iter().flat_map(runs).collect();
    shown.retain(|run| SHOWN.contains(&run.recorded.agent.as_str()));
    let frontier = Frontier::of(shown, Vec::new(), 0.5);
    assert!(frontier.set_aside.is_empty(), "{:?}", frontier.set_aside);
    let drawn = frontier.files().unwrap().into_iter().find(|file| file.path == "frontier-risky-road.svg").unwrap();
    let published = results().join("frontier-risky-road.svg");
    if fs::read(&published).unwrap() != drawn.bytes {
        let new = Path::new(env!("CARGO_TARGET_TMPDIR")).join("frontier-risky-road.svg");
        fs::write(&new, &drawn.bytes).unwrap();
        panic!("{} does not show the runs in data/; {} does", published.display(), new.display());
    }
}
