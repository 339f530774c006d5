//! perf-formats
