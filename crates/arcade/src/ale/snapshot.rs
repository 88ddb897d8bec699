//! Everything of a game in progress but its ROM, to be taken and given back.

use super::{Ale, DIFFICULTY_AT_LOAD, Play};
use crate::action::Joystick;
use crate::game::Game;
use crate::rules::Tally;
use sane_vcs::{Snapshot, SnapshotMismatch};
use serde::{Deserialize, Serialize};

/// All of an [`Ale`] but the ROM: restored into any `Ale` of the same game it continues bit for bit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AleSnapshot {
    console: Snapshot,
    play: Play,
}

impl Ale {
    /// Everything but the ROM and the settings.
    pub fn snapshot(&self) -> AleSnapshot {
        AleSnapshot { console: self.console.snapshot(), play: self.play.clone() }
    }

    /// Takes a snapshot of the same game back; one of another cartridge or a damaged one is refused and changes nothing.
    pub fn restore(&mut self, snapshot: &AleSnapshot) -> Result<(), SnapshotMismatch> {
        if !snapshot.play.is_sound(self.game) {
            return Err(SnapshotMismatch::Damaged);
        }
        self.console.restore(&snapshot.console)?;
        self.play = snapshot.play.clone();
        Ok(())
    }
}

impl Play {
    /// Whether the game has what this claims, and no sum with its numbers goes wrong.
    fn is_sound(&self, game: &Game) -> bool {
        const BIGGEST: i32 = 1 << 28;
        let Tally { score, reward, lives, mode, memo, over: _ } = self.tally;
        let numbers = [score, reward, lives, mode, self.paddles[0], self.paddles[1]];
        game.modes.contains(&self.mode)
            && (self.difficulty == DIFFICULTY_AT_LOAD || game.difficulties.contains(&self.difficulty))
            && Joystick::from_id(self.held.id()).is_some()
            && numbers.iter().chain(&memo).all(|number| (-BIGGEST..BIGGEST).contains(number))
            && self.frames < 1 << 48
            && self.episode_frames < 1 << 48
    }
}
