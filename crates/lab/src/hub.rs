//! A trained policy as a folder for a model hub: what its model card says, and the episode its film shows.

use crate::LabError;
use crate::config::to_toml;
use crate::evaluate::play_episode;
use crate::trained::TrainedAgent;
use crate::world::{WorldKind, WorldSource};
use sane_agent::ActMode;
use sane_env::Picture;
use sane_record::{EvaluationFinished, Event, read_jsonl};
use std::fmt::Write;
use std::path::Path;

/// The files of a hub's folder beside the card.
pub const POLICY_FILE: &str = "policy.safetensors";
pub const CONFIG_FILE: &str = "config.toml";
/// The film: the name under which hubs look for one, or a picture that moves where no MP4 can be written.
pub const MP4_FILE: &str = "replay.mp4";
pub const GIF_FILE: &str = "replay.gif";

/// The evaluations of this checkpoint that the run folder holds.
pub fn evaluations_of(folder: &Path, trained: &TrainedAgent) -> Result<Vec<EvaluationFinished>, LabError> {
    let path = folder.join("evaluations.jsonl");
    if !path.exists() {
        return Ok(Vec::new());
    }
    let events: Vec<Event> = read_jsonl(&path)?.records;
    let of_this = |event| match event {
        Event::EvaluationFinished(result) if result.trained_interactions == trained.interactions.0 => Some(result),
        _ => None,
    };
    Ok(events.into_iter().filter_map(of_this).collect())
}

/// The pictures of one episode without noise, at most `most` of them.
pub fn episode_pictures(trained: &TrainedAgent, source: &WorldSource, most: usize) -> Result<Vec<Picture>, LabError> {
    let mut pictures = Vec::new();
    let mut policy = trained.learner.policy();
    play_episode(&mut policy, source, 0, 0, ActMode::Greedy, &mut |view, _| {
        pictures.push(view.world.picture());
        pictures.len() < most
    })?;
    Ok(pictures)
}

/// The model card: front matter that hubs read, the film of that name, the results, and how to reproduce them.
pub fn model_card(trained: &TrainedAgent, evaluations: &[EvaluationFinished], film: &str) -> String {
    let (agent, world) = (&trained.config.agent, &trained.config.world.name);
    let steps = trained.interactions.0;
    let kind = WorldKind::of(world).map_or("gymnasium", WorldKind::label);
    let mut card = String::new();
    let mut line = |text: &str| writeln!(card, "{text}").expect("a string takes all text");
    line("---");
    line("library_name: sane-rl");
    line("tags:");
    for tag in ["reinforcement-learning", "deep-reinforcement-learning", "deep-q-learning", kind, agent, world] {
        line(&format!("- {tag:?}"));
    }
    if let Some(best) = evaluations.last() {
        line("model-index:");
        line(&format!("- name: {agent:?}"));
        line("  results:");
        line("  - task: {type: reinforcement-learning, name: reinforcement-learning}");
        line(&format!("    dataset: {{name: {world:?}, type: {world:?}}}"));
        line("    metrics:");
        line("    - type: mean_reward");
        line(&format!("      value: \"{:.2} +/- {:.2}\"", best.return_mean, best.return_std));
        line("      name: mean_reward");
        line("      verified: false");
    }
    line("---");
    line(&format!("\n# {agent} on {world}\n"));
    line(&format!(
        "A deep Q-network that explores by `{agent}`, trained by SANE for {steps} interactions with `{world}`"
    ));
    line(&format!("(profile `{}`, seed {}).\n", trained.config.world.profile.name(), trained.config.seed));
    line(&match film {
        MP4_FILE => format!("<video src=\"{film}\" controls autoplay loop muted></video>\n"),
        _ => format!("![one episode without noise]({film})\n"),
    });
    line("## Results\n");
    if evaluations.is_empty() {
        line("Not evaluated.\n");
    } else {
        line("| noise | episodes | mean return | 95 % interval | median | standard deviation |");
        line("|---|---|---|---|---|---|");
        for EvaluationFinished {
            noise,
            episodes,
            return_mean,
            return_std,
            return_median,
            return_mean_interval_95,
            ..
        } in evaluations
        {
            let [low, high] = return_mean_interval_95;
            line(&format!(
                "| {noise} | {episodes} | {return_mean:.2} | {low:.2} to {high:.2} | {return_median:.2} | {return_std:.2} |"
            ));
        }
        line("\nWhole episodes from seeded starts, raw rewards.\n");
    }
    line("## Use\n");
    line("```python");
    line("import sane_rl");
    line(&format!("policy = sane_rl.Policy.load({POLICY_FILE:?})"));
    line("decision = policy.act(observation, noise=False)   # action, Q-values, σ(s)");
    line("```\n");
    line("## Reproduce\n");
    line(&format!("`{CONFIG_FILE}` holds every setting. The same command gives the same bytes on any machine:\n"));
    line("```sh");
    line(&format!("sane train {world} --config {CONFIG_FILE} --out run"));
    for EvaluationFinished { noise, interactions, start_seed, .. } in evaluations {
        line(&format!("sane eval run --noise {noise} --interactions {interactions} --start-seed {start_seed}"));
    }
    line("```\n");
    line(&format!("<details><summary>Settings</summary>\n\n```toml\n{}```\n\n</details>", to_toml(&trained.config)));
    card
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use crate::{Evaluation, NoiseMode, evaluate};
    use sane_env::AgentSteps;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn a_card_names_world_agent_and_result_and_repeats_the_settings() {
        let config = Preset::RiskyRoad.config("risky-road", "sane").unwrap();
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let trained = TrainedAgent::untrained(&config, &source).unwrap();
        let without = model_card(&trained, &[], GIF_FILE);
        assert!(without.contains("Not evaluated") && !without.contains("model-index"), "{without}");
        let evaluation = Evaluation { noise: NoiseMode::Off, interactions: AgentSteps(50), start_seed: 3, threads: 1 };
        let stop = AtomicBool::new(false);
        let result = evaluate(&trained, &source, &evaluation, |_| (), &stop).unwrap().unwrap();
        let mean = format!("value: \"{:.2} +/- {:.2}\"", result.return_mean, result.return_std);
        let card = model_card(&trained, &[result], MP4_FILE);
        assert!(without.contains("](replay.gif)") && card.contains("<video src=\"replay.mp4\""), "{card}");
        for part in [&*mean, "# sane on risky-road", "--start-seed 3", "[learner]", "library_name: sane-rl"] {
            assert!(card.contains(part), "{part} is missing in:\n{card}");
        }
        let pictures = episode_pictures(&trained, &source, 7).unwrap();
        assert!(!pictures.is_empty() && pictures.len() <= 7);
    }
}
