//! The few protobuf messages of an event file, encoded by hand.
//!
//! ```text
//! Event          { 1: double wall_time, 2: int64 step, 3: string file_version, 5: Summary summary }
//! Summary        { 1: repeated Value { 1: string tag, 2: float simple_value, 5: HistogramProto histo } }
//! HistogramProto { 1: min, 2: max, 3: num, 4: sum, 5: sum_squares, 6: packed bucket_limit, 7: packed bucket }  (doubles)
//! ```

use super::Histogram;

/// The message every event file begins with.
pub fn file_version(wall_time: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.bytes(3, b"brain.Event:2");
    event.0
}

/// Several points at one step.
pub fn scalars(wall_time: f64, step: u64, values: &[(&str, f64)]) -> Vec<u8> {
    let mut summary = Message::default();
    for &(tag, value) in values {
        let mut point = Message::default();
        point.bytes(1, tag.as_bytes());
        point.float(2, value as f32);
        summary.bytes(1, &point.0);
    }
    event(wall_time, step, &summary)
}

/// One histogram at one step.
pub fn histogram(wall_time: f64, step: u64, tag: &str, histogram: &Histogram) -> Vec<u8> {
    let mut proto = Message::default();
    let fields = [histogram.min, histogram.max, histogram.count, histogram.sum, histogram.sum_of_squares];
    for (field, value) in (1..).zip(fields) {
        proto.double(field, value);
    }
    proto.packed_doubles(6, &histogram.limits);
    proto.packed_doubles(7, &histogram.buckets);
    let mut value = Message::default();
    value.bytes(1, tag.as_bytes());
    value.bytes(5, &proto.0);
    let mut summary = Message::default();
    summary.bytes(1, &value.0);
    event(wall_time, step, &summary)
}

fn event(wall_time: f64, step: u64, summary: &Message) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, wall_time);
    event.varint_field(2, step);
    event.bytes(5, &summary.0);
    event.0
}

/// A protobuf message being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut value: u64) {
        while 0x80 <= value {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn varint_field(&mut self, field: u64, value: u64) {
        self.varint(field << 3);
        self.varint(value);
    }

    fn double(&mut self, field: u64, value: f64) {
        self.varint(field << 3 | 1);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn float(&mut self, field: u64, value: f32) {
        self.varint(field << 3 | 5);
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn packed_doubles(&mut self, field: u64, values: &[f64]) {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.bytes(field, &bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scalar_has_the_bytes_the_protobuf_rules_give() {
        let expected = [
            &[0x09][..],
            &1.5_f64.to_le_bytes(), // wall_time
            &[0x10, 0xac, 0x02],    // step 300
            &[0x2a, 10, 0x0a, 8, 0x0a, 1, b'a', 0x15],
            &2.0_f32.to_le_bytes(), // summary, value, tag, simple_value
        ]
        .concat();
        assert_eq!(scalars(1.5, 300, &[("a", 2.0)]), expected);
    }
}
