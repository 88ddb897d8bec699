//! Atari games of ale-py through the bridge against our own arcade: the same starts and actions give the same frames,
//! rewards and endings, byte for byte.

use crate::fixture::Fixture;
use crate::packages::is_left_out;
use sane_arcade::{AtariEnv, AtariOptions, Game, Profile, Roms};
use sane_env::{Action, Environment, Stream};
use sane_gym::{GymOptions, GymSource};

fn check_equal(name: &str, id: &str, profile: Profile, decisions: usize) {
    let fixture = Fixture::new();
    let game = Game::named(name).unwrap();
    let rom = Roms::new(None).load(game, &mut |_| ()).expect("the ROM is found or fetched");
    let mut ours = AtariEnv::new(game, &rom, AtariOptions { profile, ..AtariOptions::default() }).unwrap();
    let options = GymOptions { profile, ..fixture.world(&format!("gym:ALE/{id}-v5")) };
    let mut theirs = GymSource::open(&options).unwrap().make(0).unwrap();
    let (our_spec, their_spec) = (ours.spec().clone(), theirs.spec().clone());
    assert_eq!((&our_spec.frame, &our_spec.actions, our_spec.history), (&their_spec.frame, &their_spec.actions, 4));
    let mut frames = [vec![0; our_spec.frame.bytes()], vec![0; our_spec.frame.bytes()]];
    let mut starts = [Stream::named(5, "starts"), Stream::named(5, "starts")];
    let mut actions = Stream::named(5, "actions");
    let mut episodes = 0;
    let mut over = true;
    for t in 0..decisions {
        if over {
            ours.reset(&mut starts[0], &mut frames[0]).unwrap();
            theirs.reset(&mut starts[1], &mut frames[1]).unwrap();
            episodes += 1;
            assert!(frames[0] == frames[1], "{name} {}: the start of episode {episodes} differs", profile.name());
        }
        let action = Action(actions.below(our_spec.actions.len() as u64) as u16);
        let steps = [ours.step(action, &mut frames[0]).unwrap(), theirs.step(action, &mut frames[1]).unwrap()];
        assert_eq!(steps[0], steps[1], "{name} {}: decision {t}", profile.name());
        assert!(frames[0] == frames[1], "{name} {}: the frame of decision {t} differs", profile.name());
        over = steps[0].ending.ends_episode();
    }
    assert!(1 < episodes, "{name}: no episode ended in {decisions} decisions");
}

#[test]
fn breakout_in_the_nature_profile_equals_our_own_arcade() {
    if is_left_out() {
        return;
    }
    check_equal("breakout", "Breakout", Profile::Nature, 600);
}

#[test]
fn seaquest_in_the_nature_profile_equals_our_own_arcade() {
    if is_left_out() {
        return;
    }
    check_equal("seaquest", "Seaquest", Profile::Nature, 900);
}

#[test]
fn pong_in_the_paper_profile_equals_our_own_arcade() {
    if is_left_out() {
        return;
    }
    check_equal("pong", "Pong", Profile::Paper, 1_200);
}

#[test]
fn own_observations_of_a_game_come_as_the_environment_has_them() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let mut options = fixture.world("gym:ALE/Breakout-v5");
    options.kwargs.insert("obs_type".into(), "ram".into());
    let source = GymSource::open(&options).unwrap();
    assert_eq!((source.spec().frame.channels, source.spec().frame.bytes(), source.spec().history), (128, 128, 1));
}
