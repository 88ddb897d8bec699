//! Forward pass of the first layer that computes equal tiles once and copies their outputs.
//!
//! Screens of a game repeat themselves: of the 196 tiles of four states drawn from the replay memory, 18 % (road runner) to 88 %
//! (beam rider) are distinct, 31 % on boxing. Equal bits in give equal bits out, so outputs of repeated tiles are copied. Tiles
//! are found by hash and compared bit by bit, so no result changes.
//!
//! Why this is worth its lines: all training on Atari passes through this layer, twice per train step, and the cache makes
//! training on boxing about 3 % faster (median of 24 interleaved pairs; `docs/notes/engine.md`). Its cost, about 3 % of a train
//! step, arises only where nothing repeats, such as the random images of `sane bench engine`, which no game shows. To remove
//! it, call [`Winograd::forward`] for each packed observation in `torso/pass.rs`; the bits are the same.

use super::{Weights, Winograd, WinogradScratch};
use crate::kernels::{Kernel, PanelBias, Patch, TileGrid, TileSlot, TileSlots};
use std::ops::Range;

/// Buckets of the hash table. A distinct tile replaces the previous one of its bucket.
const BUCKETS: usize = 1024;

/// The distinct tiles of a few images, and the repeated ones with the tile that each repeats.
#[derive(Debug)]
pub(crate) struct TileCache {
    image_len: usize,
    /// A hash of each pixel of one image.
    pixel_hashes: Vec<u32>,
    /// By hash, one more than the index in `distinct` of the last tile that had it.
    buckets: Vec<usize>,
    distinct: Vec<TileSlot>,
    /// Index in `distinct` of the first tile of each image.
    image_starts: Vec<usize>,
    repeated: Vec<Repeated>,
}

/// A tile, and an equal one of the same or an earlier image.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    tile: TileRef,
    same_as: TileRef,
}

#[derive(Debug, Clone, Copy)]
struct TileRef {
    image: usize,
    tile: (usize, usize),
}

impl TileCache {
    /// Memory for up to `images` images of `layer`.
    pub fn new(layer: &Winograd, images: usize) -> Self {
        let pixels = layer.input_len / layer.grid.in_channels;
        Self::with_capacity(layer.input_len, pixels, images, images * layer.grid.tiles())
    }

    fn with_capacity(image_len: usize, pixels: usize, images: usize, tiles: usize) -> Self {
        Self {
            image_len,
            pixel_hashes: vec![0; pixels],
            buckets: vec![0; BUCKETS],
            distinct: Vec::with_capacity(tiles),
            image_starts: Vec::with_capacity(images),
            repeated: Vec::with_capacity(tiles),
        }
    }

    /// Number of distinct tiles of the last pass.
    #[cfg(test)]
    pub fn distinct(&self) -> usize {
        self.distinct.len()
    }

    fn clear(&mut self) {
        self.buckets.fill(0);
        self.distinct.clear();
        self.image_starts.clear();
        self.repeated.clear();
    }

    /// Adds the last of `images`: its tiles become distinct or repeated ones. The images before it have been added.
    fn add_image(&mut self, kernel: Kernel, grid: &TileGrid, images: &[f32]) {
        let image = self.image_starts.len();
        let pixels = |image: usize| &images[image * self.image_len..(image + 1) * self.image_len];
        kernel.digests(&mut self.pixel_hashes, pixels(image), grid.in_channels);
        self.image_starts.push(self.distinct.len());
        for tile in grid.each_tile() {
            let region = grid.region(tile);
            let bucket = &mut self.buckets[hash(&self.pixel_hashes, region) % BUCKETS];
            let candidate = bucket.checked_sub(1).map(|index| TileRef {
                image: self.image_starts.partition_point(|&start| start <= index) - 1,
                tile: self.distinct[index].tile,
            });
            let is_same = |other: &TileRef| {
                is_same(kernel, (pixels(image), region), (pixels(other.image), grid.region(other.tile)))
            };
            match candidate.filter(is_same) {
                Some(same_as) => self.repeated.push(Repeated { tile: TileRef { image, tile }, same_as }),
                None => {
                    self.distinct.push(TileSlot { tile, slot: 0 });
                    *bucket = self.distinct.len();
                }
            }
        }
    }

    /// Indices of the distinct tiles first seen in `image`.
    fn of_image(&self, image: usize) -> Range<usize> {
        self.image_starts[image]..self.image_starts.get(image + 1).copied().unwrap_or(self.distinct.len())
    }

