//! perf-core
