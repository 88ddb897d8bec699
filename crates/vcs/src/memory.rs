//! 128 bytes of memory, as in the console and in some cartridges; saved as a plain run of bytes.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Memory that any address fits into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memory(pub [u8; 128]);

impl Memory {
    /// The byte at the low seven bits of the address.
    #[inline(always)]
    pub fn get(&self, address: u16) -> u8 {
        self.0[usize::from(address & 0x7f)]
    }

    /// The address held by two bytes.
    #[inline(always)]
    pub fn pointer(&self, address: u16) -> u16 {
        u16::from_le_bytes([self.get(address), self.get(address + 1)])
    }

    /// Changes the byte at the low seven bits of the address.
    #[inline(always)]
    pub fn set(&mut self, address: u16, value: u8) {
        self.0[usize::from(address & 0x7f)] = value;
    }
}

impl Serialize for Memory {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.as_slice().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Memory {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bytes = Vec::<u8>::deserialize(deserializer)?;
        bytes
            .try_into()
            .map(Memory)
            .map_err(|bytes: Vec<u8>| D::Error::custom(format!("memory of {} bytes, expected 128", bytes.len())))
    }
}
