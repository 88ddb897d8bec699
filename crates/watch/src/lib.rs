//! Run folders as a live page: files in, HTTP out.
//!
//! Writes nothing, and links neither the emulator nor the engine: it knows runs by their files. [`Server::bind`] listens,
//! [`serve`] answers until a flag is set (`server.rs`). Reading order:
//!
//! - `index.rs`: a thread checks all runs once a second; a sample of each run's files (`sample.rs`) and its state
//!   (`run_state.rs`) make a row of the overview (`row.rs`), and changes are pushed to the browser (`live.rs`)
//! - `history.rs`: a run that is opened or compared is read whole, once, and then followed line by line (`tail.rs`)
//! - `routes.rs`: what can be requested; every request is authorised (`auth.rs`), and every file is opened through
//!   `path_guard.rs`, which admits nothing outside the given folders
//!
//! ```
//! use sane_watch::{Address, Server, serve};
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! let folder = std::env::temp_dir();
//! let server = Server::bind(&[folder], &Address::new(None, 0)?)?;
//! assert!(server.url.starts_with("http://127.0.0.1:"));
//! // Answers until the flag is set, as by Ctrl-C; here it is set from the start.
//! serve(server, &Arc::new(AtomicBool::new(true)))?;
//! # Ok::<(), sane_watch::WatchError>(())
//! ```
#![forbid(unsafe_code)]

mod auth;
mod buckets;
mod clock;
mod comparison;
mod connections;
mod error;
mod history;
mod index;
mod live;
mod path_guard;
mod routes;
mod row;
mod run_state;
mod sample;
mod server;
mod tail;

pub use error::WatchError;
pub use server::{Address, Server, serve};
