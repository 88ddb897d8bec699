//! Where the tests find Python, and how they make worlds of the test environments.

use crate::packages::{python_path, write_script};
use sane_env::{Environment, Stream};
use sane_gym::{GymEnv, GymError, GymOptions, GymSource};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A folder with interpreters of its own.
pub struct Fixture {
    folder: TempDir,
    packages: String,
}

impl Fixture {
    pub fn new() -> Self {
        Self { folder: tempfile::tempdir().expect("a temporary folder"), packages: python_path() }
    }

    /// An interpreter that finds Gymnasium and the test environments.
    pub fn python(&self) -> String {
        let environments = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python");
        let line = format!("PYTHONPATH='{}:{}' exec python3 \"$@\"", environments.display(), self.packages);
        self.script("python-with-environments", &line)
    }

    /// The environment of this name, nothing set.
    pub fn world(&self, name: &str) -> GymOptions {
        GymOptions { python: Some(self.python()), ..GymOptions::new(name) }
    }

    /// An interpreter without any package.
    pub fn bare_python(&self) -> String {
        self.script("bare-python", "exec python3 -I -S \"$@\"")
    }

    /// A path in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An interpreter that is this line of shell.
    pub fn script(&self, name: &str, line: &str) -> String {
        let path = self.folder.path().join(name);
        if !path.exists() {
            write_script(&path, line);
        }
        path.display().to_string()
    }

    /// A test environment with these arguments, as TOML.
    pub fn counter(&self, kwargs: &str) -> GymOptions {
        let kwargs = kwargs.parse().expect("arguments are TOML");
        GymOptions { kwargs, ..self.world("gym:sane_test_envs:Counter-v0") }
    }
}

/// A world and a buffer for its frame, its first episode started.
pub fn started(options: &GymOptions) -> (GymEnv, Vec<u8>) {
    let mut world = GymSource::open(options).and_then(|source| source.make(1)).expect("a world");
    let mut frame = vec![0; world.spec().frame.bytes()];
    world.reset(&mut Stream::named(1, "starts"), &mut frame).expect("the environment resets");
    (world, frame)
}

/// Why the environment cannot be had.
pub fn refusal(options: &GymOptions) -> GymError {
    GymSource::open(options).and_then(|source| source.make(1)).expect_err("the environment was had")
}

/// The frame's numbers.
pub fn floats(frame: &[u8]) -> Vec<f32> {
    frame.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect()
}
