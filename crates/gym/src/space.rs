//! Observations as frames. In: the worker's description of the observation space; out: the shape of a frame and the
//! conversion of an observation's bytes to it.

use sane_env::{Element, FrameSpace};
use serde::Deserialize;

/// Numbers of channels of an image; an axis of a 3-dimensional observation with one of these sizes is the channel axis.
const CHANNELS: [usize; 3] = [1, 3, 4];

/// The worker's description of an environment it made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct EnvInfo {
    pub shape: Vec<usize>,
    /// Whether observations are `u8`; otherwise they are sent as `f32`.
    pub is_bytes: bool,
    /// The largest possible byte.
    pub full_scale: u8,
    pub actions: usize,
    /// Names of the actions, if the environment has them.
    pub names: Vec<String>,
    /// Versions of Gymnasium and Python.
    pub versions: String,
    /// Whether nothing cuts an episode that the environment does not end.
    #[serde(default)]
    pub has_no_limit: bool,
}

/// The shape of a frame, and the layout of its numbers in an observation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Space {
    pub frame: FrameSpace,
    /// Whether the channels of a pixel are adjacent in an observation; a frame holds plane after plane.
    interleaved: bool,
}

impl EnvInfo {
    /// Bytes of an observation, if they can be counted.
    pub fn observation_bytes(&self) -> Option<usize> {
        let element: usize = if self.is_bytes { 1 } else { 4 };
        self.shape.iter().try_fold(element, |bytes, &side| bytes.checked_mul(side))
    }

    /// Names of the actions; their numbers if the environment has no names.
    pub fn action_names(&self) -> Vec<String> {
        if self.names.len() == self.actions {
            return self.names.clone();
        }
        (0..self.actions).map(|action| action.to_string()).collect()
    }
}

impl Space {
    /// Two axes are a picture, three a picture with channels (last, as usual in Gymnasium, unless only the first axis can
    /// be the channels), everything else is a vector.
    pub fn of(info: &EnvInfo) -> Self {
        let element = match info.is_bytes {
            true => Element::U8 { full_scale: info.full_scale.max(1) },
            false => Element::F32,
        };
        let (channels, height, width, interleaved) = match info.shape[..] {
            [height, width] => (1, height, width, false),
            [first, height, width] if CHANNELS.contains(&first) && !CHANNELS.contains(&width) => {
                (first, height, width, false)
            }
            [height, width, channels] => (channels, height, width, 1 < channels),
            _ => (info.shape.iter().product(), 1, 1, false),
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

    /// The first number that is not finite, with its index.
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

    fn info(shape: &[usize], is_bytes: bool) -> EnvInfo {
        EnvInfo {
            shape: shape.into(),
            is_bytes,
            full_scale: 255,
            actions: 2,
            names: Vec::new(),
            versions: String::new(),
            has_no_limit: false,
        }
    }

    fn frame_shape(shape: &[usize], is_bytes: bool) -> [usize; 3] {
        let frame = Space::of(&info(shape, is_bytes)).frame;
        [frame.channels, frame.height, frame.width]
    }

    #[test]
    fn a_shape_is_a_vector_a_picture_or_a_picture_with_channels() {
        assert_eq!(frame_shape(&[4], false), [4, 1, 1]);
        assert_eq!(frame_shape(&[], false), [1, 1, 1]);
        assert_eq!(frame_shape(&[84, 84], true), [1, 84, 84]);
        assert_eq!(frame_shape(&[210, 160, 3], true), [3, 210, 160]);
        assert_eq!(frame_shape(&[3, 64, 64], true), [3, 64, 64]);
        assert_eq!(frame_shape(&[2, 2, 2, 2], false), [16, 1, 1]);
    }

    #[test]
    fn interleaved_channels_become_planes() {
        let space = Space::of(&info(&[1, 2, 3], true));
        let mut frame = [0; 6];
        space.write(&[1, 2, 3, 4, 5, 6], &mut frame);
        assert_eq!(frame, [1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn planes_and_vectors_are_copied() {
        let vector = Space::of(&info(&[2], false));
        let bytes: Vec<u8> = [1.5_f32, -0.1].iter().flat_map(|x| x.to_le_bytes()).collect();
        let mut frame = [0; 8];
        vector.write(&bytes, &mut frame);
        assert_eq!(frame[..], bytes[..]);
        assert_eq!(vector.not_finite(&bytes), None);
        let odd: Vec<u8> = [1.5_f32, f32::INFINITY].iter().flat_map(|x| x.to_le_bytes()).collect();
        assert_eq!(vector.not_finite(&odd), Some((1, f32::INFINITY)));
    }
}
