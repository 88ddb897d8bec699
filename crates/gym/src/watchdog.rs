//! The watchdog: kills a worker process that does not reply in time. A read from a pipe has no timeout of its own, but it
//! ends when the process does.
//!
//! Time in which this process was itself stopped (Ctrl-Z, a debugger) does not count, since the worker is usually stopped
//! with it.

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

/// Longest interval between two checks.
const MAX_INTERVAL: Duration = Duration::from_millis(250);

/// A process, which leads a process group, and the time its reply has been awaited. Dropping the watchdog kills the group:
/// what an environment has started ends with it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    process: u32,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    child: Mutex<Child>,
    timeout: Duration,
    /// Requests plus replies so far: odd while a reply is awaited.
    messages: AtomicU64,
    has_timed_out: AtomicBool,
}

impl Watchdog {
    pub fn new(child: Child, timeout: Duration) -> Self {
        let process = child.id();
        let shared = Arc::new(Shared {
            child: Mutex::new(child),
            timeout,
            messages: AtomicU64::new(0),
            has_timed_out: AtomicBool::new(false),
        });
        let weak = Arc::downgrade(&shared);
        spawn(move || check_repeatedly(&weak, (timeout / 8).clamp(Duration::from_millis(1), MAX_INTERVAL)));
        Self { process, shared }
    }

    /// A request was sent: its reply is awaited from now on.
    pub fn begin(&self) {
        self.shared.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// The reply arrived.
    pub fn end(&self) {
        self.shared.messages.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the process was killed because its reply did not arrive.
    pub fn has_timed_out(&self) -> bool {
        self.shared.has_timed_out.load(Ordering::Acquire)
    }

    pub fn process_id(&self) -> u32 {
        self.process
    }

    /// The exit status of the process, if it has ended; then the rest of its group has ended, too.
    pub fn status(&self) -> Option<ExitStatus> {
        let mut child = self.shared.child.lock().ok()?;
        kill_group_of_ended(&child);
        child.try_wait().ok().flatten()
    }

    pub fn kill(&self) {
        self.shared.kill();
    }
}

impl Shared {
    fn kill(&self) {
        if let Ok(mut child) = self.child.lock() {
            // All fail only if the processes have already ended.
            kill_group(&child);
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Kills the group of a process that has not been reaped: until then its number belongs to no other group.
fn kill_group(child: &Child) {
    if let Some(group) = unreaped(child) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

fn kill_group_of_ended(child: &Child) {
    let Some(group) = unreaped(child) else { return };
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    if matches!(waitid(WaitId::Pid(group), options), Ok(Some(_))) {
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// The process, if it runs or has ended without being reaped.
fn unreaped(child: &Child) -> Option<Pid> {
    let process = Pid::from_raw(i32::try_from(child.id()).ok()?)?;
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    waitid(WaitId::Pid(process), options).is_ok().then_some(process)
}

fn check_repeatedly(shared: &Weak<Shared>, interval: Duration) {
    let mut wait = Wait { interval, messages: 0, waited: Duration::ZERO };
    loop {
        let before = Instant::now();
        sleep(interval);
        let Some(shared) = shared.upgrade() else { return };
        if shared.timeout < wait.update(shared.messages.load(Ordering::Relaxed), before.elapsed()) {
            shared.has_timed_out.store(true, Ordering::Release);
            shared.kill();
            return;
        }
    }
}

/// The wait for the current reply, as seen by the checks.
struct Wait {
    interval: Duration,
    messages: u64,
    waited: Duration,
}

impl Wait {
    /// How long the current reply has been awaited, if the last check was `since` ago.
    fn update(&mut self, messages: u64, since: Duration) -> Duration {
        let is_same_wait = messages == self.messages && messages % 2 == 1;
        // If the sleep took much longer than the interval, this process was stopped.
        self.waited = if is_same_wait { self.waited + since.min(self.interval * 4) } else { Duration::ZERO };
        self.messages = messages;
        self.waited
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    fn sleeper() -> Child {
        Command::new("sleep").arg("100").process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_process_that_does_not_reply_is_killed() {
        let watchdog = Watchdog::new(sleeper(), Duration::from_millis(50));
        sleep(Duration::from_millis(300));
        assert!(watchdog.status().is_none() && !watchdog.has_timed_out(), "no reply is awaited yet");
        let start = Instant::now();
        watchdog.begin();
        while !watchdog.has_timed_out() {
            assert!(start.elapsed() < Duration::from_secs(20), "the watchdog does not act");
            sleep(Duration::from_millis(5));
        }
        assert!(Duration::from_millis(45) <= start.elapsed());
        watchdog.kill();
        assert!(watchdog.status().is_some());
    }

    #[test]
    fn a_reply_in_time_keeps_the_process() {
        let watchdog = Watchdog::new(sleeper(), Duration::from_secs(2));
        watchdog.begin();
        watchdog.end();
        sleep(Duration::from_millis(2500));
        assert!(watchdog.status().is_none() && !watchdog.has_timed_out());
    }

    #[test]
    fn an_hour_in_which_this_process_was_stopped_does_not_count() {
        let interval = Duration::from_millis(250);
        let mut wait = Wait { interval, messages: 0, waited: Duration::ZERO };
        assert_eq!(wait.update(1, interval), Duration::ZERO, "the wait began during this interval");
        assert_eq!(wait.update(1, interval), interval);
        assert_eq!(wait.update(1, Duration::from_secs(3600)), 5 * interval);
        assert_eq!(wait.update(2, interval), Duration::ZERO, "the reply arrived");
        assert_eq!(wait.update(2, interval), Duration::ZERO);
        assert_eq!(wait.update(5, interval), Duration::ZERO, "another reply is awaited");
    }
}
