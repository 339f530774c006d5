//! Instruction counts of the hot paths, each with a limit that the gate enforces.
//!
//! Counts are those of callgrind: the same on a loaded machine as on an idle one. A limit is the
//! count measured when the line was last touched plus 5 %. Raise one only with a reason in the
//! commit; lower it when the code gets faster.

#![allow(missing_docs, reason = "the items are those of gungraun's macros")]

use std::hint::black_box;

use gungraun::{
    Callgrind, EventKind, LibraryBenchmarkConfig, library_benchmark, library_benchmark_group, main,
};

/// Fails the benchmark above this many instructions, and allows for 5 % over `measured`.
fn at_most(measured: u64) -> LibraryBenchmarkConfig {
    let mut config = LibraryBenchmarkConfig::default();
    config.tool(
        Callgrind::with_args(["cache-sim=no"])
            .hard_limits([(EventKind::Ir, measured + measured / 20)]),
    );
    config
}

/// Built before counting starts, and not part of the count.
fn numbers(count: u64) -> Vec<u64> {
    (0..count)
        .map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15))
        .collect()
}

#[library_benchmark]
#[bench::ten_thousand(args = (10_000), setup = numbers, config = at_most(1_214_213))]
fn sorted(mut values: Vec<u64>) -> Vec<u64> {
    values.sort_unstable();
    black_box(values)
}

library_benchmark_group!(name = hot_paths, benchmarks = [sorted]);
main!(library_benchmark_groups = hot_paths);
