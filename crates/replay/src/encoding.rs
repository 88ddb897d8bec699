//! The byte format of a replay in checkpoints: each full segment once, and the tail (counters and the open segment) for
//! each checkpoint.
//!
//! All numbers are little-endian; an array is its length as u64, then its items. The same transitions give the same
//! bytes, whether or not the replay was saved and restored in between, so two runs can be compared by them. Checkpoints
//! carry digests; here every length and index is checked, so that inconsistent bytes are an error and not a later panic.

use crate::Replay;
use crate::compression::{GROUP_FRAMES, GroupShape, OpenGroup, ReadScratch, is_valid_raw};
use crate::segment::{ClosedGroup, Segment, Transitions};
use sane_env::{Action, Ending, EnvSpec};
use std::sync::Arc;

const SEGMENT: Part = Part { name: "replay segment", magic: *b"SANEsegm" };
const TAIL: Part = Part { name: "replay tail", magic: *b"SANEtail" };
const ENDINGS: [Ending; 4] = [Ending::Continues, Ending::LifeLost, Ending::GameOver, Ending::Truncated];

impl Segment {
    pub fn to_bytes(&self) -> Vec<u8> {
        let transitions = &self.transitions;
        let mut out = Vec::with_capacity(
            128 + self.compressed.len() + self.open.raw.len() + 12 * (self.len() + self.groups.len()),
        );
        begin(&SEGMENT, &mut out);
        put_u64(&mut out, self.number);
        put_u64(&mut out, self.shape.frame_bytes as u64);
        put_u64(&mut out, self.shape.row_bytes as u64);
        put_array(&mut out, &self.groups, |group, out| {
            for number in [group.frame_end, group.compressed_end, group.raw_len] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        });
        put_bytes(&mut out, &self.compressed);
        put_u64(&mut out, self.open.frames as u64);
        put_bytes(&mut out, &self.open.raw);
        put_array(&mut out, &transitions.frames, |frame, out| out.extend_from_slice(&frame.to_le_bytes()));
        put_bytes(&mut out, &transitions.earlier_frames);
        put_array(&mut out, &transitions.actions, |action, out| out.extend_from_slice(&action.0.to_le_bytes()));
        put_array(&mut out, &transitions.rewards, |reward, out| out.extend_from_slice(&reward.to_le_bytes()));
        put_array(&mut out, &transitions.endings, |ending, out| out.push(ending_code(*ending)));
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ReplayError> {
        let mut from = Reader::begin(&SEGMENT, bytes)?;
        let number = from.u64()?;
        let shape = GroupShape { frame_bytes: from.u64()? as usize, row_bytes: from.u64()? as usize };
        let groups = from.array(|[frame_end, compressed_end, raw_len]: [[u8; 4]; 3]| ClosedGroup {
            frame_end: u32::from_le_bytes(frame_end),
            compressed_end: u32::from_le_bytes(compressed_end),
            raw_len: u32::from_le_bytes(raw_len),
        })?;
        let compressed = from.bytes()?.to_vec();
        let open = OpenGroup { frames: from.u64()? as usize, raw: from.bytes()?.to_vec() };
        let transitions = Transitions {
            frames: from.array(|[bytes]: [[u8; 4]; 1]| u32::from_le_bytes(bytes))?,
            earlier_frames: from.bytes()?.to_vec(),
            actions: from.array(|[bytes]: [[u8; 2]; 1]| Action(u16::from_le_bytes(bytes)))?,
            rewards: from.array(|[bytes]: [[u8; 4]; 1]| f32::from_le_bytes(bytes))?,
            endings: from.bytes()?.iter().map(|&code| ending_of(code)).collect::<Result<_, _>>()?,
        };
        from.end()?;
        let segment = Self { number, shape, compressed, groups, open, transitions };
        segment.check()?;
        Ok(segment)
    }

    /// Checks that all lengths and indices are consistent.
    fn check(&self) -> Result<(), ReplayError> {
        if GROUP_FRAMES < self.open.frames {
            return Err(damaged(format!("segment {} has {} frames in its open group", self.number, self.open.frames)));
        }
        let ascends = |ends: &mut dyn Iterator<Item = u32>| ends.is_sorted_by(|before, after| before < after);
        let transitions = &self.transitions;
        let frames = self.frame_count();
        let facts = [
            (0 < self.shape.frame_bytes, "a frame has bytes"),
            (ascends(&mut self.groups.iter().map(|group| group.frame_end)), "groups follow each other"),
            (ascends(&mut self.groups.iter().map(|group| group.compressed_end)), "compressed groups follow each other"),
            (
                self.groups.last().map_or(0, |group| group.compressed_end as usize) == self.compressed.len(),
                "the last group ends where the compressed bytes end",
            ),
            (
                self.groups.iter().all(|group| (group.raw_len as usize) <= self.shape.max_raw()),
                "no group is larger than a group can be",
            ),
            (
                (self.open.frames == 0) == self.open.raw.is_empty() && self.open.raw.len() <= self.shape.max_raw(),
                "the open group has the bytes of its frames",
            ),
            (
                [
                    transitions.frames.len(),
                    transitions.earlier_frames.len(),
                    transitions.rewards.len(),
                    transitions.endings.len(),
                ] == [transitions.actions.len(); 4],
                "each transition has all of its fields",
            ),
            (
                transitions
                    .frames
                    .iter()
                    .zip(&transitions.earlier_frames)
                    .all(|(&frame, &earlier)| u32::from(earlier) <= frame && (frame as usize) + 1 < frames),
                "each transition has all of its frames",
            ),
        ];
        match facts.iter().find(|(holds, _)| !holds) {
            Some((_, fact)) => Err(damaged(format!("in segment {}, it is not true that {fact}", self.number))),
            None => Ok(()),
        }
    }
}

impl Segment {
    /// Whether every frame can be decoded. The shape is already known to be that of the replay.
    fn is_decodable(&self, scratch: &mut ReadScratch) -> bool {
        let (mut frame_start, mut start) = (0, 0);
        for group in &self.groups {
            let (frame_end, end) = (group.frame_end as usize, group.compressed_end as usize);
            let compressed = &self.compressed[start..end];
            if !scratch.is_valid_closed(self.shape, compressed, group.raw_len as usize, frame_end - frame_start) {
                return false;
            }
            (frame_start, start) = (frame_end, end);
        }
        is_valid_raw(self.shape, &self.open.raw, self.open.frames)
    }
}

impl Replay {
    /// Everything but the full segments: counters and the open segment.
    pub fn tail_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&TAIL, &mut out);
        for number in [self.capacity, self.segment_len, self.history, self.sealed.len(), self.earlier_frames] {
            put_u64(&mut out, number as u64);
        }
        put_u64(&mut out, self.pushed);
        out.push(u8::from(self.in_episode));
        put_bytes(&mut out, &self.open.to_bytes());
        out
    }

    /// Digest of all bytes: equal if and only if two replays have the same content and state.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for segment in &self.sealed {
            hasher.update(&segment.to_bytes());
        }
        hasher.update(&self.tail_bytes());
        hasher.finalize()
    }

    /// Restores a replay from its [`tail_bytes`](Self::tail_bytes) and full segments, oldest first. It returns the same
    /// batches for the same stream as the saved one.
    pub fn restore(
        capacity: usize,
        spec: &EnvSpec,
        tail: &[u8],
        sealed: impl IntoIterator<Item = Vec<u8>>,
    ) -> Result<Self, ReplayError> {
        let mut replay = Self::new(capacity, spec);
        let mut from = Reader::begin(&TAIL, tail)?;
        for (what, expected) in
            [("capacity", capacity), ("segment length", replay.segment_len), ("history", replay.history)]
        {
            expect_same(what, from.u64()?, expected as u64)?;
        }
        let sealed_count = from.u64()?;
        replay.earlier_frames = from.u64()? as usize;
        replay.pushed = from.u64()?;
        replay.in_episode = from.bytes_of(1)? != [0];
        let open = Segment::from_bytes(from.bytes()?)?;
        from.end()?;
        let mut scratch = replay.open.shape.read_scratch();
        replay.check_fits(&open, spec, &mut scratch)?;
        if replay.segment_len <= open.len() {
            return Err(damaged(format!("the open segment has {} of {} transitions", open.len(), replay.segment_len)));
        }
        let first_sealed = open.number.checked_sub(sealed_count);
        let first_sealed = first_sealed.ok_or_else(|| damaged("it has more segments than were ever started".into()))?;
        replay.open = open;
        let mut sealed = sealed.into_iter();
        for expected in first_sealed..replay.open.number {
            let bytes = sealed.next().ok_or(ReplayError::WrongSegment { expected, found: None })?;
            let segment = Segment::from_bytes(&bytes)?;
            if segment.number != expected {
                return Err(ReplayError::WrongSegment { expected, found: Some(segment.number) });
            }
            replay.check_fits(&segment, spec, &mut scratch)?;
            if segment.len() != replay.segment_len {
                return Err(damaged(format!("segment {expected} is not full")));
            }
            replay.sealed.push_back(Arc::new(segment));
        }
        replay.check_counters_and_restore_stack()?;
        Ok(replay)
    }

    fn check_fits(&self, segment: &Segment, spec: &EnvSpec, scratch: &mut ReadScratch) -> Result<(), ReplayError> {
        let (found, expected) = (segment.shape, self.open.shape);
        expect_same("frame bytes", found.frame_bytes as u64, expected.frame_bytes as u64)?;
        expect_same("row bytes", found.row_bytes as u64, expected.row_bytes as u64)?;
        if segment.transitions.earlier_frames.iter().any(|&earlier| self.history <= usize::from(earlier)) {
            return Err(damaged(format!("segment {} needs more frames than the history", segment.number)));
        }
        if let Some(action) = segment.transitions.actions.iter().find(|a| spec.actions.len() <= usize::from(a.0)) {
            return Err(damaged(format!(
                "segment {} holds action {} of {}",
                segment.number,
                action.0,
                spec.actions.len()
            )));
        }
        if segment.transitions.rewards.iter().any(|reward| !reward.is_finite()) {
            return Err(damaged(format!("segment {} holds a reward that is not finite", segment.number)));
        }
        if !segment.is_decodable(scratch) {
            return Err(damaged(format!("segment {} holds frames that cannot be decoded", segment.number)));
        }
        Ok(())
    }

    /// Compares the counters with the segments and rebuilds the current state from the newest frames.
    fn check_counters_and_restore_stack(&mut self) -> Result<(), ReplayError> {
        let frames = self.open.frame_count();
        let before = self.open.number.checked_mul(self.segment_len as u64);
        let Some(counted) = before.and_then(|before| before.checked_add(self.open.len() as u64)) else {
            return Err(damaged(format!("its open segment has the number {}", self.open.number)));
        };
        let held = (self.sealed.len() * self.segment_len + self.open.len()) as u64;
        if counted != self.pushed || held < self.len() as u64 {
            let pushed = self.pushed;
            return Err(damaged(format!(
                "it counts {pushed} transitions, its segments end at {counted} and hold {held}"
            )));
        }
        if self.history <= self.earlier_frames || (self.in_episode && frames <= self.earlier_frames) {
            return Err(damaged("the current state needs more frames than there are".into()));
        }
        let of_state = (self.earlier_frames + 1).min(frames);
        let mut scratch = self.open.shape.read_scratch();
        let stack = &mut self.stack;
        self.open.read_frames(frames - of_state, of_state, &mut scratch, |i, frame| match i {
            0 => stack.restart(frame),
            _ => stack.push(frame),
        });
        Ok(())
    }
}

