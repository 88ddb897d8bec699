//! Snapshots of worlds and of the console. What is restored is played on: a state that no world can reach must have been
//! refused.

use sane_arcade::{AtariEnv, AtariOptions, Game};
use sane_env::{Action, Environment, Stream};
use sane_vcs::{Cartridge, CartridgeKind, Console, ConsoleConfig, Input, RenderMode, Snapshot};

const WORLDS: [&str; 11] = [
    "minatar/asterix",
    "minatar/breakout",
    "minatar/freeway",
    "minatar/seaquest",
    "minatar/space_invaders",
    "minatar/seaquest:limit=20",
    "deep-sea/10",
    "deep-sea/4",
    "risky-road",
    "risky-road/treasure",
    "risky-road/shift",
];

/// Interactions after a restoration.
const PLAYED: usize = 60;

/// Bytes of the checksum at the end of a snapshot.
const CHECKSUM: usize = 4;

fn world(number: u8) -> Box<dyn Environment> {
    sane_minigames::make(WORLDS[usize::from(number) % WORLDS.len()], 1).expect("a built-in world")
}

/// Three moments of each world: number of the world, snapshot without its checksum.
pub fn seeds() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for number in 0..WORLDS.len() as u8 {
        let mut world = world(number);
        let mut stream = Stream::named(u64::from(number), "play");
        for _ in 0..3 {
            let mut frame = vec![0; world.spec().frame.bytes()];
            world.reset(&mut stream, &mut frame).expect("a built-in world has no faults");
            play(&mut *world, 40, &mut stream);
            let snapshot = world.snapshot();
            seeds.push([&[number], &snapshot[..snapshot.len() - CHECKSUM]].concat());
        }
    }
    seeds
}

pub fn body(input: &[u8]) -> bool {
    let [number, state @ ..] = input else { return false };
    let mut world = world(*number);
    let signed = [state, &crc32fast::hash(state).to_le_bytes()].concat();
    if world.restore(&signed).is_err() {
        return false;
    }
    world.picture();
    play(&mut *world, PLAYED, &mut Stream::named(7, "play"));
    world.snapshot();
    true
}

fn play(world: &mut dyn Environment, interactions: usize, stream: &mut Stream) {
    let actions = world.spec().actions.len() as u64;
    let mut frame = vec![0; world.spec().frame.bytes()];
    for _ in 0..interactions {
        if let Some(truth) = world.ground_truth() {
            let _ = (truth.true_risk(), truth.bad_episode());
        }
        let step = world.step(Action(stream.below(actions) as u16), &mut frame);
        // A fault is a state whose episode was over when it was saved.
        if step.is_err() || step.is_ok_and(|step| step.ending.ends_episode()) {
            world.reset(stream, &mut frame).expect("a built-in world can always be reset");
        }
    }
}

/// A program that writes to the picture for ever, on every page.
fn program(kind: CartridgeKind) -> Vec<u8> {
    let code = [0xe6, 0x80, 0xa5, 0x80, 0x85, 0x02, 0x85, 0x1b, 0x4c, 0x00, 0xf0];
    code.into_iter().cycle().take(kind.sizes().0).collect()
}

fn console(kind: CartridgeKind) -> Console {
    let cartridge = Cartridge::new(kind, &program(kind)).expect("the size fits the kind");
    let mut console = Console::power_on(cartridge, ConsoleConfig::default());
    console.reset();
    console
}

/// Games of different cartridges and controllers; the program in them is not theirs, which no snapshot shows.
const GAMES: [&str; 3] = ["boxing", "qbert", "breakout"];

fn atari(number: u8) -> AtariEnv {
    let name = GAMES[usize::from(number) % GAMES.len()];
    let game = Game::all().iter().find(|game| game.name == name).expect("a known game");
    AtariEnv::new(game, &program(game.cartridge), AtariOptions::default()).expect("the size fits the game")
}

/// The first byte is the number of the game.
pub fn atari_seeds() -> Vec<Vec<u8>> {
    let of_game = |number: u8| {
        let mut world = atari(number);
        let mut frame = vec![0; world.spec().frame.bytes()];
        world.reset(&mut Stream::named(1, "starts"), &mut frame).expect("a built-in world has no faults");
        [&[number], &world.snapshot()[..]].concat()
    };
    (0..GAMES.len() as u8).map(of_game).collect()
}

pub fn atari_body(input: &[u8]) -> bool {
    let [number, state @ ..] = input else { return false };
    let mut world = atari(*number);
    if world.restore(state).is_err() {
        return false;
    }
    world.picture();
    play(&mut world, 4, &mut Stream::named(7, "play"));
    world.snapshot();
    true
}

/// The first byte is the kind of cartridge.
pub fn console_seeds() -> Vec<Vec<u8>> {
    let of_kind = |(number, kind): (usize, CartridgeKind)| {
        let mut console = console(kind);
        for _ in 0..3 {
            console.run_frame(&Input::default(), RenderMode::CollisionsOnly);
        }
        let mut bytes = vec![number as u8];
        bytes.extend(postcard::to_stdvec(&console.snapshot()).expect("plain data"));
        bytes
    };
    CartridgeKind::ALL.into_iter().enumerate().map(of_kind).collect()
}

pub fn console_body(input: &[u8]) -> bool {
    let [kind, state @ ..] = input else { return false };
    let Ok(snapshot) = postcard::from_bytes::<Snapshot>(state) else { return false };
    let mut console = console(CartridgeKind::ALL[usize::from(*kind) % CartridgeKind::ALL.len()]);
    if console.restore(&snapshot).is_err() {
        return false;
    }
    for mode in [RenderMode::CollisionsOnly, RenderMode::Full] {
        console.run_frame(&Input { fire: true, up: true, ..Input::default() }, mode);
    }
    console.render_deferred();
    true
}
