//! Scratch memory of the threads that work on a torso.
//!
//! A thread acquires one [`Scratch`] for a group of examples. The pool has one per group, so one is always free; a thread gets
//! its previous one if possible, which is still in its cache. No content outlives the guard, so no result depends on which
//! thread gets which.

use super::pass::Layer;
use crate::buffer::Buffer;
use crate::conv::ImageShape;
use crate::winograd::{CHUNK, TileCache, WinogradScratch};
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Memory for the passes of a few examples through all layers.
#[derive(Debug, Clone)]
pub(super) struct Scratch {
    pub layer: LayerScratch,
    /// Activations of all layers but the last, for passes without a trace.
    pub activations: Vec<Buffer>,
    /// Gradients of every layer's outputs before ReLU.
    pub d_activations: Vec<Buffer>,
}

/// Memory for the computation of one layer.
#[derive(Debug, Clone)]
pub(super) struct LayerScratch {
    /// Observations as the first layer reads them.
    pub observations: Buffer,
    /// The gradient of one layer's outputs in panels.
    pub packed: Buffer,
    pub winograd: WinogradScratch,
    /// For the first layer, if it is computed by Winograd's method.
    pub tile_cache: Option<TileCache>,
}

impl Scratch {
    pub fn new(input: ImageShape, layers: &[Layer], max_batch: usize) -> Self {
        let examples = CHUNK.min(max_batch);
        let lens = layers.iter().map(|layer| layer.conv.output.padded_len());
        let activations =
            |count: usize| lens.clone().take(count).map(|len| Buffer::zeros(len * examples)).collect::<Vec<_>>();
        let layer = LayerScratch {
            observations: Buffer::zeros(examples * layers.first().map_or(input.len(), |first| first.conv.input.len())),
            packed: Buffer::zeros(lens.clone().max().unwrap_or(0)),
            winograd: WinogradScratch::new(layers.iter().filter_map(|layer| layer.winograd.as_ref())),
            tile_cache: layers
                .first()
                .and_then(|first| first.winograd.as_ref())
                .map(|first| TileCache::new(first, examples)),
        };
        Self {
            layer,
            activations: activations(layers.len().saturating_sub(1)),
            d_activations: activations(layers.len()),
        }
    }
}

#[derive(Debug)]
pub(super) struct ScratchPool(Vec<Mutex<Scratch>>);

impl ScratchPool {
    pub fn new(count: usize, mut scratch: impl FnMut() -> Scratch) -> Self {
        Self((0..count).map(|_| Mutex::new(scratch())).collect())
    }

    /// A free scratch, the thread's previous one if possible.
    pub fn acquire(&self) -> MutexGuard<'_, Scratch> {
        let preferred = rayon::current_thread_index().unwrap_or(0) % self.0.len();
        let mut candidates = self.0[preferred..].iter().chain(&self.0[..preferred]);
        // A poisoned mutex is usable: a scratch has no content that must be valid.
        let free = candidates.find_map(|scratch| match scratch.try_lock() {
            Ok(scratch) => Some(scratch),
            Err(TryLockError::Poisoned(scratch)) => Some(scratch.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        });
        free.expect("there is a scratch for every group")
    }
}

impl Clone for ScratchPool {
    fn clone(&self) -> Self {
        let copy = |scratch: &Mutex<Scratch>| scratch.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        Self(self.0.iter().map(|scratch| Mutex::new(copy(scratch))).collect())
    }
}
