//! Visit counts as a feature of the perturbation module: log(1 + n(s)), n the visits of a hash of the state.

use crate::behaviour::Behaviour;

/// How often states with the same hash were visited. States whose hashes share a counter share a count.
#[derive(Debug, Clone)]
pub(crate) struct VisitCounts {
    counters: Vec<u32>,
}

impl VisitCounts {
    /// Counters for about a million different states.
    pub fn new() -> Self {
        Self { counters: vec![0; 1 << 20] }
    }

    fn index(&self, state: &[u8]) -> usize {
        (hash(state) >> 44) as usize % self.counters.len()
    }
}

impl Behaviour for VisitCounts {
    fn visit(&mut self, state: &[u8]) {
        let index = self.index(state);
        self.counters[index] = self.counters[index].saturating_add(1);
    }

    fn visits(&self, state: &[u8], _features: &[f32]) -> Option<u32> {
        Some(self.counters[self.index(state)])
    }

    /// log(1 + n(s))
    fn features(&self, state: &[u8], _features: &[f32], out: &mut [f32]) {
        out[0] = libm::log1p(f64::from(self.counters[self.index(state)])) as f32;
    }

    fn memory(&self) -> &[u32] {
        &self.counters
    }

    fn restore(&mut self, memory: &[u32]) {
        self.counters.copy_from_slice(memory);
    }
}

// Eight bytes at a time: a state of Atari has 28,224 of them. Written out because checkpoints hold counts under these hashes.
pub(crate) fn hash(bytes: &[u8]) -> u64 {
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

    fn feature(counts: &VisitCounts, state: &[u8]) -> f32 {
        let mut out = [0.0];
        counts.features(state, &[], &mut out);
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
        let mut indices: Vec<usize> = (0..8_000_usize)
            .map(|bit| {
                let mut state = [0_u8; 1_000];
                state[bit / 8] = 1 << (bit % 8);
                counts.index(&state)
            })
            .collect();
        let drawn = indices.len();
        indices.sort_unstable();
        indices.dedup();
        // 8,000 draws out of 2^20 counters share about n²/(2·2^20) ≈ 31 of them by chance.
        assert!(drawn - indices.len() < 65, "{} of {drawn} collide", drawn - indices.len());
    }
}
