//! Addresses that do more than deliver a byte: bank switches, cartridge RAM and the way to the DPC chip.
//!
//! A read that switches returns the byte of the new bank.

use super::{Cartridge, CartridgeKind};

impl Cartridge {
    /// Points the window where it points after a reset.
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
            // RAM is read at its second 128 addresses; a read of the first, where it is written, gives the program's byte.
            CartridgeKind::F8Sc | CartridgeKind::F6Sc if (0x80..0x100).contains(&offset) => {
                return self.state.ram.get(offset);
            }
            CartridgeKind::Dpc => {
                self.state.dpc.touch();
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
                self.state.dpc.touch();
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
                    let window = usize::from((offset - 0xfe0) >> 3);
                    self.point(window, (offset & 7) << 10);
                }
            }
            CartridgeKind::Fe => self.select(u16::from(address & 0x2000 == 0)),
            CartridgeKind::K2 | CartridgeKind::K4 => {}
        }
    }

    fn select(&mut self, bank: u16) {
        for (window, offset) in [0, 0x400, 0x800, 0xc00].into_iter().enumerate() {
            self.point(window, (bank << 12) + offset);
        }
    }

    fn point(&mut self, window: usize, segment: u16) {
        if self.state.segments[window] != segment {
            self.state.segments[window] = segment;
            self.show(window);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A program whose every byte tells the 1 KiB slice it lies in.
    fn sliced(kind: CartridgeKind) -> Cartridge {
        let program: Vec<u8> = (0..kind.sizes().0).map(|i| (i >> 10) as u8).collect();
        Cartridge::new(kind, &program).unwrap()
    }

    fn slices(cartridge: &mut Cartridge) -> [u8; 4] {
        [0x1200, 0x1600, 0x1a00, 0x1e00].map(|address| cartridge.read(address, 0))
    }

    #[test]
    fn f8_starts_in_its_second_bank_and_the_switching_read_sees_the_new_one() {
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
    fn e0_moves_three_windows_and_keeps_the_last() {
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
