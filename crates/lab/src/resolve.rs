//! Preset, file and single keys become the configuration of a run.

use crate::LabError;
use crate::config::{Layers, RunConfig};
use crate::preset::Preset;
use crate::world::{WorldKind, WorldSource};
use sane_agent::NetworkSpec;

/// What these layers make of a preset. What a Gymnasium environment shows, only it can say: it is made and asked, and
/// the network is the one that suits it, unless a layer says otherwise; vectors get the dense layers of the preset.
pub fn resolve(preset: Preset, world: &str, agent: &str, layers: &Layers) -> Result<RunConfig, LabError> {
    let mut base = preset.config(world, agent)?;
    let config = layers.apply(&base)?;
    if !matches!(WorldKind::of(world)?, WorldKind::Gym) {
        return Ok(config);
    }
    let source = WorldSource::open(&config.world, None, &mut |_| ())?;
    let suited = NetworkSpec::for_world(source.make(config.seed)?.spec());
    if suited != NetworkSpec::mlp() || !base.learner.network.convolutions.is_empty() {
        base.learner.network = suited;
    }
    Ok(layers.apply(&base)?)
}
