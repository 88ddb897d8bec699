//! Worker threads and the wish to stop: what a run takes from the outside world while it computes.

use crate::LabError;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A pool of this many worker threads, or as many as the machine has.
pub fn pool(threads: Option<usize>) -> Result<rayon::ThreadPool, LabError> {
    let threads = threads.unwrap_or_else(available);
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .map_err(|error| LabError::Threads { threads, reason: error.to_string() })
}

/// How many threads the machine offers.
pub fn available() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// A flag that Ctrl-C and SIGTERM set. Ctrl-C once more ends the process at once; SIGTERM may come again, since schedulers
/// send it to whole families of processes, in which parents pass it on to their children.
pub fn stop_on_signals() -> Result<Arc<AtomicBool>, LabError> {
    let stop = Arc::new(AtomicBool::new(false));
    // Order matters: the shutdown looks at the flag before the second handler sets it.
    signal_hook::flag::register_conditional_shutdown(SIGINT, 130, Arc::clone(&stop))
        .and_then(|_| signal_hook::flag::register(SIGINT, Arc::clone(&stop)))
        .and_then(|_| signal_hook::flag::register(SIGTERM, Arc::clone(&stop)))
        .map_err(LabError::io("listen for signals of", "this process"))?;
    Ok(stop)
}
