//! The actions of an evaluation, so that anybody can play them again and see whether its scores come out: no network, no
//! policy, no trust in the machine that made them.
//!
//! ```text
//! "SANEACTS"   u32 version   u32 bytes of the header   u64 bytes of the packed episodes   u64 bytes of the unpacked ones
//! header: JSON   episodes: zlib   BLAKE3 of everything before, 32 bytes                                    (little-endian)
//! ```
//! The unpacked episodes, evaluation by evaluation as the header lists them: interactions u32, whether it was cut u8, return
//! f64, then one action after the other, a byte each, or two where the world has more than 256.

use crate::disk::{RealDisk, read_plain, replace_file, temporary_beside};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &[u8; 8] = b"SANEACTS";

/// Version of the format.
pub const ACTION_TRACES_VERSION: u32 = 1;

/// Bytes before the header.
const HEAD_BYTES: usize = 32;

const DIGEST_BYTES: usize = 32;

/// A larger file is no trace, and a smaller one does not unpack to more: the paper's 500,000 interactions are a megabyte.
const MOST_BYTES: u64 = 256 << 20;

/// The evaluations of one policy from the same starts.
#[derive(Debug, Clone, PartialEq)]
pub struct ActionTraces {
    pub header: TracesHeader,
    /// One per noise mode.
    pub evaluations: Vec<TracedEvaluation>,
}

/// What is needed to start the same episodes, and whose they are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TracesHeader {
    /// Version of the program that wrote it.
    pub program: String,
    /// The world as typed on the command line; with the profile, all its settings.
    pub world: String,
    /// The environment profile (Atari).
    pub profile: String,
    /// Names of the world's actions, in order.
    pub actions: Vec<String>,
    pub agent: String,
    /// Seed of the run.
    pub seed: u64,
    /// Interactions of training behind the policy.
    pub trained_interactions: u64,
    /// Seed of the starts of the episodes.
    pub start_seed: u64,
}

/// The episodes of one evaluation, in the order of their starts.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TracedEvaluation {
    /// `off` or `on`.
    pub noise: String,
    pub episodes: Vec<TracedEpisode>,
}

/// An episode from its start.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TracedEpisode {
    /// Sum of the raw rewards.
    pub return_raw: f64,
    /// Whether it was left before its end.
    pub cut: bool,
    /// The actions carried out, as indices into the world's list.
    pub actions: Vec<u16>,
}

/// A trace that cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ActionTraceError {
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
    #[error("{} holds no actions of an evaluation; `sane eval RUN --traces` writes such files", path.display())]
    NotATrace { path: PathBuf },
    #[error(
        "{} has format version {found}, this program reads version {ACTION_TRACES_VERSION}; use the program that wrote it",
        path.display()
    )]
    Version { path: PathBuf, found: u32 },
    #[error("{} is cut short: it has {found} bytes where {expected} were written", path.display())]
    CutShort { path: PathBuf, found: u64, expected: u64 },
    #[error("{} was altered: {what}", path.display())]
    Altered { path: PathBuf, what: &'static str },
    #[error("{} would unpack to {bytes} bytes, more than the {MOST_BYTES} that any evaluation takes", path.display())]
    TooLarge { path: PathBuf, bytes: u64 },
}

/// The part of the file's header that is not in [`TracesHeader`].
#[derive(Serialize, Deserialize)]
struct FileHeader {
    #[serde(flatten)]
    header: TracesHeader,
    evaluations: Vec<EvaluationHeader>,
}

#[derive(Serialize, Deserialize)]
struct EvaluationHeader {
    noise: String,
    episodes: u64,
}

