//! A replay as bytes and back: each full segment once, and the tail (counters and the open segment) whenever asked.
//!
//! All numbers are little-endian; an array is its length as u64, then its items. The same pushes give the same bytes,
//! whether or not the replay was saved and restored in between, so two runs can be compared by them.
//! Integrity is the file's business (checkpoints carry digests); here every length and index is checked, so bytes that
//! contradict themselves are an error and not a panic later.

mod wire;

use crate::group::{GroupShape, OpenGroup};
use crate::segment::{ClosedGroup, Rows, Segment};
use crate::{Replay, ReplayError};
use sane_env::{Action, Ending, EnvSpec};
use std::sync::Arc;
use wire::{Part, Reader, begin, damaged, put_array, put_bytes, put_u64};

const SEGMENT: Part = Part { name: "replay segment", magic: *b"SANEsegm" };
const TAIL: Part = Part { name: "replay tail", magic: *b"SANEtail" };
const ENDINGS: [Ending; 4] = [Ending::Continues, Ending::LifeLost, Ending::GameOver, Ending::Truncated];

impl Segment {
    /// The segment as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let rows = &self.rows;
        let mut out =
            Vec::with_capacity(128 + self.blobs.len() + self.open.raw.len() + 12 * (self.len() + self.groups.len()));
        begin(&SEGMENT, &mut out);
        put_u64(&mut out, self.number);
        put_u64(&mut out, self.shape.frame_bytes as u64);
        put_u64(&mut out, self.shape.row_bytes as u64);
        put_array(&mut out, &self.groups, |group, out| {
            for number in [group.frame_end, group.blob_end, group.raw_len] {
                out.extend_from_slice(&number.to_le_bytes());
            }
        });
        put_bytes(&mut out, &self.blobs);
        put_u64(&mut out, self.open.frames as u64);
        put_bytes(&mut out, &self.open.raw);
        put_array(&mut out, &rows.frames, |frame, out| out.extend_from_slice(&frame.to_le_bytes()));
        put_bytes(&mut out, &rows.ages);
        put_array(&mut out, &rows.actions, |action, out| out.extend_from_slice(&action.0.to_le_bytes()));
        put_array(&mut out, &rows.rewards, |reward, out| out.extend_from_slice(&reward.to_le_bytes()));
        put_array(&mut out, &rows.endings, |ending, out| out.push(ending_code(*ending)));
        out
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, ReplayError> {
        let mut from = Reader::begin(&SEGMENT, bytes)?;
        let number = from.u64()?;
        let shape = GroupShape { frame_bytes: from.u64()? as usize, row_bytes: from.u64()? as usize };
        let groups = from.array(|[frame_end, blob_end, raw_len]: [[u8; 4]; 3]| ClosedGroup {
            frame_end: u32::from_le_bytes(frame_end),
            blob_end: u32::from_le_bytes(blob_end),
            raw_len: u32::from_le_bytes(raw_len),
        })?;
        let blobs = from.bytes()?.to_vec();
        let open = OpenGroup { frames: from.u64()? as usize, raw: from.bytes()?.to_vec() };
        let rows = Rows {
            frames: from.array(|[bytes]: [[u8; 4]; 1]| u32::from_le_bytes(bytes))?,
            ages: from.bytes()?.to_vec(),
            actions: from.array(|[bytes]: [[u8; 2]; 1]| Action(u16::from_le_bytes(bytes)))?,
            rewards: from.array(|[bytes]: [[u8; 4]; 1]| f32::from_le_bytes(bytes))?,
            endings: from.bytes()?.iter().map(|&code| ending_of(code)).collect::<Result<_, _>>()?,
        };
        from.end()?;
        let segment = Self { number, shape, blobs, groups, open, rows };
        segment.check()?;
        Ok(segment)
    }

