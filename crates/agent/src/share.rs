//! How large noise of Q must be to change a wanted share of the actions, for `q_noise_unit = "share"`: a running quantile.
//!
//! Noise n of a state's action values changes the greedy action a* as soon as it is multiplied by more than
//!
//! ```text
//! c(s) = min over a with n_a > n_a* of (Q̄(s, a*) − Q̄(s, a)) / (n_a − n_a*)
//! ```
//!
//! so with r the size of the noise as it is, c(s)·r is the size at which this state's action changes, whatever r is. The size
//! at which a share p of all actions changes is the p-quantile of c(s)·r. Where the KL of a state weighs f(s)² times as much,
//! its noise is f(s) times the wanted one; r is then the size in units of f, the noise's own divided by the root of the mean
//! of f². That the noise is not yet as large as its KL
//! term wants it does not matter, which it would if the share were measured and the size corrected until it fits.

use crate::bound::following;
use crate::td_target::greedy;
use sane_nn::Matrix;

/// The largest relative change by one batch: the first ones say little.
const LARGEST_STEP: f32 = 0.5;

/// The running quantile.
#[derive(Debug, Clone)]
pub(crate) struct ShareNoise {
    /// p: the wanted share of changed actions, in (0, 1).
    wanted: f32,
    /// The size of noise that changes it; 0 before the first batch.
    size: f32,
    batches: u32,
}

impl ShareNoise {
    pub fn new(wanted: f32) -> Self {
        Self { wanted, size: 0.0, batches: 0 }
    }

    /// v: the size of the noise of Q, where f(s) = 1, that changes the wanted share of the actions.
    pub fn size(&self) -> f32 {
        self.size
    }

    /// Q̄(s, ·) and Q̃(s, ·) of a batch, and f² of its i-th state: moves the quantile.
    ///
    /// ```text
    /// v ← v (1 + η (p − share of states with c(s)·r < v) / p)          η = 1/batches, at least 1/1000
    /// ```
    pub fn add_batch(&mut self, plain: &Matrix, noisy: &Matrix, kl_scale: impl Fn(usize) -> f64) {
        let states = plain.rows();
        let mean_scale = (0..states).map(kl_scale).sum::<f64>() / states as f64;
        let size = size_of_noise(plain, noisy) / mean_scale.sqrt() as f32;
        let current = if self.batches == 0 { size } else { self.size };
        let (mut changed, mut can_change) = (0_usize, false);
        for i in 0..states {
            let changes_at = size * factor_of_change(plain.row(i), noisy.row(i));
            can_change |= changes_at.is_finite();
            changed += usize::from(changes_at < current);
        }
        // Noise that rounding swallowed, or that favours every state's greedy action, does not say what size is needed.
        if !can_change || size == 0.0 {
            return;
        }
        self.batches = self.batches.saturating_add(1);
        let error = (self.wanted - changed as f32 / states as f32) / self.wanted;
        self.size = current * (1.0 + (following(self.batches) * error).clamp(-LARGEST_STEP, LARGEST_STEP));
    }

    /// What a checkpoint keeps.
    pub fn words(&self) -> [u32; 2] {
        [self.size.to_bits(), self.batches]
    }

    /// Restores what [`words`](Self::words) gave.
    pub fn restore(&mut self, [size, batches]: [u32; 2]) {
        (self.size, self.batches) = (f32::from_bits(size), batches);
    }
}

/// r: the root of the mean of (Q̃ − Q̄)² over states and actions.
fn size_of_noise(plain: &Matrix, noisy: &Matrix) -> f32 {
    let square = |(q, n): (&f32, &f32)| (n - q) * (n - q);
    let rows = (0..plain.rows()).map(|i| plain.row(i).iter().zip(noisy.row(i)).map(square).sum::<f32>());
    (rows.sum::<f32>() / (plain.rows() * plain.row(0).len()) as f32).sqrt()
}

