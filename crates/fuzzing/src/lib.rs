//! Files made to harm, and everything of the program that parses. In: any bytes; out: nothing, or a panic that is a bug.
//!
//! A [`Format`] is one kind of file: real ones, made by the program itself, and a body, which hands any bytes to the
//! program's own reader and then uses what the reader accepted. Checksums are made right first ("re-signed"), so that
//! the bytes behind them are reached. The same bodies run twice: as targets of cargo-fuzz (`fuzz/`), without end, and in
//! the tests of this crate, on a bounded number of [mutations](mutation) of the real files and on `corpus/`, which holds
//! every case that once did harm.
#![forbid(unsafe_code)]

mod actions;
pub mod archive;
pub mod checkpoint;
mod film;
pub mod mutation;
mod policy;
mod records;
mod scratch;
mod settings;
mod snapshot;
mod worker;

/// One kind of file.
pub struct Format {
    /// Also the name of its fuzz target and of its folder in `corpus/`.
    pub name: &'static str,
    /// Files that the program wrote, in the form the body takes them.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Reads the bytes as the program does, and uses what is accepted; whether they were.
    pub body: fn(&[u8]) -> bool,
}

/// Every kind of file the program reads, and what comes through the pipe of a Python worker.
pub const FORMATS: [Format; 15] = [
    Format { name: "checkpoint", seeds: checkpoint::seeds, body: checkpoint::body },
    Format { name: "snapshot", seeds: snapshot::seeds, body: snapshot::body },
    Format { name: "console_snapshot", seeds: snapshot::console_seeds, body: snapshot::console_body },
    Format { name: "atari_snapshot", seeds: snapshot::atari_seeds, body: snapshot::atari_body },
    Format { name: "records", seeds: records::seeds, body: records::body },
    Format { name: "film", seeds: film::seeds, body: film::body },
    Format { name: "config", seeds: settings::config_seeds, body: settings::config_body },
    Format { name: "suite", seeds: settings::suite_seeds, body: settings::suite_body },
    Format { name: "suite_status", seeds: settings::status_seeds, body: settings::status_body },
    Format { name: "minatar_trace", seeds: archive::minatar_seeds, body: archive::minatar_body },
    Format { name: "atari_trace", seeds: archive::atari_seeds, body: archive::atari_body },
    Format { name: "wheel", seeds: archive::wheel_seeds, body: archive::wheel_body },
    Format { name: "policy", seeds: policy::seeds, body: policy::body },
    Format { name: "worker", seeds: worker::seeds, body: worker::body },
    Format { name: "actions", seeds: actions::seeds, body: actions::body },
];

/// The format of this name.
pub fn format(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap_or_else(|| panic!("no format {name}"))
}
