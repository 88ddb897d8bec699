//! The watch over a worker: ends a process that does not answer in time. A read from a pipe has no time limit of its own,
//! but it ends when the process does.
//!
//! Time in which this process was itself halted (Ctrl-Z, a debugger) does not count: the worker is mostly halted with it,
//! and neither can be blamed for it.

use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// How often a watch looks, at most.
const LOOKS: Duration = Duration::from_millis(250);

/// A process and how long its answer has been waited for. The process ends with its watch.
#[derive(Debug)]
pub(crate) struct Watch {
    process: u32,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    child: Mutex<Child>,
    timeout: Duration,
    /// Beginnings and ends of waiting so far: odd while an answer is waited for.
    turns: AtomicU64,
    has_run_out: AtomicBool,
}

impl Watch {
    /// Watches over `child`.
    pub fn over(child: Child, timeout: Duration) -> Self {
        let process = child.id();
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            timeout,
            turns: AtomicU64::new(0),
            has_run_out: AtomicBool::new(false),
        });
        let watched = Arc::downgrade(&shared);
        spawn(move || look_after(&watched, (timeout / 8).clamp(Duration::from_millis(1), LOOKS)));
        Self { process, shared }
    }

    /// An answer is waited for from now on.
    pub fn begin(&self) {
        self.shared.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// The answer came.
    pub fn end(&self) {
        self.shared.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the process was ended because its answer did not come.
    pub fn has_run_out(&self) -> bool {
        self.shared.has_run_out.load(Ordering::Acquire)
    }

    /// Number of the process.
    pub fn process(&self) -> u32 {
        self.process
    }

    /// How the process ended, if it has.
    pub fn status(&self) -> Option<ExitStatus> {
        self.shared.child.lock().ok().and_then(|mut child| child.try_wait().ok().flatten())
    }

    /// Ends the process.
    pub fn kill(&self) {
        self.shared.kill();
    }
}

impl Shared {
    fn kill(&self) {
        if let Ok(mut child) = self.child.lock() {
            // Both fail only if the process has ended already.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.kill();
    }
}

fn look_after(watched: &Weak<Shared>, pause: Duration) {
    let mut looks = Looks { pause, turns: 0, waited: Duration::ZERO };
    loop {
        let before = Instant::now();
        sleep(pause);
        let Some(shared) = watched.upgrade() else { return };
        if shared.timeout < looks.look(shared.turns.load(Ordering::Relaxed), before.elapsed()) {
            shared.has_run_out.store(true, Ordering::Release);
            shared.kill();
            return;
        }
    }
}

/// What looking again and again has seen.
struct Looks {
    pause: Duration,
    turns: u64,
    waited: Duration,
}

impl Looks {
    /// How long the present answer has been waited for, if the last look was `since` ago.
    fn look(&mut self, turns: u64, since: Duration) -> Duration {
        let is_the_same_wait = turns == self.turns && turns % 2 == 1;
        // A pause that took much longer than a pause was spent halted.
        self.waited = if is_the_same_wait { self.waited + since.min(self.pause * 4) } else { Duration::ZERO };
        self.turns = turns;
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn sleeper() -> Child {
        Command::new("sleep").arg("100").spawn().unwrap()
    }

    #[test]
    fn a_process_that_is_waited_for_too_long_is_ended() {
        let watch = Watch::over(sleeper(), Duration::from_millis(50));
        sleep(Duration::from_millis(300));
        assert!(watch.status().is_none() && !watch.has_run_out(), "nothing is waited for yet");
        let start = Instant::now();
        watch.begin();
        while !watch.has_run_out() {
            assert!(start.elapsed() < Duration::from_secs(20), "the watch sleeps");
            sleep(Duration::from_millis(5));
        }
        assert!(Duration::from_millis(45) <= start.elapsed());
        watch.kill();
        assert!(watch.status().is_some());
    }

    #[test]
    fn an_answer_in_time_calms_the_watch() {
        let watch = Watch::over(sleeper(), Duration::from_secs(2));
        watch.begin();
        watch.end();
        sleep(Duration::from_millis(2500));
        assert!(watch.status().is_none() && !watch.has_run_out());
    }

    #[test]
    fn an_hour_in_which_everything_was_halted_is_not_held_against_the_worker() {
        let pause = Duration::from_millis(250);
        let mut looks = Looks { pause, turns: 0, waited: Duration::ZERO };
        assert_eq!(looks.look(1, pause), Duration::ZERO, "the wait began during this pause");
        assert_eq!(looks.look(1, pause), pause);
        assert_eq!(looks.look(1, Duration::from_secs(3600)), 5 * pause);
        assert_eq!(looks.look(2, pause), Duration::ZERO, "the answer came");
        assert_eq!(looks.look(2, pause), Duration::ZERO);
        assert_eq!(looks.look(5, pause), Duration::ZERO, "another answer is waited for");
    }
}
