//! CPU bursts, their clusters and their tracking: shared by `bursts`, `cluster` and `track`.

pub mod definition;
pub mod experiments;
pub mod options;
pub mod partition;
pub mod radius;
pub mod recolour;
pub mod series;
pub mod skipped;
pub mod time_balance;
