//! A Python process that holds one environment. In: requests; out: replies with observations, or the error that describes
//! what happened to the process.
//!
//! Messages go through pipes, which are faster than sockets; a [watchdog](crate::watchdog) kills a worker that does not
//! reply. The process has its own process group, so that Ctrl-C reaches only this process, which saves a checkpoint first.
//! The group ends with the worker, and the worker with this process. Dropping a worker closes its environment first.

use crate::error::GymError;
use crate::options::GymOptions;
use crate::protocol::{HEADER_BYTES, Payload, ReplyHeader, Request};
use crate::space::EnvInfo;
use crate::stderr::StderrTail;
use crate::watchdog::Watchdog;
use rustix::io::ioctl_fionbio;
use sane_env::closest_name;
use serde::Deserialize;
use serde_json::json;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::hint::spin_loop;
use std::io::{self, ErrorKind, Read, Write};
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

/// Bytes of the largest observation or picture that is accepted.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of the longest text that is accepted.
const MOST_TEXT_BYTES: usize = 4 << 20;

/// Bytes that may precede the first reply: what an interpreter prints before the worker has its descriptors.
const MOST_NOISE_BYTES: usize = 1 << 16;

/// How long a reply is polled for before this thread sleeps until it arrives.
const POLL_TIME: Duration = Duration::from_micros(50);

