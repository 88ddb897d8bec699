//! The messages between this process and its worker. All numbers are little-endian.
//!
//! ```text
//! request  12 bytes   kind u8, flags u8, action u16, number u64 (seed, or length of the text that follows)
//! reply    16 bytes   status u8, flags u8, 0 u16, lives or length i32, reward f64; then the observation or the text
//! ```

pub(crate) const REQUEST_BYTES: usize = 12;

pub(crate) const HEADER_BYTES: usize = 16;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Request<'a> {
    /// Make the environment that this JSON describes, in place of any before.
    Make(&'a str),
    /// Reset, with this seed if there is one.
    Reset(Option<u64>),
    Step(u16),
    /// Send the observation of the last step, which was not requested with it.
    Observe,
    Render,
}

/// Whether the reply contains the observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Payload {
    Observation,
    Nothing,
}

/// The fixed part of a reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct ReplyHeader {
    pub ok: bool,
    pub terminated: bool,
    pub truncated: bool,
    /// Lives left, −1 if the environment does not report them; the length if a text or picture follows.
    pub number: i32,
    pub reward: f64,
}

impl Request<'_> {
    /// The fixed part of the request.
    pub fn encode(self, payload: Payload) -> [u8; REQUEST_BYTES] {
        let (kind, action, number) = match self {
            Self::Make(text) => (0, 0, text.len() as u64),
            Self::Reset(seed) => (1, 0, seed.unwrap_or(0)),
            Self::Step(action) => (2, action, 0),
            Self::Observe => (3, 0, 0),
            Self::Render => (4, 0, 0),
        };
        let with_observation = u8::from(payload == Payload::Observation);
        let with_seed = 2 * u8::from(matches!(self, Self::Reset(Some(_))));
        let mut bytes = [0; REQUEST_BYTES];
        bytes[0] = kind;
        bytes[1] = with_observation | with_seed;
        bytes[2..4].copy_from_slice(&action.to_le_bytes());
        bytes[4..].copy_from_slice(&number.to_le_bytes());
        bytes
    }

    /// The name in error messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Make(_) => "make",
            Self::Reset(_) => "reset",
            Self::Step(_) => "step",
            Self::Observe => "observe",
            Self::Render => "render",
        }
    }
}

impl ReplyHeader {
    pub fn decode(bytes: [u8; HEADER_BYTES]) -> Self {
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
    fn a_request_is_twelve_bytes_with_fixed_positions() {
        let step = Request::Step(0x0102).encode(Payload::Observation);
        assert_eq!(step, [2, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0]);
        let reset = Request::Reset(Some(7)).encode(Payload::Nothing);
        assert_eq!(reset, [1, 2, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Request::Reset(None).encode(Payload::Observation)[..2], [1, 1]);
    }

    #[test]
    fn termination_and_truncation_are_two_bits() {
        let mut bytes = [0; HEADER_BYTES];
        bytes[1] = 2;
        bytes[4..8].copy_from_slice(&(-1_i32).to_le_bytes());
        bytes[8..].copy_from_slice(&1.5_f64.to_le_bytes());
        let header = ReplyHeader::decode(bytes);
        assert_eq!(header, ReplyHeader { ok: true, terminated: false, truncated: true, number: -1, reward: 1.5 });
    }
}
