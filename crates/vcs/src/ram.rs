//! 128 bytes of RAM, as in the console and in some cartridges. Serialised as a byte sequence.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// RAM that decodes the low seven bits of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ram(pub [u8; 128]);

impl Ram {
    #[inline(always)]
    pub fn get(&self, address: u16) -> u8 {
        self.0[usize::from(address & 0x7f)]
    }

    /// The address stored in two bytes, low byte first.
    #[inline(always)]
    pub fn pointer(&self, address: u16) -> u16 {
        u16::from_le_bytes([self.get(address), self.get(address + 1)])
    }

    #[inline(always)]
    pub fn set(&mut self, address: u16, value: u8) {
        self.0[usize::from(address & 0x7f)] = value;
    }
}

impl Serialize for Ram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Ram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        bytes
            .try_into()
            .map(Ram)
            .map_err(|bytes: Vec<u8>| D::Error::custom(format!("memory of {} bytes, expected 128", bytes.len())))
    }
}
