//! Distribution of tasks of unequal size over the threads of rayon's pool.

use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Calls `run` on all tasks, each on the next free thread of the pool. Tasks start in their order: with the large ones first, the
/// small ones fill the time in which threads would wait for the last large one. Allocates nothing.
pub(crate) fn work_queue<T: Send>(tasks: impl Iterator<Item = T> + Send, run: impl Fn(T) + Sync) {
    let tasks = Mutex::new(tasks);
    let next = || tasks.lock().unwrap_or_else(PoisonError::into_inner).next();
    (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).for_each(|_| {
        while let Some(task) = next() {
            run(task);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_task_runs_once_and_one_thread_keeps_their_order() {
        for threads in [1, 2, 3, 8] {
            let ran = Mutex::new(Vec::new());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| work_queue(0..1000, |i| ran.lock().unwrap().push(i)));
            let mut ran = ran.into_inner().unwrap();
            if 1 < threads {
                ran.sort_unstable();
            }
            assert!(ran.into_iter().eq(0..1000), "{threads} threads");
        }
    }
}
