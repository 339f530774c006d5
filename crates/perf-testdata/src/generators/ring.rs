//! Generated trace of any size with wait states: each rank computes, sends to the next rank and
//! receives from the previous one. All ranks take part in a reduction in every tenth step.

use crate::many_ranks;
use perf_core::{
    Collective, CollectiveOp, CommId, Event, Events, Region, RegionId, Ticks, Trace, Transfer,
};

/// Regions: main, computation and calls of MPI.
const NAMES: [&str; 6] = [
    "main",
    "solve",
    "pack",
    "MPI_Send",
    "MPI_Recv",
    "MPI_Allreduce",
];

/// Steps between two reductions.
const REDUCE: u32 = 10;

/// Returns a trace of so many ranks and steps: some eleven events a rank and step.
///
/// # Panics
/// Never for less than 2^32 ranks and steps of memory.
pub fn trace(ranks: u32, steps: u32) -> Trace {
    let mut definitions = many_ranks::definitions(ranks);
    definitions.regions = NAMES.map(Region::named).to_vec();
    let mut state = 1_u64;
    let mut noise = |below: u64| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let message = |peer| Transfer {
        peer,
        comm: CommId(0),
        tag: 0,
        bytes: 100,
        request: None,
    };
    let reduction = Event::CollectiveEnd(Collective {
        op: CollectiveOp::Allreduce,
        comm: CommId(0),
        root: None,
        sent: 8,
        received: 8,
        request: None,
    });
    let mut all: Vec<(u64, Events)> = vec![(0, Events::default()); ranks as usize];
    for (_, events) in &mut all {
        events.reserve(steps as usize * 11);
        events.push_enter(Ticks(0), RegionId(0));
    }
    let push = |events: &mut Events, at: u64, event: Event<'_>| {
        events.push(Ticks(at), event).expect("times rise");
    };
    let mut sent = vec![0; ranks as usize];
    for step in 0..steps {
        for ((now, events), (rank, sent)) in all.iter_mut().zip((0..ranks).zip(&mut sent)) {
            for (region, length) in [(1, 1_000 + noise(50)), (2, 100 + noise(20))] {
                events.push_enter(Ticks(*now), RegionId(region));
                *now += length;
                events.push_leave(Ticks(*now), RegionId(region));
            }
            events.push_enter(Ticks(*now), RegionId(3));
            push(events, *now + 1, Event::Send(message((rank + 1) % ranks)));
            *sent = *now;
            *now += 5;
            events.push_leave(Ticks(*now), RegionId(3));
        }
        for ((now, events), rank) in all.iter_mut().zip(0..ranks) {
            let from = (rank + ranks - 1) % ranks;
            events.push_enter(Ticks(*now), RegionId(4));
            *now = (*now).max(sent[from as usize]) + 3;
            push(events, *now - 1, Event::Recv(message(from)));
            events.push_leave(Ticks(*now), RegionId(4));
        }
        if step % REDUCE == REDUCE - 1 {
            let last = all.iter().map(|it| it.0).max().unwrap_or_default() + 4;
            for (now, events) in &mut all {
                events.push_enter(Ticks(*now), RegionId(5));
                push(events, *now, Event::CollectiveBegin);
                push(events, last, reduction);
                events.push_leave(Ticks(last), RegionId(5));
                *now = last;
            }
        }
    }
    let all = all.into_iter().map(|(now, mut events)| {
        events.push_leave(Ticks(now), RegionId(0));
        events
    });
    Trace::new(definitions, all.collect()).expect("there is one list a rank")
}
