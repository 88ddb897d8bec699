//! Whether two lists of numbers rise together: ranks, Spearman's correlation, and the area under the ROC curve.

/// The rank of each value, from 1; equals share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    let mut ranks = vec![0.0; values.len()];
    let mut start = 0;
    while start < order.len() {
        let end = start + order[start..].iter().take_while(|&&i| values[i] == values[order[start]]).count().max(1);
        // Ranks start+1 … end have the mean (start + 1 + end) / 2.
        let mean = (start + 1 + end) as f64 / 2.0;
        order[start..end].iter().for_each(|&i| ranks[i] = mean);
        start = end;
    }
    ranks
}

/// Spearman's rank correlation: Pearson's correlation of the ranks, ties at their mean rank. None where either
/// list is constant.
pub fn spearman(x: &[f64], y: &[f64]) -> Option<f64> {
    assert_eq!(x.len(), y.len(), "spearman: lists of {} and {} values", x.len(), y.len());
    pearson(&ranks(x), &ranks(y))
}

/// Probability that a marked value is above an unmarked one, equals counting half: the area under the ROC curve, from
/// the rank sum of Mann and Whitney. None where all values or none are marked.
pub fn auc(values: &[f64], marked: &[bool]) -> Option<f64> {
    assert_eq!(values.len(), marked.len(), "auc: {} values, {} marks", values.len(), marked.len());
    let positives = marked.iter().filter(|&&mark| mark).count() as f64;
    let negatives = marked.len() as f64 - positives;
    if positives == 0.0 || negatives == 0.0 {
        return None;
    }
    let rank_sum: f64 = ranks(values).iter().zip(marked).filter(|(_, mark)| **mark).map(|(rank, _)| rank).sum();
    Some((rank_sum - positives * (positives + 1.0) / 2.0) / (positives * negatives))
}

fn pearson(x: &[f64], y: &[f64]) -> Option<f64> {
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let (mean_x, mean_y) = (mean(x), mean(y));
    let sum =
        |pick: &dyn Fn(f64, f64) -> f64| -> f64 { x.iter().zip(y).map(|(&a, &b)| pick(a - mean_x, b - mean_y)).sum() };
    let (xy, xx, yy) = (sum(&|a, b| a * b), sum(&|a, _| a * a), sum(&|_, b| b * b));
    (0.0 < xx && 0.0 < yy).then(|| xy / (xx * yy).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn equal_values_share_the_mean_of_their_ranks() {
        assert_eq!(ranks(&[10.0, 20.0, 10.0, 5.0, 20.0, 20.0]), [2.5, 5.0, 2.5, 1.0, 5.0, 5.0]);
        assert_eq!(ranks(&[]), [0.0; 0]);
    }

    #[test]
    fn spearman_equals_the_textbook_formula_without_ties() {
        // d = (−1, 1, −1, 1, 0): ρ = 1 − 6·4 / (5·24) = 0.8.
        let rho = spearman(&[1.0, 2.0, 3.0, 4.0, 5.0], &[2.0, 1.0, 4.0, 3.0, 5.0]).unwrap();
        assert!((rho - 0.8).abs() < 1e-12);
        assert_eq!(spearman(&[1.0, 2.0, 9.0], &[0.1, 0.2, 0.3]), Some(1.0));
    }

    #[test]
    fn spearman_with_ties_is_the_correlation_of_mean_ranks() {
        // Ranks (1, 2.5, 2.5, 4) and (1, 2, 3.5, 3.5) around 2.5: Σxy = 2.25 + 0 + 0 + 1.5, Σx² = 4.5, Σy² = 4.5.
        let rho = spearman(&[1.0, 2.0, 2.0, 3.0], &[1.0, 2.0, 3.0, 3.0]).unwrap();
        assert!((rho - 3.75 / 4.5).abs() < 1e-12, "{rho}");
    }

    #[test]
    fn a_constant_list_has_no_correlation() {
        assert_eq!(spearman(&[1.0, 1.0, 1.0], &[1.0, 2.0, 3.0]), None);
        assert_eq!(spearman(&[], &[]), None);
    }

    #[test]
    fn auc_counts_the_pairs_in_the_right_order() {
        // Marked 0.35 and 0.8 against 0.1 and 0.4: three of four pairs are in order.
        assert_eq!(auc(&[0.1, 0.4, 0.35, 0.8], &[false, false, true, true]), Some(0.75));
        assert_eq!(auc(&[1.0, 1.0], &[true, false]), Some(0.5));
        assert_eq!(auc(&[1.0, 2.0], &[true, true]), None);
    }

    proptest! {
        #[test]
        fn negating_the_predictor_negates_both(
            pairs in prop::collection::vec((0_i32..9, 0_i32..9, any::<bool>()), 2..40),
        ) {
            let x: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.0)).collect();
            let y: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.1)).collect();
            let marked: Vec<bool> = pairs.iter().map(|pair| pair.2).collect();
            let negated: Vec<f64> = x.iter().map(|value| -value).collect();
            if let (Some(a), Some(b)) = (spearman(&x, &y), spearman(&negated, &y)) {
                prop_assert!((a + b).abs() < 1e-12 && a.abs() <= 1.0 + 1e-12);
            }
            if let (Some(a), Some(b)) = (auc(&x, &marked), auc(&negated, &marked)) {
                prop_assert!((a + b - 1.0).abs() < 1e-12);
            }
        }
    }
}
