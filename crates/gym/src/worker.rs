//! A Python process that holds one environment. In: requests; out: replies with observations, or the error that describes
//! what happened to the process.
//!
//! Messages go through pipes, which are faster than sockets; a [watchdog](crate::watchdog) kills a worker that does not
//! reply. The process has its own process group, so that Ctrl-C reaches only this process, which saves a checkpoint first.
//! The group ends with the worker, and the worker with this process. Dropping a worker closes its environment first.

use crate::error::GymError;
use crate::options::GymOptions;
use crate::protocol::{Payload, ReplyHeader, Request};
use crate::replies::{BadReply, ReplyPipe, ReplyReader, reported_error};
use crate::space::EnvInfo;
use crate::stderr::StderrTail;
use crate::watchdog::Watchdog;
use rustix::io::ioctl_fionbio;
use serde_json::json;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Write};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("worker.py");

/// How long a process whose pipes are closed may take to exit, so that its exit code is known.
const EXIT_TIMEOUT: Duration = Duration::from_secs(2);

/// How long an environment may take to close before its process is killed.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

/// What holds an environment and replies to requests: a [`Worker`], or bytes that one may have sent.
pub(crate) trait Exchange {
    /// One request, one reply; a requested observation is then in [`observation`](Self::observation).
    fn call(&mut self, request: Request<'_>, payload: Payload) -> Result<ReplyHeader, GymError>;

    /// The newest observation, in the layout of the environment's space.
    fn observation(&self) -> &[u8];

    /// The bytes of a picture, as many as the header says.
    fn picture(&mut self, header: &ReplyHeader) -> Result<Vec<u8>, GymError>;
}

impl ReplyPipe for ChildStdout {
    fn set_blocking(&self, blocking: bool) -> io::Result<()> {
        Ok(ioctl_fionbio(self, !blocking)?)
    }
}

/// A worker process and its pipes.
#[derive(Debug)]
pub(crate) struct Worker {
    world: String,
    python: String,
    timeout: Duration,
    watchdog: Watchdog,
    /// There until the worker is told to end.
    requests: Option<ChildStdin>,
    replies: ReplyReader<ChildStdout>,
    /// What the worker writes before its first reply, until it has been read.
    greeting: Option<String>,
    /// Carries no data: it closes when this process ends, whereupon the kernel kills the worker.
    _lifeline: UnixListener,
    stderr: StderrTail,
    fresh: bool,
}

impl Worker {
    /// Starts an interpreter with the worker script; no environment is made yet.
    pub fn start(options: &GymOptions) -> Result<Self, GymError> {
        let python = options.interpreter();
        let greeting = greeting();
        let started = command(&python, &greeting);
        let (mut command, lifeline) = started.map_err(|source| cannot_start(options, &python, source))?;
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => GymError::NoPython { python: python.clone() },
            _ => cannot_start(options, &python, source),
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(requests), Some(replies), Some(stderr)) = pipes else { unreachable!("all three are pipes") };
        let replies = ReplyReader::new(replies).map_err(|error| cannot_start(options, &python, error))?;
        Ok(Self {
            world: options.world.clone(),
            python,
            timeout: options.timeout,
            watchdog: Watchdog::new(child, options.timeout),
            requests: Some(requests),
            replies,
            greeting: Some(greeting),
            _lifeline: lifeline,
            stderr: StderrTail::new(stderr),
            fresh: false,
        })
    }

    /// Makes an environment in place of any before.
    pub fn make(&mut self, id: &str, kwargs: &toml::Table) -> Result<EnvInfo, GymError> {
        let request = json!({ "id": id, "kwargs": kwargs }).to_string();
        let header = self.call(Request::Make(&request), Payload::Nothing)?;
        let info = self.replies.info(&header).map_err(|bad| self.failed("make", bad))?;
        self.fresh = true;
        Ok(info)
    }

