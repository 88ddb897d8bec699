//! Export of policies and states to safetensors files with PyTorch's names and layouts.

use crate::LabError;
use crate::config::{ConfigError, RunConfig, from_toml, to_toml};
use crate::evaluate::play_episode;
use crate::trained::TrainedAgent;
use crate::world::WorldSource;
use safetensors::SafeTensors;
use safetensors::tensor::{Dtype, TensorView};
use sane_agent::{ActMode, NamedTensor, ParameterCounts, Policy};
use sane_env::{Element, EnvSpec, FrameSpace};
use sane_record::read_plain;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Writes the parameters of the online network, what the agent remembers beside them (visits, running gap, …), if anything,
/// and, as metadata, the description needed to use them.
pub fn export_policy(trained: &TrainedAgent, path: &Path) -> Result<(), LabError> {
    trained.learner.require_finite()?;
    let spec = trained.spec();
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = trained
        .learner
        .export()
        .into_iter()
        .map(|tensor| (tensor.name, tensor.shape, bytes_of(&tensor.values)))
        .collect();
    let views = tensors.iter().map(|(name, shape, bytes)| (name.clone(), view(Dtype::F32, shape, bytes)));
    let memory = trained.learner.policy().memory();
    let (memory_shape, memory): ([usize; 1], Vec<u8>) =
        ([memory.len()], memory.iter().flat_map(|word| word.to_le_bytes()).collect());
    let memory = (!memory.is_empty()).then(|| (MEMORY.to_owned(), view(Dtype::U32, &memory_shape, &memory)));
    let full_scale = match spec.frame.element {
        Element::U8 { full_scale } => full_scale.to_string(),
        Element::F32 => "1".into(),
    };
    let strides: Vec<String> =
        trained.config.learner.network.convolutions.iter().map(|conv| conv.stride.to_string()).collect();
    let metadata = HashMap::from([
        ("world".to_owned(), spec.name.clone()),
        ("agent".to_owned(), trained.config.agent.clone()),
        ("actions".to_owned(), spec.actions.join(",")),
        ("input_divided_by".to_owned(), full_scale),
        ("strides".to_owned(), strides.join(",")),
        // What `read_policy` makes the policy of.
        (CONFIG.to_owned(), to_toml(&trained.config)),
        (SPEC.to_owned(), serde_json::to_string(spec).expect("a specification is plain data")),
    ]);
    write(views.chain(memory), metadata, path)
}

/// The tensor of what the agent remembers: words as a checkpoint keeps them.
const MEMORY: &str = "memory";
const CONFIG: &str = "config";
const SPEC: &str = "spec";

/// A policy without its run: as [`export_policy`] wrote it.
pub struct ExportedPolicy {
    pub config: RunConfig,
    pub spec: EnvSpec,
    pub policy: Policy,
}

/// The largest file that is read: a network of 2²⁸ parameters and its description.
const LARGEST_POLICY_BYTES: u64 = (4 << 28) + (16 << 20);

/// Bytes of the largest state of a described world; a state of an Atari game has 28,224.
const LARGEST_STATE_BYTES: usize = 64 << 20;

/// Reads a policy that [`export_policy`] wrote; its world is not needed. Nothing is made of a description whose numbers the
/// file does not hold.
pub fn read_policy(path: &Path) -> Result<ExportedPolicy, LabError> {
    let bytes = read_plain(path, LARGEST_POLICY_BYTES).map_err(LabError::io("read", path))?;
    let refused = |reason: String| LabError::NotAPolicy { path: path.into(), reason };
    let file = SafeTensors::deserialize(&bytes).map_err(|error| refused(error.to_string()))?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(|error| refused(error.to_string()))?;
    let text = |key: &str| {
        let found = header.metadata().as_ref().and_then(|metadata| metadata.get(key).cloned());
        found.ok_or_else(|| refused(format!("it has no metadata `{key}`; export it again with this version")))
    };
    let config = from_toml(&text(CONFIG)?, path).map_err(|error| match error {
        // The one error of a configuration that does not say where it stands.
        ConfigError::UnknownName { .. } => refused(error.to_string()),
        other => other.into(),
    })?;
    let spec: EnvSpec = serde_json::from_str(&text(SPEC)?).map_err(|error| refused(error.to_string()))?;
    if !is_possible(&spec) {
        return Err(refused(format!("no world has the states and actions that `{SPEC}` describes")));
    }
    let (memories, parameters): (Vec<_>, Vec<_>) =
        file.tensors().into_iter().partition(|(name, view)| name == MEMORY && view.dtype() == Dtype::U32);
    let tensors = parameters.into_iter().map(|(name, view)| named_tensor(name, &view));
    let tensors = tensors.collect::<Result<Vec<NamedTensor>, String>>().map_err(refused)?;
    let counts = ParameterCounts::of(&config.learner, &spec).map_err(|error| refused(error.to_string()))?;
    let (needed, found) =
        (counts.main.saturating_add(counts.exploration), tensors.iter().map(|t| t.values.len()).sum::<usize>());
    if found < needed {
        return Err(refused(format!("its tensors hold {found} numbers, the network it describes has {needed}")));
    }
    let mut policy = Policy::new(&config.learner, &spec, &tensors).map_err(|error| refused(error.to_string()))?;
    // Files of earlier versions have none: the policy then begins without memory.
    for (_, view) in memories {
        let words: Vec<u32> = view.data().as_chunks::<4>().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        policy.set_memory(&words).map_err(|error| refused(error.to_string()))?;
    }
    Ok(ExportedPolicy { config, spec, policy })
}

