//! A trace against the game: the same seed and buttons go in, the first thing that differs comes out.

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
    /// Acts compared, up to and including the first one that differs.
    pub steps: usize,
    /// Whole observations compared.
    pub snapshots: usize,
    /// The first difference, if there is any.
    pub difference: Option<Difference>,
}

/// Plays a trace again and stops at the first difference.
pub fn replay(trace: &Trace) -> Replayed {
    let mut replayed = Replayed { steps: 0, snapshots: 0, difference: None };
    replayed.difference = compare(trace, &mut replayed).err();
    replayed
}

fn compare(trace: &Trace, seen: &mut Replayed) -> Result<(), Difference> {
    let mut game = Minatar::new(trace.game, trace.sticky, trace.ramping, u64::from(trace.seed));
    let mut observation = Observation::new(trace.game);
    game.reset();
    observation.take(&game);
    same(0, "observation checksum", trace.first_crc, crc32fast::hash(&observation.bytes))?;
    compare_snapshot(trace, &observation, seen)?;
    let mut chain = Hasher::new();
    chain.update(&observation.bytes);

    for (i, act) in trace.acts.iter().enumerate() {
        if act.reset_before {
            game.reset();
        }
        let acted = game.act(act.button);
        observation.take(&game);
        seen.steps = i + 1;
        same(seen.steps, "reward", u32::from(act.reward), acted.reward)?;
        same(seen.steps, "terminal", act.terminal, acted.terminal)?;
        match &trace.evidence {
            Evidence::EveryAct { levels, crcs } => {
                let level = game.level().map(i16::from);
                same(seen.steps, "difficulty", level_text(levels[i]), level_text(level))?;
                same(seen.steps, "observation checksum", crcs[i], crc32fast::hash(&observation.bytes))?;
            }
            Evidence::Chain { interval, crcs } => {
                chain.update(&observation.bytes);
                if seen.steps.is_multiple_of(*interval) {
                    let link = crcs[seen.steps / interval - 1];
                    same(seen.steps, "running checksum", link, chain.clone().finalize())?;
                }
            }
        }
        compare_snapshot(trace, &observation, seen)?;
    }
    Ok(())
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

fn level_text(level: Option<i16>) -> String {
    level.map_or("none".into(), |level| level.to_string())
}

/// An observation in the package's order, [row][column][channel].
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
