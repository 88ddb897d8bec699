//! What changed between two frames, as bytes: a run is (bytes skipped, length, the new bytes), both numbers as varints.
//!
//! On a console most of a screen stands still, so a patch is a few hundred bytes where a frame is thousands, and
//! applying one costs what changed, not what a frame weighs. That is why long chains of patches stay cheap to follow.

/// Unchanged bytes inside a run that are written again rather than starting another run: two numbers are saved, and
/// LZ4 packs the repetition.
const BRIDGED_GAP: usize = 4;

/// Appends to `out` what turns `previous` into `next`.
pub(crate) fn write_patch(previous: &[u8], next: &[u8], out: &mut Vec<u8>) {
    assert_eq!(previous.len(), next.len(), "write_patch: frames of {} and {} bytes", previous.len(), next.len());
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

/// Carries out a patch; `frame` held the previous frame and holds the next one afterwards.
pub(crate) fn apply_patch(frame: &mut [u8], mut patch: &[u8]) {
    let mut at = 0;
    while !patch.is_empty() {
        at += read_varint(&mut patch);
        let len = read_varint(&mut patch);
        let (new, rest) = patch.split_at(len);
        copy_run(&mut frame[at..at + len], new);
        at += len;
        patch = rest;
    }
}

/// The most bytes a patch of a frame of this size can have: each run but the first is preceded by more
/// unchanged bytes than its two numbers take.
pub(crate) const fn longest_patch(frame_bytes: usize) -> usize {
    frame_bytes + 2 * LONGEST_VARINT
}

/// Bytes of the longest number written here.
pub(crate) const LONGEST_VARINT: usize = 5;

/// Seven bits per byte, lowest first, the top bit set on all but the last.
pub(crate) fn write_varint(value: usize, out: &mut Vec<u8>) {
    let mut rest = value;
    while 0x80 <= rest {
        out.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    out.push(rest as u8);
}

/// Takes a number off the front of `bytes`.
pub(crate) fn read_varint(bytes: &mut &[u8]) -> usize {
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
    panic!("read_varint: the number has no end within {} bytes", bytes.len())
}

/// Most runs are shorter than what a call of the general copy costs.
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

    fn check_round_trip(previous: &[u8], next: &[u8]) -> usize {
        let mut patch = Vec::new();
        write_patch(previous, next, &mut patch);
        let mut frame = previous.to_vec();
        apply_patch(&mut frame, &patch);
        assert_eq!(frame, next);
        patch.len()
    }

    #[test]
    fn a_frame_that_stands_still_costs_nothing() {
        assert_eq!(check_round_trip(&[7; 100], &[7; 100]), 0);
    }

    #[test]
    fn the_longest_patch_alternates_runs_with_gaps_too_long_to_bridge() {
        let next: Vec<u8> = (0..7056).map(|i| u8::from(i % (BRIDGED_GAP + 2) == 0)).collect();
        assert!(check_round_trip(&vec![0; 7056], &next) <= longest_patch(7056));
        let all_new = vec![1; 70_000];
        assert!(check_round_trip(&vec![0; 70_000], &all_new) <= longest_patch(70_000));
    }

    proptest! {
        #[test]
        fn a_patch_turns_any_frame_into_any_other_and_is_never_long(
            pair in proptest::collection::vec((0_u8..3, 0_u8..3), 0..600)
        ) {
            let (previous, next): (Vec<u8>, Vec<u8>) = pair.into_iter().unzip();
            prop_assert!(check_round_trip(&previous, &next) <= longest_patch(next.len()));
        }

        #[test]
        fn numbers_come_back(value in 0_usize..1 << 34) {
            let mut bytes = Vec::new();
            write_varint(value, &mut bytes);
            prop_assert!(bytes.len() <= LONGEST_VARINT);
            let mut rest = &bytes[..];
            prop_assert_eq!(read_varint(&mut rest), value);
            prop_assert!(rest.is_empty());
        }
    }
}
