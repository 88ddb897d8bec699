//! What an environment shows, as a frame. In: the worker's word about the observation space; out: the frame's shape and
//! the way from an observation's bytes to it.

use sane_env::{Element, FrameSpace};
use serde::Deserialize;

/// Channels that an image may have; the side of a 3-dimensional observation with one of these sizes holds them.
const CHANNELS: [usize; 3] = [1, 3, 4];

/// What the worker says about an environment it made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct About {
    /// Sides of an observation.
    pub shape: Vec<usize>,
    /// Whether its numbers are bytes; otherwise they come as `f32`.
    pub is_bytes: bool,
    /// The largest byte there can be.
    pub full_scale: u8,
    /// How many actions there are.
    pub actions: usize,
    /// Their names, where the environment has some.
    pub names: Vec<String>,
    /// Of Gymnasium and Python.
    pub versions: String,
}

/// A frame's shape and how its numbers lie in an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    /// Shape of the frame.
    pub frame: FrameSpace,
    /// Whether an observation holds the channels of a pixel side by side; a frame holds plane after plane.
    interleaved: bool,
}

impl About {
    /// Bytes of an observation.
    pub fn observation_bytes(&self) -> usize {
        let element = if self.is_bytes { 1 } else { 4 };
        element * self.shape.iter().product::<usize>()
    }

    /// Names of the actions; their numbers where the environment has no names.
    pub fn action_names(&self) -> Vec<String> {
        if self.names.len() == self.actions {
            return self.names.clone();
        }
        (0..self.actions).map(|action| action.to_string()).collect()
    }
}

impl Space {
    /// Two sides are a picture, three a picture with channels (last, as Gymnasium has them, unless only the first side
    /// can be them), everything else is a vector.
    pub fn of(about: &About) -> Self {
        let element = match about.is_bytes {
            true => Element::U8 { full_scale: about.full_scale.max(1) },
            false => Element::F32,
        };
        let (channels, height, width, interleaved) = match about.shape[..] {
            [height, width] => (1, height, width, false),
            [first, height, width] if CHANNELS.contains(&first) && !CHANNELS.contains(&width) => {
                (first, height, width, false)
            }
            [height, width, channels] => (channels, height, width, 1 < channels),
            _ => (about.shape.iter().product(), 1, 1, false),
        };
        Self { frame: FrameSpace { channels, height, width, element }, interleaved }
    }

    /// Writes an observation as a frame.
    pub fn write(&self, observation: &[u8], frame: &mut [u8]) {
        if !self.interleaved {
            return frame.copy_from_slice(observation);
        }
        let FrameSpace { channels, height, width, element } = self.frame;
        let size = if element == Element::F32 { 4 } else { 1 };
        for (channel, plane) in frame.chunks_exact_mut(height * width * size).enumerate() {
            let pixels = observation.chunks_exact(channels * size);
            for (to, pixel) in plane.chunks_exact_mut(size).zip(pixels) {
                to.copy_from_slice(&pixel[channel * size..][..size]);
            }
        }
    }

    /// The first number that is not finite, by place.
    pub fn not_finite(&self, observation: &[u8]) -> Option<(usize, f32)> {
        if self.frame.element != Element::F32 {
            return None;
        }
        let numbers = observation.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]]));
        numbers.enumerate().find(|(_, number)| !number.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn about(shape: &[usize], is_bytes: bool) -> About {
        About { shape: shape.into(), is_bytes, full_scale: 255, actions: 2, names: Vec::new(), versions: String::new() }
    }

    fn sides(shape: &[usize], is_bytes: bool) -> [usize; 3] {
        let frame = Space::of(&about(shape, is_bytes)).frame;
        [frame.channels, frame.height, frame.width]
    }

    #[test]
    fn a_shape_is_a_vector_a_picture_or_a_picture_with_channels() {
        assert_eq!(sides(&[4], false), [4, 1, 1]);
        assert_eq!(sides(&[], false), [1, 1, 1]);
        assert_eq!(sides(&[84, 84], true), [1, 84, 84]);
        assert_eq!(sides(&[210, 160, 3], true), [3, 210, 160]);
        assert_eq!(sides(&[3, 64, 64], true), [3, 64, 64]);
        assert_eq!(sides(&[2, 2, 2, 2], false), [16, 1, 1]);
    }

    #[test]
    fn pixels_with_channels_side_by_side_become_planes() {
        let space = Space::of(&about(&[1, 2, 3], true));
        let mut frame = [0; 6];
        space.write(&[1, 2, 3, 4, 5, 6], &mut frame);
        assert_eq!(frame, [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn planes_and_vectors_stay_as_they_are() {
        let vector = Space::of(&about(&[2], false));
        let bytes: Vec<u8> = [1.5_f32, -0.1].iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut frame = [0; 8];
        vector.write(&bytes, &mut frame);
        assert_eq!(frame[..], bytes[..]);
        assert_eq!(vector.not_finite(&bytes), None);
        let odd: Vec<u8> = [1.5_f32, f32::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(vector.not_finite(&odd), Some((1, f32::INFINITY)));
    }
}
