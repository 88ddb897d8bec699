//! Helping threads that stay awake between train steps.
//!
//! The loop acts and emulates on one thread for two or three milliseconds, then a train step has a dozen short parallel parts.
//! A helper that falls asleep in each pause takes longer to wake, above all on a virtual machine, than some of those parts
//! last. So helpers look for work until they have found none for a while.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Longest pause in which a helper stays awake: several times what four interactions with an Atari game take.
const PATIENCE: Duration = Duration::from_millis(12);

/// How long it then rests before it looks again.
const REST: Duration = Duration::from_micros(300);

/// While this lives, the other threads of the pool that it was made on look for work instead of sleeping. What is computed
/// does not depend on it.
pub(crate) struct Awake(Arc<AtomicBool>);

impl Awake {
    /// Keeps the helpers of the current thread's pool awake; without a pool there are none.
    pub fn helpers() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        if let Some(own) = rayon::current_thread_index() {
            let is_over = Arc::clone(&is_over);
            // This thread may find its own copy while it waits for others: it must not stay in it.
            rayon::spawn_broadcast(move |context| {
                if context.index() != own {
                    look_for_work(&is_over);
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn look_for_work(is_over: &AtomicBool) {
    let mut last_work = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            last_work = Instant::now();
        } else if last_work.elapsed() < PATIENCE {
            // Whoever else wants this core, a Python worker for one, gets it.
            std::thread::yield_now();
        } else {
            std::thread::sleep(REST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn helpers_that_stay_awake_do_the_work_and_go_when_it_is_over() {
        for threads in [1, 2, 3, 8] {
            let pool = crate::pool(Some(threads)).expect("a pool");
            let awake = pool.install(|| {
                let awake = Awake::helpers();
                for _ in 0..50 {
                    let sum: u64 = (0..1000_u64).into_par_iter().map(|i| i * i).sum();
                    assert_eq!(sum, 332_833_500);
                }
                std::thread::sleep(2 * PATIENCE);
                assert_eq!((0..1000_u64).into_par_iter().sum::<u64>(), 499_500, "also after a rest");
                Arc::downgrade(&awake.0)
            });
            drop(pool);
            let gone = Instant::now();
            while 0 < awake.strong_count() && gone.elapsed() < Duration::from_secs(5) {
                std::thread::yield_now();
            }
            assert_eq!(awake.strong_count(), 0, "with {threads} threads");
        }
    }
}
