//! Compression of consecutive frames: a group is a key frame and the deltas that follow it, compressed together by LZ4.
//!
//! ```text
//! raw   = (length of delta, delta)*         compressed = LZ4(raw), or raw where LZ4 does not shrink it
//! delta = (bytes skipped, length, new bytes)*, all numbers as varints
//! ```
//!
//! Most of a console's screen does not change, so a delta has a few hundred bytes where a frame has thousands, and
//! applying it costs what changed, not the size of a frame. The first delta of a group applies to a blank frame: it holds
//! the key frame, each row XORed with the row above. On screens only edges remain, which spares LZ4 long runs of equal
//! bytes, which it decompresses slowly; on the 11 games this made groups up to a tenth smaller and about three times
//! faster to decompress than an unfiltered key frame.
//!
//! A group ends after [`GROUP_FRAMES`] frames or when its deltas have half the bytes of a frame, whichever comes first.
//! The second bound keeps sampling fast in games where everything moves: to reach a frame, a reader decompresses one
//! group and applies deltas whose total size is bounded. Frames that do not compress (noise) each form a group of their
//! own, stored uncompressed.

use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use sane_env::FrameSpace;

/// Maximum number of frames of a group.
pub(crate) const GROUP_FRAMES: usize = 32;

/// Groups of small frames may have this many bytes, since LZ4 finds few repetitions in a few dozen bytes.
const MIN_BUDGET: usize = 1024;

/// Sizes common to all groups of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupShape {
    pub frame_bytes: usize,
    /// Bytes of a row of pixels.
    pub row_bytes: usize,
}

/// Buffers for reading groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct ReadScratch {
    raw: Vec<u8>,
    frame: Vec<u8>,
}

/// The group being written. Not compressed yet, so that its frames can already be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenGroup {
    pub raw: Vec<u8>,
    pub frames: usize,
}

impl GroupShape {
    pub fn new(space: &FrameSpace) -> Self {
        let frame_bytes = space.bytes();
        Self { frame_bytes, row_bytes: frame_bytes / (space.channels * space.height) }
    }

    /// Maximum size of a group before compression.
    pub fn max_raw(self) -> usize {
        self.budget().saturating_add(max_delta(self.frame_bytes)).saturating_add(MAX_VARINT)
    }

    pub fn read_scratch(self) -> ReadScratch {
        ReadScratch { raw: vec![0; self.max_raw()], frame: vec![0; self.frame_bytes] }
    }

    fn budget(self) -> usize {
        (self.frame_bytes / 2).max(MIN_BUDGET)
    }
}

impl OpenGroup {
    /// Adds a frame; `previous` is the frame before it (not looked at for the first of a group).
    pub fn push(&mut self, shape: GroupShape, previous: &[u8], frame: &[u8], scratch: &mut WriteScratch) {
        scratch.delta.clear();
        if self.frames == 0 {
            scratch.blank.resize(shape.frame_bytes, 0);
            scratch.key.clear();
            scratch.key.extend_from_slice(frame);
            filter_rows(shape, &mut scratch.key);
            write_delta(&scratch.blank, &scratch.key, &mut scratch.delta);
        } else {
            write_delta(previous, frame, &mut scratch.delta);
        }
        write_varint(scratch.delta.len(), &mut self.raw);
        self.raw.extend_from_slice(&scratch.delta);
        self.frames += 1;
    }

    pub fn is_full(&self, shape: GroupShape) -> bool {
        GROUP_FRAMES <= self.frames || shape.budget() <= self.raw.len()
    }

    /// Appends the compressed group to `out` and empties this one. A group that LZ4 cannot shrink is stored
    /// uncompressed, which a reader recognises by its length.
    pub fn close_into(&mut self, out: &mut Vec<u8>) {
        let start = out.len();
        out.resize(start + get_maximum_output_size(self.raw.len()), 0);
        let compressed = compress_into(&self.raw, &mut out[start..]).expect("the output has the size LZ4 asks for");
        out.truncate(start + compressed);
        if self.raw.len() <= compressed {
            out.truncate(start);
            out.extend_from_slice(&self.raw);
        }
        self.raw.clear();
        self.frames = 0;
    }
}

