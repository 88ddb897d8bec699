//! A group: one key frame and the patches of the frames after it, compressed together by LZ4.
//!
//! ```text
//! raw  = key frame ‖ (length of patch, patch)*             blob = LZ4(raw with the key's rows XORed with those above)
//! ```
//!
//! A group ends when it is long enough ([`GROUP_FRAMES`]) or when its patches weigh half a frame, whichever comes
//! first. The second bound is what keeps sampling quick in games where everything moves: to reach a frame, a reader
//! unpacks one group and follows patches whose total weight is bounded. Frames that do not compress (noise) make
//! groups of two or three frames, stored as they are.

use crate::patch::{LONGEST_VARINT, apply_patch, longest_patch, read_varint, write_patch, write_varint};
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use sane_env::FrameSpace;

/// The most frames a group holds.
pub(crate) const GROUP_FRAMES: usize = 32;

/// Small frames are grouped up to this weight, since LZ4 finds little in a few dozen bytes.
const LEAST_PATCH_BUDGET: usize = 1024;

/// The sizes all groups of one replay share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupShape {
    /// Bytes of a frame.
    pub frame_bytes: usize,
    /// Bytes of a row of pixels.
    pub row_bytes: usize,
}

impl GroupShape {
    pub fn new(space: &FrameSpace) -> Self {
        let frame_bytes = space.bytes();
        Self { frame_bytes, row_bytes: frame_bytes / (space.channels * space.height) }
    }

    fn patch_budget(self) -> usize {
        (self.frame_bytes / 2).max(LEAST_PATCH_BUDGET)
    }

    /// The most bytes a group weighs before compression.
    pub fn longest_raw(self) -> usize {
        self.frame_bytes + self.patch_budget() + longest_patch(self.frame_bytes) + LONGEST_VARINT
    }
}

/// The group being written. Not compressed yet, so that its frames can already be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OpenGroup {
    pub raw: Vec<u8>,
    pub frames: usize,
}

impl OpenGroup {
    /// Adds a frame; `previous` is the frame before it (not looked at for the first of a group).
    pub fn push(&mut self, shape: GroupShape, previous: &[u8], frame: &[u8], scratch: &mut Vec<u8>) {
        if self.frames == 0 {
            self.raw.extend_from_slice(frame);
        } else {
            scratch.clear();
            write_patch(previous, frame, scratch);
            write_varint(scratch.len(), &mut self.raw);
            self.raw.extend_from_slice(scratch);
        }
        debug_assert!(self.raw.len() <= shape.longest_raw());
        self.frames += 1;
    }

    pub fn is_full(&self, shape: GroupShape) -> bool {
        GROUP_FRAMES <= self.frames || shape.frame_bytes + shape.patch_budget() <= self.raw.len()
    }

    /// Appends the compressed group to `blobs` and empties this one. A group that LZ4 cannot shrink is stored as it
    /// is, which a reader sees by its length.
    pub fn close_into(&mut self, shape: GroupShape, blobs: &mut Vec<u8>) {
        let start = blobs.len();
        filter_rows(shape, &mut self.raw);
        blobs.resize(start + get_maximum_output_size(self.raw.len()), 0);
        let compressed = compress_into(&self.raw, &mut blobs[start..]).expect("the output has the size LZ4 asks for");
        blobs.truncate(start + compressed);
        if self.raw.len() <= compressed {
            blobs.truncate(start);
            blobs.extend_from_slice(&self.raw);
        }
        self.raw.clear();
        self.frames = 0;
    }
}

/// Undoes [`OpenGroup::close_into`]: `raw` is exactly as long as the group was.
pub(crate) fn unpack(shape: GroupShape, blob: &[u8], raw: &mut [u8]) {
    if blob.len() == raw.len() {
        raw.copy_from_slice(blob);
    } else {
        let len = decompress_into(blob, raw).expect("a group of a replay decompresses");
        assert_eq!(len, raw.len(), "unpack: a group of {len} bytes where {} were written", raw.len());
    }
    unfilter_rows(shape, raw);
}

