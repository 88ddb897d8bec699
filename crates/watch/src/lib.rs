//! Run folders as a live page: files in, HTTP out, nothing written.
//!
//! [`serve`] answers until it is told to stop. A thread of its own looks at all runs every second (`index.rs`): a short
//! look at each, by samples of its files, is what the overview shows. A run that is opened or compared is read whole,
//! once, and then followed line by line (`history.rs`). Every file is opened through the fence (`fence.rs`), which lets
//! nothing outside the given folders through; every request passes the gate (`gate.rs`), which asks for the token.
#![forbid(unsafe_code)]

mod address;
mod assets;
mod buckets;
mod comparison;
mod discover;
mod error;
mod fence;
mod gallery;
mod gate;
mod glance;
mod histories;
mod history;
mod index;
mod live;
mod lock_holder;
mod routes;
mod row;
mod run_state;
mod server;
mod tail;

pub use address::Address;
pub use error::WatchError;
pub use server::{Server, serve};
