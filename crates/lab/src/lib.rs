//! All effects live here: files, time, threads.
