//! How the exploration noise is doing over a batch: size and sign of σ, and whether the module behind it is alive.

/// σ over a batch of states, and the module that made it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SigmaStats {
    /// Mean of |σ|.
    pub mean_abs: f32,
    /// Smallest |σ|.
    pub min_abs: f32,
    /// Largest |σ|.
    pub max_abs: f32,
    /// Standard deviation of |σ| across the states: 0 means that the noise is no longer state-aware.
    pub spread_abs: f32,
    /// Share of negative σ.
    pub negative_share: f32,
    /// Share of the module's hidden units that are active for at least one state; 1 where there are none.
    pub live_units_share: f32,
}

impl SigmaStats {
    /// From `sigma[states]`, one number per state.
    pub fn new(sigma: impl Iterator<Item = f32> + Clone, live_units_share: f32) -> Self {
        let count = sigma.clone().count().max(1) as f64;
        let abs = || sigma.clone().map(f32::abs);
        // In f64, so that equal numbers have no spread at all.
        let mean = abs().map(f64::from).sum::<f64>() / count;
        let variance = abs().map(|s| (f64::from(s) - mean).powi(2)).sum::<f64>() / count;
        Self {
            mean_abs: mean as f32,
            min_abs: abs().fold(f32::INFINITY, f32::min),
            max_abs: abs().fold(0.0, f32::max),
            spread_abs: variance.sqrt() as f32,
            negative_share: sigma.clone().filter(|s| *s < 0.0).count() as f32 / count as f32,
            live_units_share,
        }
    }

    /// Whether every hidden unit is off for every state, so that σ is one constant, whatever the state.
    pub fn is_dead(&self) -> bool {
        self.live_units_share == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_absolute_and_signs_are_counted() {
        let stats = SigmaStats::new([0.5, -1.5, 1.0, 1.0].into_iter(), 0.25);
        assert_eq!((stats.mean_abs, stats.min_abs, stats.max_abs, stats.negative_share), (1.0, 0.5, 1.5, 0.25));
        assert!((stats.spread_abs - 0.125_f32.sqrt()).abs() < 1e-6);
        assert!(!stats.is_dead());
    }
}
