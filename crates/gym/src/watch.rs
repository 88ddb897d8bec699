//! The watch over a worker: ends a process that does not answer in time. A read from a pipe has no time limit of its own,
//! but it ends when the process does.

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
    epoch: Instant,
    /// Nanoseconds after the epoch at which an answer is overdue; [`IDLE`] while none is waited for.
    deadline: AtomicU64,
    has_run_out: AtomicBool,
}

const IDLE: u64 = u64::MAX;

impl Watch {
    /// Watches over `child`.
    pub fn over(child: Child, timeout: Duration) -> Self {
        let process = child.id();
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            timeout,
            epoch: Instant::now(),
            deadline: AtomicU64::new(IDLE),
            has_run_out: AtomicBool::new(false),
        });
        let watched = Arc::downgrade(&shared);
        spawn(move || look_after(&watched, (timeout / 8).clamp(Duration::from_millis(1), LOOKS)));
        Self { process, shared }
    }

    /// An answer is waited for from now on.
    pub fn begin(&self) {
        let deadline = self.shared.epoch.elapsed() + self.shared.timeout;
        self.shared.deadline.store(deadline.as_nanos() as u64, Ordering::Relaxed);
    }

    /// The answer came.
    pub fn end(&self) {
        self.shared.deadline.store(IDLE, Ordering::Relaxed);
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
    loop {
        sleep(pause);
        let Some(shared) = watched.upgrade() else { return };
        if shared.deadline.load(Ordering::Relaxed) < shared.epoch.elapsed().as_nanos() as u64 {
            shared.has_run_out.store(true, Ordering::Release);
            shared.kill();
            return;
        }
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
        watch.begin();
        let start = Instant::now();
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
}
