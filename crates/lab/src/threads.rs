//! Worker threads and the stop signals.

use crate::LabError;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A pool of this many worker threads, or one per logical core.
pub fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool, LabError> {
    let threads = threads.unwrap_or_else(available);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| LabError::Threads { threads, reason: error.to_string() })
}

/// Number of logical cores available to this process.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A flag that Ctrl-C, SIGTERM and the loss of the terminal (SIGHUP) set. A second Ctrl-C ends the process at once; the others
/// may be repeated, since schedulers send them to whole process trees, in which parents also forward them to their
/// children. SIGHUP stays ignored where it was before: that is what `nohup` is for.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, LabError> {
    let stop = Arc::new(AtomicBool::new(false));
    // Order matters: the conditional shutdown reads the flag before the second handler sets it.
    signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&stop))
        .and_then(|_| signal_hook::flag::register(SIGINT, Arc::clone(&stop)))
        .and_then(|_| signal_hook::flag::register(SIGTERM, Arc::clone(&stop)))
        .map_err(LabError::io("listen for signals of", "this process"))?;
    if !is_ignored(SIGHUP) {
        signal_hook::flag::register(SIGHUP, Arc::clone(&stop))
            .map_err(LabError::io("listen for signals of", "this process"))?;
    }
    Ok(stop)
}

/// Whether this process was started with a signal ignored; false where the system does not tell.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// Longest idle time in which a worker spins: several times the duration of four interactions with an Atari game.
const SPIN_TIME: Duration = Duration::from_millis(12);

/// Sleep between two polls of a worker that has been idle for longer.
const IDLE_SLEEP: Duration = Duration::from_micros(300);

/// While this lives, the other workers of the current pool spin instead of sleeping. Results do not depend on it.
///
/// The loop acts and emulates on one thread for two or three milliseconds, then a train step has a dozen short parallel
/// parts. Waking a worker that fell asleep in the pause takes longer than some of those parts, above all on a virtual
/// machine.
pub(crate) struct KeepWorkersHot(Arc<AtomicBool>);

impl KeepWorkersHot {
    /// Lets the other workers of the current thread's pool spin; does nothing outside a pool.
    pub fn start() -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        if let Some(own) = rayon::current_thread_index() {
            let is_over = Arc::clone(&is_over);
            // This thread may pick up its own copy while it waits for others and must return from it.
            rayon::spawn_broadcast(move |context| {
                if context.index() != own {
                    spin(&is_over);
                }
            });
        }
        Self(is_over)
    }
}

impl Drop for KeepWorkersHot {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn spin(is_over: &AtomicBool) {
    let mut last_work = Instant::now();
    while !is_over.load(Ordering::Relaxed) {
        if rayon::yield_now() == Some(rayon::Yield::Executed) {
            last_work = Instant::now();
        } else if last_work.elapsed() < SPIN_TIME {
            // Other processes, such as a Python worker, get the core.
            std::thread::yield_now();
        } else {
            std::thread::sleep(IDLE_SLEEP);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rayon::prelude::*;

    #[test]
    fn spinning_workers_do_the_work_and_end_with_the_guard() {
        for threads in [1, 2, 3, 8] {
            let pool = pool(Some(threads)).expect("a pool");
            let hot = pool.install(|| {
                let hot = KeepWorkersHot::start();
                for _ in 0..50 {
                    let sum: u64 = (0..1000_u64).into_par_iter().map(|i| i * i).sum();
                    assert_eq!(sum, 332_833_500);
                }
                std::thread::sleep(2 * SPIN_TIME);
                assert_eq!((0..1000_u64).into_par_iter().sum::<u64>(), 499_500, "also after an idle time");
                Arc::downgrade(&hot.0)
            });
            drop(pool);
            let start = Instant::now();
            while 0 < hot.strong_count() && start.elapsed() < Duration::from_secs(5) {
                std::thread::yield_now();
            }
            assert_eq!(hot.strong_count(), 0, "with {threads} threads");
        }
    }
}
