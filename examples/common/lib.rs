//! What the examples share: arguments and exit codes, progress bars, tables, pictures.
//!
//! An example is a function over `Write`, so that a test can run it; see `golden.rs` in `tests`.

pub mod cli;
pub mod colouring;
pub mod compared;
pub mod detected;
pub mod drawn;
pub mod findings;
pub mod frames;
pub mod left_out;
pub mod like;
pub mod live;
pub mod names;
pub mod output;
pub mod partition;
pub mod profile_summary;
pub mod progress;
pub mod radius;
pub mod recording;
pub mod series;
pub mod severities;
pub mod summary;
pub mod table;
pub mod time_balance;
