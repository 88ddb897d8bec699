//! The replies of a worker, read from its pipe. In: bytes that may be anything; out: headers, observations, texts and
//! pictures of checked lengths, or what is wrong with them.

use crate::error::GymError;
use crate::protocol::{HEADER_BYTES, Payload, ReplyHeader};
use crate::space::EnvInfo;
use sane_env::closest_name;
use serde::Deserialize;
use std::hint::spin_loop;
use std::io::{self, ErrorKind, Read};
use std::time::{Duration, Instant};

/// Bytes of the largest observation or picture that is accepted.
const MOST_BYTES: usize = 64 << 20;

/// Bytes of the longest text that is accepted.
const MOST_TEXT_BYTES: usize = 4 << 20;

/// Bytes that may precede the first reply: what an interpreter prints before the worker has its descriptors.
const MOST_NOISE_BYTES: usize = 1 << 16;

/// How long a reply is polled for before this thread sleeps until it arrives.
const POLL_TIME: Duration = Duration::from_micros(50);

/// Where replies come from. It begins blocking.
pub(crate) trait ReplyPipe: Read {
    /// Whether a read waits for bytes, or fails where there are none.
    fn set_blocking(&self, blocking: bool) -> io::Result<()>;
}

/// Recorded replies.
impl ReplyPipe for &[u8] {
    fn set_blocking(&self, _: bool) -> io::Result<()> {
        Ok(())
    }
}

/// What came in place of a reply.
#[derive(Debug)]
pub(crate) enum BadReply {
    /// Nothing: the pipe is closed.
    Closed,
    /// The description of an error, as the worker reports it.
    Reported(Vec<u8>),
    /// Output of something else, without an end.
    Noise,
    /// A length that no text or picture has.
    Length { count: i32, most: usize },
    /// A description of an environment that cannot be parsed.
    Unparsable(serde_json::Error),
    /// Observations that are too large.
    Observations { shape: Vec<usize> },
}

impl BadReply {
    /// The error of the request that it answers.
    pub fn described(self, world: &str, doing: &'static str) -> GymError {
        let world = world.to_owned();
        let reason = match self {
            Self::Observations { shape } => {
                let space = format!("observations of shape {shape:?}, more than {MOST_BYTES} bytes");
                return GymError::Observations { world, space };
            }
            Self::Reported(text) => return reported_error(&world, "", doing, &text),
            Self::Closed => "the worker closed its pipe".into(),
            Self::Noise => format!("the interpreter printed {MOST_NOISE_BYTES} bytes before the worker began"),
            Self::Length { count, most } => format!("the worker announced {count} bytes, at most {most} are accepted"),
            Self::Unparsable(error) => format!("the worker's reply cannot be parsed: {error}"),
        };
        GymError::Raised { world, doing, reason }
    }
}

impl From<io::Error> for BadReply {
    fn from(_: io::Error) -> Self {
        Self::Closed
    }
}

/// Reads replies one by one.
#[derive(Debug)]
pub(crate) struct ReplyReader<P> {
    pipe: P,
    reply: Vec<u8>,
    observation_bytes: usize,
    /// Whether the last reply came so soon that polling for the next one is faster than sleeping.
    is_fast: bool,
}

impl<P: ReplyPipe> ReplyReader<P> {
    pub fn new(pipe: P) -> io::Result<Self> {
        pipe.set_blocking(false)?;
        Ok(Self { pipe, reply: vec![0; HEADER_BYTES], observation_bytes: 0, is_fast: true })
    }

    /// Reads up to the end of the greeting: what precedes it was printed, not replied.
    pub fn skip_to(&mut self, greeting: &str) -> Result<(), BadReply> {
        self.pipe.set_blocking(true)?;
        let mut last = Vec::with_capacity(greeting.len());
        let mut byte = [0];
        for _ in 0..MOST_NOISE_BYTES {
            self.pipe.read_exact(&mut byte)?;
            if last.len() == greeting.len() {
                last.remove(0);
            }
            last.push(byte[0]);
            if last == greeting.as_bytes() {
                return Ok(self.pipe.set_blocking(false)?);
            }
        }
        Err(BadReply::Noise)
    }

