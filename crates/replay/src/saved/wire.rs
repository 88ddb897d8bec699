//! Numbers and arrays as bytes and back; what is too short, too long or of another kind is an error.

use crate::ReplayError;

/// Version of the format, written into each part.
const VERSION: u32 = 1;

pub(super) fn damaged(what: String) -> ReplayError {
    ReplayError::Damaged { what }
}

/// What saved bytes are, by their first eight.
pub(super) struct Part {
    pub name: &'static str,
    pub magic: [u8; 8],
}

pub(super) fn begin(part: &Part, out: &mut Vec<u8>) {
    out.extend_from_slice(&part.magic);
    out.extend_from_slice(&VERSION.to_le_bytes());
}

pub(super) fn put_u64(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

pub(super) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_u64(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

pub(super) fn put_array<T>(out: &mut Vec<u8>, items: &[T], put: impl Fn(&T, &mut Vec<u8>)) {
    put_u64(out, items.len() as u64);
    for item in items {
        put(item, out);
    }
}

/// Takes values off the front of saved bytes.
pub(super) struct Reader<'a> {
    part: &'static str,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub fn begin(part: &Part, bytes: &'a [u8]) -> Result<Self, ReplayError> {
        let mut from = Self { part: part.name, rest: bytes };
        let magic = from.bytes_of(part.magic.len().min(bytes.len()))?;
        if magic != part.magic {
            return Err(ReplayError::NotAReplay { expected: part.name, found: magic.to_vec() });
        }
        match from.number().map(u32::from_le_bytes)? {
            VERSION => Ok(from),
            found => Err(ReplayError::WrongVersion { part: part.name, found, supported: VERSION }),
        }
    }

    pub fn bytes_of(&mut self, len: usize) -> Result<&'a [u8], ReplayError> {
        let Some((taken, rest)) = self.rest.split_at_checked(len) else {
            return Err(damaged(format!("the {} ends {} bytes early", self.part, len - self.rest.len())));
        };
        self.rest = rest;
        Ok(taken)
    }

    pub fn number<const N: usize>(&mut self) -> Result<[u8; N], ReplayError> {
        self.bytes_of(N).map(|bytes| bytes.try_into().expect("as many bytes as asked for"))
    }

    pub fn u64(&mut self) -> Result<u64, ReplayError> {
        self.number().map(u64::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8], ReplayError> {
        let len = self.u64()?;
        self.bytes_of(usize::try_from(len).unwrap_or(usize::MAX))
    }

    /// An array whose items are K numbers of N bytes.
    pub fn array<T, const N: usize, const K: usize>(
        &mut self,
        item: impl Fn([[u8; N]; K]) -> T,
    ) -> Result<Vec<T>, ReplayError> {
        let len = usize::try_from(self.u64()?).unwrap_or(usize::MAX).saturating_mul(N * K);
        let items = self.bytes_of(len)?.chunks_exact(N * K);
        Ok(items.map(|bytes| item(std::array::from_fn(|k| std::array::from_fn(|n| bytes[k * N + n])))).collect())
    }

    pub fn end(self) -> Result<(), ReplayError> {
        match self.rest.len() {
            0 => Ok(()),
            more => Err(damaged(format!("the {} is {more} bytes too long", self.part))),
        }
    }
}
