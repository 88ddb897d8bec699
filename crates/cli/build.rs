//! Tells the program the commit it is built from, where there is git, and whether the sources differ from it. Runs again only
//! when a source file or the commit changes, and then this crate is compiled anyway.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    println!("cargo::rerun-if-changed=build.rs");
    // An unpacked archive inside of another repository is not of that repository.
    let top = git(&root, &["rev-parse", "--show-toplevel"]).and_then(|top| fs::canonicalize(top).ok());
    if top.is_none() || top != fs::canonicalize(&root).ok() {
        return;
    }
    for path in sources(&root).into_iter().chain(commit_files(&root)) {
        // Cargo runs a script again and again for the sake of a file that does not exist.
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    let Some(commit) = git(&root, &["rev-parse", "HEAD"]) else { return };
    let changes = git(&root, &["status", "--porcelain", "--", "crates", "Cargo.toml", "Cargo.lock"]);
    println!("cargo::rustc-env=SANE_GIT_COMMIT={commit}");
    if let Some(changes) = changes {
        println!("cargo::rustc-env=SANE_GIT_DIRTY={}", !changes.is_empty());
    }
}

/// What the program is compiled from.
fn sources(root: &Path) -> Vec<PathBuf> {
    let crates = fs::read_dir(root.join("crates")).into_iter().flatten().flatten().map(|entry| entry.path());
    let of_crates = crates.flat_map(|path| [path.join("src"), path.join("Cargo.toml")]);
    of_crates.chain([root.join("Cargo.toml"), root.join("Cargo.lock")]).collect()
}

/// What changes when there is a new commit or another branch.
fn commit_files(root: &Path) -> Vec<PathBuf> {
    let branch = git(root, &["symbolic-ref", "--quiet", "HEAD"]);
    let names = ["HEAD", "logs/HEAD"].map(str::to_owned).into_iter().chain(branch);
    names.filter_map(|name| git(root, &["rev-parse", "--git-path", &name])).map(|path| root.join(path)).collect()
}

fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").current_dir(folder).args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}
