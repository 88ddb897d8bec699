//! Scratch memory for the threads that work on a torso: whoever starts on a group of examples enters a free room.
//!
//! There is a room for every group, so one is always free; a thread that comes back finds its own still warm in its cache.
//! What a room holds never outlives a visit, so no result depends on who gets which.

use super::{EXAMPLES, Layer};
use crate::buffer::Buffer;
use crate::conv::ImageShape;
use crate::winograd::{Positions, Repeats};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// What work on a few examples needs for itself.
#[derive(Debug, Clone)]
pub(super) struct Room {
    /// A few observations as the first layer reads them.
    pub observations: Buffer,
    /// Activations of all layers but the last, for passes that keep nothing.
    pub passing: Vec<Buffer>,
    /// Gradients of every layer's outputs before ReLU.
    pub d_activations: Vec<Buffer>,
    /// The gradient of one layer's outputs in panels.
    pub laid: Buffer,
    pub positions: Positions,
    /// Of the first layer, if it is computed by tiles.
    pub repeats: Option<Repeats>,
}

impl Room {
    pub fn new(input: ImageShape, layers: &[Layer], max_batch: usize) -> Self {
        let examples = EXAMPLES.min(max_batch);
        let lens = layers.iter().map(|layer| layer.conv.output.padded_len());
        let activations =
            |count: usize| lens.clone().take(count).map(|len| Buffer::zeros(len * examples)).collect::<Vec<_>>();
        Self {
            observations: Buffer::zeros(examples * layers.first().map_or(input.len(), |first| first.conv.input.len())),
            passing: activations(layers.len().saturating_sub(1)),
            d_activations: activations(layers.len()),
            laid: Buffer::zeros(lens.clone().max().unwrap_or(0)),
            positions: Positions::new(layers.iter().filter_map(|layer| layer.winograd.as_ref())),
            repeats: layers
                .first()
                .and_then(|first| first.winograd.as_ref())
                .map(|first| Repeats::new(first, examples)),
        }
    }
}

/// All rooms of a torso.
#[derive(Debug)]
pub(super) struct Rooms(Vec<Mutex<Room>>);

impl Rooms {
    pub fn new(count: usize, mut room: impl FnMut() -> Room) -> Self {
        Self((0..count).map(|_| Mutex::new(room())).collect())
    }

    /// A free room, the thread's usual one if it can be.
    pub fn enter(&self) -> MutexGuard<'_, Room> {
        let usual = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        let mut doors = self.0[usual..].iter().chain(&self.0[..usual]);
        // A room whose visitor panicked is as good as any: nothing in it is expected to mean anything.
        let free = doors.find_map(|door| match door.try_lock() {
            Ok(room) => Some(room),
            Err(TryLockError::Poisoned(room)) => Some(room.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        free.expect("there is a room for every group")
    }
}

impl Clone for Rooms {
    fn clone(&self) -> Self {
        Self(
            self.0
                .iter()
                .map(|room| Mutex::new(room.lock().unwrap_or_else(|held| held.into_inner()).clone()))
                .collect(),
        )
    }
}
