//! Which program this is: version, the commit it was built from, the instructions it computes with.

use sane_nn::Kernel;
use sane_record::RunOrigin;
use std::sync::LazyLock;

/// Commit that the program was built from; none if it was built without git.
pub const GIT_COMMIT: Option<&str> = option_env!("SANE_GIT_COMMIT");

/// Whether the sources differed from that commit.
pub fn is_dirty() -> Option<bool> {
    option_env!("SANE_GIT_DIRTY").map(|dirty| dirty == "true")
}

/// Adds the program's commit to the record of where a run comes from.
pub fn sign(origin: RunOrigin) -> RunOrigin {
    RunOrigin { git_commit: GIT_COMMIT.map(str::to_owned), git_dirty: is_dirty(), ..origin }
}

/// `0.1.0 (commit e300061, kernel avx2)`.
pub(crate) fn text() -> &'static str {
    static TEXT: LazyLock<String> = LazyLock::new(|| {
        let commit = match GIT_COMMIT {
            Some(commit) => format!(
                "commit {}{}",
                &commit[..12.min(commit.len())],
                if is_dirty() == Some(true) { ", modified" } else { "" }
            ),
            None => "built without git".into(),
        };
        // The fastest, which a run computes with unless it is told otherwise. `detect` would settle it for this process, before
        // `--kernel` is read.
        let kernel = Kernel::available().first().map_or("portable", |kernel| kernel.name());
        format!("{} ({commit}, kernel {kernel})", env!("CARGO_PKG_VERSION"))
    });
    &TEXT
}