    /// The fixed part of the next reply; a requested observation is then in [`observation`](Self::observation).
    pub fn header(&mut self, payload: Payload) -> Result<ReplyHeader, BadReply> {
        let expected = match payload {
            Payload::Observation => HEADER_BYTES + self.observation_bytes,
            Payload::Nothing => HEADER_BYTES,
        };
        let mut filled = self.fill(0, HEADER_BYTES, expected)?;
        let header = ReplyHeader::decode(*self.reply.first_chunk().expect("the header was read"));
        if !header.ok {
            let mut text = self.reply[HEADER_BYTES..filled].to_vec();
            let left = header.number.saturating_sub_unsigned(text.len() as u32);
            text.extend(self.rest(left, MOST_TEXT_BYTES)?);
            return Err(BadReply::Reported(text));
        }
        while filled < expected {
            filled = self.fill(filled, expected, expected)?;
        }
        Ok(header)
    }

    /// The description of an environment that was made; its observations are read from now on.
    pub fn info(&mut self, header: &ReplyHeader) -> Result<EnvInfo, BadReply> {
        let text = self.rest(header.number, MOST_TEXT_BYTES)?;
        let info: EnvInfo = serde_json::from_slice(&text).map_err(BadReply::Unparsable)?;
        let bytes = info.observation_bytes().filter(|&bytes| bytes <= MOST_BYTES);
        self.observation_bytes = bytes.ok_or_else(|| BadReply::Observations { shape: info.shape.clone() })?;
        self.reply.resize(HEADER_BYTES + self.observation_bytes, 0);
        Ok(info)
    }

    /// The newest observation, in the layout of the environment's space.
    pub fn observation(&self) -> &[u8] {
        &self.reply[HEADER_BYTES..]
    }

    /// The bytes of a picture, as many as the header says.
    pub fn picture(&mut self, header: &ReplyHeader) -> Result<Vec<u8>, BadReply> {
        self.rest(header.number, MOST_BYTES)
    }

    /// `count` more bytes: a text or a picture.
    fn rest(&mut self, count: i32, most: usize) -> Result<Vec<u8>, BadReply> {
        let fits = usize::try_from(count).ok().filter(|&count| count <= most);
        let mut bytes = vec![0; fits.ok_or(BadReply::Length { count, most })?];
        self.pipe.set_blocking(true)?;
        self.pipe.read_exact(&mut bytes)?;
        self.pipe.set_blocking(false)?;
        Ok(bytes)
    }

    /// Reads, after `filled` bytes of the reply, until at least `least` and at most `most` bytes are there.
    fn fill(&mut self, mut filled: usize, least: usize, most: usize) -> Result<usize, BadReply> {
        let since = Instant::now();
        let mut asleep = false;
        while filled < least {
            match self.pipe.read(&mut self.reply[filled..most]) {
                Ok(0) => return Err(BadReply::Closed),
                Ok(read) => filled += read,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // Waking a sleeping thread takes longer than a small step, so fast replies are polled for.
                Err(error) if error.kind() == ErrorKind::WouldBlock && self.is_fast && since.elapsed() < POLL_TIME => {
                    spin_loop();
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock && !asleep => {
                    asleep = true;
                    self.pipe.set_blocking(true)?;
                }
                Err(_) => return Err(BadReply::Closed),
            }
        }
        if asleep {
            self.pipe.set_blocking(false)?;
        }
        self.is_fast = since.elapsed() < 2 * POLL_TIME;
        Ok(filled)
    }
}

#[derive(Deserialize)]
struct WorkerError {
    kind: String,
    text: String,
    known: Vec<String>,
}

/// The error that a worker reported.
pub(crate) fn reported_error(world: &str, python: &str, doing: &'static str, text: &[u8]) -> GymError {
    let (world, python) = (world.to_owned(), python.to_owned());
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
            let id = world.rsplit_once(':').map_or("", |(_, id)| id);
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

fn lower_first(text: &str) -> String {
    let mut rest = text.trim_end_matches('.').chars();
    rest.next().map(|first| first.to_lowercase().chain(rest).collect()).unwrap_or_default()
}
