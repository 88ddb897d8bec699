//! The tables of a report.

mod aggregates;
mod runs;
mod scores;
mod settings;

pub use aggregates::{aggregate_table, improvement_table};
pub use runs::run_table;
pub use scores::score_table;
pub use settings::{common_settings, settings_table};
