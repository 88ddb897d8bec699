//! Whole numbers as Python's `random.Random(seed)` draws them, so that random play here is the random play there.

use sane_env::Mt19937;

/// Python's generator, as far as `choice` and `randint` need it.
pub struct PythonRandom {
    twister: Mt19937,
}

impl PythonRandom {
    /// `random.Random(seed)`: the seed's 32-bit words, lowest first, are the key of the generator.
    pub fn new(seed: u64) -> Self {
        let words = [seed as u32, (seed >> 32) as u32];
        let key = if words[1] == 0 { &words[..1] } else { &words[..] };
        Self { twister: Mt19937::from_key(key) }
    }

    /// `randrange(n)`: as few high bits as can hold `n`, drawn anew until they are below it.
    pub fn below(&mut self, n: u32) -> u32 {
        let bits = u32::BITS - n.leading_zeros();
        loop {
            let draw = self.twister.next_u32() >> (u32::BITS - bits);
            if draw < n {
                return draw;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_equal_those_of_python() {
        // r = random.Random(5); [r.choice([0, 1, 2, 3, 4, 5]) for _ in range(6)], r.randint(1, 12), r.randint(1, 12)
        let mut random = PythonRandom::new(5);
        let choices: Vec<u32> = (0..6).map(|_| random.below(6)).collect();
        assert_eq!((choices, 1 + random.below(12), 1 + random.below(12)), (vec![4, 2, 5, 2, 5, 5], 11, 9));
    }

    #[test]
    fn seeds_of_more_than_32_bits_are_keys_of_two_words() {
        // random.Random(2**40 + 7).getrandbits(32)
        assert_eq!(PythonRandom::new((1 << 40) + 7).twister.next_u32(), 2_635_837_658);
        assert_eq!(PythonRandom::new(0).twister.next_u32(), 3_626_764_237);
    }
}
