//! The other clocks of a run: how many frames, episodes and seconds of training lie behind each of its interactions, so
//! that every curve can be drawn over any of them.

use serde::Deserialize;

/// As many as a curve has points.
const MOST_POINTS: u64 = 480;

/// What a curve is drawn over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    #[default]
    Interactions,
    /// Of the world's screen.
    Frames,
    /// Seconds of training: pauses between processes, and work that was lost and repeated, are not counted.
    Seconds,
    /// Whole episodes.
    Episodes,
}

/// A quantity that grows with the interactions, from 0 at the first one.
#[derive(Debug, Clone, PartialEq)]
pub struct Clock {
    /// Of the equally wide stretches of interactions; each keeps its last point.
    width: u64,
    points: Vec<(u64, f64)>,
}

impl Default for Clock {
    fn default() -> Self {
        Self { width: 1, points: Vec::new() }
    }
}

impl Clock {
    /// Adds a reading. One that is not finite, or goes back, is left out.
    pub fn add(&mut self, interactions: u64, value: f64) {
        let last = self.last();
        if !value.is_finite() || interactions < last.0 || value < last.1 {
            return;
        }
        while MOST_POINTS <= interactions / self.width {
            self.width *= 2;
            for (x, y) in std::mem::take(&mut self.points) {
                self.put(x, y);
            }
        }
        self.put(interactions, value);
    }

    /// Forgets everything after `interactions`: a process continued from a checkpoint there.
    pub fn cut(&mut self, interactions: u64) {
        let value = self.at(interactions);
        self.points.retain(|point| point.0 <= interactions);
        if let Some(value) = value {
            self.add(interactions, value);
        }
    }

    /// The newest reading.
    pub fn last(&self) -> (u64, f64) {
        self.points.last().copied().unwrap_or((0, 0.0))
    }

    /// Interpolated between readings; none after the last one.
    pub fn at(&self, interactions: u64) -> Option<f64> {
        let next = self.points.partition_point(|point| point.0 < interactions);
        let (x_next, y_next) = *self.points.get(next)?;
        let (x_last, y_last) = next.checked_sub(1).map_or((0, 0.0), |last| self.points[last]);
        if x_next <= x_last {
            return Some(y_next);
        }
        let share = (interactions - x_last) as f64 / (x_next - x_last) as f64;
        Some((1.0 - share) * y_last + share * y_next)
    }

    fn put(&mut self, x: u64, y: f64) {
        match self.points.last_mut() {
            Some(last) if x / self.width <= last.0 / self.width => *last = (x, y),
            _ => self.points.push((x, y)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clock(readings: &[(u64, f64)]) -> Clock {
        let mut clock = Clock::default();
        readings.iter().for_each(|&(x, y)| clock.add(x, y));
        clock
    }

    #[test]
    fn readings_are_interpolated_from_zero_and_never_extrapolated() {
        let clock = clock(&[(100, 10.0), (200, 40.0)]);
        let values = [0, 50, 100, 150, 200, 201].map(|x| clock.at(x));
        assert_eq!(values, [Some(0.0), Some(5.0), Some(10.0), Some(25.0), Some(40.0), None]);
    }

    #[test]
    fn a_resumed_run_continues_from_its_checkpoint() {
        let mut clock = clock(&[(100, 10.0), (200, 40.0)]);
        clock.cut(150);
        assert_eq!((clock.last(), clock.at(200)), ((150, 25.0), None));
        clock.add(200, 30.0);
        assert_eq!(clock.at(200), Some(30.0));
        clock.cut(0);
        assert_eq!(clock.last().1, 0.0);
    }

    #[test]
    fn a_long_run_keeps_a_few_hundred_readings_and_its_end() {
        let clock = clock(&(1..=100_000).map(|i| (i * 7, i as f64)).collect::<Vec<_>>());
        assert!(clock.points.len() as u64 <= MOST_POINTS);
        assert_eq!(clock.last(), (700_000, 100_000.0));
        assert!((clock.at(350_000).unwrap() - 50_000.0).abs() < 1.0);
    }

    #[test]
    fn hostile_readings_do_no_harm() {
        let hostile = [(5, f64::NAN), (u64::MAX, 1e308), (u64::MAX, f64::INFINITY), (3, 1.0), (u64::MAX, -1.0)];
        let mut clock = clock(&hostile);
        assert_eq!(clock.last(), (u64::MAX, 1e308));
        assert!(clock.at(u64::MAX / 2).unwrap().is_finite());
        clock.cut(7);
        assert!(clock.last().0 <= 7);
    }
}
