//! A trace against the game: the same seed and buttons go in, what differs comes out.

use super::Minatar;
use super::board::{CELLS, Game};
use super::trace::{Evidence, Trace};
use crc32fast::Hasher;

/// Where game and trace part company.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Number of the act, from 1; 0 is the observation after seed and reset.
    pub step: usize,
    /// What differs.
    pub field: &'static str,
    /// What the trace says.
    pub expected: String,
    /// What the game did.
    pub found: String,
}

/// What a replay saw.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    /// Acts compared.
    pub steps: usize,
    /// Whole observations compared.
    pub snapshots: usize,
    /// Acts after which something differed (the first observation counts as one).
    pub differences: usize,
    /// The first difference, if there is any.
    pub first: Option<Difference>,
}

/// Plays a trace again to its end and compares everything the file knows about each act.
pub fn replay(trace: &Trace) -> Replayed {
    let mut seen = Replayed { steps: 0, snapshots: 0, differences: 0, first: None };
    let mut game = Minatar::new(trace.game, trace.sticky, trace.ramping, u64::from(trace.seed));
    let mut observation = Observation::new(trace.game);
    game.reset();
    observation.take(&game);
    let mut chain = Hasher::new();
    chain.update(&observation.bytes);
    let start = same(0, "observation checksum", trace.first_crc, crc32fast::hash(&observation.bytes));
    let compared = start.and(compare_snapshot(trace, &observation, &mut seen));
    seen.note(compared);

    for (i, act) in trace.acts.iter().enumerate() {
        if act.reset_before {
            game.reset();
        }
        let acted = game.act(act.button);
        observation.take(&game);
        chain.update(&observation.bytes);
        seen.steps = i + 1;
        let compared = same(seen.steps, "reward", u32::from(act.reward), acted.reward)
            .and(same(seen.steps, "terminal", act.terminal, acted.terminal))
            .and_then(|()| compare_evidence(trace, i, &game, &observation, &chain))
            .and(compare_snapshot(trace, &observation, &mut seen));
        seen.note(compared);
    }
    seen
}

impl Replayed {
    fn note(&mut self, compared: Result<(), Difference>) {
        if let Err(difference) = compared {
            self.differences += 1;
            self.first.get_or_insert(difference);
        }
    }
}

/// Compares difficulty and checksum after act `i`, or the running checksum where a thin file holds one.
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
fn compare_snapshot(trace: &Trace, observation: &Observation, seen: &mut Replayed) -> Result<(), Difference> {
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
