//! How much memory a run will need, before it is started: a full replay, judging by a short random play, and its learner.

use crate::LabError;
use crate::bench::play_randomly;
use crate::config::RunConfig;
use crate::run::Run;
use crate::world::WorldSource;
use sane_env::Stream;
use sane_replay::MemoryEstimate;

/// Interactions of the random play.
const PLAYED: u64 = 500;

/// Frames of a trained player compress less than those of a random one; a quarter more covers the games measured.
const RESERVE: f64 = 1.25;

/// The program itself, its threads and files.
const PROGRAM_BYTES: u64 = 64 << 20;

/// Bytes that a run with this configuration will have resident at its end.
pub fn memory_need(config: &RunConfig, source: &WorldSource) -> Result<u64, LabError> {
    let mut run = Run::new(config, source)?;
    play_randomly(&mut run, PLAYED, &mut Stream::named(0, "memory need"), &mut || ())?;
    let kept = (config.replay.capacity as u64).min(config.training.total_interactions.0);
    let most = MemoryEstimate::new(kept as usize, run.spec()).incompressible_bytes;
    let per_transition = run.replay.memory_bytes() as f64 / run.replay.len() as f64;
    let replay = ((RESERVE * per_transition * kept as f64) as u64).min(most);
    let learner: u64 = run.parts().0.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    // Twice the learner: gradients and buffers of a train step, or a checkpoint being written.
    Ok(replay + 2 * learner + PROGRAM_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn a_larger_replay_needs_more_memory_but_not_more_than_the_run_fills() {
        let source = crate::world::tests::source("minatar/breakout").unwrap();
        let need = |capacity: usize, total: u64| {
            let mut config = Preset::Minatar.config("minatar/breakout", "sane").unwrap();
            config.replay.capacity = capacity;
            config.training.total_interactions.0 = total;
            memory_need(&config, &source).unwrap()
        };
        assert!(need(10_000, 1_000_000) < need(100_000, 1_000_000));
        assert_eq!(need(50_000, 20_000), need(100_000, 20_000));
    }
}