    /// Assigns slots to the distinct tiles of the last image, slot 0 being that of tile `first`, and returns them.
    fn assign_slots(&mut self, first: usize) -> &[TileSlot] {
        let of_last = self.of_image(self.image_starts.len() - 1);
        for (index, tile) in of_last.clone().zip(&mut self.distinct[of_last.clone()]) {
            tile.slot = index - first;
        }
        &self.distinct[of_last]
    }
}

impl Clone for TileCache {
    /// An empty cache of the same capacity: no content outlives a forward pass.
    fn clone(&self) -> Self {
        let Self { image_len, pixel_hashes, distinct, image_starts, .. } = self;
        Self::with_capacity(*image_len, pixel_hashes.len(), image_starts.capacity(), distinct.capacity())
    }
}

impl Winograd {
    /// y = max(0, x ∗ w + b) for as many examples as `y` has, `y_stride` apart. `pack` writes one example to its part of `x`.
    pub fn forward_cached(
        &self,
        weights: Weights<'_>,
        (x, pack): (&mut [f32], impl Fn(usize, &mut [f32])),
        (y, y_stride): (&mut [f32], usize),
        (scratch, cache): (&mut WinogradScratch, &mut TileCache),
    ) {
        cache.clear();
        let (mut first, slots) = (0, self.slots.len());
        for e in 0..y.len() / y_stride {
            let end = (e + 1) * self.input_len;
            pack(e, &mut x[e * self.input_len..end]);
            let before = cache.distinct.len();
            cache.add_image(self.kernel, &self.grid, &x[..end]);
            if slots < cache.distinct.len() - first {
                self.compute(weights, cache, first..before, (y, y_stride), scratch);
                first = before;
            }
            let tiles = TileSlots { slots: cache.assign_slots(first), count: slots };
            self.kernel.winograd_input(&self.grid, &x[end - self.input_len..end], tiles, &mut scratch.inputs);
        }
        self.compute(weights, cache, first..cache.distinct.len(), (y, y_stride), scratch);
        for Repeated { tile, same_as } in &cache.repeated {
            let (from, to) = (self.grid.output(same_as.tile), self.grid.output(tile.tile));
            let (from_first, to_first) = (same_as.image * y_stride + from.first, tile.image * y_stride + to.first);
            for row in 0..to.rows {
                let first = from_first + row * from.down;
                y.copy_within(first..first + from.cols * from.right, to_first + row * to.down);
            }
        }
    }

    /// Outputs of the distinct tiles `range`, whose inputs are transformed.
    fn compute(
        &self,
        Weights { params, filters }: Weights<'_>,
        cache: &TileCache,
        range: Range<usize>,
        (y, y_stride): (&mut [f32], usize),
        scratch: &mut WinogradScratch,
    ) {
        if range.is_empty() {
            return;
        }
        let count = self.slots.len();
        for (panel, filters) in filters.chunks_exact(self.filters_piece_len()).enumerate() {
            self.multiply(self.input_rows(&scratch.inputs), filters, (range.len(), count), &mut scratch.panel);
            let panel = PanelBias { panel, bias: &self.bias_of(params, panel) };
            for (e, y) in y.chunks_mut(y_stride).take(cache.image_starts.len()).enumerate() {
                let of_image = cache.of_image(e);
                let (first, end) = (of_image.start.max(range.start), of_image.end.min(range.end));
                if first < end {
                    let tiles = TileSlots { slots: &cache.distinct[first..end], count };
                    self.kernel.winograd_output(&self.grid, &scratch.panel, tiles, panel, y);
                }
            }
        }
    }
}

/// A hash of the pixels of a region.
fn hash(pixel_hashes: &[u32], region: Patch) -> usize {
    let (width, first) = (region.down / region.right, region.first / region.right);
    let rows = pixel_hashes[first..].chunks(width).take(region.rows);
    let mixed = rows
        .flat_map(|row| &row[..region.cols])
        .fold(region.rows as u32, |sum, &next| (sum ^ next).wrapping_mul(0xc2b2_ae35));
    (mixed >> 16) as usize
}

/// Whether two regions have the same bits.
fn is_same(kernel: Kernel, (a, at_a): (&[f32], Patch), (b, at_b): (&[f32], Patch)) -> bool {
    let row = |at: Patch, y: usize| at.first + y * at.down..at.first + y * at.down + at.cols * at.right;
    (at_a.rows, at_a.cols) == (at_b.rows, at_b.cols)
        && (0..at_a.rows).all(|y| kernel.has_same_bits(&a[row(at_a, y)], &b[row(at_b, y)]))
}
