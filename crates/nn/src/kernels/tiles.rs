//! The geometry of Winograd's convolution: where tiles, their outputs and the taps of a window lie in a layer's memory.

/// Side of a transformed tile, and the number of its values.
pub(super) const SIDE: usize = 4;
pub(crate) const POSITIONS: usize = SIDE * SIDE;

/// Floats from one position to the next, where a position has `rows` rows of `width` values. The line beside them keeps the 16
/// positions of a tile, which are written and read together, out of each other's sets of the first-level cache.
pub(crate) const fn position_len(rows: usize, width: usize) -> usize {
    rows * width + 16
}

/// How a layer's image is cut into tiles. A stride of s makes s · s interleaved images ("phases") of the input, on each of which
/// the window moves by one and has `taps` × `taps` values.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Grid {
    pub taps: usize,
    pub stride: usize,
    pub out_height: usize,
    pub out_width: usize,
    /// Pixels of an input row.
    pub in_width: usize,
    /// Padded channels.
    pub in_channels: usize,
    pub out_channels: usize,
}

impl Grid {
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

    /// Where the data of tile (`row`, `col`) begin in phase `phase` of the image, and how many of their rows and columns exist.
    pub(super) fn data(&self, (row, col): (usize, usize), phase: usize) -> Patch {
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

    /// The same for the outputs of a tile.
    pub fn result(&self, (row, col): (usize, usize)) -> Patch {
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

    /// All pixels that the tile (`row`, `col`) reads, of all phases.
    pub fn region(&self, (row, col): (usize, usize)) -> Patch {
        let Patch { first, down, right, rows, cols } = self.data((row, col), 0);
        let side = self.stride;
        Patch { first, down: down / side, right: right / side, rows: rows * side, cols: cols * side }
    }

    /// The tiles of an example, row by row.
    pub fn each_tile(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let cols = self.cols();
        (0..self.tiles()).map(move |tile| (tile / cols, tile % cols))
    }
}

/// A tile's place in an image; rows and columns that lie outside count as zeros.
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

    /// Floats from the first value inside to the last.
    #[inline(always)]
    pub fn reach(&self) -> usize {
        (self.rows - 1) * self.down + (self.cols - 1) * self.right
    }
}

/// Tiles of one example and where they stand among those that are multiplied together.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tiles<'a> {
    pub placed: &'a [Placed],
    /// Places for tiles that a position has.
    pub count: usize,
}

/// Sixteen outputs: which, and their biases.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Biased<'a> {
    pub panel: usize,
    pub bias: &'a [f32],
}

/// A tile, as its row and column among those of its example, and its place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Placed {
    pub tile: (usize, usize),
    pub place: usize,
}
