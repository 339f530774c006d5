//! Efficiencies of made traces.

mod efficiency_epoch;
mod imbalance;

use crate::synthetic::{Rank, trace};
use perf_core::{CollectiveOp, Job};
use perf_wait::Error;
use perf_wait::efficiency::{Efficiencies, IdealNetwork, Scaling, Series};

/// Two ranks that compute for 100 and 300 ns, in a function or outside of all, and meet in a barrier of 100 ns.
fn run(has_function: bool) -> Efficiencies {
    let rank = |own: u64| {
        let rank = Rank::default().call("MPI_Init", 0, 10);
        let rank = if has_function {
            rank.user("solve", 10, 10 + own)
        } else {
            rank
        };
        rank.collective("MPI_Barrier", 10 + own, 410, CollectiveOp::Barrier, None, 0)
    };
    let trace = trace(&[rank(100), rank(300)]);
    let found = Efficiencies::of(trace.view(), &IdealNetwork::default(), &Job::default());
    found.expect("it can be replayed")
}

#[test]
fn efficiencies_are_those_of_the_arithmetic() {
    for has_function in [true, false] {
        let found = run(has_function);
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value}");
        near(found.parallel_efficiency(), 200.0 / 410.0);
        near(found.load_balance(), 200.0 / 300.0);
        near(found.communication_efficiency(), 300.0 / 410.0);
        near(found.serialisation_efficiency(), 1.0);
        near(found.transfer_efficiency(), 300.0 / 410.0);
        assert_eq!(
            (found.ideal.runtime.0, found.instructions(), found.ipc()),
            (300, None, None)
        );
        assert_eq!(found.table().rows(), 5);
    }
}

#[test]
fn weak_scaling_expects_more_work_of_more_processes() {
    let run = run(true);
    let mut half = run.clone();
    half.processes.truncate(1);
    let series = Series::of(&[half, run], Scaling::Weak).expect("there are runs");
    // One process computes for 100 ns, two for 400 instead of 200.
    assert_eq!(series.rows[1].computation_scaling, 0.5);
    assert_eq!(series.rows[1].speedup, 2.0);
    assert!(matches!(
        Series::of(&[], Scaling::Strong),
        Err(Error::Nothing { .. })
    ));
}
