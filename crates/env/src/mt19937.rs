//! The Mersenne Twister, the generator of the systems that must be reproduced exactly: the Arcade Learning Environment
//! and NumPy's legacy generator.
//!
//! Written by hand because its state is part of snapshots, and published crates do not expose theirs.

use serde::{Deserialize, Serialize};

const N: usize = 624;
const M: usize = 397;

/// MT19937 with the classic single-integer initialisation, 32-bit outputs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Mt19937 {
    words: Vec<u32>,
    next: usize,
}

/// A generator as it was saved, not checked yet.
#[derive(Deserialize)]
struct Saved {
    words: Vec<u32>,
    next: usize,
}

impl TryFrom<Saved> for Mt19937 {
    type Error = String;

    fn try_from(Saved { words, next }: Saved) -> Result<Self, String> {
        if words.len() != N {
            return Err(format!("a Mersenne Twister of {} words, expected {N}; the file is damaged", words.len()));
        }
        // The one state that generates nothing but zeros, for which some draws would wait for ever.
        if words[0] & 0x8000_0000 == 0 && words[1..].iter().all(|&word| word == 0) {
            return Err("a Mersenne Twister without a set bit; the file is damaged".into());
        }
        Ok(Self { words, next })
    }
}

impl Mt19937 {
    /// The generator that `init_genrand(seed)` gives.
    pub fn new(seed: u32) -> Self {
        let mut words = vec![seed; N];
        for i in 1..N {
            let previous = words[i - 1];
            words[i] = 1_812_433_253_u32.wrapping_mul(previous ^ (previous >> 30)).wrapping_add(i as u32);
        }
        Self { words, next: N }
    }

    /// The generator that `init_by_array(key)` gives; Python's `random` and NumPy's array seeds start this way.
    pub fn from_key(key: &[u32]) -> Self {
        assert!(!key.is_empty(), "from_key: an empty key");
        let mut words = Self::new(19_650_218).words;
        let mixed = |words: &[u32], i: usize, factor: u32| {
            let previous = words[i - 1];
            words[i] ^ (previous ^ (previous >> 30)).wrapping_mul(factor)
        };
        let mut i = 1;
        let wrap = |words: &mut [u32], i: &mut usize| {
            *i += 1;
            if N <= *i {
                words[0] = words[N - 1];
                *i = 1;
            }
        };
        for k in 0..N.max(key.len()) {
            let j = k % key.len();
            words[i] = mixed(&words, i, 1_664_525).wrapping_add(key[j]).wrapping_add(j as u32);
            wrap(&mut words, &mut i);
        }
        for _ in 0..N - 1 {
            words[i] = mixed(&words, i, 1_566_083_941).wrapping_sub(i as u32);
            wrap(&mut words, &mut i);
        }
        words[0] = 0x8000_0000;
        Self { words, next: N }
    }

    /// The next 32-bit word.
    pub fn next_u32(&mut self) -> u32 {
        if N <= self.next {
            self.regenerate();
        }
        let mut y = self.words[self.next];
        self.next += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn regenerate(&mut self) {
        for i in 0..N {
            let y = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % N] & 0x7fff_ffff);
            let odd = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + M) % N] ^ (y >> 1) ^ odd;
        }
        self.next = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_equal_the_published_reference_for_two_seeds() {
        let first = |seed| {
            let mut mt = Mt19937::new(seed);
            (0..4).map(|_| mt.next_u32()).collect::<Vec<_>>()
        };
        assert_eq!(first(0), [2_357_136_044, 2_546_248_239, 3_071_714_933, 3_626_093_760]);
        assert_eq!(first(1), [1_791_095_845, 4_282_876_139, 3_093_770_124, 4_005_303_368]);
    }

    #[test]
    fn a_key_gives_the_words_of_the_published_test_output() {
        let mut mt = Mt19937::from_key(&[0x123, 0x234, 0x345, 0x456]);
        assert_eq!([(); 3].map(|()| mt.next_u32()), [1_067_595_299, 955_945_823, 477_289_528]);
    }

    #[test]
    fn word_number_2000_is_reached_through_three_regenerations() {
        let mut mt = Mt19937::new(0);
        assert_eq!((0..2000).map(|_| mt.next_u32()).last(), Some(3_856_691_381));
    }
}
