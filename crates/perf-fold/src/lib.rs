//! perf-fold
