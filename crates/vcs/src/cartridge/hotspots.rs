//! Addresses with side effects: bank switches, cartridge RAM, the registers of the DPC chip.
//!
//! A read that switches banks returns the byte of the new bank.

use super::{Cartridge, CartridgeKind};

impl Cartridge {
    /// Selects the bank that is mapped after a reset.
    pub(super) fn select_first_bank(&mut self) {
        match self.kind {
            CartridgeKind::K2 | CartridgeKind::K4 | CartridgeKind::F6 | CartridgeKind::F6Sc | CartridgeKind::Fe => {
                self.select(0);
            }
            CartridgeKind::F8 | CartridgeKind::F8Sc | CartridgeKind::Dpc | CartridgeKind::E0 => self.select(1),
        }
    }

    #[inline(never)]
    pub(super) fn read_special(&mut self, address: u16, cycle: u64) -> u8 {
        let offset = address & 0xfff;
        match self.kind {
            // RAM is written at its first 128 addresses and read at the next 128; a read of the first returns the program.
            CartridgeKind::F8Sc | CartridgeKind::F6Sc if (0x80..0x100).contains(&offset) => {
                return self.state.ram.get(offset);
            }
            CartridgeKind::Dpc => {
                self.state.dpc.step_random();
                if offset < 0x40 {
                    return self.state.dpc.read(offset, cycle, &self.rom);
                }
            }
            _ => {}
        }
        self.switch(address);
        self.byte(offset)
    }

    #[inline(never)]
    pub(super) fn write_special(&mut self, address: u16, value: u8) {
        let offset = address & 0xfff;
        match self.kind {
            CartridgeKind::F8Sc | CartridgeKind::F6Sc if offset < 0x80 => self.state.ram.set(offset, value),
            CartridgeKind::Dpc => {
                self.state.dpc.step_random();
                if (0x40..0x80).contains(&offset) {
                    self.state.dpc.write(offset, value);
                }
            }
            _ => {}
        }
        self.switch(address);
    }

    fn switch(&mut self, address: u16) {
        let offset = address & 0xfff;
        match self.kind {
            CartridgeKind::F8 | CartridgeKind::F8Sc | CartridgeKind::Dpc => match offset {
                0xff8 => self.select(0),
                0xff9 => self.select(1),
                _ => {}
            },
            CartridgeKind::F6 | CartridgeKind::F6Sc => {
                if let 0xff6..=0xff9 = offset {
                    self.select(offset - 0xff6);
                }
            }
            CartridgeKind::E0 => {
                if let 0xfe0..=0xff7 = offset {
                    let segment = usize::from((offset - 0xfe0) >> 3);
                    self.map(segment, (offset & 7) << 10);
                }
            }
            CartridgeKind::Fe => self.select(u16::from(address & 0x2000 == 0)),
            CartridgeKind::K2 | CartridgeKind::K4 => {}
        }
    }

    fn select(&mut self, bank: u16) {
        for (segment, offset) in [0, 0x400, 0x800, 0xc00].into_iter().enumerate() {
            self.map(segment, (bank << 12) + offset);
        }
    }

    fn map(&mut self, segment: usize, offset: u16) {
        if self.state.segments[segment] != offset {
            self.state.segments[segment] = offset;
            self.update_view(segment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program in which every byte is the number of its 1 KiB slice.
    fn sliced(kind: CartridgeKind) -> Cartridge {
        let program: Vec<u8> = (0..kind.sizes().0).map(|i| (i >> 10) as u8).collect();
        Cartridge::new(kind, &program).unwrap()
    }

    fn slices(cartridge: &mut Cartridge) -> [u8; 4] {
        [0x1200, 0x1600, 0x1a00, 0x1e00].map(|address| cartridge.read(address, 0))
    }

    #[test]
    fn f8_starts_in_its_second_bank_and_a_switching_read_returns_the_new_one() {
        for kind in [CartridgeKind::F8, CartridgeKind::F8Sc, CartridgeKind::Dpc] {
            let mut cartridge = sliced(kind);
            assert_eq!(slices(&mut cartridge), [4, 5, 6, 7]);
            assert_eq!(cartridge.read(0x1ff8, 0), 3);
            assert_eq!(slices(&mut cartridge), [0, 1, 2, 3]);
            cartridge.write(0xfff9, 0);
            assert_eq!(slices(&mut cartridge), [4, 5, 6, 7]);
            cartridge.read(0x1ff7, 0);
            cartridge.read(0x1ffa, 0);
            assert_eq!(slices(&mut cartridge), [4, 5, 6, 7]);
        }
    }

    #[test]
    fn f6_starts_in_its_first_bank_and_has_four() {
        for kind in [CartridgeKind::F6, CartridgeKind::F6Sc] {
            let mut cartridge = sliced(kind);
            assert_eq!(slices(&mut cartridge), [0, 1, 2, 3]);
            for bank in 0..4_u8 {
                cartridge.read(0x1ff6 + u16::from(bank), 0);
                assert_eq!(slices(&mut cartridge), [4 * bank, 4 * bank + 1, 4 * bank + 2, 4 * bank + 3]);
            }
        }
    }

    #[test]
    fn e0_maps_three_segments_and_keeps_the_last() {
        let mut cartridge = sliced(CartridgeKind::E0);
        assert_eq!(slices(&mut cartridge), [4, 5, 6, 7]);
        cartridge.read(0x1fe2, 0);
        cartridge.write(0x1fe8, 0);
        cartridge.read(0x1ff7, 0);
        cartridge.read(0x1ff8, 0);
        assert_eq!(slices(&mut cartridge), [2, 0, 7, 7]);
    }

    #[test]
    fn fe_is_switched_by_bit_13_of_the_address_itself() {
        let mut cartridge = sliced(CartridgeKind::Fe);
        assert_eq!(cartridge.read(0xf000, 0), 0);
        assert_eq!(cartridge.read(0xd000, 0), 4);
        assert_eq!(cartridge.read(0x3c00, 0), 3);
    }

    #[test]
    fn cartridge_ram_is_written_low_read_high_and_refilled_by_reset() {
        for kind in [CartridgeKind::F8Sc, CartridgeKind::F6Sc] {
            let mut cartridge = sliced(kind);
            cartridge.write(0x1005, 0x77);
            assert_eq!(cartridge.read(0x1085, 0), 0x77);
            cartridge.write(0x1085, 0x11);
            assert_eq!(cartridge.read(0x1085, 0), 0x77);
            let mut next = 0;
            cartridge.reset(|| {
                next += 1;
                next
            });
            assert_eq!(cartridge.ram()[..3], [1, 2, 3]);
            assert_eq!(next, 128);
        }
    }

    #[test]
    fn cartridges_without_ram_draw_nothing_at_reset() {
        let mut cartridge = sliced(CartridgeKind::F8);
        cartridge.reset(|| panic!("a random byte was asked for"));
        assert!(cartridge.ram().is_empty());
    }
}
