//! The risk gallery of a run, as `sane risk gallery` left it: `risk/gallery/gallery.json` and pictures beside it.

use crate::fence::Fence;
use std::io;
use std::path::{Path, PathBuf};

/// More than any picture or list of ours has.
const MOST_BYTES: u64 = 32 << 20;

/// The list.
pub fn list(fence: &Fence, run: &Path) -> io::Result<Vec<u8>> {
    fence.read(&folder(run).join("gallery.json"), MOST_BYTES)
}

/// One of its pictures. The name may come from anybody, so what it leads to must lie in the gallery's own folder.
pub fn picture(fence: &Fence, run: &Path, name: &str) -> io::Result<Vec<u8>> {
    let path = folder(run).join(name);
    let is_inside = fence.admit(&path)?.starts_with(fence.admit(&folder(run))?);
    if !is_inside || path.extension().is_none_or(|ending| ending != "png") {
        return Err(io::ErrorKind::NotFound.into());
    }
    fence.read(&path, MOST_BYTES)
}

fn folder(run: &Path) -> PathBuf {
    run.join("risk/gallery")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn pictures_of_the_gallery_are_shown_and_nothing_else() {
        let root = tempfile::tempdir().unwrap();
        let gallery = root.path().join("risk/gallery/low");
        fs::create_dir_all(&gallery).unwrap();
        fs::write(gallery.join("1.png"), "picture").unwrap();
        fs::write(gallery.join("notes.txt"), "text").unwrap();
        fs::write(root.path().join("secret.png"), "secret").unwrap();
        std::os::unix::fs::symlink(root.path().join("secret.png"), gallery.join("link.png")).unwrap();
        let fence = Fence::around(&[root.path().into()]).unwrap();
        assert_eq!(picture(&fence, root.path(), "low/1.png").unwrap(), b"picture");
        for name in ["low/notes.txt", "../../secret.png", "low/../../../secret.png", "low/link.png", "/etc/passwd", ""]
        {
            assert!(picture(&fence, root.path(), name).is_err(), "{name}");
        }
    }
}
