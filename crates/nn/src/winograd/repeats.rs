//! A forward pass that computes tiles which lie in several places once. Screens of a game have much in common, within one and
//! among several; what the layer makes of a tile it makes of every other with the same bits, so their outputs are copied.

use super::{Positions, Weights, Winograd};
use crate::kernels::{Biased, Grid, Kernel, Patch, Placed, Tiles};
use std::ops::Range;

/// Buckets of the table in which tiles are looked up; one that meets another tile in its bucket takes the bucket over.
const BUCKETS: usize = 1024;

/// The different tiles of a few images, and which others are the same.
#[derive(Debug)]
pub(crate) struct Repeats {
    image_len: usize,
    /// A number for each pixel of one image.
    digests: Vec<u32>,
    /// By digest, one more than the number of the last different tile that had it.
    buckets: Vec<usize>,
    /// The different tiles in the order in which they were met, the place of each among those multiplied together, and where
    /// those of each image begin.
    different: Vec<Placed>,
    begins: Vec<usize>,
    repeated: Vec<Repeated>,
}

/// A tile and an equal one of the same image or an earlier one.
#[derive(Debug, Clone, Copy)]
struct Repeated {
    tile: Met,
    same_as: Met,
}

#[derive(Debug, Clone, Copy)]
struct Met {
    image: usize,
    tile: (usize, usize),
}

impl Repeats {
    /// Room for up to `images` images of `layer`.
    pub fn new(layer: &Winograd, images: usize) -> Self {
        let pixels = layer.input_len / layer.grid.in_channels;
        Self::with_room_for(layer.input_len, pixels, images, images * layer.grid.tiles())
    }

    fn with_room_for(image_len: usize, pixels: usize, images: usize, tiles: usize) -> Self {
        Self {
            image_len,
            digests: vec![0; pixels],
            buckets: vec![0; BUCKETS],
            different: Vec::with_capacity(tiles),
            begins: Vec::with_capacity(images),
            repeated: Vec::with_capacity(tiles),
        }
    }

    /// How many different tiles the last pass met.
    #[cfg(test)]
    pub fn different(&self) -> usize {
        self.different.len()
    }

    fn clear(&mut self) {
        self.buckets.fill(0);
        self.different.clear();
        self.begins.clear();
        self.repeated.clear();
    }

    /// Sorts the tiles of the last of `images` into different and repeated ones; it has met the others before.
    fn meet(&mut self, kernel: Kernel, grid: &Grid, images: &[f32]) {
        let image = self.begins.len();
        let pixels = |image: usize| &images[image * self.image_len..(image + 1) * self.image_len];
        kernel.digests(&mut self.digests, pixels(image), grid.in_channels);
        self.begins.push(self.different.len());
        for tile in grid.each_tile() {
            let region = grid.region(tile);
            let bucket = &mut self.buckets[digest(&self.digests, region) % BUCKETS];
            let known = bucket.checked_sub(1).map(|number| Met {
                image: self.begins.partition_point(|&begin| begin <= number) - 1,
                tile: self.different[number].tile,
            });
            let is_same =
                |met: &Met| is_same(kernel, (pixels(image), region), (pixels(met.image), grid.region(met.tile)));
            match known.filter(is_same) {
                Some(same_as) => self.repeated.push(Repeated { tile: Met { image, tile }, same_as }),
                None => {
                    self.different.push(Placed { tile, place: 0 });
                    *bucket = self.different.len();
                }
            }
        }
    }

    /// Which different tiles were met in `image`.
    fn of(&self, image: usize) -> Range<usize> {
        self.begins[image]..self.begins.get(image + 1).copied().unwrap_or(self.different.len())
    }

    /// Gives the different tiles of the last image their places, the tile `first` having the first, and returns them.
    fn place_last(&mut self, first: usize) -> &[Placed] {
        let of_last = self.of(self.begins.len() - 1);
        for (number, placed) in of_last.clone().zip(&mut self.different[of_last.clone()]) {
            placed.place = number - first;
        }
        &self.different[of_last]
    }
}

impl Clone for Repeats {
    /// What it holds does not outlive a pass, so a copy is an empty one with as much room.
    fn clone(&self) -> Self {
        let Self { image_len, digests, different, begins, .. } = self;
        Self::with_room_for(*image_len, digests.len(), begins.capacity(), different.capacity())
    }
}

impl Winograd {
    /// y = max(0, x ∗ w + b) for as many examples as `y` has, `y_stride` apart. `lay` lays one example down in its place in `x`.
    pub fn forward_repeating(
        &self,
        weights: Weights<'_>,
        (x, lay): (&mut [f32], impl Fn(usize, &mut [f32])),
        (y, y_stride): (&mut [f32], usize),
        (room, repeats): (&mut Positions, &mut Repeats),
    ) {
        repeats.clear();
        let (mut begun, places) = (0, self.placed.len());
        for e in 0..y.len() / y_stride {
            let end = (e + 1) * self.input_len;
            lay(e, &mut x[e * self.input_len..end]);
            let before = repeats.different.len();
            repeats.meet(self.kernel, &self.grid, &x[..end]);
            if places < repeats.different.len() - begun {
                self.compute(weights, repeats, begun..before, (y, y_stride), room);
                begun = before;
            }
            let tiles = Tiles { placed: repeats.place_last(begun), count: places };
            self.kernel.winograd_data(&self.grid, &x[end - self.input_len..end], tiles, &mut room.data);
        }
        self.compute(weights, repeats, begun..repeats.different.len(), (y, y_stride), room);
        for Repeated { tile, same_as } in &repeats.repeated {
            let (from, to) = (self.grid.result(same_as.tile), self.grid.result(tile.tile));
            let (from_first, to_first) = (same_as.image * y_stride + from.first, tile.image * y_stride + to.first);
            for row in 0..to.rows {
                let first = from_first + row * from.down;
                y.copy_within(first..first + from.cols * from.right, to_first + row * to.down);
            }
        }
    }

    /// The outputs of the different tiles `some`, whose data are transformed.
    fn compute(
        &self,
        Weights { params, filters }: Weights<'_>,
        repeats: &Repeats,
        some: Range<usize>,
        (y, y_stride): (&mut [f32], usize),
        room: &mut Positions,
    ) {
        if some.is_empty() {
            return;
        }
        let count = self.placed.len();
        for (panel, filters) in filters.chunks_exact(self.filters_piece()).enumerate() {
            self.multiply(self.data(&room.data), filters, (some.len(), count), &mut room.panel);
            let panel = Biased { panel, bias: &self.bias_of(params, panel) };
            for (e, y) in y.chunks_mut(y_stride).take(repeats.begins.len()).enumerate() {
                let of = repeats.of(e);
                let (first, end) = (of.start.max(some.start), of.end.min(some.end));
                if first < end {
                    let tiles = Tiles { placed: &repeats.different[first..end], count };
                    self.kernel.winograd_result(&self.grid, &room.panel, tiles, panel, y);
                }
            }
        }
    }
}

/// A number for the pixels of a region.
fn digest(digests: &[u32], region: Patch) -> usize {
    let (width, first) = (region.down / region.right, region.first / region.right);
    let rows = digests[first..].chunks(width).take(region.rows);
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
