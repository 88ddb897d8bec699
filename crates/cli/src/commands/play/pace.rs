//! Real time: when the next picture is due.

use std::time::{Duration, Instant};

/// A clock that ticks so many times a second.
pub struct Pace {
    tick: Duration,
    due: Instant,
}

impl Pace {
    /// The first tick is due at once.
    pub fn new(per_second: f64) -> Self {
        Self { tick: Duration::from_secs_f64(1.0 / per_second), due: Instant::now() }
    }

    /// How long to wait for the next tick.
    pub fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// The tick was taken. What was missed by more than a quarter of a second (a slow terminal, a pause) is not made up for.
    pub fn tick(&mut self) {
        let now = Instant::now();
        self.due += self.tick;
        if self.due + Duration::from_millis(250) < now {
            self.due = now;
        }
    }

    /// Whether the next tick is already late by a whole tick: then a picture may be left out.
    pub fn is_behind(&self) -> bool {
        self.due + self.tick < Instant::now()
    }
}
