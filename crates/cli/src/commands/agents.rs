//! `sane agents`: the agents, what they are, and how many parameters they learn.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use sane_agent::{AgentConfig, AgentError, NETWORK_PRESETS, NetworkSpec, ParameterCounts, catalogue};
use sane_env::{EnvSpec, FrameSkip, FrameSpace, closest_name};
use sane_stats::number_format::grouped;
use serde::Serialize;

/// List the agents: what they are, how many parameters they learn
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sane agents                               # the agents on an Atari-sized network
  sane agents --preset minatar --actions 3  # on a 10×10 world with three actions
  sane agents --json | jq '.[].name'        # for scripts")]
pub struct Args {
    /// Network whose parameters are counted: nature (84×84×4), minatar (10×10×4) or mlp (4 numbers)
    #[arg(long, default_value = "nature")]
    preset: String,
    /// Number of actions of the world
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    actions: u16,
    /// Print JSON instead of a table
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Row {
    name: &'static str,
    what: &'static str,
    main_parameters: Option<usize>,
    exploration_parameters: Option<usize>,
    not_on_this_network: Option<String>,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let world = preset_world(&args.preset, usize::from(args.actions))?;
    let network = NetworkSpec::for_world(&world);
    let mut rows = Vec::new();
    for agent in catalogue() {
        let config =
            AgentConfig { exploration: agent.settings.clone(), network: network.clone(), ..AgentConfig::default() };
        let (counts, refusal) = match ParameterCounts::of(&config, &world) {
            Ok(counts) => (Some(counts), None),
            Err(refusal @ AgentError::ModuleTooLarge { .. }) => (None, Some(refusal.to_string())),
            Err(other) => return Err(other.into()),
        };
        rows.push(Row {
            name: agent.name,
            what: agent.summary,
            main_parameters: counts.map(|counts| counts.main),
            exploration_parameters: counts.map(|counts| counts.exploration),
            not_on_this_network: refusal,
        });
    }
    if args.json {
        output.result(serde_json::to_string_pretty(&rows)?);
    } else {
        print_table(&rows, &args, output);
    }
    Ok(())
}

/// A world of the shape a network preset is made for; also used where no real world is needed.
pub fn preset_world(preset: &str, actions: usize) -> Result<EnvSpec, Failure> {
    let (frame, history) = match preset {
        "nature" => (FrameSpace::gray(84, 84), 4),
        "minatar" => (FrameSpace::planes(4, 10, 10), 1),
        "mlp" => (FrameSpace::vector(4), 1),
        other => {
            let hint = match closest_name(other, NETWORK_PRESETS) {
                Some(name) => format!("did you mean {name}?"),
                None => format!("choose one of {}", NETWORK_PRESETS.join(", ")),
            };
            return Err(Failure::Usage(format!("unknown network preset {other}; {hint}")));
        }
    };
    let actions = (0..actions).map(|a| format!("action-{a}")).collect();
    Ok(EnvSpec { name: format!("preset/{preset}"), frame, history, actions, frame_skip: FrameSkip(1) })
}

/// The agent of this name, with the network made for the world.
pub fn named_agent(name: &str, world: &EnvSpec) -> Result<AgentConfig, Failure> {
    AgentConfig::named(name, world).ok_or_else(|| {
        let hint = match closest_name(name, catalogue().iter().map(|agent| agent.name)) {
            Some(closest) => format!("did you mean {closest}?"),
            None => "`sane agents` lists them".to_owned(),
        };
        Failure::Usage(format!("unknown agent {name}; {hint}"))
    })
}

fn print_table(rows: &[Row], args: &Args, output: &Output) {
    let count = |number: Option<usize>| number.map_or_else(|| "too large".to_owned(), |number| grouped(number as u64));
    output.note(format!("network {}, {} actions; every agent also takes double_q = true", args.preset, args.actions));
    output.result(format!("{:<22} {:>12} {:>13}  what it is", "agent", "main network", "+ exploration"));
    for row in rows {
        let (main, exploration) = (count(row.main_parameters), count(row.exploration_parameters));
        output.result(format!("{:<22} {main:>12} {exploration:>13}  {}", row.name, row.what));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_preset_is_wrong_usage_and_gets_a_suggestion() {
        match preset_world("natur", 6) {
            Err(Failure::Usage(text)) => assert!(text.ends_with("did you mean nature?"), "{text}"),
            other => panic!("{other:?}"),
        }
    }
}
