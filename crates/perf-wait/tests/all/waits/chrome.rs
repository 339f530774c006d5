//! Wait states of recordings that were converted to Chrome JSON.

use crate::synthetic::{Rank, trace_with};
use perf_core::{Collective, CollectiveOp, CommId, Job, Trace};
use perf_formats::{OpenOptions, chrome};
use perf_wait::activity::Activities;
use perf_wait::waits::{Pattern, WaitStates};
use std::io::Cursor;

/// Returns the wait states as (kind, location, begin, ticks).
fn states(trace: &Trace) -> Vec<(Pattern, u32, u64, u64)> {
    let job = Job::default();
    let activities = Activities::of(trace.view(), &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let state =
        |it: &perf_wait::waits::WaitState| (it.pattern, it.call.location.0, it.start.0, it.ticks);
    let mut states: Vec<_> = waits.states().iter().map(state).collect();
    states.sort_unstable();
    states
}

#[test]
fn collective_operations_survive_the_conversion() {
    use CollectiveOp::*;
    let operations = [
        ("MPI_Allreduce", Allreduce, None),
        ("MPI_Barrier", Barrier, None),
        ("MPI_Bcast", Bcast, Some(1)),
        ("MPI_Reduce", Reduce, Some(2)),
        ("MPI_Scan", Scan, None),
        ("MPI_Alltoallv", Alltoallv, None),
    ];
    let mut ranks: Vec<Rank> = (0..4)
        .map(|_| Rank::default().user("begin", 0, 10))
        .collect();
    for (number, (name, op, root)) in (0..).zip(operations) {
        // Every second operation is one of ranks 2 and 3 alone, whose number 0 is rank 2.
        let half = number % 2 == 1;
        let root = if half { root.map(|_| 0) } else { root };
        let (begin, end) = (1_000 * (number + 1), 1_000 * (number + 2) - 100);
        for (rank, own) in (0..).zip(&mut ranks) {
            if half && rank < 2 {
                continue;
            }
            let of = Collective {
                op,
                comm: CommId(u32::from(half)),
                root,
                sent: 8,
                received: 8,
                request: None,
            };
            let enter = begin + (rank * 37 + number * 11) % 100;
            *own = std::mem::take(own).operation(name, enter, end, of);
        }
    }
    let trace = trace_with(&ranks, &[vec![2, 3]]);
    let mut file = Vec::new();
    let written = chrome::write(trace.view(), &mut file, &Job::default()).expect("memory");
    assert_eq!(written.left_out, 0);
    let options = OpenOptions::new();
    let back = chrome::read("file", Cursor::new(file), &options, &Job::default());
    let back = back
        .expect("it can be read")
        .into_trace()
        .expect("it is one");
    let expected = states(&trace);
    let kinds = [
        Pattern::NxNWait,
        Pattern::BarrierWait,
        Pattern::LateBroadcast,
        Pattern::EarlyReduce,
    ];
    for kind in kinds {
        assert!(expected.iter().any(|it| it.0 == kind), "{kind:?}");
    }
    assert_eq!(states(&back), expected);
}