    /// Whether its environment has never been reset.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    fn exchange(&mut self, request: Request<'_>, payload: Payload) -> Result<ReplyHeader, GymError> {
        let doing = request.name();
        let Some(requests) = &mut self.requests else { return Err(self.lost(doing)) };
        let sent = match request {
            Request::Make(text) => requests.write_all(&[&request.encode(payload), text.as_bytes()].concat()),
            _ => requests.write_all(&request.encode(payload)),
        };
        sent.map_err(|_| self.lost(doing))?;
        if let Some(greeting) = self.greeting.take() {
            self.replies.skip_to(&greeting).map_err(|bad| self.failed(doing, bad))?;
        }
        self.replies.header(payload).map_err(|bad| self.failed(doing, bad))
    }

    /// The error for a reply that is none.
    fn failed(&mut self, doing: &'static str, bad: BadReply) -> GymError {
        match bad {
            BadReply::Closed => self.lost(doing),
            BadReply::Reported(text) => reported_error(&self.world, &self.python, doing, &text),
            other => {
                // What follows cannot be told apart from the next reply.
                self.watchdog.kill();
                other.described(&self.world, doing)
            }
        }
    }

    /// The error for closed pipes: the process exited, or the watchdog killed it.
    fn lost(&mut self, doing: &'static str) -> GymError {
        let (world, python, process) = (self.world.clone(), self.python.clone(), self.watchdog.process_id());
        if self.watchdog.has_timed_out() {
            self.watchdog.kill();
            let (seconds, lines) = (self.timeout.as_secs_f64(), self.stderr.last_lines());
            return GymError::Hangs { world, python, process, doing, seconds, lines };
        }
        let since = Instant::now();
        let mut status = self.watchdog.status();
        while status.is_none() && since.elapsed() < EXIT_TIMEOUT {
            sleep(Duration::from_millis(5));
            status = self.watchdog.status();
        }
        self.watchdog.kill();
        let how = status.map_or("it closed its pipes without exiting".into(), described);
        GymError::Died { world, python, process, doing, how, lines: self.stderr.last_lines() }
    }
}

impl Exchange for Worker {
    fn call(&mut self, request: Request<'_>, payload: Payload) -> Result<ReplyHeader, GymError> {
        self.fresh = false;
        self.watchdog.begin();
        let header = self.exchange(request, payload);
        self.watchdog.end();
        header
    }

    fn observation(&self) -> &[u8] {
        self.replies.observation()
    }

    fn picture(&mut self, header: &ReplyHeader) -> Result<Vec<u8>, GymError> {
        self.replies.picture(header).map_err(|bad| self.failed("render", bad))
    }
}

impl Drop for Worker {
    /// Lets the environment close; the watchdog then kills whatever is left.
    fn drop(&mut self) {
        drop(self.requests.take());
        let since = Instant::now();
        while self.watchdog.status().is_none() && since.elapsed() < CLOSE_TIMEOUT.min(self.timeout) {
            sleep(Duration::from_millis(2));
        }
    }
}

/// A line that nothing prints by accident.
fn greeting() -> String {
    let random = || RandomState::new().build_hasher().finish();
    format!("sane worker {:016x}{:016x}\n", random(), random())
}

/// The command, and the socket whose closing ends the process.
fn command(python: &str, greeting: &str) -> io::Result<(Command, UnixListener)> {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let name = format!("sane-gym-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
    let lifeline = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT, &name, greeting]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    // Several workers run in parallel; thread pools in each of them would compete for the cores.
    for threads in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
        if std::env::var_os(threads).is_none() {
            command.env(threads, "1");
        }
    }
    Ok((command, lifeline))
}

fn cannot_start(options: &GymOptions, python: &str, source: io::Error) -> GymError {
    GymError::Start { python: python.to_owned(), world: options.world.clone(), source }
}

fn described(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(9), _) => "signal 9 (killed, often because memory ran out)".into(),
        (Some(11), _) => "signal 11 (segmentation fault)".into(),
        (Some(signal), _) => format!("signal {signal}"),
        (None, Some(code)) => format!("exit code {code}"),
        (None, None) => status.to_string(),
    }
}
