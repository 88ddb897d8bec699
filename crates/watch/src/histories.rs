//! The histories of the runs somebody looked at lately. Reading one whole takes a moment; following it takes none.

use crate::fence::Fence;
use crate::history::History;
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Histories kept; the one not asked for longest goes first.
const MOST: usize = 96;

/// Histories by run.
#[derive(Debug, Default)]
pub struct Histories {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_run: HashMap<String, (u64, Arc<Mutex<History>>)>,
    asked: u64,
}

impl Histories {
    /// Brings the history of this run up to date and shows it to `read`. Runs do not wait for each other.
    pub fn with<T>(&self, fence: &Fence, id: &str, folder: &Path, read: impl FnOnce(&History) -> T) -> T {
        let history = self.entry(id);
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        history.follow(fence, folder);
        read(&history)
    }

    fn entry(&self, id: &str) -> Arc<Mutex<History>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.asked += 1;
        let asked = kept.asked;
        if !kept.by_run.contains_key(id) && MOST <= kept.by_run.len() {
            let oldest = kept.by_run.iter().min_by_key(|(_, (when, _))| *when).map(|(id, _)| id.clone());
            oldest.map(|id| kept.by_run.remove(&id));
        }
        let entry = kept.by_run.entry(id.to_owned()).or_default();
        entry.0 = asked;
        entry.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_run_not_asked_for_longest_is_forgotten_first() {
        let folder = tempfile::tempdir().unwrap();
        let fence = Fence::around(&[folder.path().into()]).unwrap();
        let histories = Histories::default();
        for i in 0..MOST {
            histories.with(&fence, &i.to_string(), folder.path(), |_| ());
        }
        histories.with(&fence, "0", folder.path(), |_| ());
        histories.with(&fence, "new", folder.path(), |_| ());
        let kept = &histories.kept.lock().unwrap().by_run;
        assert!(kept.len() == MOST && kept.contains_key("0") && kept.contains_key("new") && !kept.contains_key("1"));
    }
}
