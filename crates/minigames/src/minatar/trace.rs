//! Games recorded from the Python package. [`Trace::read`] decodes and checks a file completely, so that
//! [`Trace::compare`] can only find differences: it plays the recorded seed and buttons again.

use super::board::{Button, CELLS, Game};
use super::{Minatar, Ramping};
use crc32fast::Hasher;
use flate2::read::GzDecoder;
use std::io::Read;

const MAGIC: &[u8; 8] = b"MNATRC1\0";
const HEADER: usize = 48;

/// Of an unpacked trace: many times the longest recorded one, and what any machine holds.
const MOST_BYTES: u64 = 128 << 20;

/// One file of the format `MNATRC1`: the buttons pressed, and what the package returned.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    pub game: Game,
    pub ramping: Ramping,
    /// Seed given to the package.
    pub seed: u32,
    /// Probability of a sticky action.
    pub sticky: f64,
    /// Checksum of the observation after seed and reset.
    pub first_crc: u32,
    pub acts: Vec<TracedAct>,
    /// Difficulties and checksums.
    pub evidence: Evidence,
    /// Acts between two whole observations; 0 if the file holds none.
    pub snapshot_interval: usize,
    /// Whole observations, `[row][column][channel]`: the first one, then every `snapshot_interval` acts.
    pub snapshots: Vec<Vec<u8>>,
}

/// One act and its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedAct {
    /// The button asked for, before stickiness.
    pub button: Button,
    /// Whether a reset came just before it.
    pub reset_before: bool,
    pub terminal: bool,
    pub reward: u8,
}

/// Checksums and difficulties a file holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Evidence {
    /// After every act: the difficulty and the checksum of the observation.
    EveryAct {
        /// Difficulty after each act; −1 in games that have none.
        levels: Vec<i16>,
        /// Checksum after each act.
        crcs: Vec<u32>,
    },
    /// A thin file: a running checksum over all observations so far.
    Chain {
        /// Acts between two entries.
        interval: usize,
        /// The checksum after each interval.
        crcs: Vec<u32>,
    },
}

/// The first value in which the game differs from the trace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Number of the act, from 1; 0 is the observation after seed and reset.
    pub step: usize,
    pub field: &'static str,
    /// In the trace.
    pub expected: String,
    /// In the game.
    pub found: String,
}

/// The result of [`Trace::compare`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// Acts compared.
    pub steps: usize,
    /// Whole observations compared.
    pub snapshots: usize,
    /// Acts after which something differed (the first observation counts as one).
    pub differences: usize,
    pub first: Option<Difference>,
}

/// A file that is not a complete trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Not gzip, or gzip cut short or damaged.
    #[error("the trace cannot be unpacked: it must be a complete gzip file, copy it again")]
    Unpack(#[from] std::io::Error),
    /// A small file that unpacks to a very large one.
    #[error("the trace unpacks to more than {limit} bytes, which no recorded game does")]
    TooLarge { limit: u64 },
    /// Another kind of file.
    #[error("this is not a trace: it begins with {found:02x?}, a trace with the letters MNATRC1 and a zero")]
    OtherKind { found: Vec<u8> },
    /// Fewer or more bytes than the header announces.
    #[error(
        "the trace has {found} bytes unpacked, its header announces {expected}: it was cut short or joined with another"
    )]
    WrongLength { found: u64, expected: u64 },
    /// A value outside of the format.
    #[error("{field} of the trace is {found}, expected {expected}")]
    BadField { field: &'static str, found: String, expected: &'static str },
}

impl Trace {
    /// Unpacks and checks a file.
    pub fn read(file: &[u8]) -> Result<Self, TraceError> {
        let mut bytes = Vec::new();
        GzDecoder::new(file).take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
        if MOST_BYTES < bytes.len() as u64 {
            return Err(TraceError::TooLarge { limit: MOST_BYTES });
        }
        if bytes.get(..8) != Some(MAGIC) {
            return Err(TraceError::OtherKind { found: bytes[..bytes.len().min(8)].to_vec() });
        }
        if bytes.len() < HEADER {
            return Err(TraceError::WrongLength { found: bytes.len() as u64, expected: HEADER as u64 });
        }
        let header = Header::parse(&bytes)?;
        let expected = header.file_bytes();
        if bytes.len() as u64 != expected {
            return Err(TraceError::WrongLength { found: bytes.len() as u64, expected });
        }
        header.columns(&bytes[HEADER..])
    }

