//! Deep sea: bsuite's test of exploration, both variants. A diver in an N×N grid sinks one row a step; the treasure lies
//! in the last column of the last row, and only N steps to the right in a row lead there, each at a small cost.
//!
//! Which of the two actions means "right" is drawn once for every cell, so that only trying can tell. All draws come
//! from bsuite's own generator (numpy's legacy one), hence the same seed gives the same rewards as there.

use crate::numpy_stream::NumpyStream;
use crate::registry::{Family, KnownWorld, Made, SuitableNetwork, WorldName};
use crate::{SolvedRule, picture, snapshot};
use sane_env::{
    Action, Ending, EnvFrames, EnvSpec, Environment, FrameSkip, FrameSpace, GroundTruth, LegendEntry, Picture, Reward,
    SnapshotError, Step, Stream, WorldFault,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

pub(crate) const DETERMINISTIC: Family = Family {
    name: "deep-sea",
    pattern: "deep-sea/SIZE",
    worlds: &[KnownWorld { name: "deep-sea/20", description: "bsuite's test of exploration; any size from 2 to 100" }],
    preset: "deep-sea",
    network: SuitableNetwork::Dense,
    solved: Some(SolvedRule { first_episode: 1, bad_tenths: 9 }),
    episode_length: |name| size(name).map(|size| size as u64),
    make: |name, seed| make(DeepSeaVariant::Deterministic, name, seed),
};

pub(crate) const STOCHASTIC: Family = Family {
    name: "deep-sea-stochastic",
    pattern: "deep-sea-stochastic/SIZE",
    worlds: &[KnownWorld { name: "deep-sea-stochastic/20", description: "the same with slips and noisy rewards" }],
    solved: Some(SolvedRule { first_episode: 100, bad_tenths: 8 }),
    make: |name, seed| make(DeepSeaVariant::Stochastic, name, seed),
    ..DETERMINISTIC
};

/// The cost of going right N times.
const TOTAL_COST: f64 = 0.01;

/// bsuite's two environments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum DeepSeaVariant {
    Deterministic,
    /// "Right" fails with probability 1/N, and the two bottom corners pay normal noise.
    Stochastic,
}

impl DeepSeaVariant {
    fn family(self) -> &'static str {
        match self {
            Self::Deterministic => DETERMINISTIC.name,
            Self::Stochastic => STOCHASTIC.name,
        }
    }
}

/// Parameters of a deep sea.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeepSeaConfig {
    /// Rows and columns, and steps of an episode.
    pub size: usize,
    pub variant: DeepSeaVariant,
    /// Seed of the action mapping; 42 in all of bsuite's experiments.
    pub mapping_seed: u32,
}

impl DeepSeaConfig {
    /// Valid sizes; bsuite's experiment takes the even ones from 10 to 50.
    pub const SIZES: std::ops::RangeInclusive<usize> = 2..=100;
    pub const MAPPING_SEED: u32 = 42;
}

#[derive(Debug, Clone)]
pub struct DeepSea {
    spec: EnvSpec,
    config: DeepSeaConfig,
    /// For each cell, row by row: the action that goes right.
    right: Arc<[u8]>,
    state: State,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct State {
    row: usize,
    column: usize,
    bad: bool,
    random: NumpyStream,
}

impl DeepSea {
    /// A sea whose generator is seeded by `seed`. The size must be in [`DeepSeaConfig::SIZES`].
    pub fn new(config: DeepSeaConfig, seed: u64) -> Self {
        assert!(DeepSeaConfig::SIZES.contains(&config.size), "a deep sea of size {}", config.size);
        let mut name = format!("{}/{}", config.variant.family(), config.size);
        if config.mapping_seed != DeepSeaConfig::MAPPING_SEED {
            name += &format!(":mapping={}", config.mapping_seed);
        }
        let mut mapping = NumpyStream::new(u64::from(config.mapping_seed));
        let spec = EnvSpec {
            name,
            frame: FrameSpace::planes(1, config.size, config.size),
            history: 1,
            actions: vec!["zero".into(), "one".into()],
            frame_skip: FrameSkip(1),
        };
        Self {
            spec,
            right: (0..config.size * config.size).map(|_| u8::from(0.5 < mapping.double())).collect(),
            config,
            state: State { row: 0, column: 0, bad: false, random: NumpyStream::new(seed) },
        }
    }

