//! `sane train`, `eval`, `export`, `runs` and `config` as processes: what a user can do to them, and what must hold then.

mod command;
mod configuration;
mod evaluation;
mod folders;
mod learning;
mod resume;
