//! A Python process that holds one environment. In: orders; out: heads of replies and observations, or the error that says
//! what became of the process.
//!
//! Orders and replies go through pipes, which are quicker than sockets; a [watch](crate::watch) ends a worker that does
//! not answer. It lives in a process group of its own: Ctrl-C is the binary's business, which saves a checkpoint first.

use crate::error::GymError;
use crate::options::GymOptions;
use crate::protocol::{HEAD_BYTES, Head, Order, Wanted};
use crate::space::About;
use crate::tail::Tail;
use crate::watch::Watch;
use rustix::io::ioctl_fionbio;
use sane_env::closest_name;
use serde::Deserialize;
use serde_json::json;
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

/// How long a process whose pipes are closed may take to end by itself, so that its exit code is seen.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// How long an answer is asked for again and again before this thread goes to sleep until it comes.
const PATIENCE: Duration = Duration::from_micros(50);

/// How a thread that waits for an answer learns of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waking {
    /// It keeps asking.
    ByAsking,
    /// It sleeps, and the system wakes it.
    BySystem,
}

/// A worker and the lines to it.
#[derive(Debug)]
pub(crate) struct Worker {
    world: String,
    python: String,
    timeout: Duration,
    watch: Watch,
    orders: ChildStdin,
    answers: ChildStdout,
    /// Nothing is ever said on it: it closes with this process, whereupon the kernel ends the worker.
    _lifeline: UnixListener,
    tail: Tail,
    reply: Vec<u8>,
    observation_bytes: usize,
    fresh: bool,
    /// Whether the last answer came so soon that going to sleep for the next one is not worth it.
    quick: bool,
}

