//! A lost life that cuts the episode, together with a frame skip.

use crate::game_and_rom;
use sane_arcade::{Ale, Joystick, LifeLoss, Settings};
use sane_env::Stream;

/// Plays the same actions with a skip of four and frame by frame until the first life is gone.
fn check_cut(name: &str) {
    let (game, rom) = game_and_rom(name);
    let settings = Settings { frame_skip: 4, life_loss: LifeLoss::Truncates, ..Settings::default() };
    let mut skipping = Ale::load(game, &rom, settings).unwrap();
    let mut single = Ale::load(game, &rom, Settings::default()).unwrap();
    skipping.reset_game();
    single.reset_game();
    let lives = single.lives();
    let mut choice = Stream::named(4, name);
    while single.lives() == lives {
        let actions = &game.minimal_actions;
        let action: Joystick = actions[choice.below(actions.len() as u64) as usize];
        let reward = skipping.act(action);
        let mut rewards = 0;
        for _ in 0..4 {
            rewards += if single.lives() == lives { single.act(action) } else { 0 };
        }
        assert_eq!(reward, rewards, "{name}: the frames of a step behind the lost life give nothing");
        assert!(single.episode_frame_number() < 20_000, "{name}: random play loses a life before");
    }
    assert!(skipping.is_truncated() && !skipping.is_terminal() && skipping.game_over());
    assert_eq!(skipping.episode_frame_number(), single.episode_frame_number(), "{name}: cut inside the skip");
    assert_eq!((skipping.ram(), skipping.screen()), (single.ram(), single.screen()));
    let frames = skipping.frame_number();
    assert_eq!((skipping.act(Joystick::NOOP), skipping.frame_number()), (0, frames), "{name}: nothing after the cut");
    skipping.reset_game();
    assert!(!skipping.game_over());
}

#[test]
fn a_lost_life_cuts_the_episode_inside_a_skip_of_four() {
    ["asterix", "seaquest", "riverraid"].into_iter().for_each(check_cut);
}