/// Writes a temporary file and renames it.
pub fn write_action_traces(path: &Path, traces: &ActionTraces) -> Result<(), ActionTraceError> {
    let failed = |source| ActionTraceError::Io { doing: "write", path: path.into(), source };
    let wide = 256 < traces.header.actions.len();
    let mut unpacked = Vec::new();
    for episode in traces.evaluations.iter().flat_map(|evaluation| &evaluation.episodes) {
        unpacked.extend_from_slice(&(episode.actions.len() as u32).to_le_bytes());
        unpacked.push(u8::from(episode.cut));
        unpacked.extend_from_slice(&episode.return_raw.to_le_bytes());
        for action in &episode.actions {
            unpacked.extend_from_slice(&action.to_le_bytes()[..if wide { 2 } else { 1 }]);
        }
    }
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    packed.write_all(&unpacked).map_err(failed)?;
    let packed = packed.finish().map_err(failed)?;
    let evaluations = traces.evaluations.iter().map(|evaluation| EvaluationHeader {
        noise: evaluation.noise.clone(),
        episodes: evaluation.episodes.len() as u64,
    });
    let header = FileHeader { header: traces.header.clone(), evaluations: evaluations.collect() };
    let json = serde_json::to_vec(&header).map_err(|error| failed(io::Error::other(error)))?;
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&ACTION_TRACES_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&(unpacked.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&json);
    bytes.extend_from_slice(&packed);
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    replace_file(&RealDisk, &temporary_beside(path), path, &[&bytes]).map_err(failed)
}

/// Reads traces; every byte is checked against the digest.
pub fn read_action_traces(path: &Path) -> Result<ActionTraces, ActionTraceError> {
    let failed = |source| ActionTraceError::Io { doing: "read", path: path.into(), source };
    parse(path, &read_plain(path, MOST_BYTES).map_err(failed)?)
}

fn parse(path: &Path, bytes: &[u8]) -> Result<ActionTraces, ActionTraceError> {
    let altered = |what| ActionTraceError::Altered { path: path.into(), what };
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| ActionTraceError::NotATrace { path: path.into() })?;
    let found = bytes.len() as u64;
    let cut_short = |expected| ActionTraceError::CutShort { path: path.into(), found, expected };
    let too_short = || cut_short((HEAD_BYTES + DIGEST_BYTES) as u64);
    let mut head = Fields(rest);
    let version = head.u32().ok_or_else(too_short)?;
    if version != ACTION_TRACES_VERSION {
        return Err(ActionTraceError::Version { path: path.into(), found: version });
    }
    let json_bytes = head.u32().ok_or_else(too_short)?;
    let packed_bytes = head.u64().ok_or_else(too_short)?;
    let unpacked_bytes = head.u64().ok_or_else(too_short)?;
    let expected = ((HEAD_BYTES + DIGEST_BYTES) as u64 + u64::from(json_bytes)).saturating_add(packed_bytes);
    match found.cmp(&expected) {
        std::cmp::Ordering::Less => return Err(cut_short(expected)),
        std::cmp::Ordering::Greater => return Err(altered("it is longer than what was written")),
        std::cmp::Ordering::Equal => {}
    }
    let (content, digest) = bytes.split_at(bytes.len() - DIGEST_BYTES);
    if blake3::hash(content).as_bytes() != digest {
        return Err(altered("its digest is not that of its content"));
    }
    if MOST_BYTES < unpacked_bytes {
        return Err(ActionTraceError::TooLarge { path: path.into(), bytes: unpacked_bytes });
    }
    let (json, packed) = content[HEAD_BYTES..].split_at(json_bytes as usize);
    let FileHeader { header, evaluations } =
        serde_json::from_slice(json).map_err(|_| altered("its header cannot be read"))?;
    let mut unpacked = Vec::new();
    // One byte more than announced, so that more is noticed.
    let read = ZlibDecoder::new(packed).take(unpacked_bytes + 1).read_to_end(&mut unpacked);
    if read.is_err() || unpacked.len() as u64 != unpacked_bytes {
        return Err(altered("its episodes do not unpack to the announced length"));
    }
    let wide = 256 < header.actions.len();
    let mut fields = Fields(&unpacked);
    let read = evaluations.into_iter().map(|EvaluationHeader { noise, episodes }| {
        let episodes = (0..episodes).map(|_| fields.episode(wide)).collect::<Option<Vec<_>>>()?;
        Some(TracedEvaluation { noise, episodes })
    });
    let evaluations = read.collect::<Option<Vec<_>>>().filter(|_| fields.0.is_empty());
    let evaluations = evaluations.ok_or_else(|| altered("its episodes are not those that its header announces"))?;
    Ok(ActionTraces { header, evaluations })
}

