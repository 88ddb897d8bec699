//! The byte format of snapshots: the world's name, its state, a checksum.

use sane_env::SnapshotError;
use serde::{Serialize, de::DeserializeOwned};

const CHECKSUM: usize = 4;

pub fn encode<S: Serialize>(world: &str, state: &S) -> Vec<u8> {
    let mut bytes = postcard::to_stdvec(&(world, state)).expect("plain data in memory can be encoded");
    let checksum = crc32fast::hash(&bytes);
    bytes.extend(checksum.to_le_bytes());
    bytes
}

/// The state in the bytes, if they are complete and of this world.
pub fn decode<S: DeserializeOwned>(world: &str, snapshot: &[u8]) -> Result<S, SnapshotError> {
    let unreadable = |reason: String| SnapshotError::Unreadable { world: world.into(), reason };
    let Some((bytes, checksum)) = snapshot.split_last_chunk::<CHECKSUM>() else {
        return Err(unreadable(format!("it has only {} bytes", snapshot.len())));
    };
    if crc32fast::hash(bytes) != u32::from_le_bytes(*checksum) {
        return Err(unreadable(
            "its checksum is wrong: it is damaged, truncated, or not a snapshot of a built-in world".into(),
        ));
    }
    let (found, state) = postcard::take_from_bytes::<&str>(bytes).map_err(|error| unreadable(error.to_string()))?;
    if found != world {
        return Err(SnapshotError::OtherWorld { found: found.into(), expected: world.into() });
    }
    postcard::from_bytes(state).map_err(|error| unreadable(error.to_string()))
}

/// Refuses a state that the world cannot reach.
pub fn check(world: &str, is_valid: bool) -> Result<(), SnapshotError> {
    if is_valid {
        return Ok(());
    }
    let reason = "it holds a state that play cannot reach: it was altered, or another version wrote it".into();
    Err(SnapshotError::Unreadable { world: world.into(), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back() {
        assert_eq!(decode::<(u8, i64)>("here", &encode("here", &(7_u8, -3_i64))), Ok((7, -3)));
    }

    #[test]
    fn a_snapshot_of_another_world_is_refused_by_name() {
        let error = decode::<u8>("here", &encode("there", &1_u8)).unwrap_err();
        assert_eq!(error, SnapshotError::OtherWorld { found: "there".into(), expected: "here".into() });
    }

    #[test]
    fn any_damaged_byte_is_noticed() {
        let whole = encode("here", &[1_u32, 2, 3]);
        for i in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[i] ^= 0x10;
            assert!(decode::<[u32; 3]>("here", &damaged).is_err(), "byte {i}");
            assert!(decode::<[u32; 3]>("here", &whole[..i]).is_err(), "cut after {i}");
        }
    }
}
