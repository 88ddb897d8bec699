//! Gymnasium and ale-py for the tests: those that `python3` finds, or else fetched once by pip into the build's folder; and
//! scripts that stand for an interpreter.

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

/// Writes a script of one line that can be run at once. Another process does it: a file that this one writes is also open in
/// whatever other tests start meanwhile, and cannot be run until they have closed it.
pub fn write_script(path: &Path, line: &str) {
    let write = "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("sh").args(["-c", write]).arg(path).arg(line).status();
    assert!(written.is_ok_and(|status| status.success()), "{} cannot be written", path.display());
}

fn imports(path: &str) -> bool {
    let tried = Command::new("python3").args(["-c", "import gymnasium, ale_py"]).env("PYTHONPATH", path).output();
    tried.is_ok_and(|output| output.status.success())
}
