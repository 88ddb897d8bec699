//! One flat buffer with named tensors: weights, gradients, Adam's moments and the target network share one [`Layout`].
//!
//! In the interface, tensors have PyTorch's names, shapes and order of elements. In memory, matrices are panels of sixteen
//! outputs, `[outputs/16][inputs][16]`, which the kernels read without repacking; unused lanes are zero and stay zero in
//! training.

use crate::buffer::Buffer;
use crate::error::NnError;
use crate::kernels::LANES;
use crate::padded;
use std::ops::Range;

/// A tensor with PyTorch's name, shape and row-major order.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedTensor {
    /// For example `conv1.weight`.
    pub name: String,
    /// For example `[32, 4, 8, 8]`.
    pub shape: Vec<usize>,
    pub values: Vec<f32>,
}

/// Index of a tensor in its layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TensorId(usize);

/// The column of each input of a dense layer, in PyTorch's order, in a row of activations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputOrder {
    positions: Vec<u32>,
    width: usize,
}

impl InputOrder {
    /// `count` inputs in their natural order.
    pub fn natural(count: usize) -> Self {
        Self { positions: (0..count as u32).collect(), width: count }
    }

    /// An image: PyTorch flattens channel by channel, a row of activations is pixel by pixel with the channels padded to 16.
    pub fn image(channels: usize, pixels: usize) -> Self {
        let stride = padded(channels);
        let positions = (0..channels).flat_map(|c| (0..pixels).map(move |p| (p * stride + c) as u32)).collect();
        Self { positions, width: pixels * stride }
    }

    /// The same inputs followed by `count` more, from column [`InputOrder::width`] of the activations on.
    pub fn followed_by(&self, count: usize) -> Self {
        let mut positions = self.positions.clone();
        positions.extend((0..count).map(|i| (self.width + i) as u32));
        Self { positions, width: self.width + count }
    }

    /// Number of inputs, without padding.
    pub fn count(&self) -> usize {
        self.positions.len()
    }

    /// Columns of activations that are read, including padding between channels.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Column of each input, in PyTorch's order.
    pub fn positions(&self) -> &[u32] {
        &self.positions
    }

    /// The inputs of a row of activations (or of noise on them), in PyTorch's order.
    pub fn to_torch(&self, row: &[f32]) -> Vec<f32> {
        self.positions.iter().map(|&at| row[at as usize]).collect()
    }
}

/// Memory order of a tensor in the flat buffer.
#[derive(Debug, Clone)]
enum Format {
    Vector,
    /// `[outputs, inputs…]` in panels; `rows[i]` is the panel row of PyTorch's input `i`, out of `width` rows.
    Panels {
        rows: Vec<u32>,
        width: usize,
    },
}

#[derive(Debug, Clone)]
struct Tensor {
    name: String,
    shape: Vec<usize>,
    format: Format,
    range: Range<usize>,
}

/// Names, shapes and ranges of all tensors of a network. Layers add theirs when they are built.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    tensors: Vec<Tensor>,
    len: usize,
}

impl Layout {
    /// Adds a vector of `len` values.
    pub fn add_vector(&mut self, name: &str, len: usize) -> Result<TensorId, NnError> {
        self.add(name, vec![len], Format::Vector, len)
    }

    /// Adds a dense weight matrix `[outputs, inputs]`.
    pub fn add_dense(&mut self, name: &str, inputs: &InputOrder, outputs: usize) -> Result<TensorId, NnError> {
        let format = Format::Panels { rows: inputs.positions.clone(), width: inputs.width };
        self.add(name, vec![outputs, inputs.count()], format, inputs.width * padded(outputs))
    }

    /// Adds a convolution `shape = [outputs, channels, height, width]` whose input (c, y, x) is row `row_of(c, y, x)` of `width`.
    pub(crate) fn add_conv(
        &mut self,
        name: &str,
        shape: [usize; 4],
        width: usize,
        row_of: impl Fn(usize, usize, usize) -> usize,
    ) -> Result<TensorId, NnError> {
        let [outputs, channels, height, columns] = shape;
        let mut rows = Vec::with_capacity(channels * height * columns);
        for c in 0..channels {
            for y in 0..height {
                rows.extend((0..columns).map(|x| row_of(c, y, x) as u32));
            }
        }
        self.add(name, shape.to_vec(), Format::Panels { rows, width }, width * padded(outputs))
    }