/// How the reply pipe is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ReadMode {
    Polling,
    Blocking,
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
    replies: ChildStdout,
    /// What the worker writes before its first reply, until it has been read.
    greeting: Option<String>,
    /// Carries no data: it closes when this process ends, whereupon the kernel kills the worker.
    _lifeline: UnixListener,
    stderr: StderrTail,
    reply: Vec<u8>,
    observation_bytes: usize,
    fresh: bool,
    /// Whether the last reply came so soon that polling for the next one is faster than sleeping.
    replies_fast: bool,
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
        ioctl_fionbio(&replies, true).map_err(|error| cannot_start(options, &python, error.into()))?;
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
            reply: vec![0; HEADER_BYTES],
            observation_bytes: 0,
            fresh: false,
            replies_fast: true,
        })
    }

    /// Makes an environment in place of any before.
    pub fn make(&mut self, id: &str, kwargs: &toml::Table) -> Result<EnvInfo, GymError> {
        let request = json!({ "id": id, "kwargs": kwargs }).to_string();
        let header = self.call(Request::Make(&request), Payload::Nothing)?;
        let text = self.rest("make", header.number, MOST_TEXT_BYTES)?;
        let info: EnvInfo = serde_json::from_slice(&text).map_err(|error| GymError::Raised {
            world: self.world.clone(),
            doing: "make",
            reason: format!("the worker's reply cannot be parsed: {error}"),
        })?;
        self.observation_bytes = match info.observation_bytes() {
            Some(bytes) if bytes <= MOST_BYTES => bytes,
            _ => {
                let space = format!("observations of shape {:?}, more than {MOST_BYTES} bytes", info.shape);
                return Err(GymError::Observations { world: self.world.clone(), space });
            }
        };
        self.reply.resize(HEADER_BYTES + self.observation_bytes, 0);
        self.fresh = true;
        Ok(info)
    }

    /// Whether its environment has never been reset.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// One request, one reply; a requested observation is then in [`observation`](Self::observation).
    pub fn call(&mut self, request: Request<'_>, payload: Payload) -> Result<ReplyHeader, GymError> {
        self.fresh = false;
        self.watchdog.begin();
        let header = self.exchange(request, payload);
        self.watchdog.end();
        header
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
            self.skip_to(&greeting, doing)?;
        }
        let expected = match payload {
            Payload::Observation => HEADER_BYTES + self.observation_bytes,
            Payload::Nothing => HEADER_BYTES,
        };
        let mut filled = self.fill(doing, 0, HEADER_BYTES, expected)?;
        let header = ReplyHeader::decode(*self.reply.first_chunk().expect("the header was read"));
        if !header.ok {
            let mut text = self.reply[HEADER_BYTES..filled].to_vec();
            let left = header.number.saturating_sub_unsigned(text.len() as u32);
            text.extend(self.rest(doing, left, MOST_TEXT_BYTES)?);
            return Err(self.reported_error(doing, &text));
        }
        while filled < expected {
            filled = self.fill(doing, filled, expected, expected)?;
        }
        Ok(header)
    }

    /// The newest observation, in the layout of the environment's space.
    pub fn observation(&self) -> &[u8] {
        &self.reply[HEADER_BYTES..]
    }

    /// The bytes of a picture, as many as the header says.
    pub fn picture(&mut self, header: &ReplyHeader) -> Result<Vec<u8>, GymError> {
        self.rest("render", header.number, MOST_BYTES)
    }

    /// `count` more bytes: a text or a picture.
    fn rest(&mut self, doing: &'static str, count: i32, most: usize) -> Result<Vec<u8>, GymError> {
        let Some(count) = usize::try_from(count).ok().filter(|&count| count <= most) else {
            // What follows cannot be told apart from the next reply.
            self.watchdog.kill();
            let reason = format!("the worker announced {count} bytes, at most {most} are accepted");
            return Err(GymError::Raised { world: self.world.clone(), doing, reason });
        };
        let mut bytes = vec![0; count];
        self.set_read_mode(ReadMode::Blocking, doing)?;
        self.replies.read_exact(&mut bytes).map_err(|_| self.lost(doing))?;
        self.set_read_mode(ReadMode::Polling, doing)?;
        Ok(bytes)
    }

    /// Reads, after `filled` bytes of the reply, until at least `least` and at most `most` bytes are there.
    fn fill(&mut self, doing: &'static str, mut filled: usize, least: usize, most: usize) -> Result<usize, GymError> {
        let since = Instant::now();
        let mut asleep = false;
        while filled < least {
            match self.replies.read(&mut self.reply[filled..most]) {
                Ok(0) => return Err(self.lost(doing)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Waking a sleeping thread takes longer than a small step, so fast replies are polled for.
                Err(error)
                    if error.kind() == ErrorKind::WouldBlock && self.replies_fast && since.elapsed() < POLL_TIME =>
                {
                    spin_loop();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && !asleep => {
                    asleep = true;
                    self.set_read_mode(ReadMode::Blocking, doing)?;
                }
                Err(_) => return Err(self.lost(doing)),
            }
        }
        if asleep {
            self.set_read_mode(ReadMode::Polling, doing)?;
        }
        self.replies_fast = since.elapsed() < 2 * POLL_TIME;
        Ok(filled)
    }

    /// Reads up to the end of the greeting: what precedes it was printed, not replied.
    fn skip_to(&mut self, greeting: &str, doing: &'static str) -> Result<(), GymError> {
        self.set_read_mode(ReadMode::Blocking, doing)?;
        let mut last = Vec::with_capacity(greeting.len());
        let mut byte = [0];
        for _ in 0..MOST_NOISE_BYTES {
            self.replies.read_exact(&mut byte).map_err(|_| self.lost(doing))?;
            if last.len() == greeting.len() {
                last.remove(0);
            }
            last.push(byte[0]);
            if last == greeting.as_bytes() {
                return self.set_read_mode(ReadMode::Polling, doing);
            }
        }
        self.watchdog.kill();
        let reason = format!("the interpreter printed {MOST_NOISE_BYTES} bytes before the worker began");
        Err(GymError::Raised { world: self.world.clone(), doing, reason })
    }

    fn set_read_mode(&mut self, mode: ReadMode, doing: &'static str) -> Result<(), GymError> {
        let nonblocking = mode == ReadMode::Polling;
        ioctl_fionbio(&self.replies, nonblocking).map_err(|_| self.lost(doing))
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

    /// The error that the worker reported.
    fn reported_error(&self, doing: &'static str, text: &[u8]) -> GymError {
        let (world, python) = (self.world.clone(), self.python.clone());
        let reported: WorkerError = match serde_json::from_slice(text) {
            Ok(reported) => reported,
            Err(error) => return GymError::Raised { world, doing, reason: error.to_string() },
        };
        let WorkerError { kind, text: reason, known } = reported;
        match kind.as_str() {
            "no-package" => GymError::NoPackage { python, cure: reason.clone(), package: reason },
            "no-module" if reason == "ale_py" => GymError::NoPackage { python, package: reason, cure: "ale-py".into() },
            "no-module" => GymError::NoModule { python, module: reason, world },
            "unknown-id" => {
                let id = self.world.rsplit_once(':').map_or("", |(_, id)| id);
                let suggestion = closest_name(id, known.iter().map(String::as_str)).map(str::to_owned);
                GymError::UnknownId { world, reason: lower_first(&reason), suggestion }
            }
            "dependency" => GymError::Dependency { world, reason, python },
            "kwargs" => GymError::Kwargs { world, reason },
            "continuous" => GymError::Actions { world, what: "the continuous action space", space: reason },
            "not-discrete" => GymError::Actions { world, what: "the action space", space: reason },
            "observation" => GymError::Observations { world, space: reason },
            _ => GymError::Raised { world, doing, reason },
        }
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

#[derive(Deserialize)]
struct WorkerError {
    kind: String,
    text: String,
    known: Vec<String>,
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

fn lower_first(text: &str) -> String {
    let mut rest = text.trim_end_matches('.').chars();
    rest.next().map(|first| first.to_lowercase().chain(rest).collect()).unwrap_or_default()
}
