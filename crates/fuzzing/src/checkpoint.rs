//! Checkpoints whose checksums are right and whose content is not: one section, segment or manifest is replaced, all
//! digests are made anew, and the run is opened and trained on.
//!
//! The first byte picks the run, the second what is replaced, the rest replaces it.

use crate::scratch;
use sane_env::AgentSteps;
use sane_lab::{OpenRun, Preset, RunConfig, Start, WorldSource, open_run, train};
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;
use toml::{Table, Value};

/// World, its preset, agent.
const RUNS: [(&str, Preset, &str); 4] = [
    ("risky-road", Preset::RiskyRoad, "sane"),
    ("minatar/breakout", Preset::Minatar, "ez-greedy"),
    ("deep-sea/6", Preset::DeepSea, "eps-greedy"),
    ("minatar/seaquest", Preset::Minatar, "noisynet"),
];

/// Interactions of a run when it is saved, and when a restored one ends.
const SAVED_AT: u64 = 300;
const ENDS_AT: u64 = 330;

/// A checkpoint of a real run.
struct Saved {
    config: RunConfig,
    source: WorldSource,
    manifest: Table,
    manifest_name: String,
    /// Names and bytes of what a manifest lists: the sections, then the segments.
    sections: Vec<(String, Vec<u8>)>,
    segments: Vec<(String, Vec<u8>)>,
    /// All other files of the run.
    records: Vec<(String, Vec<u8>)>,
}

pub fn seeds() -> Vec<Vec<u8>> {
    let of_run = |(run, saved): (usize, &Saved)| {
        let contents = saved.sections.iter().chain(&saved.segments).map(|(_, bytes)| bytes.clone());
        let manifest = saved.manifest.to_string().into_bytes();
        let all = contents.chain([manifest]).enumerate();
        all.map(|(target, bytes)| [&[run as u8, target as u8], &bytes[..]].concat()).collect::<Vec<_>>()
    };
    runs().iter().enumerate().flat_map(of_run).collect()
}

pub fn body(input: &[u8]) -> bool {
    let [run, target, bytes @ ..] = input else { return false };
    let saved = &runs()[usize::from(*run) % RUNS.len()];
    let folder = scratch::folder();
    saved.write(folder.path(), usize::from(*target), bytes);
    let opened = open_run(folder.path(), &saved.config, &saved.source, Start::Resume);
    let OpenRun { mut run, mut files, .. } = match opened {
        Ok(opened) => opened,
        Err(error) => {
            let place = folder.path().display().to_string();
            assert!(error.to_string().contains(&place), "the error does not name the place: {error}");
            return false;
        }
    };
    let _ = train(&mut run, &mut files, &mut (), &AtomicBool::new(false));
    true
}

/// Writes the run folder that the body reads, so that a case can be tried with the program itself.
pub fn unfold(input: &[u8], folder: &Path) {
    let [run, target, bytes @ ..] = input else { return };
    runs()[usize::from(*run) % RUNS.len()].write(folder, usize::from(*target), bytes);
}

fn runs() -> &'static [Saved] {
    static RUN: OnceLock<Vec<Saved>> = OnceLock::new();
    RUN.get_or_init(|| RUNS.iter().map(|&(world, preset, agent)| Saved::make(world, preset, agent)).collect())
}

impl Saved {
    fn make(world: &str, preset: Preset, agent: &str) -> Self {
        let mut config = preset.config(world, agent).expect("a world and an agent that exist");
        config.training.total_interactions = AgentSteps(SAVED_AT);
        config.training.learning_starts = AgentSteps(100);
        config.training.batch_size = 4;
        config.replay.capacity = 200;
        config.record.film_interval = 0;
        config.learner.network.hidden = vec![6];
        config.learner.network.convolutions.iter_mut().for_each(|conv| conv.filters = 2);
        let source = WorldSource::open(&config.world, None, &mut |_| ()).expect("a built-in world");
        let folder = scratch::folder();
        let OpenRun { mut run, mut files, .. } =
            open_run(folder.path(), &config, &source, Start::Resume).expect("a new run");
        files.begin(&run, &mut ()).expect("a new run is recorded");
        train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).expect("a run of a moment");
        drop((run, files));

