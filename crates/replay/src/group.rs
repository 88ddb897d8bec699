//! A group: frames in a row, each as a patch on the one before, compressed together by LZ4.
//!
//! ```text
//! raw  = (length of patch, patch)*          blob = LZ4(raw), or raw where LZ4 does not shrink it
//! ```
//!
//! The first patch of a group applies to a blank frame: it holds the key frame, each row XORed with the row above. On
//! screens that leaves edges only, so LZ4 is spared long runs of the same byte, which it unpacks slowly; on the 11
//! games this made groups up to a tenth smaller and about three times quicker to unpack than a plain key frame.
//!
//! A group ends when it is long enough ([`GROUP_FRAMES`]) or when its patches weigh half a frame, whichever comes
//! first. The second bound is what keeps sampling quick in games where everything moves: to reach a frame, a reader
//! unpacks one group and follows patches whose total weight is bounded. Frames that do not compress (noise) each make
//! a group of their own, stored as they are.

use crate::patch::{LONGEST_VARINT, apply_patch, longest_patch, read_varint, write_patch, write_varint};
use lz4_flex::block::{compress_into, decompress_into, get_maximum_output_size};
use sane_env::FrameSpace;

/// The most frames a group holds.
pub(crate) const GROUP_FRAMES: usize = 32;

/// Small frames are grouped up to this weight, since LZ4 finds little in a few dozen bytes.
const LEAST_BUDGET: usize = 1024;

/// The sizes all groups of one replay share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct GroupShape {
    /// Bytes of a frame.
    pub frame_bytes: usize,
    /// Bytes of a row of pixels.
    pub row_bytes: usize,
}

/// Room to read a group in.
#[derive(Debug, Clone, Default)]
pub(crate) struct GroupRoom {
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

    /// The most bytes a group weighs before compression.
    pub fn longest_raw(self) -> usize {
        self.budget() + longest_patch(self.frame_bytes) + LONGEST_VARINT
    }

    pub fn room(self) -> GroupRoom {
        GroupRoom { raw: vec![0; self.longest_raw()], frame: vec![0; self.frame_bytes] }
    }

    fn budget(self) -> usize {
        (self.frame_bytes / 2).max(LEAST_BUDGET)
    }
}

impl OpenGroup {
    /// Adds a frame; `previous` is the frame before it (not looked at for the first of a group).
    pub fn push(&mut self, shape: GroupShape, previous: &[u8], frame: &[u8], room: &mut WriteRoom) {
        room.patch.clear();
        if self.frames == 0 {
            room.blank.resize(shape.frame_bytes, 0);
            room.key.clear();
            room.key.extend_from_slice(frame);
            filter_rows(shape, &mut room.key);
            write_patch(&room.blank, &room.key, &mut room.patch);
        } else {
            write_patch(previous, frame, &mut room.patch);
        }
        write_varint(room.patch.len(), &mut self.raw);
        self.raw.extend_from_slice(&room.patch);
        self.frames += 1;
    }

    pub fn is_full(&self, shape: GroupShape) -> bool {
        GROUP_FRAMES <= self.frames || shape.budget() <= self.raw.len()
    }

    /// Appends the compressed group to `blobs` and empties this one. A group that LZ4 cannot shrink is stored as it
    /// is, which a reader sees by its length.
    pub fn close_into(&mut self, blobs: &mut Vec<u8>) {
        let start = blobs.len();
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

/// Room to write groups in.
#[derive(Debug, Clone, Default)]
pub(crate) struct WriteRoom {
    patch: Vec<u8>,
    key: Vec<u8>,
    blank: Vec<u8>,
}

impl WriteRoom {
    pub fn memory_bytes(&self) -> usize {
        self.patch.capacity() + self.key.capacity() + self.blank.capacity()
    }
}

impl GroupRoom {
    pub fn memory_bytes(&self) -> usize {
        self.raw.capacity() + self.frame.capacity()
    }

    /// Shows the first frames of a closed group to `see`, each with its place in the group.
    pub fn read_closed(
        &mut self,
        shape: GroupShape,
        blob: &[u8],
        raw_len: usize,
        frames: usize,
        see: impl FnMut(usize, &[u8]),
    ) {
        if blob.len() == raw_len {
            return walk(shape, &mut self.frame, blob, frames, see);
        }
        let raw = &mut self.raw[..raw_len];
        let len = decompress_into(blob, raw).expect("a group of a replay decompresses");
        assert_eq!(len, raw_len, "read_closed: a group of {len} bytes where {raw_len} were written");
        walk(shape, &mut self.frame, raw, frames, see);
    }

    /// The same for the group being written.
    pub fn read_open(&mut self, shape: GroupShape, group: &OpenGroup, frames: usize, see: impl FnMut(usize, &[u8])) {
        walk(shape, &mut self.frame, &group.raw, frames, see);
    }
}

fn walk(shape: GroupShape, frame: &mut [u8], mut raw: &[u8], frames: usize, mut see: impl FnMut(usize, &[u8])) {
    frame.fill(0);
    for i in 0..frames {
        let len = read_varint(&mut raw);
        let (patch, rest) = raw.split_at(len);
        apply_patch(frame, patch);
        if i == 0 {
            unfilter_rows(shape, frame);
        }
        raw = rest;
        see(i, frame);
    }
}

/// Rows resemble the row above: screens are made of tall things and of colour bands.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    fn frames_back(shape: GroupShape, blob: &[u8], raw_len: usize, frames: usize) -> Vec<Vec<u8>> {
        let mut seen = Vec::new();
        shape.room().read_closed(shape, blob, raw_len, frames, |_, frame| seen.push(frame.to_vec()));
        seen
    }

    /// Writes frames until the group is full; returns how many, and the blob's length.
    fn check_group(shape: GroupShape, frames: impl Iterator<Item = Vec<u8>>) -> (usize, usize) {
        let mut group = OpenGroup::default();
        let mut written: Vec<Vec<u8>> = Vec::new();
        for frame in frames {
            let previous = written.last().cloned().unwrap_or_default();
            group.push(shape, &previous, &frame, &mut WriteRoom::default());
            written.push(frame);
            if group.is_full(shape) {
                break;
            }
        }
        let raw_len = group.raw.len();
        assert!(raw_len <= shape.longest_raw());
        let mut blob = Vec::new();
        group.close_into(&mut blob);
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
    fn a_frame_of_noise_is_stored_as_it_is() {
        let shape = GroupShape::new(&FrameSpace::gray(84, 84));
        let mut stream = Stream::named(1, "noise");
        let noise = std::iter::from_fn(|| Some((0..7056).map(|_| stream.next_u64() as u8).collect::<Vec<u8>>()));
        let (frames, bytes) = check_group(shape, noise);
        assert!(frames == 1 && bytes <= 7056 + 8, "{frames} frames in {bytes} bytes");
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