/// c(s): the factor of the noise above which it changes the greedy action; infinite where it favours that action.
fn factor_of_change(plain: &[f32], noisy: &[f32]) -> f32 {
    let noise = |a: usize| noisy[a] - plain[a];
    let best = greedy(plain);
    (0..plain.len())
        .filter(|&a| noise(best) < noise(a))
        .map(|a| (plain[best] - plain[a]) / (noise(a) - noise(best)))
        .fold(f32::INFINITY, f32::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::Stream;

    /// Action values of 32 states whose gaps differ by orders of magnitude, and noise of size `r` on them.
    fn batch(stream: &mut Stream, actions: usize, r: f32) -> (Matrix, Matrix) {
        let (mut plain, mut noisy) = (Matrix::zeros(32, actions), Matrix::zeros(32, actions));
        for i in 0..32 {
            let spread = (1_u32 << stream.below(7)) as f32 / 8.0;
            for a in 0..actions {
                plain.row_mut(i)[a] = spread * stream.normal() as f32;
                noisy.row_mut(i)[a] = plain.row(i)[a] + r * stream.normal() as f32;
            }
        }
        (plain, noisy)
    }

    #[test]
    fn the_factor_of_change_is_where_the_greedy_action_changes() {
        let mut stream = Stream::named(3, "factors");
        let (mut finite, (plain, noisy)) = (0, batch(&mut stream, 4, 1.0));
        for i in 0..32 {
            let (q, n) = (plain.row(i), noisy.row(i));
            let scaled = |c: f32| q.iter().zip(n).map(|(q, n)| q + c * (n - q)).collect::<Vec<f32>>();
            let c = factor_of_change(q, n);
            if c.is_finite() {
                finite += 1;
                assert_eq!(greedy(&scaled(0.99 * c)), greedy(q));
                assert_ne!(greedy(&scaled(1.01 * c)), greedy(q));
            } else {
                assert_eq!(greedy(&scaled(1e6)), greedy(q));
            }
        }
        assert!(16 < finite, "only {finite} states have another action that noise can choose");
    }

    #[test]
    fn noise_of_that_size_changes_the_wanted_share_whatever_the_noise_was() {
        for (actions, wanted, r) in [(3, 0.02, 10.0), (3, 0.2, 0.001), (18, 0.02, 1.0), (18, 0.3, 100.0)] {
            let (mut stream, mut noise) = (Stream::named(7, "share"), ShareNoise::new(wanted));
            for _ in 0..4_000 {
                let (plain, noisy) = batch(&mut stream, actions, r);
                noise.add_batch(&plain, &noisy, |_| 1.0);
            }
            let mut changed = 0;
            for _ in 0..2_000 {
                let (plain, noisy) = batch(&mut stream, actions, noise.size());
                changed += (0..32).filter(|&i| greedy(plain.row(i)) != greedy(noisy.row(i))).count();
            }
            let share = f64::from(changed as u32) / 64_000.0;
            let ratio = share / f64::from(wanted);
            assert!(
                (0.85..1.15).contains(&ratio),
                "{actions} actions, {wanted} wanted from noise of {r}: {share} changed"
            );
        }
    }

    #[test]
    fn the_share_is_the_wanted_one_where_the_noise_of_each_state_has_a_scale_of_its_own() {
        let scale = |i: usize| 0.1 + 0.2 * i as f32;
        let scaled = |stream: &mut Stream, r: f32| {
            let (plain, mut noisy) = batch(stream, 3, r);
            for i in 0..32 {
                let row = noisy.row_mut(i).iter_mut().zip(plain.row(i));
                row.for_each(|(noisy, plain)| *noisy = plain + scale(i) * (*noisy - plain));
            }
            (plain, noisy)
        };
        let (mut stream, mut noise) = (Stream::named(7, "share"), ShareNoise::new(0.2));
        for _ in 0..4_000 {
            let (plain, noisy) = scaled(&mut stream, 0.5);
            noise.add_batch(&plain, &noisy, |i| f64::from(scale(i)).powi(2));
        }
        let mut changed = 0;
        for _ in 0..2_000 {
            let (plain, noisy) = scaled(&mut stream, noise.size());
            changed += (0..32).filter(|&i| greedy(plain.row(i)) != greedy(noisy.row(i))).count();
        }
        let share = f64::from(changed as u32) / 64_000.0;
        assert!((share / 0.2 - 1.0).abs() < 0.15, "0.2 wanted, {share} changed");
    }

    #[test]
    fn batches_that_say_nothing_change_nothing() {
        let mut stream = Stream::named(4, "share");
        let mut noise = ShareNoise::new(0.1);
        let (plain, noisy) = batch(&mut stream, 3, 1.0);
        noise.add_batch(&plain, &plain, |_| 1.0);
        let (one_action, perturbed) = batch(&mut stream, 1, 1.0);
        noise.add_batch(&one_action, &perturbed, |_| 1.0);
        assert_eq!(noise.batches, 0);
        noise.add_batch(&plain, &noisy, |_| 1.0);
        let before = noise.words();
        noise.add_batch(&plain, &plain, |_| 1.0);
        noise.add_batch(&one_action, &perturbed, |_| 1.0);
        assert_eq!(noise.words(), before);
        assert!(0.0 < noise.size());
    }
}