/// Whether a world can be as described: something to see, something to do, within bounds.
fn is_possible(spec: &EnvSpec) -> bool {
    let FrameSpace { channels, height, width, element } = spec.frame;
    let (bytes, has_scale) = match element {
        Element::U8 { full_scale } => (1, 0 < full_scale),
        Element::F32 => (4, true),
    };
    let state = [channels, height, width, spec.history].iter().try_fold(bytes, |all: usize, &n| all.checked_mul(n));
    let is_state = state.is_some_and(|bytes| (1..=LARGEST_STATE_BYTES).contains(&bytes));
    is_state && has_scale && (1..=usize::from(u16::MAX)).contains(&spec.actions.len())
}

fn named_tensor(name: String, view: &TensorView<'_>) -> Result<NamedTensor, String> {
    if view.dtype() != Dtype::F32 {
        return Err(format!("the tensor {name} is of type {:?}, not F32", view.dtype()));
    }
    let values: Vec<f32> = view.data().as_chunks::<4>().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
    match values.iter().find(|value| !value.is_finite()) {
        Some(value) => Err(format!("the tensor {name} holds {value}; every number must be finite")),
        None => Ok(NamedTensor { name, shape: view.shape().to_vec(), values }),
    }
}

/// Plays without noise from the starts of `start_seed` and writes the first `count` states with their action values
/// and σ: what another implementation of the same policy must reproduce.
pub fn dump_states(
    policy: &mut Policy,
    source: &WorldSource,
    start_seed: u64,
    count: usize,
    path: &Path,
) -> Result<(), LabError> {
    let mut dump = Dump::default();
    let mut shape = Vec::new();
    let mut number = 0;
    while dump.actions.len() < count {
        play_episode(policy, source, start_seed, number, ActMode::Greedy, &mut |view, decision| {
            let spec = view.world.spec();
            shape = vec![count, spec.state_channels(), spec.frame.height, spec.frame.width];
            dump.states.extend_from_slice(view.state);
            dump.q.extend_from_slice(view.policy.q_values());
            dump.sigmas.extend_from_slice(view.policy.sigmas());
            dump.actions.push(i64::from(decision.action.0));
            let truth = view.world.ground_truth();
            dump.risks.extend(truth.and_then(|truth| truth.true_risk()).map(|risk| risk as f32));
            dump.actions.len() < count
        })?;
        number += 1;
    }
    let actions: Vec<u8> = dump.actions.iter().flat_map(|action| action.to_le_bytes()).collect();
    let (q, sigmas, risks) = (bytes_of(&dump.q), bytes_of(&dump.sigmas), bytes_of(&dump.risks));
    let (row, width) = ([count], [count, dump.q.len() / count]);
    let sigma_shape = [count, dump.sigmas.len() / count];
    let is_bytes = shape.iter().product::<usize>() == dump.states.len();
    let element = if is_bytes { Dtype::U8 } else { Dtype::F32 };
    let mut views = vec![
        ("observations".to_owned(), view(element, &shape, &dump.states)),
        ("actions".to_owned(), view(Dtype::I64, &row, &actions)),
        ("q".to_owned(), view(Dtype::F32, &width, &q)),
    ];
    if !sigmas.is_empty() {
        views.push(("sigma".to_owned(), view(Dtype::F32, &sigma_shape, &sigmas)));
    }
    if !risks.is_empty() {
        views.push(("true_risk".to_owned(), view(Dtype::F32, &row, &risks)));
    }
    write(views, HashMap::new(), path)
}