/// Walks through the frames of an unpacked group; each is shown to `see` in turn, with its place in the group. `raw` is
/// used up: its key frame becomes the last frame shown.
pub(crate) fn walk(shape: GroupShape, raw: &mut [u8], frames: usize, mut see: impl FnMut(usize, &[u8])) {
    let (frame, patches) = raw.split_at_mut(shape.frame_bytes);
    let mut patches = &patches[..];
    see(0, frame);
    for i in 1..frames {
        let len = read_varint(&mut patches);
        let (patch, rest) = patches.split_at(len);
        apply_patch(frame, patch);
        patches = rest;
        see(i, frame);
    }
}

/// Rows resemble the row above (screens are made of tall things and of colour bands), and LZ4 only sees repetition.
fn filter_rows(shape: GroupShape, raw: &mut [u8]) {
    let mut rows = raw[..shape.frame_bytes].rchunks_exact_mut(shape.row_bytes);
    let Some(mut row) = rows.next() else { return };
    for above in rows {
        xor(row, above);
        row = above;
    }
}

fn unfilter_rows(shape: GroupShape, raw: &mut [u8]) {
    let mut rows = raw[..shape.frame_bytes].chunks_exact_mut(shape.row_bytes);
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    fn frames_back(shape: GroupShape, blob: &[u8], raw_len: usize, frames: usize) -> Vec<Vec<u8>> {
        let mut raw = vec![0; raw_len];
        unpack(shape, blob, &mut raw);
        let mut seen = Vec::new();
        walk(shape, &mut raw, frames, |_, frame| seen.push(frame.to_vec()));
        seen
    }

    /// Writes frames until the group is full; returns those frames and the blob's length.
    fn check_group(shape: GroupShape, frames: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
        let mut group = OpenGroup::default();
        let mut written: Vec<Vec<u8>> = Vec::new();
        for frame in frames {
            let previous = written.last().cloned().unwrap_or_default();
            group.push(shape, &previous, &frame, &mut Vec::new());
            written.push(frame);
            if group.is_full(shape) {
                break;
            }
        }
        let raw_len = group.raw.len();
        let mut blob = Vec::new();
        group.close_into(shape, &mut blob);
        assert_eq!(frames_back(shape, &blob, raw_len, written.len()), written);
        (written.len(), blob.len())
    }

    #[test]
    fn a_still_picture_fills_a_group_and_weighs_next_to_nothing() {
        let shape = GroupShape::new(&FrameSpace::gray(84, 84));
        let (frames, bytes) = check_group(shape, std::iter::repeat(vec![40; 7056]));
        assert_eq!(frames, GROUP_FRAMES);
        assert!(bytes < 100, "{bytes}");
    }

    #[test]
    fn noise_is_stored_as_it_is_in_short_groups() {
        let shape = GroupShape::new(&FrameSpace::gray(84, 84));
        let mut stream = Stream::named(1, "noise");
        let noise = std::iter::from_fn(|| Some((0..7056).map(|_| stream.next_u64() as u8).collect::<Vec<u8>>()));
        let (frames, bytes) = check_group(shape, noise);
        assert!(frames <= 3 && bytes <= frames * (7056 + 16), "{frames} frames in {bytes} bytes");
    }

    proptest! {
        #[test]
        fn any_frames_come_back_from_a_group(
            (width, height) in (1_usize..9, 1_usize..5),
            bytes in proptest::collection::vec(0_u8..4, 1..2000)
        ) {
            let shape = GroupShape::new(&FrameSpace::gray(height, width));
            prop_assume!(shape.frame_bytes <= bytes.len());
            check_group(shape, bytes.chunks_exact(shape.frame_bytes).map(<[u8]>::to_vec));
        }
    }
}
