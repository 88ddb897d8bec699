//! What a run is doing, judged from what its files and its lock show.

use crate::lock_holder::Holder;
use serde::Serialize;
use std::time::Duration;

/// What a run is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process works on it and writes.
    Running,
    /// It reached its number of interactions.
    Finished,
    /// It was asked to stop, or never began; the same command goes on.
    Stopped,
    /// Its process is gone without having said goodbye, or had to give up.
    Failed,
    /// No news for long, though nobody saw it end: a hanging process, or one on another machine.
    Stale,
}

/// What the last process that worked on a run said last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum LastWord {
    /// Nobody ever worked on it.
    #[default]
    None,
    /// It is at work.
    AtWork,
    /// It stopped in order.
    Goodbye,
    /// It had to give up.
    Fault,
}

/// What the judgement is made from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Whether its last event says that it has all its interactions.
    pub finished: bool,
    /// What the last process that worked on it said last.
    pub last_word: LastWord,
    /// Who holds its lock.
    pub holder: Holder,
    /// Time since anything was written.
    pub silence: Duration,
    /// Expected time from one record to the next, where it is known.
    pub period: Option<Duration>,
}

/// Records come irregularly; this many periods without one are a silence.
const PERIODS: u32 = 6;

/// Checkpoints of a large replay alone may take so long.
const SHORTEST_SILENCE: Duration = Duration::from_secs(120);

impl Evidence {
    /// The judgement.
    pub fn state(&self) -> RunState {
        let patience = self.period.map_or(SHORTEST_SILENCE, |period| SHORTEST_SILENCE.max(period * PERIODS));
        let is_silent = patience < self.silence;
        match self.holder {
            _ if self.finished => RunState::Finished,
            Holder::Here if is_silent => RunState::Stale,
            Holder::Here => RunState::Running,
            _ if matches!(self.last_word, LastWord::None | LastWord::Goodbye) => RunState::Stopped,
            _ if self.last_word == LastWord::Fault => RunState::Failed,
            Holder::Nobody => RunState::Failed,
            Holder::Unknown if is_silent => RunState::Stale,
            Holder::Unknown => RunState::Running,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORKING: Evidence = Evidence {
        finished: false,
        last_word: LastWord::AtWork,
        holder: Holder::Here,
        silence: Duration::from_secs(5),
        period: Some(Duration::from_secs(10)),
    };

    #[test]
    fn a_run_is_what_its_lock_and_its_last_words_say() {
        let long = Duration::from_secs(1_000);
        let cases = [
            (WORKING, RunState::Running),
            (Evidence { silence: long, ..WORKING }, RunState::Stale),
            (Evidence { silence: long, period: Some(Duration::from_secs(300)), ..WORKING }, RunState::Running),
            (Evidence { holder: Holder::Nobody, ..WORKING }, RunState::Failed),
            (Evidence { holder: Holder::Nobody, last_word: LastWord::Goodbye, ..WORKING }, RunState::Stopped),
            (Evidence { holder: Holder::Nobody, last_word: LastWord::None, ..WORKING }, RunState::Stopped),
            (Evidence { holder: Holder::Unknown, ..WORKING }, RunState::Running),
            (Evidence { holder: Holder::Unknown, last_word: LastWord::Fault, ..WORKING }, RunState::Failed),
            (Evidence { holder: Holder::Unknown, silence: long, ..WORKING }, RunState::Stale),
            (
                Evidence { holder: Holder::Nobody, finished: true, last_word: LastWord::Goodbye, ..WORKING },
                RunState::Finished,
            ),
            // It goes on after a stop: the goodbye is an old one, the lock is held.
            (Evidence { last_word: LastWord::Goodbye, ..WORKING }, RunState::Running),
        ];
        for (evidence, expected) in cases {
            assert_eq!(evidence.state(), expected, "{evidence:?}");
        }
    }
}