    /// The action that goes right where the diver is now.
    fn right_action(&self) -> Action {
        Action(u16::from(self.right[self.state.row * self.config.size + self.state.column]))
    }

    fn start(&mut self) {
        (self.state.row, self.state.column, self.state.bad) = (0, 0, false);
    }

    /// Moves the diver; the reward.
    fn sink(&mut self, action: Action) -> f64 {
        let size = self.config.size;
        let last = size - 1;
        let goes_right = action == self.right_action();
        let State { row, column, bad, random } = &mut self.state;
        let mut reward = 0.0;
        if *column == last && goes_right {
            reward += 1.0;
        }
        let is_stochastic = self.config.variant == DeepSeaVariant::Stochastic;
        if is_stochastic && *row == last && (*column == 0 || *column == last) {
            reward += random.normal();
        }
        if goes_right {
            let slip = random.double();
            if !is_stochastic || 1.0 / (size as f64) < slip {
                *column = (*column + 1).min(last);
            }
            reward -= TOTAL_COST / size as f64;
        } else {
            *bad |= *row == *column;
            *column = column.saturating_sub(1);
        }
        *row += 1;
        reward
    }

    fn paint(&self, frame: &mut [u8]) {
        frame.fill(0);
        if self.state.row < self.config.size {
            frame[self.state.row * self.config.size + self.state.column] = 1;
        }
    }
}

/// Colour of the diver.
const DIVER: picture::Colour = [238, 202, 59];

impl Environment for DeepSea {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, _starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        self.start();
        self.paint(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        assert!(action.0 < 2, "step: action {} of {}, which has 2", action.0, self.spec.name);
        if self.state.row == self.config.size {
            let reason = "a step after the end of the episode: reset the world first".into();
            return Err(WorldFault { world: self.spec.name.clone(), reason });
        }
        let reward = Reward(self.sink(action) as f32);
        self.paint(frame);
        let ending = if self.state.row == self.config.size { Ending::GameOver } else { Ending::Continues };
        Ok(Step { reward, ending, frames: EnvFrames(1) })
    }

    fn snapshot(&self) -> Vec<u8> {
        snapshot::encode(&self.spec.name, &self.state)
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        let state: State = snapshot::decode(&self.spec.name, snapshot)?;
        let size = self.config.size;
        snapshot::check(&self.spec.name, state.row <= size && state.column < size)?;
        self.state = state;
        Ok(())
    }

    fn fork(&self) -> Box<dyn Environment> {
        Box::new(self.clone())
    }

    fn reseed(&mut self, seeds: &mut Stream) -> bool {
        let is_stochastic = self.config.variant == DeepSeaVariant::Stochastic;
        if is_stochastic {
            self.state.random = NumpyStream::new(seeds.next_u64());
        }
        is_stochastic
    }

    fn picture(&self) -> Picture {
        let mut frame = vec![0; self.spec.frame.bytes()];
        self.paint(&mut frame);
        picture::paint(&frame, self.config.size, self.config.size, &[DIVER])
    }

    fn legend(&self) -> Vec<LegendEntry> {
        picture::legend(&["diver; the treasure is at the lower right"], &[DIVER])
    }