        let checkpoints = folder.path().join("checkpoints");
        let manifest_name = format!("checkpoint-{SAVED_AT:012}.toml");
        let text = fs::read_to_string(checkpoints.join(&manifest_name)).expect("the manifest");
        let manifest: Table = text.parse().expect("a manifest is TOML");
        let body = fs::read(checkpoints.join(text_of(&manifest, "body"))).expect("the body");
        let mut at = 0;
        let sections = entries(&manifest, "parts").map(|(name, bytes)| {
            at += bytes;
            (name, body[at - bytes..at].to_vec())
        });
        let sections = sections.collect();
        let segment = |(name, _): (String, usize)| {
            let bytes = fs::read(checkpoints.join(&name)).expect("a segment");
            (name, bytes)
        };
        let segments = entries(&manifest, "segments").map(segment).collect();
        let records = ["config.toml", "events.jsonl", "timings.jsonl", "tensorboard/events.out.tfevents.sane"]
            .map(|name| (name.to_owned(), fs::read(folder.path().join(name)).expect("a record")))
            .to_vec();
        config.training.total_interactions = AgentSteps(ENDS_AT);
        Self { config, source, manifest, manifest_name, sections, segments, records }
    }

    /// Writes the run, with `bytes` in place of the content of number `target`.
    fn write(&self, folder: &Path, target: usize, bytes: &[u8]) {
        let checkpoints = folder.join("checkpoints");
        fs::create_dir(&checkpoints).expect("an empty folder");
        fs::create_dir(folder.join("tensorboard")).expect("an empty folder");
        let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("space for a small file");
        for (name, bytes) in &self.records {
            write(&folder.join(name), bytes);
        }
        let count = self.sections.len() + self.segments.len() + 1;
        let replaced = |at: usize, old: &Vec<u8>| if target % count == at { bytes.to_vec() } else { old.clone() };
        let sections: Vec<Vec<u8>> = self.sections.iter().enumerate().map(|(at, (_, old))| replaced(at, old)).collect();
        let segments = self.segments.iter().enumerate();
        let segments: Vec<Vec<u8>> = segments.map(|(at, (_, old))| replaced(self.sections.len() + at, old)).collect();
        let mut manifest = self.manifest.clone();
        sign(&mut manifest, "parts", &sections);
        sign(&mut manifest, "segments", &segments);
        write(&checkpoints.join(text_of(&manifest, "body")), &sections.concat());
        for ((name, _), bytes) in self.segments.iter().zip(&segments) {
            write(&checkpoints.join(name), bytes);
        }
        let content = if target % count + 1 == count {
            String::from_utf8_lossy(bytes).into_owned()
        } else {
            manifest.to_string()
        };
        let signed = format!("{content}# blake3 {}\n", blake3::hash(content.as_bytes()).to_hex());
        write(&checkpoints.join(&self.manifest_name), signed.as_bytes());
    }
}

fn text_of<'a>(manifest: &'a Table, key: &str) -> &'a str {
    manifest[key].as_str().expect("a text")
}

/// Names and lengths of what a manifest lists.
fn entries<'a>(manifest: &'a Table, list: &str) -> impl Iterator<Item = (String, usize)> + 'a {
    let entries = manifest[list].as_array().expect("a list").iter();
    entries.map(|entry| {
        let (name, bytes) = (entry["name"].as_str(), entry["bytes"].as_integer());
        (name.expect("a name").to_owned(), bytes.expect("a length") as usize)
    })
}

fn sign(manifest: &mut Table, list: &str, contents: &[Vec<u8>]) {
    let entries = manifest[list].as_array_mut().expect("a list");
    for (entry, bytes) in entries.iter_mut().zip(contents) {
        let entry = entry.as_table_mut().expect("an entry");
        entry.insert("bytes".into(), Value::Integer(bytes.len() as i64));
        entry.insert("blake3".into(), Value::String(blake3::hash(bytes).to_hex().to_string()));
    }
}
