//! What a game's rule reads: the console's RAM and the RAM of the cartridge, if it has any. In: bytes; out: numbers.

/// A view of RAM between two frames. The console's RAM is addressed as by the program, `0x80`–`0xFF`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RamView<'a> {
    ram: &'a [u8; 128],
    cartridge: &'a [u8],
}

impl<'a> RamView<'a> {
    pub fn new(ram: &'a [u8; 128], cartridge: &'a [u8]) -> Self {
        Self { ram, cartridge }
    }

    /// The byte at `address`.
    pub fn at(self, address: u8) -> i32 {
        i32::from(self.ram[usize::from(address & 0x7f)])
    }

    /// The byte at `address`, as a signed number.
    pub fn signed(self, address: u8) -> i32 {
        i32::from(self.ram[usize::from(address & 0x7f)] as i8)
    }

    /// The low four bits of a byte.
    pub fn low(self, address: u8) -> i32 {
        self.at(address) & 15
    }

    /// The high four bits of a byte.
    pub fn high(self, address: u8) -> i32 {
        self.at(address) >> 4
    }

    /// Whether any of the bits of `mask` is set.
    pub fn bit(self, address: u8, mask: i32) -> bool {
        self.at(address) & mask != 0
    }

    /// Two BCD digits. A nibble above 9, which programs leave there during a reset, counts with its value.
    pub fn bcd(self, address: u8) -> i32 {
        bcd(self.at(address))
    }

    /// Four BCD digits, the lower two first.
    pub fn bcd2(self, low: u8, high: u8) -> i32 {
        self.bcd(low) + 100 * self.bcd(high)
    }

    /// Six BCD digits, the lowest two first.
    pub fn bcd3(self, low: u8, middle: u8, high: u8) -> i32 {
        self.bcd2(low, middle) + 10_000 * self.bcd(high)
    }

    /// A number with one digit in each low nibble from `first` upward, ones first; 10 is a blank.
    pub fn digits(self, first: u8, count: u8) -> i32 {
        (0..count).rev().fold(0, |sum, i| 10 * sum + blank_is_zero(self.low(first + i)))
    }

    /// A byte of the cartridge's RAM at its read address; 0 if the cartridge has none.
    pub fn cartridge(self, address: u16) -> i32 {
        self.cartridge.get(usize::from(address & 0x7f)).copied().map_or(0, i32::from)
    }

    /// Two BCD digits of the cartridge's RAM.
    pub fn cartridge_bcd(self, address: u16) -> i32 {
        bcd(self.cartridge(address))
    }
}

/// The value of a digit that the game draws as a blank when it is 10.
pub(crate) fn blank_is_zero(digit: i32) -> i32 {
    if digit == 10 { 0 } else { digit }
}

fn bcd(byte: i32) -> i32 {
    10 * (byte >> 4) + (byte & 15)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(address: u8, bytes: &[u8], read: impl Fn(RamView<'_>) -> i32, expected: i32) {
        let mut ram = [0; 128];
        ram[usize::from(address & 0x7f)..][..bytes.len()].copy_from_slice(bytes);
        assert_eq!(read(RamView::new(&ram, &[])), expected);
    }

    #[test]
    fn six_digits_are_joined_lowest_pair_first() {
        check(0xB8, &[0x12, 0x34, 0x56], |ram| ram.bcd3(0xBA, 0xB9, 0xB8), 123_456);
    }

    #[test]
    fn a_nibble_above_nine_counts_with_its_value() {
        check(0x80, &[0xFF], |ram| ram.bcd(0x80), 165);
    }

    #[test]
    fn single_digits_run_upward_and_ten_is_a_blank() {
        check(0xC9, &[3, 2, 10, 10], |ram| ram.digits(0xC9, 4), 23);
    }

    #[test]
    fn a_cartridge_without_ram_reads_zero() {
        check(0x80, &[], |ram| ram.cartridge(0xF0EA), 0);
    }
}
