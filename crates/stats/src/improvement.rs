//! How likely a run of one agent beats a run of another on a game drawn at random.

use crate::{Estimate, Scores, bootstrap, mean};

/// P(x > y) with its interval; the two agents' scores are over the same games in the same order.
pub fn improvement(x: &Scores, y: &Scores) -> Estimate {
    bootstrap(&[x, y], |drawn| probability_of_improvement(&drawn[0], &drawn[1]))
}

/// ```text
/// P(x > y) = mean over games of (pairs of seeds with x > y, ties counting half) / (all pairs)
/// ```
///
/// Scores are compared within a game only, so they need no normalisation.
pub fn probability_of_improvement(x: &Scores, y: &Scores) -> f64 {
    assert_eq!(x.0.len(), y.0.len(), "probability_of_improvement: x has {} games, y {}", x.0.len(), y.0.len());
    let per_game: Vec<f64> = x.0.iter().zip(&y.0).map(|(x, y)| share_of_wins(x, y)).collect();
    mean(&per_game)
}

/// The smallest two-sided p-value that rank tests can give on games with these numbers of seeds of two agents: all
/// seeds of one agent above all of the other in every game, which chance alone brings about in one of C(n + m, n)
/// orders per game.
///
/// ```text
/// p = 2 Π_g 1 / C(n_g + m_g, n_g)
/// ```
pub fn least_p_value(seeds: impl IntoIterator<Item = (usize, usize)>) -> f64 {
    let orders =
        |(first, second): (usize, usize)| (1..=first).fold(1.0, |orders, i| orders * (second + i) as f64 / i as f64);
    (2.0 / seeds.into_iter().map(orders).product::<f64>()).min(1.0)
}

fn share_of_wins(x: &[f64], y: &[f64]) -> f64 {
    let won = |x: f64, y: f64| {
        if y < x {
            1.0
        } else if x < y {
            0.0
        } else {
            0.5
        }
    };
    let wins: f64 = x.iter().flat_map(|&x_i| y.iter().map(move |&y_j| won(x_i, y_j))).sum();
    wins / (x.len() * y.len()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn wins_and_ties_by_hand() {
        // First game: 2 beats 1 and 0, 1 ties with 1 and beats 0: 3.5 of 4. Second game: all lost.
        let (x, y) = (Scores(vec![vec![2.0, 1.0], vec![0.0]]), Scores(vec![vec![1.0, 0.0], vec![1.0, 2.0, 3.0]]));
        assert_eq!(probability_of_improvement(&x, &y), 3.5 / 4.0 / 2.0);
    }

    #[test]
    fn three_against_three_seeds_of_one_game_can_never_reach_five_percent() {
        assert!((least_p_value([(3, 3)]) - 0.1).abs() < 1e-12);
        assert!((least_p_value([(3, 3), (3, 3)]) - 2.0 / 400.0).abs() < 1e-12);
        assert!((least_p_value([(5, 5)]) - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(least_p_value([(1, 1)]), 1.0);
    }

    proptest! {
        #[test]
        fn the_two_directions_add_up_to_one(
            pairs in prop::collection::vec(
                (prop::collection::vec(0_i32..5, 1..5), prop::collection::vec(0_i32..5, 1..5)), 1..5),
        ) {
            let floats = |scores: &[i32]| scores.iter().map(|&score| f64::from(score)).collect::<Vec<f64>>();
            let x = Scores(pairs.iter().map(|(x, _)| floats(x)).collect());
            let y = Scores(pairs.iter().map(|(_, y)| floats(y)).collect());
            let sum = probability_of_improvement(&x, &y) + probability_of_improvement(&y, &x);
            prop_assert!((sum - 1.0).abs() < 1e-12);
        }
    }
}
