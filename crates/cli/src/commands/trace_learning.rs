//! `sane trace-learning`: a few learn steps with all their inputs and results, for a check by another implementation.

use crate::commands::agents::{named_agent, preset_world};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::Context;
use safetensors::tensor::{Dtype, TensorView};
use sane_agent::{ActMode, AgentConfig, Contraction, Learner, NamedTensor, Policy};
use sane_env::{Action, AgentSteps, Element, EnvSpec, Stream};
use sane_lab::{Layers, Preset, RunConfig, WorldConfig};
use sane_replay::Batch;
use std::collections::HashMap;
use std::path::PathBuf;

/// Write a few learn steps with all their inputs and results, for a check with PyTorch
#[derive(Debug, clap::Args)]
#[command(after_help = "The file holds, with PyTorch's names and layouts:
  initial.online.*, initial.target.*, final.online.*
      parameters: conv1.weight [32,4,8,8], fc1.weight [512,3136], sigma1.*, …
  step{k}.states, .next_states        k = 0, 1, …
      u8 [batch, channels, height, width]
  step{k}.actions i64, .rewards f32, .dones f32
      [batch]; dones = 1: the target does not bootstrap
  step{k}.online.z_in1, .z_out1, .z_in2, .z_out2, and the same under .target.
      noise after z: [batch, width], or [width] where the batch shares it;
      z_in1 in the order of PyTorch's flatten (C, H, W)
  step{k}.q [batch, actions], .sigma [batch], .target_value [batch], .loss []
      and with a KL term .kl_sigma [], its part of the loss
      with K heads: q [batch, K·actions], target_value and weight [batch, K];
      with one head whose weights are not all 1: weight [batch]
  step{k}.memory.visits, .memory.true_risk [batch], and the same under .memory_next.
      what the agent remembers of the states, for agents that count or know a risk;
      for those that count or whose noise contracts .memory.transitions [1], all that were seen;
      visits as the online network sees them, and of s' as the target network does
  step{k}.langevin.*
      the normal numbers of a Langevin step, by the names of the parameters
The target network starts with different parameters, so that confusing the two networks would show. Batches are random; \
those whose gradient depends on rounding (a ReLU at its kink) are not used.
The metadata holds the agent's configuration as JSON.

Examples:
  sane trace-learning --agent sane --steps 10 --seed 1 --out trace.safetensors
  sane trace-learning --agent sane-elbo --set learner.exploration.q_noise_unit=share --out trace.safetensors
  python3 tools/verify_with_pytorch.py trace.safetensors")]