/// Bytes that no replay can be restored from.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    #[error("these bytes are not a saved {expected}: they begin with {found:?}")]
    NotAReplay { expected: &'static str, found: Vec<u8> },
    #[error("the saved {part} has format version {found}, this program reads version {supported}")]
    WrongVersion { part: &'static str, found: u32, supported: u32 },
    /// The bytes end too early or are inconsistent.
    #[error("the saved replay is damaged: {what}")]
    Damaged { what: String },
    /// It is a replay of another world or configuration.
    #[error("the saved replay has {what} {found}, this run has {expected}; use the configuration it was saved with")]
    OtherShape { what: &'static str, found: u64, expected: u64 },
    #[error("segment {expected} of the saved replay was expected, {} was given", found_name(*found))]
    WrongSegment { expected: u64, found: Option<u64> },
}

fn found_name(found: Option<u64>) -> String {
    found.map_or_else(|| "none".into(), |number| format!("segment {number}"))
}

fn ending_code(ending: Ending) -> u8 {
    match ending {
        Ending::Continues => 0,
        Ending::LifeLost => 1,
        Ending::GameOver => 2,
        Ending::Truncated => 3,
    }
}

fn ending_of(code: u8) -> Result<Ending, ReplayError> {
    ENDINGS.get(usize::from(code)).copied().ok_or_else(|| damaged(format!("{code} is not an ending")))
}

fn expect_same(what: &'static str, found: u64, expected: u64) -> Result<(), ReplayError> {
    if found == expected { Ok(()) } else { Err(ReplayError::OtherShape { what, found, expected }) }
}

/// Version of the format, written into each part.
const VERSION: u32 = 1;

fn damaged(what: String) -> ReplayError {
    ReplayError::Damaged { what }
}

/// A kind of saved bytes, identified by the first eight.
struct Part {
    name: &'static str,
    magic: [u8; 8],
}

fn begin(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(&part.magic);
    out.extend_from_slice(&VERSION.to_le_bytes());
}

fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

fn put_array<T>(out: &mut Vec<u8>, items: &[T], put: impl Fn(&T, &mut Vec<u8>)) {
    put_u64(out, items.len() as u64);
    for item in items {
        put(item, out);
    }
}

/// Reads values from the front of saved bytes; what is too short, too long or of another kind is an error.
struct Reader<'a> {
    part: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn begin(part: &Part, bytes: &'a [u8]) -> Result<Self, ReplayError> {
        let mut from = Self { part: part.name, rest: bytes };
        let magic = from.bytes_of(part.magic.len().min(bytes.len()))?;
        if magic != part.magic {
            return Err(ReplayError::NotAReplay { expected: part.name, found: magic.to_vec() });
        }
        match from.number().map(u32::from_le_bytes)? {
            VERSION => Ok(from),
            found => Err(ReplayError::WrongVersion { part: part.name, found, supported: VERSION }),
        }
    }

    fn bytes_of(&mut self, len: usize) -> Result<&'a [u8], ReplayError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(damaged(format!("the {} ends {} bytes early", self.part, len - self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    fn number<const N: usize>(&mut self) -> Result<[u8; N], ReplayError> {
        self.bytes_of(N).map(|bytes| bytes.try_into().expect("as many bytes as asked for"))
    }

    fn u64(&mut self) -> Result<u64, ReplayError> {
        self.number().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> Result<&'a [u8], ReplayError> {
        let len = self.u64()?;
        self.bytes_of(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// An array whose items consist of K numbers of N bytes.
    fn array<T, const N: usize, const K: usize>(
        &mut self,
        item: impl Fn([[u8; N]; K]) -> T,
    ) -> Result<Vec<T>, ReplayError> {
        let len = usize::try_from(self.u64()?).unwrap_or(usize::MAX).saturating_mul(N * K);
        let items = self.bytes_of(len)?.chunks_exact(N * K);
        Ok(items.map(|bytes| item(std::array::from_fn(|k| std::array::from_fn(|n| bytes[k * N + n])))).collect())
    }

    fn end(self) -> Result<(), ReplayError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(damaged(format!("the {} is {more} bytes too long", self.part))),
        }
    }
}
