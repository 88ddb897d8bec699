//! A Python process that holds one environment. In: orders; out: heads of replies and observations, or the error that says
//! what became of the process.
//!
//! The socket has a time limit, so that a hanging environment is noticed without a thread that watches it. The worker
//! lives in a process group of its own: Ctrl-C is the binary's business, which saves a checkpoint first.

use crate::error::GymError;
use crate::options::GymOptions;
use crate::protocol::{HEAD_BYTES, Head, Order, Wanted};
use crate::space::About;
use crate::tail::Tail;
use sane_env::closest_name;
use serde::Deserialize;
use serde_json::json;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const SCRIPT: &str = include_str!("worker.py");

/// How long a process whose socket is closed may take to end by itself, so that its exit code is seen.
const LAST_BREATH: Duration = Duration::from_secs(2);

/// A worker and the line to it.
#[derive(Debug)]
pub(crate) struct Worker {
    world: String,
    python: String,
    timeout: Duration,
    child: Child,
    line: UnixStream,
    /// Nothing is ever said on it: it closes with this process, whereupon the kernel ends the worker.
    _lifeline: UnixStream,
    tail: Tail,
    reply: Vec<u8>,
    observation_bytes: usize,
    fresh: bool,
}

impl Worker {
    /// Starts an interpreter with the script; nothing is made yet.
    pub fn start(options: &GymOptions) -> Result<Self, GymError> {
        let python = options.interpreter();
        let spawned = spawn(&python).and_then(|(child, line, lifeline)| {
            line.set_read_timeout(Some(options.timeout))?;
            line.set_write_timeout(Some(options.timeout))?;
            Ok((child, line, lifeline))
        });
        let (mut child, line, lifeline) = spawned.map_err(|source| match source.kind() {
            ErrorKind::NotFound => GymError::NoPython { python: python.clone() },
            _ => GymError::Start { python: python.clone(), world: options.world.clone(), source },
        })?;
        let tail = Tail::of(child.stderr.take().expect("standard error is a pipe"));
        Ok(Self {
            world: options.world.clone(),
            python,
            timeout: options.timeout,
            child,
            line,
            _lifeline: lifeline,
            tail,
            reply: vec![0; HEAD_BYTES],
            observation_bytes: 0,
            fresh: false,
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
        let doing = order.name();
        self.fresh = false;
        let sent = match order {
            Order::Make(text) => self.line.write_all(&[&order.encode(wanted), text.as_bytes()].concat()),
            _ => self.line.write_all(&order.encode(wanted)),
        };
        sent.map_err(|error| self.lost(&error, doing))?;
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
        let read = self.line.read_exact(&mut bytes);
        read.map_err(|error| self.lost(&error, doing))?;
        Ok(bytes)
    }

    /// Reads on from `filled` until at least `least` bytes of the reply are there, at most `most`.
    fn fill(&mut self, doing: &'static str, mut filled: usize, least: usize, most: usize) -> Result<usize, GymError> {
        while filled < least {
            match self.line.read(&mut self.reply[filled..most]) {
                Ok(0) => return Err(self.died(doing)),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.lost(&error, doing)),
            }
        }
        Ok(filled)
    }

    /// The line broke or stayed silent for too long.
    fn lost(&mut self, error: &io::Error, doing: &'static str) -> GymError {
        if !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) {
            return self.died(doing);
        }
        self.end();
        GymError::Hangs {
            world: self.world.clone(),
            python: self.python.clone(),
            process: self.child.id(),
            doing,
            seconds: self.timeout.as_secs_f64(),
            lines: self.tail.last_words(),
        }
    }

    fn died(&mut self, doing: &'static str) -> GymError {
        let since = Instant::now();
        let mut status = self.child.try_wait().ok().flatten();
        while status.is_none() && since.elapsed() < LAST_BREATH {
            sleep(Duration::from_millis(5));
            status = self.child.try_wait().ok().flatten();
        }
        self.end();
        GymError::Died {
            world: self.world.clone(),
            python: self.python.clone(),
            process: self.child.id(),
            doing,
            how: status.map_or("it closed its line without ending".into(), described),
            lines: self.tail.last_words(),
        }
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

    fn end(&mut self) {
        // Both fail only if the process has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.end();
    }
}

#[derive(Deserialize)]
struct Refusal {
    kind: String,
    text: String,
    known: Vec<String>,
}

fn spawn(python: &str) -> io::Result<(Child, UnixStream, UnixStream)> {
    let (ours, theirs) = UnixStream::pair()?;
    let (lifeline, their_lifeline) = UnixStream::pair()?;
    let mut command = Command::new(python);
    command
        .args(["-c", SCRIPT])
        .stdin(OwnedFd::from(their_lifeline))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::piped())
        .process_group(0);
    // Workers run side by side; a pool of threads in each, for arrays of four numbers, would be in everybody's way.
    for threads in ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"] {
        if std::env::var_os(threads).is_none() {
            command.env(threads, "1");
        }
    }
    Ok((command.spawn()?, ours, lifeline))
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
