//! Exact lookahead: the visible rows in, the probability of never crashing out, for each action and the best play
//! afterwards.
//!
//! ```text
//! V(i, x; o₁, o₂) = max_a  free(i+1, o₁, x_a) · ½ Σ_{o₃} V(i+1, x_a; o₂, o₃),    V(9, x; ·, ·) = 1
//! Q(a)            = the term of the maximum for a, in the state now
//! risk            = ⅓ Σ_a (max_a' Q(a') − Q(a))
//! ```
//!
//! i counts rows ahead, x is the lane, x_a the lane after action a, and o_k ∈ {0, 1} is the outcome of the k-th row
//! ahead of the car: rows are decided at distance two, so two of them are known in every state. All values are multiples
//! of a power of ½ and hence exact. Why nothing beyond the ninth row matters: `docs/small-worlds.md`.

use super::row::Row;
use super::{LANES, ROWS_AHEAD, Steering};

/// Probability of never crashing, by outcome of the next row, outcome of the one after it, and lane.
type Values = [[[f64; LANES]; 2]; 2];

/// The probability of never crashing, for each steering in the current state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lookahead {
    survival: [f64; 3],
}

impl Lookahead {
    /// For a car in `lane` with these rows ahead, nearest first; the first two are decided.
    pub(super) fn new(lane: usize, ahead: &[Row]) -> Self {
        assert_eq!(ahead.len(), ROWS_AHEAD, "lookahead: {} rows ahead", ahead.len());
        let outcomes = |i: usize| ahead[i].outcomes();
        let mut next: Values = [[[1.0; LANES]; 2]; 2];
        for i in (1..ROWS_AHEAD).rev() {
            let mut values: Values = [[[0.0; LANES]; 2]; 2];
            for (o1, row) in outcomes(i).into_iter().enumerate() {
                for (o2, by_lane) in values[o1].iter_mut().enumerate() {
                    for (from, value) in by_lane.iter_mut().enumerate() {
                        *value = survival(from, row, &next[o2]).into_iter().fold(0.0, f64::max);
                    }
                }
            }
            next = values;
        }
        let [row, _] = outcomes(0);
        Self { survival: survival(lane, row, &next[0]) }
    }

    /// The probability that a car which steers so now, and optimally afterwards, never crashes.
    pub fn survival(&self, steering: Steering) -> f64 {
        self.survival[steering as usize]
    }

    /// The same for the best steering.
    pub fn best_survival(&self) -> f64 {
        self.survival.into_iter().fold(0.0, f64::max)
    }

    /// The probability that a uniformly drawn steering leads to a crash that the best play would have avoided. It is 0
    /// where every steering has the same probability of a crash, even if that is 1.
    pub fn risk(&self) -> f64 {
        let best = self.best_survival();
        self.survival.iter().map(|survival| best - survival).sum::<f64>() / 3.0
    }

    /// A best steering: straight on, if that is one.
    pub fn best_steering(&self) -> Steering {
        let best = self.best_survival();
        let order = [Steering::Straight, Steering::Left, Steering::Right];
        order.into_iter().find(|&steering| self.survival(steering) == best).unwrap_or(Steering::Straight)
    }
}

/// For each steering: 0 if it crashes into the next row, else the expected value beyond it.
fn survival(lane: usize, next_row: Row, beyond: &[[f64; LANES]; 2]) -> [f64; 3] {
    Steering::ALL.map(|steering| {
        let to = steering.lane_after(lane);
        if next_row.is_free(to) { 0.5 * (beyond[0][to] + beyond[1][to]) } else { 0.0 }
    })
}

#[cfg(test)]
mod tests {
    use super::super::traffic::{Difficulty, Traffic};
    use super::*;
    use sane_env::Stream;
    use std::collections::HashMap;

    const NEXT_TWO_KNOWN: usize = super::super::DECISION_DISTANCE;

    /// The literal game tree: every action, every coin, no table. `rows` are those ahead, the first two decided.
    fn tree(lane: usize, rows: &[Row]) -> [f64; 3] {
        Steering::ALL.map(|steering| {
            let to = steering.lane_after(lane);
            if !rows[0].is_free(to) {
                return 0.0;
            }
            let mut rest = rows[1..].to_vec();
            if rest.is_empty() {
                return 1.0;
            }
            let Some(deciding) = rest.get(NEXT_TWO_KNOWN - 1).copied() else { return best(tree(to, &rest)) };
            let coins = deciding.outcomes();
            let mut expected = 0.0;
            for outcome in coins {
                rest[NEXT_TWO_KNOWN - 1] = outcome;
                expected += best(tree(to, &rest)) / 2.0;
                if coins[0] == coins[1] {
                    return 2.0 * expected;
                }
            }
            expected
        })
    }

