//! Whole consoles running arbitrary bytes: nothing panics, snapshots continue bit for bit, and deferred rendering gives the
//! pixels that full rendering gives.

use proptest::prelude::*;
use sane_env::Stream;
use sane_vcs::{Cartridge, CartridgeKind, Console, ConsoleConfig, Controller, Input, RenderMode, Snapshot, TvFormat};

/// Opcodes and operands that access the chips more often than random bytes do.
const LIKELY: [u8; 24] = [
    0x85, 0x86, 0x84, 0x8d, 0xa5, 0xa9, 0xa2, 0xca, 0xd0, 0x4c, 0x20, 0x60, 0x02, 0x00, 0x2a, 0x1b, 0x0d, 0x10, 0x96,
    0x84, 0xfb, 0xad, 0xf8, 0xe0,
];

fn console(kind: CartridgeKind, seed: u64) -> Console {
    let mut stream = Stream::named(seed, "program");
    let share = 1 + stream.below(16);
    let mut program: Vec<u8> = (0..kind.sizes().0)
        .map(|_| match stream.below(16) < share {
            true => LIKELY[stream.below(LIKELY.len() as u64) as usize],
            false => stream.next_u64() as u8,
        })
        .collect();
    // Opcodes that jam the processor would end most runs after a few instructions.
    for byte in &mut program {
        if *byte & 0x1f == 0x12 || (*byte & 0x9f == 0x02) {
            *byte = 0xea;
        }
    }
    let config = ConsoleConfig {
        tv: if stream.below(2) == 0 { TvFormat::Ntsc } else { TvFormat::Pal },
        first_line: stream.below(60) as u32,
        height: stream.below(260) as u32,
        hmove_comb: stream.below(4) != 0,
        controller: match stream.below(3) {
            0 => Controller::Paddles { swapped: stream.below(2) == 0 },
            _ => Controller::Joystick,
        },
        swapped_ports: stream.below(2) == 0,
    };
    let mut console = Console::power_on(Cartridge::new(kind, &program).expect("the size fits"), config);
    console.reset();
    console
}

fn input(stream: &mut Stream) -> Input {
    let bits = stream.next_u64();
    let bit = |i: u32| bits >> i & 1 == 1;
    Input {
        up: bit(0),
        down: bit(1),
        left: bit(2),
        right: bit(3),
        fire: bit(4),
        reset: bit(5),
        select: bit(6),
        left_difficulty_a: bit(7),
        right_difficulty_a: bit(8),
        paddles: [stream.next_u64() as i32, stream.below(800_000) as i32],
    }
}

