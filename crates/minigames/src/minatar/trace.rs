//! A recorded game: the bytes of a trace file in, its columns out. Everything that can be wrong with a file is found
//! here, so that a replay cannot fail for another reason than a difference.

use super::Ramping;
use super::board::{Button, CELLS, Game};
use flate2::read::GzDecoder;
use std::io::Read;

const MAGIC: &[u8; 8] = b"MNATRC1\0";
const HEADER: usize = 48;

/// One file of the format `MNATRC1`: what was pressed, and what the package answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Trace {
    /// The game that was played.
    pub game: Game,
    /// Whether difficulty ramping was on.
    pub ramping: Ramping,
    /// Seed given to the package.
    pub seed: u32,
    /// Probability of a sticky action.
    pub sticky: f64,
    /// Checksum of the observation after seed and reset.
    pub first_crc: u32,
    /// One entry per act.
    pub acts: Vec<TracedAct>,
    /// Difficulties and checksums.
    pub evidence: Evidence,
    /// Acts between two whole observations; 0 if the file holds none.
    pub snapshot_interval: usize,
    /// Whole observations, `[row][column][channel]`: the first one, then every `snapshot_interval` acts.
    pub snapshots: Vec<Vec<u8>>,
}

/// One act and what came back at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TracedAct {
    /// The button asked for, before stickiness.
    pub button: Button,
    /// Whether a reset came just before it.
    pub reset_before: bool,
    /// Whether the act was answered with "terminal".
    pub terminal: bool,
    /// The reward.
    pub reward: u8,
}

/// What a file says about the observations.
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

/// Why a file is not a trace that can be replayed.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Not gzip, or gzip cut short or damaged.
    #[error("the trace cannot be unpacked: it must be a complete gzip file, copy it again")]
    Unpack(#[from] std::io::Error),
    /// Another kind of file.
    #[error("this is not a trace: it begins with {found:02x?}, a trace with the letters MNATRC1 and a zero")]
    OtherKind {
        /// The first bytes.
        found: Vec<u8>,
    },
    /// Fewer or more bytes than the header announces.
    #[error(
        "the trace has {found} bytes unpacked, its header announces {expected}: it was cut short or joined with another"
    )]
    WrongLength {
        /// Bytes there.
        found: u64,
        /// Bytes announced.
        expected: u64,
    },
    /// A value that the format does not know.
    #[error("{field} of the trace is {found}, expected {expected}")]
    BadField {
        /// Which value.
        field: &'static str,
        /// What stands there.
        found: String,
        /// What may stand there.
        expected: &'static str,
    },
}

impl Trace {
    /// Unpacks and checks a file.
    pub fn read(file: &[u8]) -> Result<Self, TraceError> {
        let mut bytes = Vec::new();
        GzDecoder::new(file).read_to_end(&mut bytes)?;
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
