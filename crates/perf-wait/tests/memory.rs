//! Memory of all analyses of a trace, relative to the trace.
//!
//! The allocator of this program counts the memory, so that the numbers are the same in each run with one thread.
//! `CI=true cargo test --release -p perf-wait --test memory -- --nocapture` prints the time and the peak of each analysis.

#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

use perf_core::Job;
use perf_testdata::memory::{self, Counted};
use perf_testdata::{repeats, ring};
use perf_wait::activity::Activities;
use perf_wait::critical::{CriticalPath, Extent};
use perf_wait::delay::DelayCosts;
use perf_wait::device_collectives::DeviceCollectives;
use perf_wait::efficiency::{Efficiencies, IdealNetwork};
use perf_wait::findings::FindingsPlan;
use perf_wait::waits::WaitStates;
use std::time::Instant;

#[global_allocator]
static COUNTED: Counted = Counted::up_to(usize::MAX);

/// Measures analyses of a trace.
struct Meter {
    /// Memory of the trace in bytes.
    trace: f64,
    /// Bytes in use before the trace was made.
    before: usize,
    /// Largest memory of an analysis, relative to the trace.
    largest: f64,
}

impl Meter {
    /// Runs an analysis, and prints its time and memory. The memory includes the trace and all earlier results.
    fn run<R>(&mut self, name: &str, work: impl FnOnce() -> R) -> R {
        let start = Instant::now();
        memory::reset();
        let made = work();
        let share = |bytes: usize| (bytes - self.before) as f64 / self.trace;
        let peak = share(memory::peak());
        memory::reset();
        let time = start.elapsed();
        println!(
            "{name}: {time:.2?}, peak {peak:.3}, kept {:.3} of the trace",
            share(memory::peak())
        );
        self.largest = self.largest.max(peak);
        made
    }
}

/// Returns the peak memory of all analyses of a ring, relative to its trace.
fn largest(ranks: u32, steps: u32) -> f64 {
    memory::reset();
    let before = memory::peak();
    let trace = ring::trace(ranks, steps);
    memory::reset();
    let mut meter = Meter {
        trace: (memory::peak() - before) as f64,
        before,
        largest: 1.0,
    };
    println!("{} events, {:.1} MB", trace.len(), meter.trace / 1e6);
    let (view, job) = (trace.view(), Job::default());
    let activities = meter.run("activities", || Activities::of(view, &job).unwrap());
    let waits = meter.run("wait states", || {
        WaitStates::of_activities(&activities, &job).unwrap()
    });
    let delays = meter.run("delay costs", || {
        DelayCosts::of(view, &activities, &waits, &job).unwrap()
    });
    let exchanges = meter.run("collectives of accelerators", || {
        DeviceCollectives::of(view, &activities, &waits, &job).unwrap()
    });
    let _path = meter.run("critical path", || {
        CriticalPath::of(view, &activities, &waits, Extent::Run, &job).unwrap()
    });
    let _efficiencies = meter.run("efficiencies", || {
        let network = IdealNetwork::default();
        Efficiencies::of_activities(view, &activities, &network, &job).unwrap()
    });
    let _findings = meter.run("findings", || {
        let plan = FindingsPlan::default();
        plan.of_program((view, &activities), &waits, &delays, &exchanges, &job)
            .unwrap()
    });
    meter.largest
}

/// Twenty million events take a gigabyte, which only the gate needs; without it the trace has 2.4 million.
#[test]
fn all_analyses_take_at_most_twice_the_memory_of_the_trace() {
    let (ranks, steps) = repeats((1_024, 1_800), (256, 900));
    let largest = largest(ranks, steps);
    assert!(largest <= 2.0, "{largest:.3} of the trace");
}