/// Buffers for writing groups.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteScratch {
    delta: Vec<u8>,
    key: Vec<u8>,
    blank: Vec<u8>,
}

impl WriteScratch {
    pub fn memory_bytes(&self) -> usize {
        self.delta.capacity() + self.key.capacity() + self.blank.capacity()
    }
}

impl ReadScratch {
    pub fn memory_bytes(&self) -> usize {
        self.raw.capacity() + self.frame.capacity()
    }

    /// Calls `visit` with the index and bytes of the first `frames` frames of a closed group.
    pub fn read_closed(
        &mut self,
        shape: GroupShape,
        compressed: &[u8],
        raw_len: usize,
        frames: usize,
        visit: impl FnMut(usize, &[u8]),
    ) {
        if compressed.len() == raw_len {
            return walk(shape, &mut self.frame, compressed, frames, visit);
        }
        let raw = &mut self.raw[..raw_len];
        let len = decompress_into(compressed, raw).expect("a group of a replay decompresses");
        assert_eq!(len, raw_len, "read_closed: a group of {len} bytes where {raw_len} were written");
        walk(shape, &mut self.frame, raw, frames, visit);
    }

    /// Whether these bytes are a closed group of `frames` frames, so that reading it cannot fail.
    pub fn is_valid_closed(&mut self, shape: GroupShape, compressed: &[u8], raw_len: usize, frames: usize) -> bool {
        if compressed.len() == raw_len {
            return is_valid_raw(shape, compressed, frames);
        }
        let Some(raw) = self.raw.get_mut(..raw_len) else { return false };
        matches!(decompress_into(compressed, raw), Ok(len) if len == raw_len) && is_valid_raw(shape, raw, frames)
    }

    /// The same for the group being written.
    pub fn read_open(&mut self, shape: GroupShape, group: &OpenGroup, frames: usize, visit: impl FnMut(usize, &[u8])) {
        walk(shape, &mut self.frame, &group.raw, frames, visit);
    }
}

/// Whether these are the deltas of exactly `frames` frames, all of them within a frame.
pub(crate) fn is_valid_raw(shape: GroupShape, mut raw: &[u8], frames: usize) -> bool {
    for _ in 0..frames {
        let delta = checked_varint(&mut raw).and_then(|len| raw.split_at_checked(len));
        let Some((delta, rest)) = delta else { return false };
        if !is_valid_delta(shape.frame_bytes, delta) {
            return false;
        }
        raw = rest;
    }
    raw.is_empty()
}

fn is_valid_delta(frame_bytes: usize, mut delta: &[u8]) -> bool {
    let mut left = frame_bytes;
    while !delta.is_empty() {
        let skipped = checked_varint(&mut delta).and_then(|skipped| left.checked_sub(skipped));
        let run = checked_varint(&mut delta).and_then(|len| Some((len, delta.split_at_checked(len)?.1)));
        let (Some(after_skip), Some((len, rest))) = (skipped, run) else { return false };
        let Some(after_run) = after_skip.checked_sub(len) else { return false };
        (left, delta) = (after_run, rest);
    }
    true
}

fn walk(shape: GroupShape, frame: &mut [u8], mut raw: &[u8], frames: usize, mut visit: impl FnMut(usize, &[u8])) {
    frame.fill(0);
    for i in 0..frames {
        let len = read_varint(&mut raw);
        let (delta, rest) = raw.split_at(len);
        apply_delta(frame, delta);
        if i == 0 {
            unfilter_rows(shape, frame);
        }
        raw = rest;
        visit(i, frame);
    }
}

/// XORs each row with the row above: objects on screens are tall or form colour bands, so most bytes become 0.
fn filter_rows(shape: GroupShape, frame: &mut [u8]) {
    let mut rows = frame.rchunks_exact_mut(shape.row_bytes);
    let Some(mut row) = rows.next() else { return };
    for above in rows {
        xor(row, above);
        row = above;
    }
}

fn unfilter_rows(shape: GroupShape, frame: &mut [u8]) {
    let mut rows = frame.chunks_exact_mut(shape.row_bytes);
    let Some(mut above) = rows.next() else { return };
    for row in rows {
        xor(row, above);
        above = row;
    }
}