    /// Every index points into what is there.
    fn check(&self) -> Result<(), ReplayError> {
        let in_order = |ends: &mut dyn Iterator<Item = u32>| ends.is_sorted_by(|before, after| before < after);
        let rows = &self.rows;
        let frames = self.frame_count();
        let facts = [
            (0 < self.shape.frame_bytes, "a frame has bytes"),
            (in_order(&mut self.groups.iter().map(|group| group.frame_end)), "groups follow each other"),
            (in_order(&mut self.groups.iter().map(|group| group.blob_end)), "blobs follow each other"),
            (
                self.groups.last().map_or(0, |group| group.blob_end as usize) == self.blobs.len(),
                "the last blob ends where the blobs end",
            ),
            (
                self.groups.iter().all(|group| (group.raw_len as usize) <= self.shape.longest_raw()),
                "no group is larger than a group can be",
            ),
            (
                (self.open.frames == 0) == self.open.raw.is_empty() && self.open.raw.len() <= self.shape.longest_raw(),
                "the open group has the bytes of its frames",
            ),
            (
                [rows.frames.len(), rows.ages.len(), rows.rewards.len(), rows.endings.len()] == [rows.actions.len(); 4],
                "each transition has all of its fields",
            ),
            (
                rows.frames
                    .iter()
                    .zip(&rows.ages)
                    .all(|(&frame, &age)| u32::from(age) <= frame && (frame as usize) + 1 < frames),
                "each transition has all of its frames",
            ),
        ];
        match facts.iter().find(|(holds, _)| !holds) {
            Some((_, fact)) => Err(damaged(format!("in segment {}, it is not true that {fact}", self.number))),
            None => Ok(()),
        }
    }
}

impl Replay {
    /// Everything but the full segments: counters and the segment being filled.
    pub fn tail_bytes(&self) -> Vec<u8> {
        let mut out = Vec::new();
        begin(&TAIL, &mut out);
        for number in [self.capacity, self.segment_len, self.history, self.sealed.len(), self.age] {
            put_u64(&mut out, number as u64);
        }
        put_u64(&mut out, self.pushed);
        out.push(u8::from(self.in_episode));
        put_bytes(&mut out, &self.open.to_bytes());
        out
    }

    /// Digest of all of its bytes: equal exactly where two replays hold, and will do, the same.
    pub fn digest(&self) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new();
        for segment in &self.sealed {
            hasher.update(&segment.to_bytes());
        }
        hasher.update(&self.tail_bytes());
        hasher.finalize()
    }

    /// The replay whose [`tail_bytes`](Self::tail_bytes) and full segments these are, oldest segment first. It gives
    /// the same batches for the same stream as the one that was saved.
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
        replay.age = from.u64()? as usize;
        replay.pushed = from.u64()?;
        replay.in_episode = from.bytes_of(1)? != [0];
        let open = Segment::from_bytes(from.bytes()?)?;
        from.end()?;
        replay.fits(&open)?;
        let first_sealed = open.number.checked_sub(sealed_count);
        let first_sealed = first_sealed.ok_or_else(|| damaged("it has more segments than it ever began".into()))?;
        replay.open = open;
        let mut sealed = sealed.into_iter();
        for expected in first_sealed..replay.open.number {
            let bytes = sealed.next().ok_or(ReplayError::WrongSegment { expected, found: None })?;
            let segment = Segment::from_bytes(&bytes)?;
            if segment.number != expected {
                return Err(ReplayError::WrongSegment { expected, found: Some(segment.number) });
            }
            replay.fits(&segment)?;
            if segment.len() != replay.segment_len {
                return Err(damaged(format!("segment {expected} is not full")));
            }
            replay.sealed.push_back(Arc::new(segment));
        }
        replay.take_up()?;
        Ok(replay)
    }

    fn fits(&self, segment: &Segment) -> Result<(), ReplayError> {
        let (found, expected) = (segment.shape, self.open.shape);
        expect_same("frame bytes", found.frame_bytes as u64, expected.frame_bytes as u64)?;
        expect_same("row bytes", found.row_bytes as u64, expected.row_bytes as u64)?;
        if segment.rows.ages.iter().any(|&age| self.history <= usize::from(age)) {
            return Err(damaged(format!("segment {} reaches further back than the history", segment.number)));
        }
        Ok(())
    }

    /// Checks the counters against the segments and brings back the stack the next transition starts from.
    fn take_up(&mut self) -> Result<(), ReplayError> {
        let frames = self.open.frame_count();
        let counted = self.open.number * self.segment_len as u64 + self.open.len() as u64;
        let held = (self.sealed.len() * self.segment_len + self.open.len()) as u64;
        if counted != self.pushed || held < self.len() as u64 {
            let pushed = self.pushed;
            return Err(damaged(format!(
                "it counts {pushed} transitions, its segments end at {counted} and hold {held}"
            )));
        }
        if self.history <= self.age || (self.in_episode && frames <= self.age) {
            return Err(damaged("the current state reaches further back than its frames".into()));
        }
        let of_state = (self.age + 1).min(frames);
        let mut room = self.open.shape.room();
        let stack = &mut self.stack;
        self.open.read_frames(frames - of_state, of_state, &mut room, |i, frame| match i {
            0 => stack.restart(frame),
            _ => stack.push(frame),
        });
        Ok(())
    }
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
