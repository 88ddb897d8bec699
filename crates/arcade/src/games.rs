//! The rules of all 104 games, by kind. Measured with ale-py 0.12.1 as a black box: each rule predicts its reward, lives
//! and end from memory alone, frame after frame.
//!
//! A rule reads as: where the score stands, when the game is over, where the lives stand; then how a mode is chosen and
//! what is pressed before the player takes over.

mod adventures;
mod climbing;
mod mazes;
mod shooters;
mod shooters_in_space;
mod sports;
mod tables;

use crate::memory::Memory;
use crate::rules::Rules;

const KINDS: [&[Rules]; 7] = [
    adventures::GAMES,
    climbing::GAMES,
    mazes::GAMES,
    shooters::GAMES,
    shooters_in_space::GAMES,
    sports::GAMES,
    tables::GAMES,
];

/// The rules of the game with this name.
pub(crate) fn rules(name: &str) -> Option<&'static Rules> {
    KINDS.into_iter().flatten().find(|rules| rules.name == name)
}

/// How many games there are rules for.
#[cfg(test)]
pub(crate) fn count() -> usize {
    KINDS.into_iter().flatten().count()
}

/// The commonest sign of a mode: a byte that equals it.
fn shows<const ADDRESS: u8>(memory: Memory<'_>, mode: i32) -> bool {
    memory.at(ADDRESS) == mode
}