fn xor(row: &mut [u8], other: &[u8]) {
    for (byte, &with) in row.iter_mut().zip(other) {
        *byte ^= with;
    }
}

/// A gap of at most this many unchanged bytes is included in a run instead of starting another one: that saves two
/// numbers, and LZ4 compresses the repetition.
const BRIDGED_GAP: usize = 4;

/// Appends to `out` the delta from `previous` to `next`.
fn write_delta(previous: &[u8], next: &[u8], out: &mut Vec<u8>) {
    assert_eq!(previous.len(), next.len(), "write_delta: frames of {} and {} bytes", previous.len(), next.len());
    let mut written_to = 0;
    let mut at = 0;
    while let Some(start) = first_difference(previous, next, at) {
        let end = run_end(previous, next, start);
        write_varint(start - written_to, out);
        write_varint(end - start, out);
        out.extend_from_slice(&next[start..end]);
        written_to = end;
        at = end;
    }
}

/// Applies a delta: turns `frame` from the previous frame into the next one.
fn apply_delta(frame: &mut [u8], mut delta: &[u8]) {
    let mut at = 0;
    while !delta.is_empty() {
        at += read_varint(&mut delta);
        let len = read_varint(&mut delta);
        let (new, rest) = delta.split_at(len);
        copy_run(&mut frame[at..at + len], new);
        at += len;
        delta = rest;
    }
}

/// Maximum size of a delta: each run but the first is preceded by more unchanged bytes than its two numbers take.
const fn max_delta(frame_bytes: usize) -> usize {
    frame_bytes.saturating_add(2 * MAX_VARINT)
}

/// Maximum bytes of a varint.
const MAX_VARINT: usize = 5;