    /// The same for longer roads: states are memoised, but nothing is cut off.
    fn long_tree(lane: usize, rows: &[Row], memory: &mut HashMap<(usize, Vec<Row>), f64>) -> [f64; 3] {
        Steering::ALL.map(|steering| {
            let to = steering.lane_after(lane);
            if !rows[0].is_free(to) {
                return 0.0;
            }
            let mut rest = rows[1..].to_vec();
            if rest.len() < NEXT_TWO_KNOWN {
                return 1.0;
            }
            let mut expected = 0.0;
            for outcome in rest[NEXT_TWO_KNOWN - 1].outcomes() {
                rest[NEXT_TWO_KNOWN - 1] = outcome;
                let key = (to, rest.clone());
                let value = memory.get(&key).copied().unwrap_or_else(|| best(long_tree(to, &rest, memory)));
                memory.insert(key, value);
                expected += value / 2.0;
            }
            expected
        })
    }

    fn best(survival: [f64; 3]) -> f64 {
        survival.into_iter().fold(0.0, f64::max)
    }

    /// A stretch of real road that begins anywhere, its first two rows decided.
    fn road(difficulty: Difficulty, seed: u64, len: usize) -> Vec<Row> {
        let mut traffic = Traffic::new(difficulty, Stream::named(seed, "traffic"));
        let mut coins = Stream::named(seed, "coins");
        let skipped = coins.below(60) as usize;
        let mut rows: Vec<Row> = (0..skipped + len).map(|_| traffic.next_row()).skip(skipped).collect();
        rows[..NEXT_TWO_KNOWN].iter_mut().for_each(|row| row.decide(&mut coins));
        rows
    }

    #[test]
    fn the_table_equals_the_whole_game_tree() {
        let mut fractions = 0;
        for (seed, difficulty) in (0..40).zip(Difficulty::all().cycle()) {
            let rows = road(difficulty, seed, ROWS_AHEAD);
            for lane in 0..LANES {
                let lookahead = Lookahead::new(lane, &rows);
                assert_eq!(lookahead.survival, tree(lane, &rows), "seed {seed}, lane {lane}, {rows:?}");
                fractions += usize::from(lookahead.survival.iter().any(|p| 0.0 < *p && *p < 1.0));
            }
        }
        assert!(0 < fractions, "no state in which the coins matter was met");
    }

    #[test]
    fn rows_beyond_those_seen_change_nothing() {
        for (seed, difficulty) in (0..300).zip(Difficulty::all().cycle()) {
            let rows = road(difficulty, 1000 + seed, 4 * ROWS_AHEAD);
            let mut memory = HashMap::new();
            for lane in 0..LANES {
                let seen = Lookahead::new(lane, &rows[..ROWS_AHEAD]).survival;
                assert_eq!(seen, long_tree(lane, &rows, &mut memory), "seed {seed}, lane {lane}, {rows:?}");
            }
        }
    }

    #[test]
    fn a_corridor_leaves_one_steering_and_an_empty_road_all() {
        let corridor = [Row::all_but(4); ROWS_AHEAD];
        assert_eq!(Lookahead::new(4, &corridor), Lookahead { survival: [0.0, 1.0, 0.0] });
        assert_eq!(Lookahead::new(4, &corridor).risk(), 2.0 / 3.0);
        assert_eq!(Lookahead::new(3, &corridor).best_steering(), Steering::Right);
        assert_eq!(Lookahead::new(0, &corridor).risk(), 0.0, "no action avoids the crash");
        assert_eq!(Lookahead::new(0, &[Row::EMPTY; ROWS_AHEAD]), Lookahead { survival: [1.0; 3] });
    }

    #[test]
    fn a_gate_is_survived_with_probability_half_where_only_one_gap_is_near() {
        let mut rows = [Row::EMPTY; ROWS_AHEAD];
        rows[2] = Row::all_but_one_of(1, 5);
        // Two rows remain when the coin has fallen: only from lane 3 can both gaps be reached.
        assert_eq!(Lookahead::new(2, &rows).survival, [0.5, 0.5, 1.0]);
        assert_eq!(Lookahead::new(2, &rows).risk(), 1.0 / 3.0);
        assert_eq!(Lookahead::new(3, &rows).survival, [0.5, 1.0, 0.5]);
    }
}
