//! Synthetic results that several tests draw.

#![allow(dead_code, unreachable_pub, reason = "each test uses what it needs")]

#[cfg(feature = "anomaly")]
pub mod anomalies;
#[cfg(feature = "track")]
pub mod clusters;