#[derive(Default)]
struct Dump {
    states: Vec<u8>,
    actions: Vec<i64>,
    q: Vec<f32>,
    sigmas: Vec<f32>,
    risks: Vec<f32>,
}

fn bytes_of(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn view<'a>(dtype: Dtype, shape: &[usize], bytes: &'a [u8]) -> TensorView<'a> {
    TensorView::new(dtype, shape.to_vec(), bytes).expect("the shape fits the bytes")
}

fn write<'a>(
    views: impl IntoIterator<Item = (String, TensorView<'a>)>,
    metadata: HashMap<String, String>,
    path: &Path,
) -> Result<(), LabError> {
    let bytes = safetensors::serialize(views, Some(metadata)).expect("names and shapes were checked");
    std::fs::write(path, canonical_safetensors(&bytes)).map_err(LabError::io("write", path))
}

/// The same safetensors file with its header in alphabetical order. The library writes the metadata in the order of a hash
/// table, which differs between processes; the same run must give the same bytes.
pub fn canonical_safetensors(file: &[u8]) -> Vec<u8> {
    const LENGTH: usize = size_of::<u64>();
    let (length, rest) = file.split_first_chunk::<LENGTH>().expect("a file begins with the length of its header");
    let (header, tensors) = rest.split_at(u64::from_le_bytes(*length) as usize);
    let header: BTreeMap<String, BTreeMap<String, Value>> =
        serde_json::from_slice(header).expect("a header names tensors and their fields");
    let mut text = serde_json::to_vec(&header).expect("what was read can be written");
    // Tensors begin at a multiple of eight bytes.
    text.resize(text.len().next_multiple_of(LENGTH), b' ');
    let mut sorted = (text.len() as u64).to_le_bytes().to_vec();
    sorted.extend(text);
    sorted.extend_from_slice(tensors);
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{OpenRun, Start, open_run};
    use crate::preset::Preset;
    use crate::train;
    use crate::trained::{CheckpointChoice, read_trained};
    use sane_env::{AgentSteps, Stream};
    use std::sync::atomic::AtomicBool;

    #[test]
    fn an_exported_policy_acts_with_noise_as_its_run_does() {
        let temp = tempfile::tempdir().unwrap();
        for agent in ["sane", "sane-visits", "sane-counts", "sane-gap", "sane-shuffled", "oracle"] {
            let mut config = Preset::RiskyRoad.config("risky-road", agent).unwrap();
            config.training.total_interactions = AgentSteps(300);
            config.training.learning_starts = AgentSteps(100);
            config.training.evaluate_every = AgentSteps(0);
            config.replay.capacity = 1_000;
            let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
            let folder = temp.path().join(agent);
            let OpenRun { mut run, mut files, .. } = open_run(&folder, &config, &source, Start::Resume).unwrap();
            files.begin(&run, &mut ()).unwrap();
            train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).unwrap();
            let trained = read_trained(&folder, &source, CheckpointChoice::Newest).unwrap();
            let path = folder.join("policy.safetensors");
            export_policy(&trained, &path).unwrap();
            let (mut read, mut policy) = (read_policy(&path).unwrap().policy, trained.learner.policy());
            assert!(read.memory() == policy.memory() && policy.memory().is_empty() == (agent == "sane"), "{agent}");
            let state = run.rollout.state();
            for _ in 0..5 {
                let (mut ours, mut theirs) = (Stream::named(1, "act"), Stream::named(1, "act"));
                let decisions =
                    (read.act(state, ActMode::Noisy, &mut ours), policy.act(state, ActMode::Noisy, &mut theirs));
                assert_eq!(decisions.0, decisions.1, "{agent}");
                assert_eq!(read.q_values(), policy.q_values(), "{agent}");
            }
        }
    }

    #[test]
    fn the_same_tensors_and_metadata_are_the_same_file() {
        let values = bytes_of(&[1.0, 2.0, 3.0]);
        let file = || {
            let views = ["b", "a"].map(|name| (name, view(Dtype::F32, &[3], &values)));
            let metadata = (0..20).map(|i| (format!("key {i}"), format!("value {i}"))).collect();
            canonical_safetensors(&safetensors::serialize(views, Some(metadata)).unwrap())
        };
        let first = file();
        for _ in 0..5 {
            assert_eq!(file(), first);
        }
        let read = SafeTensors::deserialize(&first).expect("it is still such a file");
        assert_eq!(read.tensor("a").unwrap().data(), values);
        let (_, header) = SafeTensors::read_metadata(&first).unwrap();
        assert_eq!(header.metadata().as_ref().unwrap()["key 7"], "value 7");
    }
}
