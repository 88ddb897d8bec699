//! Numbers appended to h(s) before the perturbation module reads it: the paper's open door. One small trait; the action
//! values (Q-SANE) are its first user, visit counts its second. No gradient flows back through any of them.

use crate::Exploration;

/// What a feature may look at.
#[derive(Debug, Clone, Copy)]
pub struct FeatureContext<'a> {
    /// The state's bytes.
    pub state: &'a [u8],
    /// Q̄(s, ·), the action values.
    pub q_values: &'a [f32],
}

/// A source of extra input features.
pub trait ExtraFeatures: Send + Sync {
    /// How many numbers it appends.
    fn width(&self) -> usize;

    /// Writes its numbers for one state; `out` is `width` long.
    fn write(&self, context: &FeatureContext<'_>, out: &mut [f32]);

    /// Whether it reads the action values, so that they must be computed first.
    fn reads_q_values(&self) -> bool {
        false
    }

    /// A state was met while exploring.
    fn visit(&mut self, _state: &[u8]) {}

    /// What it remembers, for a checkpoint.
    fn memory(&self) -> &[u32] {
        &[]
    }

    /// Takes back what it remembered; the length equals that of [`memory`](Self::memory).
    fn restore(&mut self, _memory: &[u32]) {}
}

/// Q-SANE's features.
///
/// ```text
/// σ(s) = g_Θ([h(s; θᵇ), Q̄(s, ·)])                                              [SANE:q-features]
/// ```
#[derive(Debug, Clone, Copy)]
pub struct QValues {
    /// How many actions there are.
    pub actions: usize,
}

impl ExtraFeatures for QValues {
    fn width(&self) -> usize {
        self.actions
    }

    fn write(&self, context: &FeatureContext<'_>, out: &mut [f32]) {
        out.copy_from_slice(context.q_values);
    }

    fn reads_q_values(&self) -> bool {
        true
    }
}

/// log(1 + n(s)): n counts how often a state with this hash was met. States whose hashes share a counter share a count.
#[derive(Debug, Clone)]
pub struct VisitCounts {
    counters: Vec<u32>,
}

impl VisitCounts {
    /// Counters for about a million different states.
    pub fn new() -> Self {
        Self { counters: vec![0; 1 << 20] }
    }

    fn place(&self, state: &[u8]) -> usize {
        (hash(state) >> 44) as usize % self.counters.len()
    }
}

impl Default for VisitCounts {
    fn default() -> Self {
        Self::new()
    }
}

impl ExtraFeatures for VisitCounts {
    fn width(&self) -> usize {
        1
    }

    fn write(&self, context: &FeatureContext<'_>, out: &mut [f32]) {
        out[0] = (self.counters[self.place(context.state)] as f32).ln_1p();
    }

    fn visit(&mut self, state: &[u8]) {
        let place = self.place(state);
        self.counters[place] = self.counters[place].saturating_add(1);
    }

    fn memory(&self) -> &[u32] {
        &self.counters
    }

    fn restore(&mut self, memory: &[u32]) {
        self.counters.copy_from_slice(memory);
    }
}

/// The sources an agent uses, in the order in which their numbers are appended.
#[derive(Debug, Clone, Default)]
pub(crate) struct FeatureSources {
    /// Q-SANE's.
    pub q_values: Option<QValues>,
    /// Visit counts.
    pub visits: Option<VisitCounts>,
}

impl FeatureSources {
    /// Those of an agent.
    pub fn of(exploration: &Exploration, actions: usize) -> Self {
        let is_q_sane = matches!(exploration, Exploration::QSane { .. });
        let counts_visits = exploration.module().is_some_and(|module| module.visit_counts);
        Self { q_values: is_q_sane.then_some(QValues { actions }), visits: counts_visits.then(VisitCounts::new) }
    }

    /// Whether any of them reads the action values.
    pub fn read_q_values(&self) -> bool {
        self.each().any(ExtraFeatures::reads_q_values)
    }

    /// Writes all their numbers for one state.
    pub fn write(&self, context: &FeatureContext<'_>, mut out: &mut [f32]) {
        for source in self.each() {
            let (own, rest) = out.split_at_mut(source.width());
            source.write(context, own);
            out = rest;
        }
    }

    fn each(&self) -> impl Iterator<Item = &dyn ExtraFeatures> {
        let q_values = self.q_values.as_ref().map(|source| source as &dyn ExtraFeatures);
        let visits = self.visits.as_ref().map(|source| source as &dyn ExtraFeatures);
        q_values.into_iter().chain(visits)
    }
}

// Eight bytes at a time: a state of Atari has 28,224 of them. Written out because checkpoints hold counts under these hashes.
fn hash(bytes: &[u8]) -> u64 {
    let mix = |hash: u64, word: u64| {
        let product = u128::from(hash ^ word) * u128::from(0x9e37_79b9_7f4a_7c15_u64);
        (product ^ (product >> 64)) as u64
    };
    let mut words = bytes.chunks_exact(8);
    let mut value = bytes.len() as u64;
    for word in &mut words {
        value = mix(value, u64::from_le_bytes(word.try_into().unwrap_or_default())).rotate_left(29);
    }
    let rest = words.remainder().iter().fold(1_u64, |rest, &byte| (rest << 8) | u64::from(byte));
    mix(mix(value, rest), 0x2545_f491_4f6c_dd1d)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn feature(source: &dyn ExtraFeatures, state: &[u8]) -> f32 {
        let mut out = [0.0];
        source.write(&FeatureContext { state, q_values: &[] }, &mut out);
        out[0]
    }

    #[test]
    fn a_visit_count_is_the_log_of_one_plus_the_visits() {
        let mut counts = VisitCounts::new();
        for _ in 0..3 {
            counts.visit(&[1, 2, 3]);
        }
        assert_eq!(feature(&counts, &[1, 2, 3]), 4.0_f32.ln());
        assert_eq!(feature(&counts, &[3, 2, 1]), 0.0);
    }

    #[test]
    fn visit_counts_survive_a_checkpoint() {
        let mut counts = VisitCounts::new();
        counts.visit(&[9; 20]);
        let mut copy = VisitCounts::new();
        copy.restore(counts.memory());
        assert_eq!(feature(&copy, &[9; 20]), 2.0_f32.ln());
    }

    #[test]
    fn states_that_differ_in_one_bit_rarely_share_a_counter() {
        let counts = VisitCounts::new();
        let mut places: Vec<usize> = (0..8_000_usize)
            .map(|bit| {
                let mut state = [0_u8; 1_000];
                state[bit / 8] = 1 << (bit % 8);
                counts.place(&state)
            })
            .collect();
        let drawn = places.len();
        places.sort_unstable();
        places.dedup();
        // 8,000 draws out of 2^20 places share about n²/(2·2^20) ≈ 31 of them by chance.
        assert!(drawn - places.len() < 65, "{} of {drawn} collide", drawn - places.len());
    }

    #[test]
    fn action_values_are_passed_on_as_they_are() {
        let mut out = [0.0; 2];
        QValues { actions: 2 }.write(&FeatureContext { state: &[], q_values: &[1.5, -2.0] }, &mut out);
        assert_eq!(out, [1.5, -2.0]);
    }
}