    fn add(&mut self, name: &str, shape: Vec<usize>, format: Format, len: usize) -> Result<TensorId, NnError> {
        if self.tensors.iter().any(|tensor| tensor.name == name) {
            return Err(NnError::DuplicateTensor { name: name.to_owned() });
        }
        let range = self.len..self.len + len;
        // Every tensor starts on a cache line; a vector's padding belongs to its range so that kernels may write to it.
        let end = padded(range.end);
        self.tensors.push(Tensor { name: name.to_owned(), shape, format, range: range.start..end });
        self.len = end;
        Ok(TensorId(self.tensors.len() - 1))
    }

    /// Length of a buffer of this layout, including padding.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.tensors.is_empty()
    }

    /// A buffer of this layout: parameters, gradients or moments.
    pub fn zeros(&self) -> Buffer {
        Buffer::zeros(self.len)
    }

    /// Range of a tensor in the flat buffer; a vector's values come first in it, then padding.
    pub fn range(&self, id: TensorId) -> Range<usize> {
        self.tensors[id.0].range.clone()
    }

    /// PyTorch's shape of a tensor.
    pub fn shape(&self, id: TensorId) -> &[usize] {
        &self.tensors[id.0].shape
    }

    /// The tensor called `name`.
    pub fn find(&self, name: &str) -> Option<TensorId> {
        self.tensors.iter().position(|tensor| tensor.name == name).map(TensorId)
    }

    /// Names and indices of all tensors, in the order in which they were added.
    pub fn names(&self) -> impl Iterator<Item = (&str, TensorId)> {
        self.tensors.iter().enumerate().map(|(i, tensor)| (tensor.name.as_str(), TensorId(i)))
    }

    /// One tensor of `flat` in PyTorch's order.
    pub fn read(&self, flat: &[f32], id: TensorId) -> Vec<f32> {
        assert_eq!(flat.len(), self.len, "the buffer has another layout");
        let tensor = &self.tensors[id.0];
        let view = &flat[tensor.range.clone()];
        tensor.offsets().map(|at| view[at]).collect()
    }

    /// Sets one tensor of `flat` from values in PyTorch's order.
    pub fn write(&self, flat: &mut [f32], id: TensorId, values: &[f32]) {
        assert_eq!(flat.len(), self.len, "the buffer has another layout");
        let tensor = &self.tensors[id.0];
        assert_eq!(values.len(), tensor.shape.iter().product::<usize>(), "{}: wrong number of values", tensor.name);
        let view = &mut flat[tensor.range.clone()];
        for (at, &value) in tensor.offsets().zip(values) {
            view[at] = value;
        }
    }

    /// All tensors of `flat` with PyTorch's names, shapes and order.
    pub fn export(&self, flat: &[f32]) -> Vec<NamedTensor> {
        let tensors = self.tensors.iter().enumerate();
        let named = |(i, t): (usize, &Tensor)| NamedTensor {
            name: t.name.clone(),
            shape: t.shape.clone(),
            values: self.read(flat, TensorId(i)),
        };
        tensors.map(named).collect()
    }

    /// Sets `flat` from this network's tensors, which must be complete but may be in any order. On an error nothing is written.
    pub fn import(&self, flat: &mut [f32], tensors: &[NamedTensor]) -> Result<(), NnError> {
        for tensor in &self.tensors {
            let missing = || NnError::MissingTensor { name: tensor.name.clone(), expected: tensor.shape.clone() };
            let found = tensors.iter().find(|given| given.name == tensor.name).ok_or_else(missing)?;
            if found.shape != tensor.shape || found.values.len() != tensor.shape.iter().product::<usize>() {
                return Err(NnError::WrongShape {
                    name: tensor.name.clone(),
                    found: found.shape.clone(),
                    values: found.values.len(),
                    expected: tensor.shape.clone(),
                });
            }
        }
        for (i, given) in tensors.iter().enumerate() {
            if self.find(&given.name).is_none() {
                let known = self.tensors.iter().map(|tensor| tensor.name.as_str()).collect::<Vec<_>>().join(", ");
                return Err(NnError::UnknownTensor { name: given.name.clone(), found: given.shape.clone(), known });
            }
            if tensors[..i].iter().any(|earlier| earlier.name == given.name) {
                return Err(NnError::DuplicateTensor { name: given.name.clone() });
            }
        }
        for given in tensors {
            self.write(flat, self.find(&given.name).expect("checked above"), &given.values);
        }
        Ok(())
    }
}

impl Tensor {
    /// Offset of every value in the tensor's range, in PyTorch's order.
    fn offsets(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        match &self.format {
            Format::Vector => Box::new(0..self.shape[0]),
            Format::Panels { rows, width } => Box::new((0..self.shape[0]).flat_map(move |output| {
                let base = output / LANES * width * LANES + output % LANES;
                rows.iter().map(move |&row| base + row as usize * LANES)
            })),
        }
    }
}
