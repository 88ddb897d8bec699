//! The opcode table: what each of the 256 opcodes does, undocumented ones included.

use super::WriteKind;
use super::decode::BASE_CYCLES;
use super::interpreter::Interpreter;

impl Interpreter<'_> {
    /// Executes the instruction whose opcode was just fetched.
    pub fn execute(&mut self, opcode: u8) {
        /// Reads the operand and passes it to an operation on the registers.
        macro_rules! read {
            ($operation:ident, immediate) => {{
                let operand = self.fetch();
                self.board.registers.$operation(operand);
            }};
            ($operation:ident, $mode:ident) => {{
                let address = self.$mode();
                let operand = self.read(address);
                self.board.registers.$operation(operand);
            }};
        }
        /// Stores a register.
        macro_rules! write {
            ($register:ident, $mode:ident) => {{
                let address = self.$mode();
                self.write(address, self.board.registers.$register);
            }};
        }
        /// Reads a byte, modifies it and writes it back, once each.
        macro_rules! modify {
            ($operation:ident, $mode:ident) => {{
                let address = self.$mode();
                let byte = self.read(address);
                let changed = self.board.registers.$operation(byte);
                self.write(address, changed);
            }};
        }
        /// Counts the base cycles of an opcode.
        macro_rules! count {
            ($opcode:literal) => {
                self.cycle += const { BASE_CYCLES[$opcode] as u64 }
            };
        }
        /// Counts the base cycles, then executes.
        macro_rules! op {
            ($opcode:literal, $action:expr) => {{
                count!($opcode);
                $action;
            }};
        }
        match opcode {
            0x00 => op!(0x00, self.brk()),
            0x01 => op!(0x01, read!(ora, indirect_x)),
            0x03 => op!(0x03, modify!(slo, indirect_x)),
            0x04 | 0x44 | 0x64 => op!(0x04, read!(nop, zero_page)),
            0x05 => op!(0x05, read!(ora, zero_page)),
            0x06 => op!(0x06, modify!(asl, zero_page)),
            0x07 => op!(0x07, modify!(slo, zero_page)),
            0x08 => op!(0x08, self.push(self.board.registers.status(), WriteKind::Single)),
            0x09 => op!(0x09, read!(ora, immediate)),
            0x0a => op!(0x0a, self.board.registers.a = self.board.registers.asl(self.board.registers.a)),
            0x0b | 0x2b => op!(0x0b, read!(anc, immediate)),
            0x0c => op!(0x0c, read!(nop, absolute)),
            0x0d => op!(0x0d, read!(ora, absolute)),
            0x0e => op!(0x0e, modify!(asl, absolute)),
            0x0f => op!(0x0f, modify!(slo, absolute)),
            0x11 => op!(0x11, read!(ora, indirect_y_read)),
            0x13 => op!(0x13, modify!(slo, indirect_y)),
            0x14 | 0x34 | 0x54 | 0x74 | 0xd4 | 0xf4 => op!(0x14, read!(nop, zero_page_x)),
            0x15 => op!(0x15, read!(ora, zero_page_x)),
            0x16 => op!(0x16, modify!(asl, zero_page_x)),
            0x17 => op!(0x17, modify!(slo, zero_page_x)),
            0x18 => op!(0x18, self.board.registers.carry = false),
            0x19 => op!(0x19, read!(ora, absolute_y_read)),
            0x1a | 0x3a | 0x5a | 0x7a | 0xda | 0xea | 0xfa => count!(0x1a),
            0x1b => op!(0x1b, modify!(slo, absolute_y)),
            0x1c | 0x3c | 0x5c | 0x7c | 0xdc | 0xfc => op!(0x1c, read!(nop, absolute_x_read)),
            0x1d => op!(0x1d, read!(ora, absolute_x_read)),
            0x1e => op!(0x1e, modify!(asl, absolute_x)),
            0x1f => op!(0x1f, modify!(slo, absolute_x)),
            0x20 => op!(0x20, self.jsr()),
            0x21 => op!(0x21, read!(and, indirect_x)),
            0x23 => op!(0x23, modify!(rla, indirect_x)),
            0x24 => op!(0x24, read!(bit, zero_page)),
            0x25 => op!(0x25, read!(and, zero_page)),
            0x26 => op!(0x26, modify!(rol, zero_page)),
            0x27 => op!(0x27, modify!(rla, zero_page)),
            0x28 => {
                count!(0x28);
                self.read(self.stack());
                let byte = self.pull();
                self.board.registers.set_status(byte);
            }
            0x29 => op!(0x29, read!(and, immediate)),
            0x2a => op!(0x2a, self.board.registers.a = self.board.registers.rol(self.board.registers.a)),
            0x2c => op!(0x2c, read!(bit, absolute)),
            0x2d => op!(0x2d, read!(and, absolute)),
            0x2e => op!(0x2e, modify!(rol, absolute)),
            0x2f => op!(0x2f, modify!(rla, absolute)),
            0x31 => op!(0x31, read!(and, indirect_y_read)),
            0x33 => op!(0x33, modify!(rla, indirect_y)),
            0x35 => op!(0x35, read!(and, zero_page_x)),
            0x36 => op!(0x36, modify!(rol, zero_page_x)),
            0x37 => op!(0x37, modify!(rla, zero_page_x)),
            0x38 => op!(0x38, self.board.registers.carry = true),
            0x39 => op!(0x39, read!(and, absolute_y_read)),
            0x3b => op!(0x3b, modify!(rla, absolute_y)),
            0x3d => op!(0x3d, read!(and, absolute_x_read)),
            0x3e => op!(0x3e, modify!(rol, absolute_x)),
            0x3f => op!(0x3f, modify!(rla, absolute_x)),
            0x40 => op!(0x40, self.rti()),
            0x41 => op!(0x41, read!(eor, indirect_x)),
            0x43 => op!(0x43, modify!(sre, indirect_x)),
            0x45 => op!(0x45, read!(eor, zero_page)),
            0x46 => op!(0x46, modify!(lsr, zero_page)),
            0x47 => op!(0x47, modify!(sre, zero_page)),
            0x48 => op!(0x48, self.push(self.board.registers.a, WriteKind::Single)),
            0x49 => op!(0x49, read!(eor, immediate)),
            0x4a => op!(0x4a, self.board.registers.a = self.board.registers.lsr(self.board.registers.a)),
            0x4b => op!(0x4b, read!(asr, immediate)),
            0x4c => op!(0x4c, self.pc = self.absolute()),
            0x4d => op!(0x4d, read!(eor, absolute)),
            0x4e => op!(0x4e, modify!(lsr, absolute)),
            0x4f => op!(0x4f, modify!(sre, absolute)),
            0x51 => op!(0x51, read!(eor, indirect_y_read)),
            0x53 => op!(0x53, modify!(sre, indirect_y)),
            0x55 => op!(0x55, read!(eor, zero_page_x)),
            0x56 => op!(0x56, modify!(lsr, zero_page_x)),
            0x57 => op!(0x57, modify!(sre, zero_page_x)),
            0x58 => op!(0x58, self.board.registers.interrupt = false),
            0x59 => op!(0x59, read!(eor, absolute_y_read)),
            0x5b => op!(0x5b, modify!(sre, absolute_y)),
            0x5d => op!(0x5d, read!(eor, absolute_x_read)),
            0x5e => op!(0x5e, modify!(lsr, absolute_x)),
            0x5f => op!(0x5f, modify!(sre, absolute_x)),
            0x60 => op!(0x60, self.rts()),
            0x61 => op!(0x61, read!(adc, indirect_x)),
            0x63 => op!(0x63, modify!(rra, indirect_x)),
            0x65 => op!(0x65, read!(adc, zero_page)),
            0x66 => op!(0x66, modify!(ror, zero_page)),
            0x67 => op!(0x67, modify!(rra, zero_page)),
            0x68 => {
                count!(0x68);
                self.read(self.stack());
                let byte = self.pull();
                self.board.registers.lda(byte);
            }
            0x69 => op!(0x69, read!(adc, immediate)),
            0x6a => op!(0x6a, self.board.registers.a = self.board.registers.ror(self.board.registers.a)),
            0x6b => op!(0x6b, read!(arr, immediate)),
            0x6c => op!(0x6c, self.jmp_indirect()),
            0x6d => op!(0x6d, read!(adc, absolute)),
            0x6e => op!(0x6e, modify!(ror, absolute)),
            0x6f => op!(0x6f, modify!(rra, absolute)),
            0x71 => op!(0x71, read!(adc, indirect_y_read)),
            0x73 => op!(0x73, modify!(rra, indirect_y)),
            0x75 => op!(0x75, read!(adc, zero_page_x)),
            0x76 => op!(0x76, modify!(ror, zero_page_x)),
            0x77 => op!(0x77, modify!(rra, zero_page_x)),
            0x78 => op!(0x78, self.board.registers.interrupt = true),
            0x79 => op!(0x79, read!(adc, absolute_y_read)),
            0x7b => op!(0x7b, modify!(rra, absolute_y)),
            0x7d => op!(0x7d, read!(adc, absolute_x_read)),
            0x7e => op!(0x7e, modify!(ror, absolute_x)),
            0x7f => op!(0x7f, modify!(rra, absolute_x)),
            0x80 | 0x82 | 0x89 | 0xc2 | 0xe2 => op!(0x80, read!(nop, immediate)),
            0x81 => op!(0x81, write!(a, indirect_x)),
            0x83 => {
                count!(0x83);
                let address = self.indirect_x();
                self.write(address, self.board.registers.a & self.board.registers.x);
            }
            0x84 => op!(0x84, write!(y, zero_page)),
            0x85 => op!(0x85, write!(a, zero_page)),
            0x86 => op!(0x86, write!(x, zero_page)),
            0x87 => {
                count!(0x87);
                let address = self.zero_page();
                self.write(address, self.board.registers.a & self.board.registers.x);
            }
            0x88 => op!(0x88, self.board.registers.y = self.board.registers.dec(self.board.registers.y)),
            0x8a => op!(0x8a, self.board.registers.lda(self.board.registers.x)),
            0x8b => op!(0x8b, read!(ane, immediate)),
            0x8c => op!(0x8c, write!(y, absolute)),
            0x8d => op!(0x8d, write!(a, absolute)),
            0x8e => op!(0x8e, write!(x, absolute)),
            0x8f => {
                count!(0x8f);
                let address = self.absolute();
                self.write(address, self.board.registers.a & self.board.registers.x);
            }
            0x91 => op!(0x91, write!(a, indirect_y)),
            0x93 => {
                count!(0x93);
                let address = self.indirect_y();
                self.write_high(address, self.board.registers.a & self.board.registers.x);
            }
            0x94 => op!(0x94, write!(y, zero_page_x)),
            0x95 => op!(0x95, write!(a, zero_page_x)),
            0x96 => op!(0x96, write!(x, zero_page_y)),
            0x97 => {
                count!(0x97);
                let address = self.zero_page_y();
                self.write(address, self.board.registers.a & self.board.registers.x);
            }
            0x98 => op!(0x98, self.board.registers.lda(self.board.registers.y)),
            0x99 => op!(0x99, write!(a, absolute_y)),
            0x9a => op!(0x9a, self.board.registers.s = self.board.registers.x),
            0x9b => {
                count!(0x9b);
                let address = self.absolute_y();
                self.board.registers.s = self.board.registers.a & self.board.registers.x;
                self.write_high(address, self.board.registers.s);
            }
            0x9c => {
                count!(0x9c);
                let address = self.absolute_x();
                self.write_high(address, self.board.registers.y);
            }
            0x9d => op!(0x9d, write!(a, absolute_x)),
            0x9e => {
                count!(0x9e);
                let address = self.absolute_y();
                self.write_high(address, self.board.registers.x);
            }
            0x9f => {
                count!(0x9f);
                let address = self.absolute_y();
                self.write_high(address, self.board.registers.a & self.board.registers.x);
            }
            0xa0 => op!(0xa0, read!(ldy, immediate)),
            0xa1 => op!(0xa1, read!(lda, indirect_x)),
            0xa2 => op!(0xa2, read!(ldx, immediate)),
            0xa3 => op!(0xa3, read!(lax, indirect_x)),
            0xa4 => op!(0xa4, read!(ldy, zero_page)),
            0xa5 => op!(0xa5, read!(lda, zero_page)),
            0xa6 => op!(0xa6, read!(ldx, zero_page)),
            0xa7 => op!(0xa7, read!(lax, zero_page)),
            0xa8 => op!(0xa8, self.board.registers.ldy(self.board.registers.a)),
            0xa9 => op!(0xa9, read!(lda, immediate)),
            0xaa => op!(0xaa, self.board.registers.ldx(self.board.registers.a)),
            0xab => op!(0xab, read!(lxa, immediate)),
            0xac => op!(0xac, read!(ldy, absolute)),
            0xad => op!(0xad, read!(lda, absolute)),
            0xae => op!(0xae, read!(ldx, absolute)),
            0xaf => op!(0xaf, read!(lax, absolute)),
            0xb1 => op!(0xb1, read!(lda, indirect_y_read)),
            0xb3 => op!(0xb3, read!(lax, indirect_y_read)),
            0xb4 => op!(0xb4, read!(ldy, zero_page_x)),
            0xb5 => op!(0xb5, read!(lda, zero_page_x)),
            0xb6 => op!(0xb6, read!(ldx, zero_page_y)),
            0xb7 => op!(0xb7, read!(lax, zero_page_y)),
            0xb8 => op!(0xb8, self.board.registers.overflow = false),
            0xb9 => op!(0xb9, read!(lda, absolute_y_read)),
            0xba => op!(0xba, self.board.registers.ldx(self.board.registers.s)),
            0xbb => op!(0xbb, read!(las, absolute_y_read)),
            0xbc => op!(0xbc, read!(ldy, absolute_x_read)),
            0xbd => op!(0xbd, read!(lda, absolute_x_read)),
            0xbe => op!(0xbe, read!(ldx, absolute_y_read)),
            0xbf => op!(0xbf, read!(lax, absolute_y_read)),
            0xc0 => op!(0xc0, read!(cpy, immediate)),
            0xc1 => op!(0xc1, read!(cmp, indirect_x)),
            0xc3 => op!(0xc3, modify!(dcp, indirect_x)),
            0xc4 => op!(0xc4, read!(cpy, zero_page)),
            0xc5 => op!(0xc5, read!(cmp, zero_page)),
            0xc6 => op!(0xc6, modify!(dec, zero_page)),
            0xc7 => op!(0xc7, modify!(dcp, zero_page)),
            0xc8 => op!(0xc8, self.board.registers.y = self.board.registers.inc(self.board.registers.y)),
            0xc9 => op!(0xc9, read!(cmp, immediate)),
            0xca => op!(0xca, self.board.registers.x = self.board.registers.dec(self.board.registers.x)),
            0xcb => op!(0xcb, read!(sbx, immediate)),
            0xcc => op!(0xcc, read!(cpy, absolute)),
            0xcd => op!(0xcd, read!(cmp, absolute)),
            0xce => op!(0xce, modify!(dec, absolute)),
            0xcf => op!(0xcf, modify!(dcp, absolute)),
            0xd1 => op!(0xd1, read!(cmp, indirect_y_read)),
            0xd3 => op!(0xd3, modify!(dcp, indirect_y)),
            0xd5 => op!(0xd5, read!(cmp, zero_page_x)),
            0xd6 => op!(0xd6, modify!(dec, zero_page_x)),
            0xd7 => op!(0xd7, modify!(dcp, zero_page_x)),
            0xd8 => op!(0xd8, self.board.registers.decimal = false),
            0xd9 => op!(0xd9, read!(cmp, absolute_y_read)),
            0xdb => op!(0xdb, modify!(dcp, absolute_y)),
            0xdd => op!(0xdd, read!(cmp, absolute_x_read)),
            0xde => op!(0xde, modify!(dec, absolute_x)),
            0xdf => op!(0xdf, modify!(dcp, absolute_x)),
            0xe0 => op!(0xe0, read!(cpx, immediate)),
            0xe1 => op!(0xe1, read!(sbc, indirect_x)),
            0xe3 => op!(0xe3, modify!(isb, indirect_x)),
            0xe4 => op!(0xe4, read!(cpx, zero_page)),
            0xe5 => op!(0xe5, read!(sbc, zero_page)),
            0xe6 => op!(0xe6, modify!(inc, zero_page)),
            0xe7 => op!(0xe7, modify!(isb, zero_page)),
            0xe8 => op!(0xe8, self.board.registers.x = self.board.registers.inc(self.board.registers.x)),
            0xe9 | 0xeb => op!(0xe9, read!(sbc, immediate)),
            0xec => op!(0xec, read!(cpx, absolute)),
            0xed => op!(0xed, read!(sbc, absolute)),
            0xee => op!(0xee, modify!(inc, absolute)),
            0xef => op!(0xef, modify!(isb, absolute)),
            0xf1 => op!(0xf1, read!(sbc, indirect_y_read)),
            0xf3 => op!(0xf3, modify!(isb, indirect_y)),
            0xf5 => op!(0xf5, read!(sbc, zero_page_x)),
            0xf6 => op!(0xf6, modify!(inc, zero_page_x)),
            0xf7 => op!(0xf7, modify!(isb, zero_page_x)),
            0xf8 => op!(0xf8, self.board.registers.decimal = true),
            0xf9 => op!(0xf9, read!(sbc, absolute_y_read)),
            0xfb => op!(0xfb, modify!(isb, absolute_y)),
            0xfd => op!(0xfd, read!(sbc, absolute_x_read)),
            0xfe => op!(0xfe, modify!(inc, absolute_x)),
            0xff => op!(0xff, modify!(isb, absolute_x)),
            0x10 | 0x30 | 0x50 | 0x70 | 0x90 | 0xb0 | 0xd0 | 0xf0 => self.branch(opcode),
            0x02 | 0x12 | 0x22 | 0x32 | 0x42 | 0x52 | 0x62 | 0x72 | 0x92 | 0xb2 | 0xd2 | 0xf2 => self.jam(),
        }
    }
}
