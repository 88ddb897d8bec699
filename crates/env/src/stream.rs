//! Randomness as a named, owned stream: the same seed and name give the same numbers, whatever else is drawn elsewhere.
//!
//! xoshiro256++ (Blackman and Vigna 2019), its state filled by SplitMix64 from the seed and a hash of the name. Written
//! by hand because its bytes are part of the checkpoint format and must never change with a library's version.

use serde::{Deserialize, Serialize};

/// A random number generator, identified by a seed and a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Saved")]
pub struct Stream {
    state: [u64; 4],
}

#[derive(Deserialize)]
struct Saved {
    state: [u64; 4],
}

impl TryFrom<Saved> for Stream {
    type Error = &'static str;

    /// All zeros is the one state that generates nothing but zeros: a draw below a number could wait for ever.
    fn try_from(Saved { state }: Saved) -> Result<Self, &'static str> {
        if state == [0; 4] { Err("a random stream without a set bit; the file is damaged") } else { Ok(Self { state }) }
    }
}

impl Stream {
    /// The stream called `name` of the run with this seed.
    pub fn named(seed: u64, name: &str) -> Self {
        // FNV-1a: the name only has to distinguish streams, and this hash never changes.
        let hash = name
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mut filler = seed ^ hash.rotate_left(32);
        Self { state: std::array::from_fn(|_| split_mix(&mut filler)) }
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        let [s0, s1, s2, s3] = self.state;
        let result = s0.wrapping_add(s3).rotate_left(23).wrapping_add(s0);
        let (s2, s3) = (s2 ^ s0, s3 ^ s1);
        self.state = [s0 ^ s3, s1 ^ s2, s2 ^ (s1 << 17), s3.rotate_left(45)];
        result
    }

    /// An unbiased integer in `0..n` (Lemire 2019).
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(0 < n, "below: there is no number below 0");
        let threshold = n.wrapping_neg() % n;
        loop {
            let product = u128::from(self.next_u64()) * u128::from(n);
            if threshold <= product as u64 {
                return (product >> 64) as u64;
            }
        }
    }

    /// A number in [0, 1) with 53 random bits.
    pub fn uniform(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// A standard normal number (Box–Muller). Each takes two uniforms and the second normal of the pair is discarded, so
    /// that the state is only the four words.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - self.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.uniform())
    }
}

fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn xoshiro_equals_the_published_reference() {
        // First outputs for the state 1, 2, 3, 4, as in the test vectors of the `rand_xoshiro` crate.
        let mut stream = Stream { state: [1, 2, 3, 4] };
        let first: Vec<u64> = (0..4).map(|_| stream.next_u64()).collect();
        assert_eq!(first, [41_943_041, 58_720_359, 3_588_806_011_781_223, 3_591_011_842_654_386]);
    }

    #[test]
    fn streams_of_one_seed_differ_by_name_and_repeat_by_name() {
        let draw = |seed, name| Stream::named(seed, name).next_u64();
        assert_ne!(draw(1, "noise"), draw(1, "replay"));
        assert_ne!(draw(1, "noise"), draw(2, "noise"));
        assert_eq!(draw(1, "noise"), draw(1, "noise"));
    }

    #[test]
    fn a_saved_stream_without_a_set_bit_is_refused() {
        assert!(postcard::from_bytes::<Stream>(&[0; 4]).is_err());
        assert!(postcard::from_bytes::<Stream>(&[0, 0, 1, 0]).is_ok());
    }

    #[test]
    fn integers_below_n_are_uniform() {
        let mut stream = Stream::named(3, "test");
        let mut counts = [0_u32; 6];
        for _ in 0..60_000 {
            counts[stream.below(6) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (9_600..10_400).contains(&count)), "{counts:?}");
    }

    #[test]
    fn normal_numbers_have_mean_zero_and_variance_one() {
        let mut stream = Stream::named(4, "test");
        let draws: Vec<f64> = (0..100_000).map(|_| stream.normal()).collect();
        let mean = draws.iter().sum::<f64>() / 1e5;
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 1e5;
        assert!(mean.abs() < 0.02 && (variance - 1.0).abs() < 0.02, "{mean} {variance}");
    }

    proptest::proptest! {
        #[test]
        fn a_number_below_n_is_below_n(seed: u64, n in 1_u64..) {
            proptest::prop_assert!(Stream::named(seed, "test").below(n) < n);
        }

        #[test]
        fn a_saved_stream_continues_with_the_same_numbers(seed: u64, drawn in 0_usize..50) {
            let mut stream = Stream::named(seed, "test");
            for _ in 0..drawn {
                stream.next_u64();
            }
            let saved = postcard::to_stdvec(&stream).expect("a stream is plain numbers");
            let mut restored: Stream = postcard::from_bytes(&saved).expect("what was just written");
            proptest::prop_assert_eq!(restored.next_u64(), stream.next_u64());
        }
    }
}
