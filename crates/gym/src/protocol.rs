//! The bytes on the pipes between the binary and its worker. All numbers are little-endian.
//!
//! ```text
//! order  12 bytes   kind u8, wanted u8, action u16, number u64 (seed, or length of the text that follows)
//! reply  16 bytes   status u8, flags u8, 0 u16, lives or length i32, reward f64; then the observation or the text
//! ```

/// Bytes of an order.
pub(crate) const ORDER_BYTES: usize = 12;

/// Bytes of a reply's head.
pub(crate) const HEAD_BYTES: usize = 16;

/// What the worker is to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order<'a> {
    /// Make an environment as this JSON says, in place of any before.
    Make(&'a str),
    /// Begin an episode, with this seed if there is one.
    Reset(Option<u64>),
    /// Carry out an action.
    Step(u16),
    /// Send the observation of the last step after all.
    Show,
    /// Send a picture for people.
    Render,
}

/// Whether the reply is to carry the observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The observation follows.
    Observation,
    /// Nobody looks at it.
    Nothing,
}

/// The head of a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Head {
    pub ok: bool,
    pub terminated: bool,
    pub truncated: bool,
    /// Lives left, −1 where the environment does not say; the length where a text or picture follows.
    pub number: i32,
    pub reward: f64,
}

impl Order<'_> {
    /// The fixed part.
    pub fn encode(self, wanted: Wanted) -> [u8; ORDER_BYTES] {
        let (kind, action, number) = match self {
            Self::Make(text) => (0, 0, text.len() as u64),
            Self::Reset(seed) => (1, 0, seed.unwrap_or(0)),
            Self::Step(action) => (2, action, 0),
            Self::Show => (3, 0, 0),
            Self::Render => (4, 0, 0),
        };
        let with_observation = u8::from(wanted == Wanted::Observation);
        let with_seed = 2 * u8::from(matches!(self, Self::Reset(Some(_))));
        let mut bytes = [0; ORDER_BYTES];
        bytes[0] = kind;
        bytes[1] = with_observation | with_seed;
        bytes[2..4].copy_from_slice(&action.to_le_bytes());
        bytes[4..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// For messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Make(_) => "make",
            Self::Reset(_) => "reset",
            Self::Step(_) => "step",
            Self::Show => "show",
            Self::Render => "render",
        }
    }
}

impl Head {
    /// Reads a head.
    pub fn decode(bytes: [u8; HEAD_BYTES]) -> Self {
        let [status, flags, _, _, n0, n1, n2, n3, reward @ ..] = bytes;
        Self {
            ok: status == 0,
            terminated: flags & 1 != 0,
            truncated: flags & 2 != 0,
            number: i32::from_le_bytes([n0, n1, n2, n3]),
            reward: f64::from_le_bytes(reward),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_is_twelve_bytes_whose_places_are_fixed() {
        let step = Order::Step(0x0102).encode(Wanted::Observation);
        assert_eq!(step, [2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let reset = Order::Reset(Some(7)).encode(Wanted::Nothing);
        assert_eq!(reset, [1, 2, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Order::Reset(None).encode(Wanted::Observation)[..2], [1, 1]);
    }

    #[test]
    fn termination_and_truncation_are_two_bits() {
        let mut bytes = [0; HEAD_BYTES];
        bytes[1] = 2;
        bytes[4..8].copy_from_slice(&(-1_i32).to_le_bytes());
        bytes[8..].copy_from_slice(&1.5_f64.to_le_bytes());
        let head = Head::decode(bytes);
        assert_eq!(head, Head { ok: true, terminated: false, truncated: true, number: -1, reward: 1.5 });
    }
}
