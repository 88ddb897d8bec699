//! Gymnasium and ale-py for the tests: those that `python3` finds, or else fetched once by pip into the build's folder.

use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

/// What PYTHONPATH must be for `python3` to find the packages. Fails, with the cure, where they cannot be had.
pub fn python_path() -> String {
    let here = std::env::var("PYTHONPATH").unwrap_or_default();
    if imports(&here) {
        return here;
    }
    let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gym-site");
    let path = format!("{}:{here}", site.display());
    // Test processes start side by side: one fetches, the others wait for it.
    fs::create_dir_all(&site).expect("a folder for the packages");
    let lock = File::create(site.join(".lock")).expect("a lock for the packages");
    lock.lock().expect("the lock is taken");
    if !imports(&path) {
        let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target"];
        let fetched = Command::new("python3").args(pip).arg(&site).args(["gymnasium", "ale-py"]).output();
        assert!(
            fetched.as_ref().is_ok_and(|output| output.status.success()) && imports(&path),
            "these tests need Python with Gymnasium: `python3 -m pip install gymnasium ale-py`; pip said {fetched:?}"
        );
    }
    path
}

fn imports(path: &str) -> bool {
    let tried = Command::new("python3").args(["-c", "import gymnasium, ale_py"]).env("PYTHONPATH", path).output();
    tried.is_ok_and(|output| output.status.success())
}