pub struct Args {
    /// Agent to trace (see `sane agents`)
    #[arg(long)]
    agent: String,
    /// Shape of the world: nature (84×84×4) or minatar (10×10×4)
    #[arg(long, default_value = "nature")]
    env_preset: String,
    /// Learn steps
    #[arg(long, default_value_t = 10)]
    steps: u32,
    /// Seed of parameters, batches and noise
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Transitions per batch
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..))]
    batch_size: u32,
    /// Actions of the world
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u16).range(1..))]
    actions: u16,
    /// One setting of the agent, by its key in a configuration; may be given several times
    #[arg(long, value_name = "learner.KEY=VALUE")]
    set: Vec<String>,
    /// File to write
    #[arg(long, value_name = "FILE.safetensors")]
    out: PathBuf,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let world = preset_world(&args.env_preset, usize::from(args.actions))?;
    let config = with_settings(named_agent(&args.agent, &world)?, &args)?;
    let mut learner = Learner::new(&config, &world, &mut Stream::named(args.seed, "init"))?;
    let other = Learner::new(&config, &world, &mut Stream::named(args.seed, "init of the target"))?;
    learner.import_target(&other.export())?;

    let mut file = TraceFile::default();
    file.add_all("initial.online.", learner.export());
    file.add_all("initial.target.", learner.export_target());
    let mut batches = Stream::named(args.seed, "batches");
    let mut noise = Stream::named(args.seed, "noise");
    let mut memories = Stream::named(args.seed, "memories");
    let mut batch = Batch::new(args.batch_size as usize, world.state_bytes());
    let mut transitions = 0.0;
    let progress = output.progress_bar(u64::from(args.steps), "learn steps");
    for k in 0..args.steps {
        fill_at_random(&mut batch, &world, &mut batches);
        let mut remembered = remember(&mut learner, &mut transitions, &batch, &mut memories)?;
        for _ in 1..MAX_TRIES {
            if is_clear_of_kinks(&learner, &batch, &noise, &mut batches)? {
                break;
            }
            fill_at_random(&mut batch, &world, &mut batches);
            remembered = remember(&mut learner, &mut transitions, &batch, &mut memories)?;
        }
        for (name, values) in &remembered {
            file.add_floats(format!("step{k}.{name}"), vec![values.len()], values);
        }
        let stats = learner.learn(&batch, &mut noise)?;
        file.add_batch(k, &batch, &world);
        file.add_all(&format!("step{k}."), learner.last_step());
        file.add_floats(format!("step{k}.loss"), Vec::new(), &[stats.loss]);
        if let Some(kl) = stats.kl {
            file.add_floats(format!("step{k}.kl_sigma"), Vec::new(), &[kl.sigma]);
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    file.add_all("final.online.", learner.export());

    let bytes = file.bytes(&args, &config, &world)?;
    std::fs::write(&args.out, &bytes).with_context(|| format!("cannot write {}", args.out.display()))?;
    output.result(format!(
        "{}: {} learn steps of {}, {} tensors, {:.1} MB",
        args.out.display(),
        args.steps,
        args.agent,
        file.tensors.len(),
        bytes.len() as f64 / 1e6
    ));
    Ok(())
}

/// The agent with the settings of the command line. They are those of a whole run, of which a trace has the learner alone; of its
/// world nothing is known, so that no agent is refused in it.
fn with_settings(agent: AgentConfig, args: &Args) -> Result<AgentConfig, Failure> {
    let mut layers = Layers::default();
    for text in &args.set {
        if !text.trim_start().starts_with("learner.") {
            return Err(Failure::Usage(format!(
                "--set {text}: a trace has no settings but the agent's, learner.KEY=VALUE"
            )));
        }
        layers.assignment(text).map_err(Failure::usage)?;
    }
    let run = Preset::RiskyRoad.config("risky-road", &args.agent).map_err(Failure::usage)?;
    let world = WorldConfig { name: "trace".into(), ..run.world };
    Ok(layers.apply(&RunConfig { learner: agent, world, ..run }).map_err(Failure::usage)?.learner)
}

/// Lets an agent that remembers states, or how many it has seen, meet those of the batch: it acts in some of them up to three times, and is told a risk
/// of each. Returns what it then remembers, by name; `transitions` are those that it has seen so far.
fn remember(
    learner: &mut Learner,
    transitions: &mut f32,
    batch: &Batch,
    stream: &mut Stream,
) -> anyhow::Result<Vec<(&'static str, Vec<f32>)>> {
    let bytes = batch.states.len() / batch.size();
    let states = || batch.states.chunks_exact(bytes);
    let next_states = || batch.next_states.chunks_exact(bytes);
    let mut remembered = Vec::new();
    if learner.config().exploration.reads_true_risk() {
        let mut tell = |state: &[u8]| {
            let risk = if stream.below(2) == 0 { 0.0 } else { 1.0 };
            learner.inform(state, risk);
            risk as f32
        };
        remembered.push(("memory.true_risk", states().map(&mut tell).collect()));
        remembered.push(("memory_next.true_risk", next_states().map(&mut tell).collect()));
    }
    let counts_visits = learner.policy().visits(&batch.states[..bytes]).is_some();
    let bound = learner.config().exploration.bound();
    if counts_visits || bound.is_some_and(|bound| bound.contraction == Contraction::Posterior) {
        for state in states() {
            (0..stream.below(4)).for_each(|_| {
                learner.act(state, ActMode::Explore { now: AgentSteps(0) }, stream);
                *transitions += 1.0;
            });
        }
        remembered.push(("memory.transitions", vec![*transitions]));
    }
    if counts_visits {
        // Counts can depend on features, which are the target network's for s'.
        let (mut online, mut target) = (learner.policy(), learner.policy());
        target.import(&learner.export_target())?;
        let count = |policy: &mut Policy, state: &[u8]| policy.visits(state).unwrap_or(0) as f32;
        remembered.push(("memory.visits", states().map(|state| count(&mut online, state)).collect()));
        remembered.push(("memory_next.visits", next_states().map(|state| count(&mut target, state)).collect()));
    }
    Ok(remembered)
}

/// A batch is drawn at most this often.
const MAX_TRIES: u32 = 100;

/// Whether the gradient of this batch stays the same when every parameter is perturbed by up to three millionths of itself.
///
/// At the kink of a ReLU the gradient jumps. Among half a million units of a batch one is often within rounding of its kink,
/// and two correct implementations then differ: one has the unit on, the other off. Such a batch cannot show whether both
/// compute the same, so it is not used.
fn is_clear_of_kinks(learner: &Learner, batch: &Batch, noise: &Stream, stream: &mut Stream) -> anyhow::Result<bool> {
    let mut moments = |shift: f64| -> anyhow::Result<Vec<NamedTensor>> {
        let mut copy = learner.clone();
        let mut state = copy.save_state();
        for parameter in &mut state.online {
            *parameter *= 1.0 + (shift * (2.0 * stream.uniform() - 1.0)) as f32;
        }
        copy.load_state(&state)?;
        copy.learn(batch, &mut noise.clone())?;
        let mut state = copy.save_state();
        state.online.clone_from(&state.first_moment);
        copy.load_state(&state)?;
        Ok(copy.export())
    };
    let exact = moments(0.0)?;
    for _ in 0..4 {
        for (moved, exact) in moments(3e-6)?.iter().zip(&exact) {
            let largest = exact.values.iter().fold(0.0_f32, |largest, v| largest.max(v.abs()));
            let differs = |(a, b): (&f32, &f32)| 3e-5 * largest < (a - b).abs();
            if moved.values.iter().zip(&exact.values).any(differs) {
                return Ok(false);
            }
        }
    }
    Ok(true)
}

fn fill_at_random(batch: &mut Batch, world: &EnvSpec, stream: &mut Stream) {
    fill_states(&mut batch.states, world, stream);
    fill_states(&mut batch.next_states, world, stream);
    for i in 0..batch.size() {
        batch.actions[i] = Action(stream.below(world.actions.len() as u64) as u16);
        batch.rewards[i] = stream.below(3) as f32 - 1.0;
        batch.terminals[i] = stream.below(8) == 0;
        batch.numbers[i] += batch.size() as u64 + i as u64;
    }
}

fn fill_states(states: &mut [u8], world: &EnvSpec, stream: &mut Stream) {
    match world.frame.element {
        Element::U8 { full_scale } => states.fill_with(|| match stream.below(8) {
            0 => 1 + stream.below(u64::from(full_scale)) as u8,
            _ => 0,
        }),
        Element::F32 => {
            for value in states.chunks_exact_mut(4) {
                value.copy_from_slice(&(stream.normal() as f32).to_le_bytes());
            }
        }
    }
}

/// The tensors to be written.
#[derive(Default)]
struct TraceFile {
    tensors: Vec<(String, Dtype, Vec<usize>, Vec<u8>)>,
}

impl TraceFile {
    fn add(&mut self, name: String, dtype: Dtype, shape: Vec<usize>, bytes: Vec<u8>) {
        self.tensors.push((name, dtype, shape, bytes));
    }

    fn add_floats(&mut self, name: String, shape: Vec<usize>, values: &[f32]) {
        self.add(name, Dtype::F32, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect());
    }

    fn add_all(&mut self, prefix: &str, tensors: Vec<NamedTensor>) {
        for tensor in tensors {
            self.add_floats(format!("{prefix}{}", tensor.name), tensor.shape, &tensor.values);
        }
    }

    fn add_batch(&mut self, k: u32, batch: &Batch, world: &EnvSpec) {
        let size = batch.size();
        let (dtype, mut shape) = match world.frame.element {
            Element::U8 { .. } => (Dtype::U8, vec![size, world.state_channels()]),
            Element::F32 => (Dtype::F32, vec![size, world.state_channels()]),
        };
        if world.frame.height * world.frame.width != 1 {
            shape.extend([world.frame.height, world.frame.width]);
        }
        self.add(format!("step{k}.states"), dtype, shape.clone(), batch.states.clone());
        self.add(format!("step{k}.next_states"), dtype, shape, batch.next_states.clone());
        let actions = batch.actions.iter().flat_map(|action| i64::from(action.0).to_le_bytes()).collect();
        self.add(format!("step{k}.actions"), Dtype::I64, vec![size], actions);
        self.add_floats(format!("step{k}.rewards"), vec![size], &batch.rewards);
        let dones: Vec<f32> = batch.terminals.iter().map(|&terminal| f32::from(u8::from(terminal))).collect();
        self.add_floats(format!("step{k}.dones"), vec![size], &dones);
    }

    fn bytes(&self, args: &Args, config: &AgentConfig, world: &EnvSpec) -> anyhow::Result<Vec<u8>> {
        let mut description = serde_json::to_value(config)?;
        let full_scale = match world.frame.element {
            Element::U8 { full_scale } => full_scale,
            Element::F32 => 1,
        };
        description["full_scale"] = full_scale.into();
        let metadata = HashMap::from([
            ("agent".to_owned(), args.agent.clone()),
            ("steps".to_owned(), args.steps.to_string()),
            ("seed".to_owned(), args.seed.to_string()),
            ("config".to_owned(), description.to_string()),
        ]);
        let views = self
            .tensors
            .iter()
            .map(|(name, dtype, shape, bytes)| TensorView::new(*dtype, shape.clone(), bytes).map(|view| (name, view)));
        let views = views.collect::<Result<Vec<_>, _>>()?;
        Ok(sane_lab::canonical_safetensors(&safetensors::serialize(views, Some(metadata))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_random_batch_uses_every_action_and_both_endings() {
        let world = preset_world("minatar", 3).unwrap();
        let mut batch = Batch::new(64, world.state_bytes());
        fill_at_random(&mut batch, &world, &mut Stream::named(1, "test"));
        for action in 0..3 {
            assert!(batch.actions.contains(&Action(action)));
        }
        assert!(batch.terminals.contains(&true) && batch.terminals.contains(&false));
        assert!(batch.states.iter().all(|&byte| byte <= 1));
    }
}
