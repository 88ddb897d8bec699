//! The geometry of Winograd's convolution: addresses of tiles, of their outputs and of the taps of a window in a layer's memory.

/// Side of a transformed tile.
pub(super) const SIDE: usize = 4;

/// Values of a transformed tile.
pub(crate) const POSITIONS: usize = SIDE * SIDE;

/// Floats from one position to the next, where a position has `rows` rows of `width` values. One cache line of padding keeps the
/// 16 positions of a tile, which are written and read together, in different sets of the first-level cache.
pub(crate) const fn position_stride(rows: usize, width: usize) -> usize {
    rows * width + 16
}

/// The tiling of a layer's image. A stride of s splits the input into s · s interleaved images (phases), on each of which the
/// window moves by one and has `taps` × `taps` values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileGrid {
    pub taps: usize,
    pub stride: usize,
    pub out_height: usize,
    pub out_width: usize,
    /// Pixels of an input row.
    pub in_width: usize,
    /// Channels, padded to 16.
    pub in_channels: usize,
    pub out_channels: usize,
}

impl TileGrid {
    /// Outputs of a tile along one side.
    pub fn outputs(&self) -> usize {
        SIDE + 1 - self.taps
    }

    fn rows(&self) -> usize {
        self.out_height.div_ceil(self.outputs())
    }

    fn cols(&self) -> usize {
        self.out_width.div_ceil(self.outputs())
    }

    /// Tiles of one example.
    pub fn tiles(&self) -> usize {
        self.rows() * self.cols()
    }

    /// Channels of all phases: the depth of the products.
    pub fn depth(&self) -> usize {
        self.stride * self.stride * self.in_channels
    }

    /// The pixels of phase `phase` that tile (`row`, `col`) reads.
    pub(super) fn input(&self, (row, col): (usize, usize), phase: usize) -> Patch {
        let (y, x) = (row * self.outputs(), col * self.outputs());
        let (dy, dx) = (phase / self.stride, phase % self.stride);
        let down = self.stride * self.in_width * self.in_channels;
        let right = self.stride * self.in_channels;
        Patch {
            first: y * down + x * right + (dy * self.in_width + dx) * self.in_channels,
            down,
            right,
            rows: (self.out_height + self.taps - 1 - y).min(SIDE),
            cols: (self.out_width + self.taps - 1 - x).min(SIDE),
        }
    }

    /// The pixels that tile (`row`, `col`) writes.
    pub fn output(&self, (row, col): (usize, usize)) -> Patch {
        let (y, x) = (row * self.outputs(), col * self.outputs());
        let down = self.out_width * self.out_channels;
        Patch {
            first: y * down + x * self.out_channels,
            down,
            right: self.out_channels,
            rows: (self.out_height - y).min(self.outputs()),
            cols: (self.out_width - x).min(self.outputs()),
        }
    }

    /// The tap (`y`, `x`) of phase `phase` as a pixel of the square window.
    pub(super) fn tap(&self, phase: usize, (y, x): (usize, usize)) -> usize {
        let (dy, dx) = (phase / self.stride, phase % self.stride);
        (y * self.stride + dy) * self.taps * self.stride + x * self.stride + dx
    }

    /// The pixels of all phases that tile (`row`, `col`) reads.
    pub fn region(&self, (row, col): (usize, usize)) -> Patch {
        let Patch { first, down, right, rows, cols } = self.input((row, col), 0);
        let side = self.stride;
        Patch { first, down: down / side, right: right / side, rows: rows * side, cols: cols * side }
    }

    /// The tiles of an example, row by row.
    pub fn each_tile(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let cols = self.cols();
        (0..self.tiles()).map(move |tile| (tile / cols, tile % cols))
    }
}

/// A rectangle of pixels of an image; rows and columns outside the image are left out and count as zeros.
#[derive(Clone, Copy)]
pub(crate) struct Patch {
    pub first: usize,
    pub down: usize,
    pub right: usize,
    pub rows: usize,
    pub cols: usize,
}

impl Patch {
    /// Whether all of its `side` rows and columns lie inside the image.
    #[inline(always)]
    pub fn is_whole(&self, side: usize) -> bool {
        self.rows == side && self.cols == side
    }

    /// Whether this row and column lie inside the image.
    #[inline(always)]
    pub fn has(&self, row: usize, col: usize) -> bool {
        row < self.rows && col < self.cols
    }

    /// Floats from the first pixel inside the image to the last.
    #[inline(always)]
    pub fn span(&self) -> usize {
        (self.rows - 1) * self.down + (self.cols - 1) * self.right
    }
}

/// Tiles of one example, with their rows in the matrices that are multiplied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileSlots<'a> {
    pub slots: &'a [TileSlot],
    /// Rows of the matrix at one position.
    pub count: usize,
}

/// A panel of sixteen outputs and their biases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PanelBias<'a> {
    pub panel: usize,
    pub bias: &'a [f32],
}

/// A tile, as its row and column in the grid of its example, and its row in the matrices that are multiplied.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TileSlot {
    pub tile: (usize, usize),
    pub slot: usize,
}
