//! The largest of noisy values is a bonus (docs/derivations.md, §8): noise in learning makes targets optimistic by its own
//! size, so that noise which shrinks with visits leads to states that were hardly seen. The first is a test of the program: a
//! real network's noise. The second checks the derivation: its learner is ideal and lives in this file, values in a table, with
//! the crate's targets; it finds what the page says, episode for episode.

mod oracle;

use oracle::world;
use sane_agent::{
    ActMode, AgentConfig, Exploration, Learner, NetworkSpec, Policy, SaneFixed, double_q_target, td_target,
};
use sane_env::{FrameSpace, Stream};

const GAMMA: f32 = 0.9;
const DRAWS: usize = 20_000;

/// Two actions of value 0 in every state, and noise of this σ.
fn equal_values(sigma: f32) -> Policy {
    let exploration = Exploration::SaneFixed(SaneFixed { sigma, ..SaneFixed::default() });
    let network = NetworkSpec { convolutions: Vec::new(), hidden: Vec::new(), conv_bias: true };
    let config = AgentConfig { exploration, network, ..AgentConfig::default() };
    let mut learner =
        Learner::new(&config, &world(FrameSpace::vector(3), 1, 2), &mut Stream::named(1, "init")).unwrap();
    let mut zeros = learner.export();
    zeros.iter_mut().for_each(|tensor| tensor.values.fill(0.0));
    learner.import(&zeros).unwrap();
    learner.policy()
}

/// Action values of one state, draw by draw.
fn draws(sigma: f32, stream: &str) -> Vec<[f32; 2]> {
    let state: Vec<u8> = [1.0_f32, -0.5, 2.0].iter().flat_map(|x| x.to_le_bytes()).collect();
    let (mut policy, mut noise) = (equal_values(sigma), Stream::named(2, stream));
    let mut draw = || {
        policy.act(&state, ActMode::Noisy, &mut noise);
        [policy.q_values()[0], policy.q_values()[1]]
    };
    (0..DRAWS).map(|_| draw()).collect()
}

fn mean(numbers: impl Iterator<Item = f32>) -> f64 {
    numbers.map(f64::from).sum::<f64>() / DRAWS as f64
}

#[test]
fn targets_are_optimistic_in_proportion_to_the_noise_and_double_q_learning_takes_that_away() {
    let mut bonus_of_unit_noise = Vec::new();
    for sigma in [0.01, 0.04, 0.16] {
        let values = draws(sigma, "draws");
        let size = mean(values.iter().map(|q| q[0] * q[0])).sqrt();
        let bonus = mean(values.iter().map(|q| td_target(0.0, false, GAMMA, q))) / f64::from(GAMMA);
        // E max(N₁, N₂) = E|N₁ − N₂|/2 is at most size/√2, and size/√π if the noise were normal.
        assert!(0.4 * size < bonus && bonus < size / 2.0_f64.sqrt(), "bonus {bonus} of noise {size}");
        bonus_of_unit_noise.push(bonus / f64::from(sigma));
        let other = draws(sigma, "other draws");
        let double = mean(values.iter().zip(&other).map(|(q, chooses)| double_q_target(0.0, false, GAMMA, q, chooses)));
        assert!(double.abs() < 0.05 * bonus, "with double Q-learning {double} of {bonus} is left");
    }
    let [small, _, large] = bonus_of_unit_noise[..] else { unreachable!() };
    assert!((large / small - 1.0).abs() < 1e-4, "{bonus_of_unit_noise:?}");
}

/// How large the noise of a state is after so many visits.
#[derive(Clone, Copy)]
enum NoiseOf {
    Constant(f64),
    /// v·√(κ/n)
    Visits {
        v: f64,
        kappa: f64,
    },
}

impl NoiseOf {
    fn size(self, visits: u32) -> f64 {
        match self {
            Self::Constant(v) => v,
            Self::Visits { v, kappa } => v * (kappa / f64::from(visits.max(1))).sqrt(),
        }
    }
}

/// Deep sea of bsuite: one row down in each step, "right" costs 0.01/size and only "right" in every step finds the treasure.
struct Table {
    size: usize,
    noise: NoiseOf,
    /// Whether targets take the largest of noisy values, or the largest of their means.
    is_optimistic: bool,
    values: Vec<[f64; 2]>,
    taken: Vec<[bool; 2]>,
    visits: Vec<u32>,
}

