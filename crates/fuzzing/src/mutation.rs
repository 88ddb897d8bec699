//! Mutations of a file: bytes flipped, numbers replaced by those that break arithmetic, ranges removed, repeated,
//! exchanged and spliced from another file, ends cut off.

use sane_env::Stream;

/// Whole numbers at the edges of their types, and lengths that no memory holds.
const NUMBERS: [u64; 14] = [
    0,
    1,
    2,
    0x7f,
    0xff,
    0x7fff,
    0xffff,
    0x7fff_ffff,
    0xffff_ffff,
    0x1_0000_0000,
    0x7fff_ffff_ffff_ffff,
    0xffff_ffff_ffff_fff0,
    u64::MAX - 1,
    u64::MAX,
];

/// Texts in place of a number, or of anything else.
const TEXTS: [&str; 26] = [
    "0",
    "-0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "4294967296",
    "9223372036854775807",
    "-9223372036854775808",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e400",
    "1e-320",
    "nan",
    "inf",
    "null",
    "true",
    "[]",
    "{}",
    "\"\"",
    "\"\u{0}\u{202e}../../../\"",
    "[[[[[[[[[[[[[[[[[[[[",
    "0.1",
];

/// A mutation of `seed`: one to six changes, some of them with bytes of `other`.
pub fn mutate(stream: &mut Stream, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    let is_text = !seed.is_empty() && seed.iter().take(512).all(|&byte| byte == b'\n' || (b' '..=b'~').contains(&byte));
    for _ in 0..1 + stream.below(3) * stream.below(3) + stream.below(2) {
        if is_text && stream.below(2) == 0 {
            change_word(stream, &mut bytes);
        } else {
            change_bytes(stream, &mut bytes, other);
        }
    }
    bytes
}

fn index(stream: &mut Stream, len: usize) -> usize {
    // Headers are at the front: half of the changes are.
    let reach = if stream.below(2) == 0 { len.min(96) } else { len };
    if reach == 0 { 0 } else { stream.below(reach as u64) as usize }
}

fn range(stream: &mut Stream, len: usize) -> std::ops::Range<usize> {
    let start = index(stream, len);
    let reach = if stream.below(2) == 0 { 16 } else { len as u64 };
    let end = (start + stream.below(reach.max(1)) as usize + 1).min(len);
    start..end.max(start)
}

fn change_bytes(stream: &mut Stream, bytes: &mut Vec<u8>, other: &[u8]) {
    if bytes.is_empty() {
        bytes.extend((0..stream.below(32)).map(|_| 0));
        return;
    }
    let at = index(stream, bytes.len());
    match stream.below(10) {
        0 => bytes[at] ^= 1 << stream.below(8),
        1 | 2 => bytes[at] = stream.next_u64() as u8,
        3 | 4 => {
            let number = NUMBERS[stream.below(NUMBERS.len() as u64) as usize].to_le_bytes();
            let width = 1_usize << stream.below(4);
            for (to, from) in bytes[at..].iter_mut().zip(&number[..width]) {
                *to = *from;
            }
        }
        // The longest number of postcard and of LEB128, and one without an end.
        5 => drop(bytes.splice(at..at, vec![0xff; stream.below(12) as usize].into_iter().chain([0x01]))),
        6 => bytes.truncate(at),
        7 => drop(bytes.drain(range(stream, bytes.len()))),
        8 => {
            let copied = bytes[range(stream, bytes.len())].to_vec();
            let times = 1 + stream.below(3) as usize;
            drop(bytes.splice(at..at, copied.repeat(times)));
        }
        _ => {
            let piece = other[range(stream, other.len())].to_vec();
            let end = (at + if stream.below(2) == 0 { piece.len() } else { 0 }).min(bytes.len());
            drop(bytes.splice(at..end, piece));
        }
    }
}

/// Replaces a number or another word of a text.
fn change_word(stream: &mut Stream, bytes: &mut Vec<u8>) {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || b"._-+".contains(&byte);
    let start = index(stream, bytes.len());
    let Some(start) = (start..bytes.len()).find(|&i| in_word(bytes[i])) else { return };
    let end = (start..bytes.len()).find(|&i| !in_word(bytes[i])).unwrap_or(bytes.len());
    let text = TEXTS[stream.below(TEXTS.len() as u64) as usize];
    drop(bytes.splice(start..end, text.bytes()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mutations_differ_from_their_seed_and_repeat() {
        let seed: Vec<u8> = (0..200).collect();
        let draw = |number: u64| mutate(&mut Stream::named(number, "mutation"), &seed, &[7; 40]);
        let changed = (0..100).filter(|&number| draw(number) != seed).count();
        assert!(90 < changed, "{changed} of 100 differ");
        assert!((0..100).all(|number| draw(number) == draw(number)));
    }
}