    /// Plays the trace to its end and compares everything the file holds about each act.
    pub fn compare(&self) -> Comparison {
        let mut seen = Comparison { steps: 0, snapshots: 0, differences: 0, first: None };
        let mut game = Minatar::new(self.game, self.sticky, self.ramping, u64::from(self.seed));
        let mut observation = Observation::new(self.game);
        game.reset();
        observation.take(&game);
        let mut chain = Hasher::new();
        chain.update(&observation.bytes);
        let start = same(0, "observation checksum", self.first_crc, crc32fast::hash(&observation.bytes));
        let compared = start.and(compare_snapshot(self, &observation, &mut seen));
        seen.note(compared);

        for (i, act) in self.acts.iter().enumerate() {
            if act.reset_before {
                game.reset();
            }
            let acted = game.act(act.button);
            observation.take(&game);
            chain.update(&observation.bytes);
            seen.steps = i + 1;
            let compared = same(seen.steps, "reward", u32::from(act.reward), acted.reward)
                .and(same(seen.steps, "terminal", act.terminal, acted.terminal))
                .and_then(|()| compare_evidence(self, i, &game, &observation, &chain))
                .and(compare_snapshot(self, &observation, &mut seen));
            seen.note(compared);
        }
        seen
    }
}

struct Header {
    game: Game,
    ramping: Ramping,
    seed: u32,
    sticky: f64,
    acts: usize,
    snapshot_interval: usize,
    first_crc: u32,
    chain_interval: Option<usize>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Result<Self, TraceError> {
        let word = |at: usize| u32_at(bytes, at);
        let bad = |field, found: String, expected| Err(TraceError::BadField { field, found, expected });
        let Some(&game) = Game::ALL.get(usize::from(bytes[8])) else {
            return bad("the game number", bytes[8].to_string(), "0 to 4");
        };
        if usize::from(bytes[9]) != game.channels() {
            return bad("the number of channels", bytes[9].to_string(), "that of the game: 4, 4, 7, 10 or 6");
        }
        let sticky = f64::from_le_bytes(std::array::from_fn(|i| bytes[16 + i]));
        if !(0.0..=1.0).contains(&sticky) {
            return bad("the sticky probability", sticky.to_string(), "a number from 0 to 1");
        }
        let flags = bytes[10];
        let chain_interval = (flags & 4 != 0).then_some(word(36) as usize);
        if chain_interval == Some(0) {
            return bad("the chain interval of a thin file", "0".into(), "at least 1");
        }
        Ok(Self {
            game,
            ramping: if flags & 1 != 0 { Ramping::On } else { Ramping::Off },
            seed: word(12),
            sticky,
            acts: word(24) as usize,
            snapshot_interval: word(28) as usize,
            first_crc: word(32),
            chain_interval,
        })
    }

    fn evidence_bytes(&self) -> usize {
        self.chain_interval.map_or(6 * self.acts, |interval| 4 * (self.acts / interval))
    }

    fn snapshots(&self) -> usize {
        self.acts.checked_div(self.snapshot_interval).map_or(0, |periods| 1 + periods)
    }

    fn file_bytes(&self) -> u64 {
        let observation = self.game.channels() * CELLS;
        (HEADER + 3 * self.acts + self.evidence_bytes()) as u64 + (self.snapshots() * observation) as u64
    }

