//! `sane config`: the settings of a run, before it is started.

use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use clap::Subcommand;
use sane_lab::{Layers, Preset, RunConfig, differences, keys, resolve, to_toml};
use std::path::PathBuf;

/// Show the settings of a run: resolved, compared, explained
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane config show --preset quick                         # every setting\n  \
    sane config show minatar/asterix --agent q-sane         # as `sane train` would resolve it\n  \
    sane config diff paper quick                            # what a preset changes\n  \
    sane config keys                                        # what each key means")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the resolved configuration as TOML
    Show {
        /// The world
        #[arg(default_value = "boxing")]
        game: String,
        #[command(flatten)]
        settings: Settings,
    },
    /// Print the keys in which two presets differ
    Diff {
        /// The first preset
        first: String,
        /// The second preset
        second: String,
        /// The world
        #[arg(long, default_value = "boxing")]
        game: String,
        /// The agent
        #[arg(long, default_value = "eps-greedy")]
        agent: String,
    },
    /// Print every key and what it means, and every preset
    Keys,
}

/// The settings of a run as given on the command line: a preset, then a file, then single keys.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct Settings {
    /// The agent: eps-greedy, noisynet, sane, q-sane or a variant (`sane agents` lists them)
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Seed of all random streams
    #[arg(long, value_name = "S")]
    pub seed: Option<u64>,
    /// Length of the run in interactions (decisions)
    #[arg(long, value_name = "N")]
    pub steps: Option<u64>,
    #[arg(long, value_name = "NAME", help = format!("Starting point: {} [default: the preset made for the world]", preset_names()))]
    pub preset: Option<String>,
    /// TOML file with settings that replace the preset's
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Replace one setting, e.g. --set learner.gamma=0.98 (`sane config keys` lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

fn preset_names() -> String {
    Preset::ALL.map(|(_, name, _)| name).join(", ")
}

impl Settings {
    /// The configuration these settings give for a world; `agent` where neither they nor the file name one.
    pub fn resolve(&self, game: &str, agent: Option<&str>) -> Result<RunConfig, Failure> {
        let mut layers = Layers::default();
        if let Some(file) = &self.config {
            layers.file(file).map_err(Failure::usage)?;
        }
        for text in &self.set {
            layers.assignment(text).map_err(Failure::usage)?;
        }
        let flags = [
            self.agent.as_ref().map(|agent| format!("agent={agent}")),
            self.seed.map(|seed| format!("seed={seed}")),
            self.steps.map(|steps| format!("training.total_interactions={steps}")),
            Some(format!("world.name={game}")),
        ];
        for text in flags.into_iter().flatten() {
            layers.assignment(&text).map_err(Failure::usage)?;
        }
        let agent = layers.get("agent").or_else(|| agent.map(str::to_owned)).ok_or_else(|| {
            Failure::Usage(
                "no agent given: --agent eps-greedy, noisynet, sane or q-sane; `sane agents` lists all of them".into(),
            )
        })?;
        let preset = match &self.preset {
            Some(name) => Preset::named(name).map_err(Failure::usage)?,
            None => Preset::default_for(game).map_err(Failure::usage)?,
        };
        resolve(preset, game, &agent, &layers).map_err(classify)
    }
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Show { game, settings } => {
            output.result(to_toml(&settings.resolve(&game, Some("sane"))?).trim_end());
        }
        Action::Diff { first, second, game, agent } => {
            let config = |name: &str| {
                Preset::named(name).and_then(|preset| preset.config(&game, &agent)).map_err(Failure::usage)
            };
            for (key, (one, other)) in differences(&config(&first)?, &config(&second)?) {
                output.result(format_args!("{key:<40} {one:>14} → {other}"));
            }
        }
        Action::Keys => {
            for key in keys() {
                output.result(format_args!("{:<42} {}", key.name, key.meaning));
            }
            output.result("\npresets:");
            for (_, name, meaning) in Preset::ALL {
                output.result(format_args!("{name:<12} {meaning}"));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::AgentSteps;

    #[test]
    fn a_flag_wins_over_a_single_key_and_both_over_the_preset() {
        let settings = Settings {
            agent: Some("sane".into()),
            seed: Some(7),
            steps: Some(100),
            set: vec!["seed=3".into(), "learner.gamma=0.5".into()],
            ..Settings::default()
        };
        let config = settings.resolve("minatar/breakout", None).unwrap();
        assert_eq!((config.seed, config.learner.gamma), (7, 0.5));
        assert_eq!((config.training.total_interactions, config.replay.capacity), (AgentSteps(100), 100_000));
    }

    #[test]
    fn an_agent_must_be_named_somewhere() {
        assert!(matches!(Settings::default().resolve("boxing", None), Err(Failure::Usage(_))));
    }
}
