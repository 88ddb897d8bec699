//! The draws of numpy's legacy `RandomState`, the generator of MinAtar and bsuite: MT19937 words in, numbers out.

use sane_env::Mt19937;
use serde::{Deserialize, Serialize};

/// `RandomState(seed)`: doubles of 53 bits, integers by masked rejection, normals by the polar method.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct NumpyStream {
    words: Mt19937,
    spare_normal: Option<f64>,
}

#[derive(Deserialize)]
struct Saved {
    words: Mt19937,
    spare_normal: Option<f64>,
}

impl TryFrom<Saved> for NumpyStream {
    type Error = String;

    fn try_from(Saved { words, spare_normal }: Saved) -> Result<Self, String> {
        if spare_normal.is_some_and(|spare| !spare.is_finite()) {
            return Err("a normal number that is not finite; the file is damaged".into());
        }
        Ok(Self { words, spare_normal })
    }
}

impl NumpyStream {
    /// `RandomState` takes seeds of 32 bits; the halves of a longer seed are combined by XOR, so that every seed that
    /// numpy accepts gives the same numbers as there.
    pub fn new(seed: u64) -> Self {
        Self { words: Mt19937::new((seed ^ (seed >> 32)) as u32), spare_normal: None }
    }

    /// A number in [0, 1): 27 bits of one word above 26 bits of the next.
    pub fn double(&mut self) -> f64 {
        let high = u64::from(self.words.next_u32() >> 5);
        let low = u64::from(self.words.next_u32() >> 6);
        ((high << 26) | low) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// An integer in `0..n`. Every attempt takes one word; `n = 1` takes none.
    pub fn below(&mut self, n: u32) -> u32 {
        assert!(0 < n, "below: there is no number below 0");
        let largest = n - 1;
        if largest == 0 {
            return 0;
        }
        let mask = u32::MAX >> largest.leading_zeros();
        loop {
            let value = self.words.next_u32() & mask;
            if value <= largest {
                return value;
            }
        }
    }

    /// A standard normal number by the polar method; the second of each pair is kept for the next call.
    pub fn normal(&mut self) -> f64 {
        if let Some(spare) = self.spare_normal.take() {
            return spare;
        }
        loop {
            let x1 = 2.0 * self.double() - 1.0;
            let x2 = 2.0 * self.double() - 1.0;
            let r2 = x1 * x1 + x2 * x2;
            if 0.0 < r2 && r2 < 1.0 {
                let f = (-2.0 * libm::log(r2) / r2).sqrt();
                self.spare_normal = Some(f * x1);
                return f * x2;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn check_vectors(check: impl Fn(u64, &Value)) {
        let text = include_str!("../../../golden/minatar/rng_vectors.json");
        let vectors: Value = serde_json::from_str(text).unwrap();
        for seed in [0, 1, 42, 12_345, 4_294_967_295] {
            check(seed, &vectors[seed.to_string()]);
        }
    }

    /// Exact, which the JSON reader is not in the last digit of decimal numbers.
    fn from_hex(value: &Value) -> f64 {
        let (digits, exponent) = value.as_str().unwrap().strip_prefix("0x1.").unwrap().split_once('p').unwrap();
        let fraction = u64::from_str_radix(digits, 16).unwrap() as f64 / 16_f64.powi(digits.len() as i32);
        (1.0 + fraction) * 2_f64.powi(exponent.parse().unwrap())
    }

    fn floats(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    }

    #[test]
    fn doubles_equal_numpys() {
        check_vectors(|seed, vector| {
            let mut stream = NumpyStream::new(seed);
            let drawn: Vec<f64> = (0..10).map(|_| stream.double()).collect();
            let expected: Vec<f64> = vector["rand10_hex"].as_array().unwrap().iter().map(from_hex).collect();
            assert_eq!(drawn, expected, "seed {seed}");
        });
    }

    #[test]
    fn bounded_integers_equal_numpys_and_use_as_many_words() {
        check_vectors(|seed, vector| {
            for (call, low, high) in [
                ("2", 0, 2),
                ("3", 0, 3),
                ("5", 0, 5),
                ("6", 0, 6),
                ("7", 0, 7),
                ("8", 0, 8),
                ("1,6", 1, 6),
                ("1,9", 1, 9),
            ] {
                let mut stream = NumpyStream::new(seed);
                let drawn: Vec<u32> = (0..10).map(|_| low + stream.below(high - low)).collect();
                assert_eq!(vector[format!("randint({call}) x10")], serde_json::json!(drawn), "seed {seed}");
                let used = vector[format!("randint({call}) words used")].as_u64().unwrap();
                let mut words = NumpyStream::new(seed).words;
                for _ in 0..used {
                    words.next_u32();
                }
                assert_eq!(stream.words, words, "seed {seed}: randint({call}) uses {used} words");
            }
        });
    }

    #[test]
    fn mixed_draws_stay_in_step_with_numpy() {
        const ROW: &str = "mixed: rand<1/2, rand<1/3, randint(1,9), rand<1/2, randint(1), randint(5) x10";
        check_vectors(|seed, vector| {
            let mut stream = NumpyStream::new(seed);
            let drawn: Vec<[u32; 6]> = (0..10)
                .map(|_| {
                    let first = [u32::from(stream.double() < 0.5), u32::from(stream.double() < 1.0 / 3.0)];
                    let row = 1 + stream.below(8);
                    let third = u32::from(stream.double() < 0.5);
                    [first[0], first[1], row, third, stream.below(1), stream.below(5)]
                })
                .collect();
            assert_eq!(vector[ROW], serde_json::json!(drawn), "seed {seed}");
        });
    }

    #[test]
    fn normals_equal_numpys_to_the_last_digits() {
        check_vectors(|seed, vector| {
            let mut stream = NumpyStream::new(seed);
            for expected in floats(&vector["randn x10"]) {
                let drawn = stream.normal();
                assert!((drawn - expected).abs() <= 1e-14 * expected.abs(), "seed {seed}: {drawn} is not {expected}");
            }
        });
    }
}
