//! Any bytes as a program of any kind of cartridge: the console never panics, hangs or reads out of bounds.
//!
//! The first byte picks the kind, the next eight are the inputs of eight frames, the rest, repeated, is the program.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sane_vcs::{Cartridge, CartridgeKind, Console, ConsoleConfig, Input, RenderMode};

fuzz_target!(|bytes: &[u8]| {
    let [kind, inputs @ ..] = bytes else { return };
    let Some((inputs, program)) = inputs.split_at_checked(8) else { return };
    if program.is_empty() {
        return;
    }
    let kind = CartridgeKind::ALL[usize::from(*kind) % CartridgeKind::ALL.len()];
    let program: Vec<u8> = program.iter().copied().cycle().take(kind.sizes().0).collect();
    let cartridge = Cartridge::new(kind, &program).expect("the size fits the kind");
    let mut console = Console::power_on(cartridge, ConsoleConfig::default());
    console.reset();
    for &byte in inputs {
        let bit = |i: u8| byte >> i & 1 == 1;
        let input = Input {
            up: bit(0),
            down: bit(1),
            left: bit(2),
            right: bit(3),
            fire: bit(4),
            reset: bit(5),
            select: bit(6),
            ..Input::default()
        };
        let mode = if bit(7) { RenderMode::Full } else { RenderMode::CollisionsOnly };
        console.run_frame(&input, mode);
    }
    console.render_deferred();
});