impl Table {
    fn new(size: usize, noise: NoiseOf, is_optimistic: bool) -> Self {
        let cells = size * size;
        let (values, taken) = (vec![[0.0; 2]; cells], vec![[false; 2]; cells]);
        Self { size, noise, is_optimistic, values, taken, visits: vec![0; cells] }
    }

    fn next_column(&self, column: usize, action: usize) -> usize {
        if action == 1 { (column + 1).min(self.size - 1) } else { column.saturating_sub(1) }
    }

    /// E max_a Q̃(s, a) of a cell, for normal noise.
    fn value(&self, cell: usize) -> f64 {
        let [left, right] = self.values[cell];
        if !self.is_optimistic {
            return left.max(right);
        }
        let deviation = self.noise.size(self.visits[cell]) * 2.0_f64.sqrt();
        let z = (left - right) / deviation;
        let below = 0.5 * libm::erfc(-z / 2.0_f64.sqrt());
        let density = libm::exp(-0.5 * z * z) / (2.0 * std::f64::consts::PI).sqrt();
        left * below + right * (1.0 - below) + deviation * density
    }

    /// What a converged network would have learned: every action that was taken, from the bottom up. One that never was has
    /// the value of the other action of its state, as if both shared all features.
    fn learn(&mut self) {
        for row in (0..self.size).rev() {
            for column in 0..=row {
                let cell = row * self.size + column;
                for action in (0..2).filter(|action| self.taken[cell][*action]) {
                    let cost = if action == 1 { -0.01 / self.size as f32 } else { 0.0 };
                    let is_last = row + 1 == self.size;
                    let next = if is_last {
                        0.0
                    } else {
                        self.value((row + 1) * self.size + self.next_column(column, action))
                    };
                    // The largest of noisy values in the mean: the one action value of the next state.
                    self.values[cell][action] = f64::from(td_target(cost, is_last, 0.99, &[next as f32]));
                }
                for action in 0..2 {
                    if !self.taken[cell][action] && self.taken[cell][1 - action] {
                        self.values[cell][action] = self.values[cell][1 - action];
                    }
                }
            }
        }
    }

    /// An episode that acts on the means, equal ones by chance. Whether the treasure was found.
    fn dive(&mut self, chance: &mut Stream) -> bool {
        let (mut column, mut rights) = (0, 0);
        for row in 0..self.size {
            let cell = row * self.size + column;
            self.visits[cell] += 1;
            let [left, right] = self.values[cell];
            let action = if left == right { chance.below(2) as usize } else { usize::from(left < right) };
            self.taken[cell][action] = true;
            (column, rights) = (self.next_column(column, action), rights + action);
        }
        rights == self.size
    }

    /// The episode in which the treasure is found first.
    fn finds_at(mut self, seed: u64, episodes: usize) -> Option<usize> {
        let mut chance = Stream::named(seed, "dives");
        (0..episodes).find(|_| {
            self.learn();
            self.dive(&mut chance)
        })
    }
}

#[test]
fn noise_that_shrinks_with_visits_crosses_a_deep_sea_that_constant_noise_does_not() {
    const SIZE: usize = 20;
    const EPISODES: usize = 2_000;
    let counted = NoiseOf::Visits { v: 0.1, kappa: 10.0 };
    for seed in 1..=5 {
        let found = Table::new(SIZE, counted, true).finds_at(seed, EPISODES);
        assert!(found.is_some(), "seed {seed}");
        for v in [0.01, 0.1, 1.0] {
            assert_eq!(Table::new(SIZE, NoiseOf::Constant(v), true).finds_at(seed, EPISODES), None, "constant {v}");
        }
        assert_eq!(Table::new(SIZE, counted, false).finds_at(seed, EPISODES), None, "without optimism");
    }
}

/// The numbers of docs/derivations.md.
#[test]
fn the_treasure_is_found_after_as_many_episodes_as_the_derivation_says() {
    let counted = NoiseOf::Visits { v: 0.1, kappa: 10.0 };
    for (size, first, last) in [(10, 38, 79), (20, 139, 213), (30, 189, 321), (40, 409, 829)] {
        let found: Vec<usize> =
            (1..=5).map(|seed| Table::new(size, counted, true).finds_at(seed, 2_000).expect("it is found")).collect();
        assert_eq!((found.iter().min(), found.iter().max()), (Some(&first), Some(&last)), "size {size}: {found:?}");
    }
}
