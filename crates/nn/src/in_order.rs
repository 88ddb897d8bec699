//! Work of unequal size shared out among threads.

use rayon::prelude::*;
use std::sync::{Mutex, PoisonError};

/// Visits all items, each on whichever thread of the pool is free. They are begun in their order: with the large ones in front
/// the small ones fill the time in which threads would wait for the last large one. Allocates nothing.
pub(crate) fn in_order<T: Send>(items: impl Iterator<Item = T> + Send, visit: impl Fn(T) + Sync) {
    let items = Mutex::new(items);
    let next = || items.lock().unwrap_or_else(PoisonError::into_inner).next();
    (0..rayon::current_num_threads()).into_par_iter().with_max_len(1).for_each(|_| {
        while let Some(item) = next() {
            visit(item);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_visited_once_and_one_thread_keeps_their_order() {
        for threads in [1, 2, 3, 8] {
            let visited = Mutex::new(Vec::new());
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| in_order(0..1000, |i| visited.lock().unwrap().push(i)));
            let mut visited = visited.into_inner().unwrap();
            if 1 < threads {
                visited.sort_unstable();
            }
            assert!(visited.into_iter().eq(0..1000), "{threads} threads");
        }
    }
}