/// LEB128: seven bits per byte, lowest first, the top bit set on all but the last.
fn write_varint(value: usize, out: &mut Vec<u8>) {
    let mut rest = value;
    while 0x80 <= rest {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Removes a varint from the front of `bytes`.
fn read_varint(bytes: &mut &[u8]) -> usize {
    if let [byte @ ..0x80, rest @ ..] = *bytes {
        *bytes = rest;
        return usize::from(*byte);
    }
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        value |= usize::from(byte & 0x7f) << (7 * i);
        if byte < 0x80 {
            *bytes = &bytes[i + 1..];
            return value;
        }
    }
    panic!("read_varint: no end of the number within {} bytes", bytes.len())
}

/// As `read_varint`, for bytes that may be anything.
fn checked_varint(bytes: &mut &[u8]) -> Option<usize> {
    let end = bytes.iter().take(MAX_VARINT).position(|&byte| byte < 0x80)?;
    Some(read_varint(bytes)).filter(|_| end < MAX_VARINT)
}

/// Most runs are so short that a call of `memcpy` would dominate.
fn copy_run(to: &mut [u8], from: &[u8]) {
    match from.len() {
        8..=16 => copy_ends::<8>(to, from),
        4..8 => copy_ends::<4>(to, from),
        2..4 => copy_ends::<2>(to, from),
        _ => to.copy_from_slice(from),
    }
}

/// Copies N to 2·N bytes as the first N and the last N.
fn copy_ends<const N: usize>(to: &mut [u8], from: &[u8]) {
    let last = from.len() - N;
    to[..N].copy_from_slice(&from[..N]);
    to[last..].copy_from_slice(&from[last..]);
}

fn first_difference(previous: &[u8], next: &[u8], from: usize) -> Option<usize> {
    const STRIDE: usize = 16;
    let equal_strides = previous[from..]
        .chunks_exact(STRIDE)
        .zip(next[from..].chunks_exact(STRIDE))
        .take_while(|(before, after)| before == after)
        .count();
    let near = from + STRIDE * equal_strides;
    (near..next.len()).find(|&i| previous[i] != next[i])
}

fn run_end(previous: &[u8], next: &[u8], start: usize) -> usize {
    let mut end = start + 1;
    let mut at = end;
    while at < next.len() && at - end <= BRIDGED_GAP {
        if previous[at] != next[at] {
            end = at + 1;
        }
        at += 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    fn read_all(shape: GroupShape, compressed: &[u8], raw_len: usize, frames: usize) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        shape.read_scratch().read_closed(shape, compressed, raw_len, frames, |_, frame| seen.push(frame.to_vec()));
        seen
    }

    /// Writes frames until the group is full; returns their number and the compressed size.
    fn check_group(shape: GroupShape, frames: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
        let mut group = OpenGroup::default();
        let mut written: Vec<Vec<u8>> = Vec::new();
        for frame in frames {
            let previous = written.last().cloned().unwrap_or_default();
            group.push(shape, &previous, &frame, &mut WriteScratch::default());
            written.push(frame);
            if group.is_full(shape) {
                break;
            }
        }
        let raw_len = group.raw.len();
        assert!(raw_len <= shape.max_raw());
        let mut blob = Vec::new();
        group.close_into(&mut blob);
        assert_eq!(read_all(shape, &blob, raw_len, written.len()), written);
        (written.len(), blob.len())
    }

    #[test]
    fn an_unchanged_picture_fills_a_group_with_almost_no_bytes() {
        let shape = GroupShape::new(&FrameSpace::gray(84, 84));
        let (frames, bytes) = check_group(shape, std::iter::repeat(vec![40; 7056]));
        assert_eq!(frames, GROUP_FRAMES);
        assert!(bytes < 100, "{bytes}");
    }

    #[test]
    fn a_frame_of_noise_is_stored_uncompressed() {
        let shape = GroupShape::new(&FrameSpace::gray(84, 84));
        let mut stream = Stream::named(1, "noise");
        let noise = std::iter::from_fn(|| Some((0..7056).map(|_| stream.next_u64() as u8).collect::<Vec<u8>>()));
        let (frames, bytes) = check_group(shape, noise);
        assert!(frames == 1 && bytes <= 7056 + 8, "{frames} frames in {bytes} bytes");
    }

    fn check_round_trip(previous: &[u8], next: &[u8]) -> usize {
        let mut delta = Vec::new();
        write_delta(previous, next, &mut delta);
        let mut frame = previous.to_vec();
        apply_delta(&mut frame, &delta);
        assert_eq!(frame, next);
        delta.len()
    }

    #[test]
    fn an_unchanged_frame_has_an_empty_delta() {
        assert_eq!(check_round_trip(&[7; 100], &[7; 100]), 0);
    }

    #[test]
    fn the_max_delta_alternates_runs_with_gaps_too_long_to_bridge() {
        let next: Vec<u8> = (0..7056).map(|i| u8::from(i % (BRIDGED_GAP + 2) == 0)).collect();
        assert!(check_round_trip(&vec![0; 7056], &next) <= max_delta(7056));
        let all_new = vec![1; 70_000];
        assert!(check_round_trip(&vec![0; 70_000], &all_new) <= max_delta(70_000));
    }

    proptest! {
        #[test]
        fn any_frames_are_read_back_from_a_group(
            (width, height) in (1_usize..9, 1_usize..5),
            bytes in proptest::collection::vec(0_u8..4, 1..2000)
        ) {
            let shape = GroupShape::new(&FrameSpace::gray(height, width));
            prop_assume!(shape.frame_bytes <= bytes.len());
            check_group(shape, bytes.chunks_exact(shape.frame_bytes).map(<[u8]>::to_vec));
        }

        #[test]
        fn a_delta_turns_any_frame_into_any_other_and_is_never_long(
            pair in proptest::collection::vec((0_u8..3, 0_u8..3), 0..600)
        ) {
            let (previous, next): (Vec<u8>, Vec<u8>) = pair.into_iter().unzip();
            prop_assert!(check_round_trip(&previous, &next) <= max_delta(next.len()));
        }

        #[test]
        fn varints_round_trip(value in 0_usize..1 << 34) {
            let mut bytes = Vec::new();
            write_varint(value, &mut bytes);
            prop_assert!(bytes.len() <= MAX_VARINT);
            let mut rest = &bytes[..];
            prop_assert_eq!(read_varint(&mut rest), value);
            prop_assert!(rest.is_empty());
        }
    }
}
