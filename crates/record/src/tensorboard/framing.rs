//! TFRecord framing: length, its checksum, the bytes, their checksum. The checksum is CRC-32C, rotated and offset so
//! that checksums of data which itself contains checksums stay good.

/// `message` with its frame around it.
pub fn frame(message: &[u8]) -> Vec<u8> {
    let length = (message.len() as u64).to_le_bytes();
    let mut framed = Vec::with_capacity(message.len() + 16);
    framed.extend_from_slice(&length);
    framed.extend_from_slice(&masked(crc32c(&length)).to_le_bytes());
    framed.extend_from_slice(message);
    framed.extend_from_slice(&masked(crc32c(message)).to_le_bytes());
    framed
}

fn masked(crc: u32) -> u32 {
    crc.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// CRC-32C (Castagnoli), reflected, table of one byte.
fn crc32c(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(!0_u32, |crc, &byte| (crc >> 8) ^ TABLE[usize::from(crc as u8 ^ byte)])
}

const TABLE: [u32; 256] = table();

const fn table() -> [u32; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < 256 {
        let mut crc = i as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
            bit += 1;
        }
        table[i] = crc;
        i += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_equals_the_published_vectors() {
        // RFC 3720, B.4, and the customary check value.
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
    }

    #[test]
    fn a_frame_adds_sixteen_bytes() {
        let framed = frame(b"abc");
        assert_eq!((framed.len(), &framed[..8], &framed[12..15]), (19, &[3, 0, 0, 0, 0, 0, 0, 0][..], &b"abc"[..]));
    }
}