impl Worker {
    /// Starts an interpreter with the script; nothing is made yet.
    pub fn start(options: &GymOptions) -> Result<Self, GymError> {
        let python = options.interpreter();
        let (mut command, lifeline) = command(&python).map_err(|source| cannot_start(options, &python, source))?;
        let mut child = command.spawn().map_err(|source| match source.kind() {
            ErrorKind::NotFound => GymError::NoPython { python: python.clone() },
            _ => cannot_start(options, &python, source),
        })?;
        let pipes = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(orders), Some(answers), Some(words)) = pipes else { unreachable!("all three are pipes") };
        ioctl_fionbio(&answers, true).map_err(|error| cannot_start(options, &python, error.into()))?;
        Ok(Self {
            world: options.world.clone(),
            python,
            timeout: options.timeout,
            watch: Watch::over(child, options.timeout),
            orders,
            answers,
            _lifeline: lifeline,
            tail: Tail::of(words),
            reply: vec![0; HEAD_BYTES],
            observation_bytes: 0,
            fresh: false,
            quick: true,
        })
    }

    /// Makes an environment in place of any before.
    pub fn make(&mut self, id: &str, kwargs: &toml::Table) -> Result<About, GymError> {
        let wish = json!({ "id": id, "kwargs": kwargs }).to_string();
        let head = self.call(Order::Make(&wish), Wanted::Nothing)?;
        let text = self.rest("make", head.number as usize)?;
        let about: About = serde_json::from_slice(&text).map_err(|error| GymError::Raised {
            world: self.world.clone(),
            doing: "make",
            reason: format!("the worker's answer cannot be read: {error}"),
        })?;
        self.observation_bytes = about.observation_bytes();
        self.reply.resize(HEAD_BYTES + self.observation_bytes, 0);
        self.fresh = true;
        Ok(about)
    }

    /// Whether its environment has never been reset.
    pub fn is_fresh(&self) -> bool {
        self.fresh
    }

    /// One order, one reply; the observation, if wanted, is then in [`observation`](Self::observation).
    pub fn call(&mut self, order: Order<'_>, wanted: Wanted) -> Result<Head, GymError> {
        self.fresh = false;
        self.watch.begin();
        let head = self.exchange(order, wanted);
        self.watch.end();
        head
    }

    fn exchange(&mut self, order: Order<'_>, wanted: Wanted) -> Result<Head, GymError> {
        let doing = order.name();
        let sent = match order {
            Order::Make(text) => self.orders.write_all(&[&order.encode(wanted), text.as_bytes()].concat()),
            _ => self.orders.write_all(&order.encode(wanted)),
        };
        sent.map_err(|_| self.lost(doing))?;
        let expected = match wanted {
            Wanted::Observation => HEAD_BYTES + self.observation_bytes,
            Wanted::Nothing => HEAD_BYTES,
        };
        let mut filled = self.fill(doing, 0, HEAD_BYTES, expected)?;
        let head = Head::decode(*self.reply.first_chunk().expect("the head was read"));
        if !head.ok {
            let mut text = self.reply[HEAD_BYTES..filled].to_vec();
            text.extend(self.rest(doing, head.number as usize - text.len())?);
            return Err(self.refused(doing, &text));
        }
        while filled < expected {
            filled = self.fill(doing, filled, expected, expected)?;
        }
        Ok(head)
    }

    /// The newest observation, as the environment's space lays it out.
    pub fn observation(&self) -> &[u8] {
        &self.reply[HEAD_BYTES..]
    }

    /// `count` more bytes: a text or a picture.
    pub fn rest(&mut self, doing: &'static str, count: usize) -> Result<Vec<u8>, GymError> {
        let mut bytes = vec![0; count];
        self.set_waking(Waking::BySystem, doing)?;
        self.answers.read_exact(&mut bytes).map_err(|_| self.lost(doing))?;
        self.set_waking(Waking::ByAsking, doing)?;
        Ok(bytes)
    }

    /// Reads on from `filled` until at least `least` bytes of the reply are there, at most `most`.
    fn fill(&mut self, doing: &'static str, mut filled: usize, least: usize, most: usize) -> Result<usize, GymError> {
        let since = Instant::now();
        let mut asleep = false;
        while filled < least {
            match self.answers.read(&mut self.reply[filled..most]) {
                Ok(0) => return Err(self.lost(doing)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Being woken takes longer than a small step: where answers come at once, they are asked for again.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.quick && since.elapsed() < PATIENCE => {
                    spin_loop();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && !asleep => {
                    asleep = true;
                    self.set_waking(Waking::BySystem, doing)?;
                }
                Err(_) => return Err(self.lost(doing)),
            }
        }
        if asleep {
            self.set_waking(Waking::ByAsking, doing)?;
        }
        self.quick = since.elapsed() < 2 * PATIENCE;
        Ok(filled)
    }

    fn set_waking(&mut self, waking: Waking, doing: &'static str) -> Result<(), GymError> {
        let nonblocking = waking == Waking::ByAsking;
        ioctl_fionbio(&self.answers, nonblocking).map_err(|_| self.lost(doing))
    }

    /// The pipes are closed: the process ended by itself, or the watch ended it.
    fn lost(&mut self, doing: &'static str) -> GymError {
        let (world, python, process) = (self.world.clone(), self.python.clone(), self.watch.process());
        if self.watch.has_run_out() {
            self.watch.kill();
            let (seconds, lines) = (self.timeout.as_secs_f64(), self.tail.last_words());
            return GymError::Hangs { world, python, process, doing, seconds, lines };
        }
        let since = Instant::now();
        let mut status = self.watch.status();
        while status.is_none() && since.elapsed() < LAST_BREATH {
            sleep(Duration::from_millis(5));
            status = self.watch.status();
        }
        self.watch.kill();
        let how = status.map_or("it closed its pipes without ending".into(), described);
        GymError::Died { world, python, process, doing, how, lines: self.tail.last_words() }
    }

    /// What the worker says it could not do.
    fn refused(&self, doing: &'static str, text: &[u8]) -> GymError {
        let (world, python) = (self.world.clone(), self.python.clone());
        let refusal: Refusal = match serde_json::from_slice(text) {
            Ok(refusal) => refusal,
            Err(error) => return GymError::Raised { world, doing, reason: error.to_string() },
        };
        let Refusal { kind, text: reason, known } = refusal;
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

#[derive(Deserialize)]
struct Refusal {
    kind: String,
    text: String,
    known: Vec<String>,
}

/// The command, and the socket that the process it starts hangs on.
fn command(python: &str) -> io::Result<(Command, UnixListener)> {
    static STARTED: AtomicU64 = AtomicU64::new(0);
    let name = format!("sane-gym-{}-{}", std::process::id(), STARTED.fetch_add(1, Ordering::Relaxed));
    let lifeline = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
    let mut command = Command::new(python);
    command.args(["-c", SCRIPT, &name]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.process_group(0);
    // Workers run side by side; a pool of threads in each, for arrays of four numbers, would be in everybody's way.
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
        (Some(9), _) => "signal 9 (killed, often for want of memory)".into(),
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
