//! Counters: the metric samples of a trace as values or rates over time.

pub(crate) mod counter;
pub(crate) mod reading;
pub(crate) mod series;