    fn ground_truth(&self) -> Option<&dyn GroundTruth> {
        Some(self)
    }
}

impl GroundTruth for DeepSea {
    /// Whether the diver turned left while still on the diagonal, after which the treasure is out of reach.
    fn bad_episode(&self) -> Option<bool> {
        Some(self.state.bad)
    }
}

fn make(variant: DeepSeaVariant, name: &WorldName<'_>, seed: u64) -> Made {
    let Some(size) = size(name) else {
        let (smallest, largest) = (DeepSeaConfig::SIZES.start(), DeepSeaConfig::SIZES.end());
        let example = format!("{}/20", variant.family());
        return Err(name.bad_variant(format!("a size from {smallest} to {largest}"), example));
    };
    let mut config = DeepSeaConfig { size, variant, mapping_seed: DeepSeaConfig::MAPPING_SEED };
    for (option, value) in name.options() {
        match option {
            "mapping" => config.mapping_seed = name.value(option, value, "a seed from 0 to 4294967295")?,
            _ => return Err(name.unknown_option(option, &["mapping"])),
        }
    }
    Ok(Box::new(DeepSea::new(config, seed)))
}

fn size(name: &WorldName<'_>) -> Option<usize> {
    name.variant.parse().ok().filter(|size| DeepSeaConfig::SIZES.contains(size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn sea(size: usize, variant: DeepSeaVariant) -> DeepSea {
        DeepSea::new(DeepSeaConfig { size, variant, mapping_seed: 42 }, 7)
    }

    #[test]
    fn steps_equal_bsuites() {
        let text = include_str!("../../../golden/minatar/deep_sea_vectors.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        for (size, variant, word) in [
            (5, DeepSeaVariant::Deterministic, "det"),
            (5, DeepSeaVariant::Stochastic, "stoch"),
            (10, DeepSeaVariant::Deterministic, "det"),
            (10, DeepSeaVariant::Stochastic, "stoch"),
        ] {
            let key = format!("N={size} {word} mapping_seed=42 seed=7: first 40 steps (action, reward, column after)");
            let mut sea = sea(size, variant);
            for (i, step) in vectors[&key].as_array().unwrap().iter().enumerate() {
                if i % size == 0 {
                    sea.start();
                }
                let reward = sea.sink(Action(step[0].as_u64().unwrap() as u16));
                let expected = step[1].as_f64().unwrap();
                assert!((reward - expected).abs() <= 1e-15 * expected.abs(), "{key}, step {i}: {reward} {expected}");
                assert_eq!(sea.state.column as u64, step[2].as_u64().unwrap(), "{key}, step {i}");
            }
        }
    }

    #[test]
    fn the_action_mapping_equals_bsuites_for_every_size_of_its_experiment() {
        let text = include_str!("../../../golden/minatar/rng_vectors.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        let rows = &vectors["deep_sea mapping seed 42 size 10 (rows)"];
        let drawn: Vec<String> = sea(10, DeepSeaVariant::Deterministic)
            .right
            .chunks(10)
            .map(|row| row.iter().map(u8::to_string).collect())
            .collect();
        assert_eq!(*rows, serde_json::json!(drawn));
        let ones = vectors["deep_sea mapping seed 42 number of ones by size"].as_object().unwrap();
        assert_eq!(ones.len(), 21);
        for (size, expected) in ones {
            let right = sea(size.parse().unwrap(), DeepSeaVariant::Deterministic).right;
            assert_eq!(right.iter().map(|&bit| u64::from(bit)).sum::<u64>(), expected.as_u64().unwrap(), "size {size}");
        }
    }

    #[test]
    fn always_right_finds_the_treasure_and_one_left_does_not() {
        let mut starts = Stream::named(0, "starts");
        let mut frame = vec![0; 144];
        for wrong_row in [None, Some(0), Some(5), Some(11)] {
            let mut sea = sea(12, DeepSeaVariant::Deterministic);
            sea.reset(&mut starts, &mut frame).unwrap();
            let mut total = 0.0;
            let mut ending = Ending::Continues;
            for row in 0..12 {
                let right = sea.right_action();
                let action = if wrong_row == Some(row) { Action(1 - right.0) } else { right };
                let step = sea.step(action, &mut frame).unwrap();
                total += f64::from(step.reward.raw());
                ending = step.ending;
            }
            assert_eq!((ending, frame.iter().max()), (Ending::GameOver, Some(&0)));
            assert_eq!(sea.bad_episode(), Some(wrong_row.is_some()));
            assert_eq!((total - (1.0 - TOTAL_COST)).abs() < 1e-6, wrong_row.is_none(), "{wrong_row:?}: {total}");
        }
    }
}
