//! Synthetic run folders, written with the same writer as real runs. Shared by tests and benches.

use sane_record::{
    EpisodeEnd, EpisodeFinished, EvaluationFinished, Event, IntervalFinished, JsonlFile, ModuleHealth, RunFinished,
    RunStarted, SCHEMA_VERSION, Shares, SigmaRange, StopReason, Timing,
};
use std::fs;
use std::path::{Path, PathBuf};

/// A run with a synthetic learning curve.
#[derive(Debug, Clone)]
pub struct SyntheticRun {
    pub world: String,
    pub agent: String,
    pub seed: u64,
    pub budget: u64,
    /// Interactions of its last record.
    pub reached: u64,
    pub interval: u64,
    pub episode_length: u64,
    /// Return of its first and of its last episodes.
    pub returns: (f64, f64),
    /// Scores of its evaluations without and with noise, once it is finished.
    pub scores: (Option<f64>, Option<f64>),
    /// Further lines of its `config.toml`.
    pub settings: String,
    pub dead_module: bool,
    /// Share of states in which the module is off.
    pub dead_states: f64,
    /// Changes its records before they are written, for values that a test needs to know.
    pub of_interval: fn(&mut IntervalFinished),
    pub of_episode: fn(&mut EpisodeFinished),
}

impl SyntheticRun {
    /// A short finished run.
    pub fn small(world: &str, agent: &str, seed: u64, score: f64) -> Self {
        Self {
            world: world.into(),
            agent: agent.into(),
            seed,
            budget: 20_000,
            reached: 20_000,
            interval: 1_000,
            episode_length: 250,
            returns: (score / 10.0, score),
            scores: (Some(score), (agent != "eps-greedy").then_some(score * 1.1)),
            settings: String::new(),
            dead_module: false,
            dead_states: 0.1,
            of_interval: |_| (),
            of_episode: |_| (),
        }
    }

    /// Writes its folder below `root` and returns it.
    pub fn write(&self, root: &Path) -> PathBuf {
        let folder = root.join(&self.world).join(&self.agent).join(format!("seed-{}", self.seed));
        self.write_to(&folder);
        folder
    }

