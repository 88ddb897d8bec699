//! Gymnasium and ale-py for the tests: those that `python3` finds, or else fetched once by pip into the build's folder; and
//! scripts that stand for an interpreter.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// What PYTHONPATH must be for `python3` to find the packages. Fails, with the cure, where they cannot be had.
pub fn python_path() -> String {
    let here = std::env::var("PYTHONPATH").unwrap_or_default();
    if imports(&here) {
        return here;
    }
    let (site, path) = fetched_packages(&here);
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

/// Where pip puts the packages, and the PYTHONPATH that includes it.
fn fetched_packages(here: &str) -> (PathBuf, String) {
    let site = Path::new(env!("CARGO_TARGET_TMPDIR")).join("gym-site");
    let path = format!("{}:{here}", site.display());
    (site, path)
}

/// With `SANE_TEST_OFFLINE` set nothing is fetched: a test whose packages are not on this machine says so and returns at once.
pub fn is_left_out() -> bool {
    static LEFT_OUT: OnceLock<bool> = OnceLock::new();
    *LEFT_OUT.get_or_init(|| {
        let here = std::env::var("PYTHONPATH").unwrap_or_default();
        let is_offline = std::env::var_os("SANE_TEST_OFFLINE").is_some();
        let is_left_out = is_offline && !imports(&here) && !imports(&fetched_packages(&here).1);
        if is_left_out {
            let note = "left out: SANE_TEST_OFFLINE is set, and python3 finds no gymnasium and ale_py";
            // Not by eprintln!, which the test harness hides when tests pass.
            writeln!(std::io::stderr(), "{note}").expect("standard error can be written");
        }
        is_left_out
    })
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