    fn columns(self, body: &[u8]) -> Result<Trace, TraceError> {
        let n = self.acts;
        let (buttons, rest) = body.split_at(n);
        let (flags, rest) = rest.split_at(n);
        let (rewards, rest) = rest.split_at(n);
        let (evidence, observations) = rest.split_at(self.evidence_bytes());
        let acts = buttons
            .iter()
            .zip(flags)
            .zip(rewards)
            .map(|((&button, &flag), &reward)| {
                let Some(&button) = Button::ALL.get(usize::from(button)) else {
                    return Err(TraceError::BadField {
                        field: "an action",
                        found: button.to_string(),
                        expected: "0 to 5",
                    });
                };
                Ok(TracedAct { button, reset_before: flag & 2 != 0, terminal: flag & 1 != 0, reward })
            })
            .collect::<Result<_, _>>()?;
        let evidence = match self.chain_interval {
            Some(interval) => Evidence::Chain { interval, crcs: words(evidence) },
            None => {
                let (levels, crcs) = evidence.split_at(2 * n);
                let level = |pair: &[u8]| i16::from_le_bytes([pair[0], pair[1]]);
                Evidence::EveryAct { levels: levels.chunks_exact(2).map(level).collect(), crcs: words(crcs) }
            }
        };
        Ok(Trace {
            game: self.game,
            ramping: self.ramping,
            seed: self.seed,
            sticky: self.sticky,
            first_crc: self.first_crc,
            acts,
            evidence,
            snapshot_interval: self.snapshot_interval,
            snapshots: observations.chunks_exact(self.game.channels() * CELLS).map(<[u8]>::to_vec).collect(),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|i| bytes[at + i]))
}

fn words(bytes: &[u8]) -> Vec<u32> {
    (0..bytes.len() / 4).map(|i| u32_at(bytes, 4 * i)).collect()
}

impl Comparison {
    fn note(&mut self, compared: Result<(), Difference>) {
        if let Err(difference) = compared {
            self.differences += 1;
            self.first.get_or_insert(difference);
        }
    }
}

/// Compares difficulty and checksum after act `i`; in a thin file the running checksum, where there is one.
fn compare_evidence(
    trace: &Trace,
    i: usize,
    game: &Minatar,
    observation: &Observation,
    chain: &Hasher,
) -> Result<(), Difference> {
    let step = i + 1;
    match &trace.evidence {
        Evidence::EveryAct { levels, crcs } => {
            let level = game.level().map_or(-1, i16::from);
            same(step, "difficulty", levels[i], level)?;
            same(step, "observation checksum", crcs[i], crc32fast::hash(&observation.bytes))
        }
        Evidence::Chain { interval, crcs } if step.is_multiple_of(*interval) => {
            same(step, "running checksum", crcs[step / interval - 1], chain.clone().finalize())
        }
        Evidence::Chain { .. } => Ok(()),
    }
}

/// Compares the whole observation where the trace holds one.
fn compare_snapshot(trace: &Trace, observation: &Observation, seen: &mut Comparison) -> Result<(), Difference> {
    if trace.snapshot_interval == 0 || !seen.steps.is_multiple_of(trace.snapshot_interval) {
        return Ok(());
    }
    let snapshot = &trace.snapshots[seen.steps / trace.snapshot_interval];
    seen.snapshots += 1;
    let Some(at) = (0..snapshot.len()).find(|&i| snapshot[i] != observation.bytes[i]) else { return Ok(()) };
    let channels = trace.game.channels();
    let cell = at / channels;
    let place = format!("row {}, column {}, channel {}", cell / 10, cell % 10, at % channels);
    Err(Difference {
        step: seen.steps,
        field: "observation",
        expected: format!("{} at {place}", snapshot[at]),
        found: format!("{} there", observation.bytes[at]),
    })
}

fn same<T: PartialEq + ToString>(step: usize, field: &'static str, expected: T, found: T) -> Result<(), Difference> {
    if expected == found {
        return Ok(());
    }
    Err(Difference { step, field, expected: expected.to_string(), found: found.to_string() })
}

/// An observation in the package's order, `[row][column][channel]`.
struct Observation {
    planes: Vec<u8>,
    bytes: Vec<u8>,
}

impl Observation {
    fn new(game: Game) -> Self {
        let len = game.channels() * CELLS;
        Self { planes: vec![0; len], bytes: vec![0; len] }
    }

    fn take(&mut self, game: &Minatar) {
        game.paint(&mut self.planes);
        let channels = game.game().channels();
        for (channel, plane) in self.planes.chunks_exact(CELLS).enumerate() {
            for (cell, &value) in plane.iter().enumerate() {
                self.bytes[cell * channels + channel] = value;
            }
        }
    }
}