    pub fn write_to(&self, folder: &Path) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("config.toml"), self.config()).unwrap();
        self.write_events(&folder.join("events.jsonl"));
        self.write_timings(&folder.join("timings.jsonl"));
        if self.reached == self.budget {
            self.write_evaluations(&folder.join("evaluations.jsonl"));
        }
    }

    fn config(&self) -> String {
        let exploration = match self.agent.as_str() {
            "eps-greedy" => "kind = \"eps-greedy\"\n[learner.exploration.epsilon]\nfirst = 1.0\nlast = 0.1\n",
            "noisynet" => "kind = \"noisy-net\"\nsigma_0 = 0.5\n",
            "sane-constant-elbo" => "kind = \"sane-constant-elbo\"\nq_noise = 0.3\n",
            _ => "kind = \"sane\"\n[learner.exploration.module]\nhidden = [256]\nsigma = \"linear\"\n",
        };
        format!(
            "agent = \"{}\"\nseed = {}\n\n[world]\nname = \"{}\"\nprofile = \
             \"paper\"\n\n[training]\ntotal_interactions = {}\n\
             batch_size = 32\n\n[record]\ninterval = {}\n\n[learner]\ngamma = \
             0.99\n{}\n[learner.exploration]\n{exploration}",
            self.agent, self.seed, self.world, self.budget, self.interval, self.settings
        )
    }

    fn write_events(&self, path: &Path) {
        let mut file = JsonlFile::resume(path, 0).unwrap();
        let has_sigma = self.agent.contains("sane");
        file.write(&Event::RunStarted(RunStarted {
            schema_version: SCHEMA_VERSION,
            world: self.world.clone(),
            agent: self.agent.clone(),
            seed: self.seed,
            actions: ["noop", "fire", "up", "right"].map(str::to_owned).to_vec(),
            not_bit_exact: None,
            parameters: 1_687_206,
        }))
        .unwrap();
        let mut episode = 0;
        let mut next_episode = self.episode_length;
        let mut now = 0;
        let epsilon = (self.agent == "eps-greedy").then_some(0.1);
        while now < self.reached {
            let next_interval = (now / self.interval + 1) * self.interval;
            now = next_episode.min(next_interval).min(self.reached);
            let mean = self.return_at(now);
            let sigma = has_sigma.then(|| self.sigma_at(now));
            let exploration = Some(self.exploration_at(now));
            if now == next_episode {
                episode += 1;
                next_episode += self.episode_length;
                let mut finished = EpisodeFinished {
                    interactions: now,
                    episode,
                    return_raw: (mean + self.wobble(now, 3)).round(),
                    length_interactions: self.episode_length,
                    length_frames: 4 * self.episode_length,
                    ending: EpisodeEnd::GameOver,
                    bad: None,
                    return_mean_last_100: mean,
                    epsilon,
                    sigma,
                    effective_exploration_share: exploration,
                };
                (self.of_episode)(&mut finished);
                file.write(&Event::EpisodeFinished(finished)).unwrap();
            }
            if now == next_interval {
                let mut finished = IntervalFinished {
                    interactions: now,
                    frames: 4 * now,
                    episodes: episode,
                    train_steps: now / 4,
                    replay_transitions: now.min(1_000_000),
                    return_mean_last_100: (0 < episode).then_some(mean),
                    epsilon,
                    sigma,
                    effective_exploration_share: exploration,
                    changed_action_share: exploration,
                    by_risk: None,
                    lives_lost: None,
                    loss_mean: Some(0.01234 + self.wobble(now, 5).abs() / 1e4),
                    q_mean: Some(2.25),
                    target_mean: Some(2.375),
                    gradient_norm_mean: Some(0.5625),
                    module: sigma.map(|sigma| self.module(sigma)),
                    bound: None,
                };
                (self.of_interval)(&mut finished);
                file.write(&Event::IntervalFinished(finished)).unwrap();
            }
        }
        if self.reached == self.budget {
            file.write(&Event::RunFinished(RunFinished {
                interactions: now,
                frames: 4 * now,
                episodes: episode,
                train_steps: now / 4,
                return_mean_last_100: (0 < episode).then(|| self.return_at(now)),
                digest: None,
            }))
            .unwrap();
        }
        file.flush().unwrap();
    }

    fn write_timings(&self, path: &Path) {
        let mut file = JsonlFile::resume(path, 0).unwrap();
        let version = "0.1.0".to_owned();
        file.write(&Timing::ProcessStarted {
            unix_seconds: 1_790_000_000,
            from_interactions: 0,
            threads: 2,
            version,
            kernel: "portable".into(),
        })
        .unwrap();
        file.write(&Timing::Machine {
            processor: "Example processor".into(),
            logical_cores: 2,
            memory_bytes: 8 << 30,
            system: "linux x86_64".into(),
        })
        .unwrap();
        for interactions in (self.interval..=self.reached).step_by(self.interval as usize) {
            let share = Shares { train_step: 0.75, emulator: 0.25, ..Shares::default() };
            let resident_bytes = 1 << 30;
            file.write(&Timing::Speed { interactions, interactions_per_second: 500.0, resident_bytes, share }).unwrap();
        }
        let reason = if self.reached == self.budget { StopReason::Finished } else { StopReason::Asked };
        file.write(&Timing::ProcessStopped { unix_seconds: 1_790_050_000, interactions: self.reached, reason })
            .unwrap();
        file.flush().unwrap();
    }

    fn write_evaluations(&self, path: &Path) {
        let mut file = JsonlFile::resume(path, 0).unwrap();
        for (noise, score) in [("off", self.scores.0), ("on", self.scores.1)] {
            let Some(score) = score else { continue };
            file.write(&Event::EvaluationFinished(self.evaluation(noise, score))).unwrap();
        }
        file.flush().unwrap();
    }

    /// An evaluation of the finished run.
    pub fn evaluation(&self, noise: &str, score: f64) -> EvaluationFinished {
        EvaluationFinished {
            world: self.world.clone(),
            profile: "paper".into(),
            agent: self.agent.clone(),
            seed: self.seed,
            trained_interactions: self.budget,
            noise: noise.into(),
            start_seed: 1,
            interactions: 500_000,
            episodes: 2,
            return_mean: score,
            return_std: 1.0,
            return_median: score,
            return_mean_interval_95: [score - 1.0, score + 1.0],
            human_normalised: None,
            effective_exploration_share: None,
            sigma: None,
            true_risk_mean: None,
            bad_episodes: None,
            cut_episodes: 0,
            partial: false,
            traces: None,
            returns: vec![score - 1.0, score + 1.0],
            lengths_interactions: vec![250_000, 250_000],
        }
    }

    fn return_at(&self, interactions: u64) -> f64 {
        let (first, last) = self.returns;
        let share = interactions as f64 / self.budget as f64;
        let learnt = (share * 5.0 / (1.0 + share * 4.0)).min(1.0);
        first + (last - first) * learnt + self.wobble(interactions, 1) * (last - first).abs() / 25.0
    }

    fn sigma_at(&self, interactions: u64) -> SigmaRange {
        let share = interactions as f64 / self.budget as f64;
        let mean_abs = 0.05 * (-6.0 * share).exp() + 7e-4 * (1.5 + self.wobble(interactions, 2) / 2.0);
        SigmaRange { mean_abs, min_abs: mean_abs / 30.0, max_abs: mean_abs * 4.0 }
    }

    fn exploration_at(&self, interactions: u64) -> f64 {
        let share = interactions as f64 / self.budget as f64;
        let floor = match self.agent.as_str() {
            "eps-greedy" => 0.1,
            "noisynet" => 0.25,
            _ => 0.03,
        };
        (floor + 0.7 * (-9.0 * share).exp() + self.wobble(interactions, 4) * 0.01).clamp(0.0, 1.0)
    }

    fn module(&self, sigma: SigmaRange) -> ModuleHealth {
        ModuleHealth {
            sigma_mean_abs: sigma.mean_abs,
            sigma_min_abs: sigma.min_abs,
            sigma_max_abs: sigma.max_abs,
            sigma_spread_abs: if self.dead_module { 0.0 } else { sigma.mean_abs / 3.0 },
            sigma_negative_share: 0.125,
            live_units_share: if self.dead_module { 0.0 } else { 0.75 },
            dead_states_share: Some(if self.dead_module { 1.0 } else { self.dead_states }),
        }
    }

    /// A slow oscillation between −1 and 1 by exact arithmetic, so that every machine writes the same bytes.
    fn wobble(&self, interactions: u64, of: u64) -> f64 {
        let name: u64 = self.world.bytes().chain(self.agent.bytes()).map(u64::from).sum();
        let phase = (interactions / (self.budget / 50).max(1))
            .wrapping_mul(0x9e37_79b9)
            .wrapping_add(name * 31 + self.seed * 7 + of);
        let mixed = phase.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 40;
        mixed as f64 / f64::from(1 << 23) - 1.0
    }
}
