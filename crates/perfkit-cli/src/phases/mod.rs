//! CPU bursts, their clusters and their tracking, shared by `bursts`, `cluster`, `track` and `report`.

pub mod burst_tables;
pub mod clustering;
pub mod dropped_bursts;
pub mod experiments;
pub mod options;
pub mod radius;
pub mod recolour;
pub mod series;
pub mod time_balance;
