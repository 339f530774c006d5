//! Synthetic recording `syn-cosmo`: a coupled weather model in which the ranks that compute clouds become slower.
//!
//! The recording has 40 ranks, of which 4 compute clouds, 60 iterations, one tick per nanosecond,
//! and no gaps. Iteration k starts at t0. With S = 4,000,000 it consists of these intervals, in
//! ticks:
//!
//! | interval | ranks | region |
//! |---|---|---|
//! | [t0, t0 + 1,000,000) | all | `COSMO` |
//! | the next 200,000 | all | `MPI_Sendrecv` |
//! | the next S + floor(k S / 59) | 0 to 3 | `SPECS` |
//! | the next S | 4 to 39 | `SPECS` |
//! | until the slowest rank ends, and 100,000 more | all | `MPI_Allreduce` |
//!
//! All of these regions are called from `main`. The folds of this recording are known in closed
//! form.

use crate::{
    Definitions, Event, Events, GroupKind, Limits, Location, LocationGroup, LocationGroupId,
    LocationKind, Paradigm, Region, RegionId, RegionRole, SystemNode, SystemNodeId, SystemTree,
    Ticks, TimeRange, Trace,
};

/// Number of ranks.
pub const RANKS: u32 = 40;
/// Number of ranks that compute clouds: ranks 0 to 3.
pub const CLOUD_RANKS: u32 = 4;
/// Number of iterations.
pub const ITERATIONS: u64 = 60;
/// Range from the first event to the last, of length 437,999,971 ns.
pub const SPAN: TimeRange = TimeRange {
    start: Ticks(0),
    end: Ticks(437_999_971),
};

const COSMO: u64 = 1_000_000;
const EXCHANGE: u64 = 200_000;
const SPECS: u64 = 4_000_000;
const REDUCE: u64 = 100_000;

/// Returns the delay of the cloud ranks in iteration `k`: floor(k S / 59) ns.
pub fn lag(k: u64) -> u64 {
    k * SPECS / (ITERATIONS - 1)
}

/// Returns the start of iteration `k`.
pub fn start(k: u64) -> Ticks {
    Ticks(
        (0..k)
            .map(|k| COSMO + EXCHANGE + SPECS + REDUCE + lag(k))
            .sum(),
    )
}

/// Returns the interval in which the ranks differ in iteration `k`; empty for iteration 0.
pub fn differing(k: u64) -> TimeRange {
    let from = start(k).0 + COSMO + EXCHANGE + SPECS;
    TimeRange {
        start: Ticks(from),
        end: Ticks(from + lag(k)),
    }
}

/// Returns the fraction of iteration `k` in which the ranks differ: (k S / 59) / (5.3 ms + k S /
/// 59).
pub fn differing_share(k: u64) -> f64 {
    let lag = k as f64 * SPECS as f64 / (ITERATIONS - 1) as f64;
    lag / ((COSMO + EXCHANGE + SPECS + REDUCE) as f64 + lag)
}

/// Returns the recording: 40 locations, 19,280 events.
pub fn trace() -> Trace {
    let region = |name: &str, paradigm, role| Region {
        paradigm,
        role,
        ..Region::named(name)
    };
    let regions = vec![
        region("main", Paradigm::User, RegionRole::Function),
        region("COSMO", Paradigm::User, RegionRole::Function),
        region("MPI_Sendrecv", Paradigm::Mpi, RegionRole::PointToPoint),
        region("SPECS", Paradigm::User, RegionRole::Function),
        region("MPI_Allreduce", Paradigm::Mpi, RegionRole::Collective),
    ];
    let definitions = Definitions {
        system: system(),
        regions,
        ..Definitions::default()
    };
    let events = (0..RANKS).map(rank).collect();
    Trace::new(definitions, events).expect("one column a location")
}

fn rank(rank: u32) -> Events {
    let mut events = Events::default();
    let mut push = |at: u64, event| events.push(Ticks(at), event).expect("times ascend");
    let enter = |region| Event::Enter {
        region: RegionId(region),
    };
    let leave = |region| Event::Leave {
        region: RegionId(region),
    };
    push(0, enter(0));
    let mut at = 0;
    for k in 0..ITERATIONS {
        let lag = lag(k);
        let own = if rank < CLOUD_RANKS { lag } else { 0 };
        let lengths = [COSMO, EXCHANGE, SPECS + own, lag - own + REDUCE];
        for (region, length) in (1..).zip(lengths) {
            push(at, enter(region));
            at += length;
            push(at, leave(region));
        }
    }
    push(at, leave(0));
    events
}

fn system() -> SystemTree {
    let machine = SystemNode {
        name: "syn".into(),
        class: "machine".into(),
        ..SystemNode::default()
    };
    let node = |index: u32| SystemNode {
        name: format!("node {index}"),
        class: "node".into(),
        parent: Some(SystemNodeId(0)),
        ..SystemNode::default()
    };
    // Ten ranks on each node.
    let nodes = std::iter::once(machine).chain((0..RANKS / 10).map(node));
    let groups = (0..RANKS).map(|rank| LocationGroup {
        name: format!("MPI Rank {rank}"),
        kind: GroupKind::Process,
        parent: Some(SystemNodeId(1 + rank / 10)),
        ..LocationGroup::default()
    });
    let locations = (0..RANKS).map(|rank| Location {
        name: "Master thread".into(),
        kind: LocationKind::CpuThread,
        group: Some(LocationGroupId(rank)),
        key: rank.into(),
        ..Location::default()
    });
    let (nodes, groups, locations) = (nodes.collect(), groups.collect(), locations.collect());
    SystemTree::new(nodes, groups, locations, &Limits::default()).expect("every parent is there")
}
