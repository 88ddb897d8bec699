//! A batch of transitions, one array per field, ready for the network.

use sane_env::Action;

/// `size` transitions. States are bytes exactly as the world wrote them: [size][state bytes], a state being its frames,
/// oldest first. Allocated once and filled again and again.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// s, [size × state bytes].
    pub states: Vec<u8>,
    /// s′, [size × state bytes].
    pub next_states: Vec<u8>,
    /// a.
    pub actions: Vec<Action>,
    /// r, clipped.
    pub rewards: Vec<f32>,
    /// Whether the target must not bootstrap from s′.
    pub terminals: Vec<bool>,
}

impl Batch {
    /// An empty batch of the given size, all zero.
    pub fn new(size: usize, state_bytes: usize) -> Self {
        Self {
            states: vec![0; size * state_bytes],
            next_states: vec![0; size * state_bytes],
            actions: vec![Action::default(); size],
            rewards: vec![0.0; size],
            terminals: vec![false; size],
        }
    }

    /// How many transitions it holds.
    pub fn size(&self) -> usize {
        self.actions.len()
    }
}
