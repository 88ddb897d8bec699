//! Snapshots are complete: restored into a freshly loaded game they continue bit for bit.

use crate::{game_and_rom, is_left_out};
use sane_arcade::{Ale, AleSettings, AleSnapshot, AtariEnv, AtariOptions, Game, Joystick, Profile};
use sane_env::{Action, Environment, SnapshotError, Stream};

/// Everything observable after an action.
fn act(ale: &mut Ale, choice: &mut Stream) -> (i32, i32, bool, u32, u32) {
    if ale.game_over() {
        ale.reset_game();
    }
    let actions = &ale.game().minimal_actions;
    let action: Joystick = actions[choice.below(actions.len() as u64) as usize];
    let reward = ale.act(action);
    let (ram, screen) = (sane_arcade::crc32(ale.ram()), sane_arcade::crc32(ale.screen()));
    (reward, ale.lives(), ale.game_over(), ram, screen)
}

fn check_round_trip(name: &str, frames_before: u32) {
    let (game, rom) = game_and_rom(name);
    let settings = AleSettings { seed: 5, repeat_action_probability: 0.25, ..AleSettings::default() };
    let mut original = Ale::load(game, &rom, settings.clone()).unwrap();
    original.reset_game();
    let mut choice = Stream::named(9, name);
    for _ in 0..frames_before {
        act(&mut original, &mut choice);
    }
    let bytes = postcard::to_allocvec(&original.snapshot()).unwrap();

    let mut fresh = Ale::load(game, &rom, settings).unwrap();
    let snapshot: AleSnapshot = postcard::from_bytes(&bytes).unwrap();
    fresh.restore(&snapshot).unwrap();
    let mut same_choice = choice.clone();
    assert_eq!((fresh.ram(), fresh.screen()), (original.ram(), original.screen()), "{name} right after restoring");
    for frame in 0..400 {
        let (expected, found) = (act(&mut original, &mut choice), act(&mut fresh, &mut same_choice));
        assert_eq!(found, expected, "{name}, {frame} frames after a snapshot at {frames_before}");
    }
}

#[test]
fn a_restored_game_continues_bit_for_bit_in_all_games_of_the_paper() {
    if is_left_out() {
        return;
    }
    Game::PAPER_GAMES.iter().for_each(|name| check_round_trip(name, 333));
}

/// After its reset Q*bert is in the middle of a frame that has not ended.
#[test]
fn qbert_continues_bit_for_bit_from_the_middle_of_a_frame() {
    if is_left_out() {
        return;
    }
    check_round_trip("qbert", 0);
}

#[test]
fn cartridges_with_ram_and_with_a_chip_continue_bit_for_bit() {
    if is_left_out() {
        return;
    }
    ["klax", "pitfall2", "montezuma_revenge", "robotank", "pong"].iter().for_each(|name| check_round_trip(name, 100));
}

#[test]
fn an_environment_and_its_fork_and_its_restored_twin_agree() {
    if is_left_out() {
        return;
    }
    for profile in Profile::ALL {
        let (game, rom) = game_and_rom("seaquest");
        let options = AtariOptions { profile, seed: 3, ..AtariOptions::default() };
        let mut original = AtariEnv::new(game, &rom, options).unwrap();
        let mut frames = [(); 3].map(|()| vec![0; original.spec().frame.bytes()]);
        original.reset(&mut Stream::named(1, "starts"), &mut frames[0]).unwrap();
        for i in 0..60 {
            original.step(Action(i % 5), &mut frames[0]).unwrap();
        }
        let mut fork = original.fork();
        let mut twin = AtariEnv::new(game, &rom, options).unwrap();
        twin.restore(&original.snapshot()).unwrap();
        assert_eq!(twin.picture(), original.picture());
        for i in 0..100 {
            let [a, b, c] = &mut frames;
            let action = Action(i * 7 % 5);
            let steps = [original.step(action, a), fork.step(action, b), twin.step(action, c)].map(Result::unwrap);
            assert!(steps[0] == steps[1] && steps[0] == steps[2], "{profile:?} step {i}: {steps:?}");
            assert!(frames[0] == frames[1] && frames[0] == frames[2], "{profile:?} step {i}: frames differ");
            if steps[0].ending.ends_episode() {
                break;
            }
        }
    }
}

#[test]
fn only_profiles_with_sticky_actions_have_chance_to_redraw() {
    if is_left_out() {
        return;
    }
    for (profile, has_chance) in [(Profile::Paper, false), (Profile::Machado, true)] {
        let (game, rom) = game_and_rom("seaquest");
        let mut world = AtariEnv::new(game, &rom, AtariOptions { profile, ..AtariOptions::default() }).unwrap();
        let mut frame = vec![0; world.spec().frame.bytes()];
        world.reset(&mut Stream::named(1, "starts"), &mut frame).unwrap();
        let mut future = |seed: u64| {
            let mut fork = world.fork();
            assert_eq!(fork.reseed(&mut Stream::named(seed, "chance")), has_chance);
            for i in 0..80 {
                fork.step(Action(i * 7 % 5), &mut frame).unwrap();
            }
            fork.picture()
        };
        assert_eq!(future(1), future(1));
        assert_eq!(future(1) != future(2), has_chance, "{profile:?}");
    }
}

#[test]
fn a_snapshot_of_another_game_or_a_cut_one_is_an_error_and_changes_nothing() {
    if is_left_out() {
        return;
    }
    let env = |name: &str| {
        let (game, rom) = game_and_rom(name);
        let mut env = AtariEnv::new(game, &rom, AtariOptions::default()).unwrap();
        env.reset(&mut Stream::named(1, "starts"), &mut vec![0; 84 * 84]).unwrap();
        env
    };
    let (mut boxing, bowling) = (env("boxing"), env("bowling"));
    let before = boxing.snapshot();
    assert!(matches!(boxing.restore(&bowling.snapshot()), Err(SnapshotError::OtherWorld { .. })));
    assert!(matches!(boxing.restore(&before[..before.len() / 2]), Err(SnapshotError::Unreadable { .. })));
    assert_eq!(boxing.snapshot(), before);
}