fn kinds() -> impl Strategy<Value = CartridgeKind> {
    prop::sample::select(CartridgeKind::ALL.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_program_runs_and_deferred_rendering_equals_full_rendering(kind in kinds(), seed in any::<u64>()) {
        let mut stream = Stream::named(seed, "input");
        let mut full = console(kind, seed);
        let mut mixed = full.clone();
        for frame in 0..24 {
            let input = input(&mut stream);
            let report = full.run_frame(&input, RenderMode::Full);
            let mode = if stream.below(3) == 0 { RenderMode::Full } else { RenderMode::CollisionsOnly };
            prop_assert_eq!(mixed.run_frame(&input, mode), report);
            prop_assert_eq!(mixed.ram(), full.ram());
            if mode == RenderMode::Full || stream.below(4) == 0 {
                mixed.render_deferred();
                prop_assert!(mixed.screen() == full.screen(), "frame {}", frame);
            }
            if stream.below(16) == 0 {
                full.reset();
                mixed.reset();
            }
        }
        prop_assert_eq!(full.screen().len(), 160 * full.config().height as usize);
    }

    #[test]
    fn a_snapshot_restored_into_a_fresh_console_continues_bit_for_bit(kind in kinds(), seed in any::<u64>()) {
        let mut stream = Stream::named(seed, "input");
        let mut original = console(kind, seed);
        let mut fresh = original.clone();
        for _ in 0..1 + stream.below(8) {
            let mode = if stream.below(2) == 0 { RenderMode::Full } else { RenderMode::CollisionsOnly };
            original.run_frame(&input(&mut stream), mode);
        }
        let bytes = postcard::to_allocvec(&original.snapshot()).expect("a snapshot can be written");
        let snapshot: Snapshot = postcard::from_bytes(&bytes).expect("and read");
        fresh.restore(&snapshot).expect("the kinds agree");
        for _ in 0..8 {
            let input = input(&mut stream);
            prop_assert_eq!(
                fresh.run_frame(&input, RenderMode::Full),
                original.run_frame(&input, RenderMode::Full)
            );
            prop_assert_eq!(fresh.ram(), original.ram());
            prop_assert!(fresh.screen() == original.screen());
        }
        prop_assert_eq!(fresh.snapshot(), original.snapshot());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// As the fuzz target: a few bytes, repeated, are the program.
    #[test]
    fn any_few_bytes_repeated_run_as_a_program(
        kind in kinds(), inputs in any::<[u8; 8]>(), program in prop::collection::vec(any::<u8>(), 1..64),
    ) {
        let program: Vec<u8> = program.iter().copied().cycle().take(kind.sizes().0).collect();
        let cartridge = Cartridge::new(kind, &program).expect("the size fits the kind");
        let mut console = Console::power_on(cartridge, ConsoleConfig::default());
        console.reset();
        for byte in inputs {
            let input = Input { fire: byte & 1 == 1, up: byte & 2 == 2, reset: byte & 4 == 4, ..Input::default() };
            let mode = if byte & 128 == 0 { RenderMode::Full } else { RenderMode::CollisionsOnly };
            console.run_frame(&input, mode);
        }
        console.render_deferred();
        prop_assert_eq!(console.screen().len(), 160 * 210);
    }

    #[test]
    fn a_damaged_snapshot_is_an_error_or_runs(
        kind in kinds(), seed in any::<u64>(), places in prop::collection::vec((any::<u32>(), any::<u8>()), 1..6),
    ) {
        let mut original = console(kind, seed);
        let mut stream = Stream::named(seed, "input");
        for mode in [RenderMode::Full, RenderMode::CollisionsOnly, RenderMode::CollisionsOnly] {
            original.run_frame(&input(&mut stream), mode);
        }
        let mut bytes = postcard::to_allocvec(&original.snapshot()).expect("a snapshot can be written");
        for (place, byte) in places {
            // Most of a snapshot is pixels and generator state; the chips come first.
            let end = if place & 1 == 0 { bytes.len().min(900) } else { bytes.len() };
            let at = (place >> 1) as usize % end;
            bytes[at] ^= byte;
        }
        let Ok(snapshot) = postcard::from_bytes::<Snapshot>(&bytes) else { return Ok(()) };
        let before = original.snapshot();
        if original.restore(&snapshot).is_err() {
            prop_assert!(original.snapshot() == before, "a failed restore changes nothing");
            return Ok(());
        }
        original.render_deferred();
        for frame in 0..4 {
            let mode = if frame % 2 == 0 { RenderMode::CollisionsOnly } else { RenderMode::Full };
            original.run_frame(&input(&mut stream), mode);
            original.render_deferred();
        }
        original.reset();
        original.run_frame(&Input::default(), RenderMode::Full);
    }
}

#[test]
fn a_program_that_never_writes_the_tia_is_interrupted_after_25_000_instructions() {
    // JMP $F000, three cycles each.
    let mut program = vec![0xea; 4096];
    program[..3].copy_from_slice(&[0x4c, 0x00, 0xf0]);
    program[0xffc..0xffe].copy_from_slice(&[0x00, 0xf0]);
    let cartridge = Cartridge::new(CartridgeKind::K4, &program).expect("the size fits");
    let mut console = Console::power_on(cartridge, ConsoleConfig::default());
    console.reset();
    let report = console.run_frame(&Input::default(), RenderMode::Full);
    assert!(report.partial);
    assert_eq!(report.lines, 3 * 25_000 / 76);
}

#[test]
fn a_snapshot_of_another_kind_of_cartridge_is_an_error() {
    let mut four = console(CartridgeKind::K4, 1);
    let eight = console(CartridgeKind::F8, 1);
    let error = four.restore(&eight.snapshot()).expect_err("the kinds differ");
    assert_eq!(
        error.to_string(),
        "the snapshot is of a F8 cartridge, this console holds a 4K one; restore it with its own game"
    );
}

#[test]
fn ram_after_power_on_is_always_the_same() {
    let console = console(CartridgeKind::K4, 1);
    assert_eq!(console.ram()[..8], [0xb8, 0x96, 0xc0, 0x49, 0xcb, 0x55, 0xc8, 0x7f]);
}
