//! `sane config`: the settings of a run, before it is started.

use crate::args::count;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use clap::Subcommand;
use sane_lab::{
    ConfigError, Layers, Preset, Resolved, RunConfig, SettingOrigin, differences, flatten_table, keys, read_config,
    resolve, to_toml,
};
use sane_record::RunOrigin;
use serde_json::json;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Show the settings of a run: resolved, compared, explained
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane config show --preset quick                         # every setting, and what gave it its value\n  \
    sane config show minatar/asterix --agent q-sane         # as `sane train` would resolve it\n  \
    sane config show runs/boxing/sane/seed-1                # those of a run\n  \
    sane config diff paper quick                            # what a preset changes\n  \
    sane config diff runs/boxing/sane/seed-1 runs/boxing/q-sane/seed-1   # in what two runs differ\n  \
    sane config keys                                        # what each key means")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Print the resolved configuration as TOML, with the origin of each value: preset, world, file, --set or another flag
    Show {
        /// The world, or the folder of a run
        #[arg(default_value = "boxing")]
        game: String,
        #[command(flatten)]
        settings: Settings,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the keys in which two runs or two presets differ
    Diff {
        /// The first: a run folder or a preset
        first: String,
        /// The second: a run folder or a preset
        second: String,
        /// The world, for presets
        #[arg(long, default_value = "boxing")]
        game: String,
        /// The agent, for presets
        #[arg(long, default_value = "eps-greedy")]
        agent: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
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
    /// Length of the run in interactions (decisions): 200000, 1_000_000, 1e6, 200k, 25M
    #[arg(long, value_name = "N", value_parser = count)]
    pub steps: Option<u64>,
    #[arg(long, value_name = "NAME", help = format!("Starting point: {} [default: the preset made for the world]", preset_names()))]
    pub preset: Option<String>,
    /// TOML file with settings that replace the preset's
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Replace one setting, e.g. --set learner.gamma=0.98 (`sane config keys` lists them)
    #[arg(long, value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// The settings are those of a suite file, which starts this process
    #[arg(long, hide = true)]
    pub from_suite: bool,
}

fn preset_names() -> String {
    Preset::ALL.map(|(_, name, _)| name).join(", ")
}

impl Settings {
    /// The configuration these settings give for a world; `agent` where neither they nor the file name one.
    pub fn resolve(&self, game: &str, agent: Option<&str>) -> Result<Resolved, Failure> {
        let origin = |origin| if self.from_suite { SettingOrigin::Suite } else { origin };
        let mut layers = Layers::default();
        if let Some(file) = &self.config {
            layers.file(file).map_err(Failure::usage)?;
        }
        for text in &self.set {
            layers.assignment_from(origin(SettingOrigin::Set), text).map_err(Failure::usage)?;
        }
        let flags = [
            ("--agent", self.agent.as_ref().map(|agent| format!("agent={agent}"))),
            ("--seed", self.seed.map(|seed| format!("seed={seed}"))),
            ("--steps", self.steps.map(|steps| format!("training.total_interactions={steps}"))),
            ("world", Some(format!("world.name={game}"))),
        ];
        for (flag, text) in flags.into_iter().filter_map(|(flag, text)| Some((flag, text?))) {
            layers.assignment_from(origin(SettingOrigin::Flag(flag)), &text).map_err(Failure::usage)?;
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
        Action::Show { game, settings, json } => {
            let shown = match is_run(&game) {
                true => Shown::of_run(Path::new(&game))?,
                false => Shown::of(&settings.resolve(&game, Some("sane"))?),
            };
            output.result(if json { shown.json()? } else { shown.toml() });
        }
        Action::Diff { first, second, game, agent, json } => {
            let config = |name: &str| side(name, &game, &agent);
            let differences = differences(&config(&first)?, &config(&second)?);
            if json {
                let pairs =
                    differences.iter().map(|(key, (one, other))| (key, json!({ "first": one, "second": other })));
                let value =
                    json!({ "first": first, "second": second, "differences": pairs.collect::<BTreeMap<_, _>>() });
                output.result(serde_json::to_string_pretty(&value)?);
            } else {
                if differences.is_empty() {
                    output.note(format_args!("{first} and {second} have the same settings"));
                }
                for (key, (one, other)) in differences {
                    output.result(format_args!("{key:<40} {one:>14} → {other}"));
                }
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

/// Whether the name is that of a run folder and not of a world or a preset.
fn is_run(name: &str) -> bool {
    Path::new(name).join("config.toml").exists()
}

/// One side of a comparison: a run folder or a preset.
fn side(name: &str, game: &str, agent: &str) -> Result<RunConfig, Failure> {
    if is_run(name) {
        return Ok(read_config(Path::new(name))?);
    }
    let of_preset = |error: ConfigError| match Path::new(name).is_dir() || name.contains('/') {
        true => Failure::Usage(format!("{name} is neither a run folder (it has no config.toml) nor a preset")),
        false => Failure::usage(error),
    };
    let preset = Preset::named(name).map_err(of_preset)?;
    preset.config(game, agent).map_err(Failure::usage)
}

/// A configuration and the origin of each of its values, to be printed.
struct Shown {
    config: RunConfig,
    preset: Option<String>,
    origins: BTreeMap<String, String>,
}

impl Shown {
    fn of(resolved: &Resolved) -> Self {
        let origins = resolved.origins.iter().map(|(key, origin)| (key.clone(), origin.to_string())).collect();
        Self { config: resolved.config.clone(), preset: Some(resolved.preset.name().into()), origins }
    }

    /// Of a run, by what it recorded; nothing is known of the origins in runs of versions that did not record them.
    fn of_run(run: &Path) -> Result<Self, Failure> {
        let config = read_config(run)?;
        let Some(origin) = RunOrigin::read(run)? else {
            return Ok(Self { config, preset: None, origins: BTreeMap::new() });
        };
        let table: toml::Table = to_toml(&config).parse()?;
        let mut origins: BTreeMap<String, String> =
            flatten_table(&table).into_keys().map(|key| (key, "preset".to_owned())).collect();
        origins.extend(origin.chosen);
        origins.insert("world.name".into(), "world".into());
        for (key, flag) in [("agent", "--agent"), ("seed", "--seed")] {
            if origin.command.iter().any(|word| word.split('=').next() == Some(flag)) {
                origins.insert(key.into(), flag.into());
            }
        }
        Ok(Self { config, preset: Some(origin.preset), origins })
    }

    /// TOML that can be read back, with a comment behind each value.
    fn toml(&self) -> String {
        let mut text = self.preset.as_ref().map(|preset| format!("# preset: {preset}\n")).unwrap_or_default();
        let mut table = String::new();
        let plain = to_toml(&self.config);
        for line in plain.trim_end().lines() {
            if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
                table = format!("{}.", name.trim_matches(['[', ']']));
            }
            // Only a list of tables has an origin as a whole.
            let key = match line.split_once(" = ") {
                Some((key, _)) => format!("{table}{key}"),
                None => table.trim_end_matches('.').to_owned(),
            };
            let origin = self.origins.get(&key).filter(|_| !line.is_empty());
            match origin {
                Some(origin) => text.push_str(&format!("{line:<48} # {origin}\n")),
                None => text.push_str(&format!("{line}\n")),
            }
        }
        text.trim_end().to_owned()
    }

    fn json(&self) -> Result<String, Failure> {
        let value = json!({ "preset": self.preset, "config": self.config, "origins": self.origins });
        Ok(serde_json::to_string_pretty(&value)?)
    }
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
        let config = settings.resolve("minatar/breakout", None).unwrap().config;
        assert_eq!((config.seed, config.learner.gamma), (7, 0.5));
        assert_eq!((config.training.total_interactions, config.replay.capacity), (AgentSteps(100), 100_000));
    }

    #[test]
    fn an_agent_must_be_named_somewhere() {
        assert!(matches!(Settings::default().resolve("boxing", None), Err(Failure::Usage(_))));
    }
}
