//! perf-testdata