/// Bytes that are read from the front.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn episode(&mut self, wide: bool) -> Option<TracedEpisode> {
        let length = self.u32()? as usize;
        let [cut] = self.take()?;
        let return_raw = f64::from_le_bytes(self.take()?);
        let (actions, rest) = self.0.split_at_checked(length.checked_mul(if wide { 2 } else { 1 })?)?;
        self.0 = rest;
        let actions = if wide {
            actions.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()
        } else {
            actions.iter().map(|&action| u16::from(action)).collect()
        };
        Some(TracedEpisode { return_raw, cut: cut != 0, actions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn traces(actions: usize, episodes: Vec<TracedEpisode>) -> ActionTraces {
        let header = TracesHeader {
            program: "0.1.0".into(),
            world: "boxing".into(),
            profile: "paper".into(),
            actions: (0..actions).map(|i| i.to_string()).collect(),
            agent: "sane".into(),
            seed: 1,
            trained_interactions: 100,
            start_seed: 7,
        };
        let evaluation = |noise: &str, episodes| TracedEvaluation { noise: noise.into(), episodes };
        ActionTraces { header, evaluations: vec![evaluation("off", episodes.clone()), evaluation("on", episodes)] }
    }

    fn written(traces: &ActionTraces) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.trace");
        write_action_traces(&path, traces).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(&read_action_traces(&path).unwrap(), traces);
        fs::read(path).unwrap()
    }

    fn message(bytes: &[u8]) -> String {
        parse(Path::new("x"), bytes).map(|_| ()).unwrap_err().to_string()
    }

    /// The same bytes with a digest that fits.
    fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
        bytes.truncate(bytes.len() - DIGEST_BYTES);
        let digest = blake3::hash(&bytes);
        bytes.extend_from_slice(digest.as_bytes());
        bytes
    }

    proptest! {
        #[test]
        fn what_was_written_is_read_back(
            actions in prop::sample::select(vec![1_usize, 6, 300]),
            lengths in prop::collection::vec((0_usize..40, any::<bool>(), -1e6_f64..1e6), 0..6),
        ) {
            let episodes = lengths.into_iter().map(|(length, cut, return_raw)| {
                TracedEpisode { return_raw, cut, actions: (0..length).map(|i| (i % actions) as u16).collect() }
            });
            written(&traces(actions, episodes.collect()));
        }

        #[test]
        fn no_bytes_make_the_reader_panic(at in 0_usize..400, byte in any::<u8>(), sign in any::<bool>()) {
            let episode = TracedEpisode { return_raw: 1.0, cut: false, actions: vec![1; 90] };
            let mut bytes = written(&traces(6, vec![episode]));
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = parse(Path::new("x"), &if sign { signed(bytes) } else { bytes });
        }
    }

    #[test]
    fn a_trace_that_is_cut_altered_or_of_another_version_gets_a_sentence_of_its_own() {
        let episode = TracedEpisode { return_raw: 1.0, cut: false, actions: vec![1; 90] };
        let bytes = written(&traces(6, vec![episode]));
        for length in [8, 11, 31, 60, bytes.len() - 1] {
            assert!(message(&bytes[..length]).contains("cut short"), "{length}");
        }
        assert!(message(b"GIF89a").contains("holds no actions of an evaluation"));
        assert!(message(b"").contains("holds no actions"));
        let changed = |at: usize, to: u8| {
            let mut bytes = bytes.clone();
            bytes[at] = to;
            bytes
        };
        assert!(message(&changed(8, 9)).contains("format version 9, this program reads version 1"));
        assert!(message(&changed(40, 0)).contains("was altered: its digest"));
        assert!(message(&[&bytes[..], b"x"].concat()).contains("longer than what was written"));
        // Announces a gigabyte more than there is.
        assert!(message(&signed(changed(27, 64))).contains("would unpack to"));
        assert!(message(&signed(changed(25, 1))).contains("do not unpack to the announced length"));
    }

    #[test]
    fn a_long_evaluation_takes_a_fraction_of_a_byte_per_action() {
        let actions = (0..100_000_u32).map(|i| ((i / 7) % 6) as u16).collect();
        let bytes = written(&traces(18, vec![TracedEpisode { return_raw: 1.0, cut: false, actions }]));
        assert!(bytes.len() < 50_000, "{}", bytes.len());
    }
}
