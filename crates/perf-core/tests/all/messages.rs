//! Matching of messages, and the cause of each end without a partner.

use crate::common;

use common::{events, trace};
use perf_core::Job;
use perf_core::*;

const WORLD: CommId = CommId(0);

fn to(peer: u32, tag: u32, request: Option<u64>) -> Transfer {
    Transfer {
        peer,
        comm: WORLD,
        tag,
        bytes: 10,
        request,
    }
}

/// Returns a trace with `locations` ranks of one communicator, a communicator that each has to
/// itself, and one window.
fn world(locations: Vec<Events>) -> Trace {
    let ranks = (0..locations.len() as u32).map(|rank| Some(LocationId(rank)));
    let members = Members::Ranks(ranks.collect());
    let (mut definitions, events, _) = trace(locations).into_parts();
    definitions.comms.push(Communicator {
        members,
        ..Default::default()
    });
    definitions.comms.push(Communicator {
        members: Members::Own,
        ..Default::default()
    });
    definitions.windows.push(Window {
        comm: Some(WORLD),
        ..Default::default()
    });
    Trace::new(definitions, events).unwrap()
}

fn times(found: &Messages) -> Vec<(u64, u64)> {
    let pairs = found.messages.iter();
    pairs
        .map(|message| (message.sender.time.0, message.receiver.time.0))
        .collect()
}

fn causes(found: &Messages) -> Vec<(UnmatchedCause, usize)> {
    found.causes().into_iter().collect()
}

#[test]
fn equal_messages_match_in_order_and_tags_apart() {
    let sender = events(&[
        (1, Event::Send(to(1, 5, None))),
        (2, Event::Send(to(1, 6, None))),
        (3, Event::Send(to(1, 5, None))),
    ]);
    let receiver = events(&[
        (10, Event::Recv(to(0, 6, None))),
        (11, Event::Recv(to(0, 5, None))),
        (12, Event::Recv(to(0, 5, None))),
    ]);
    let found = match_messages(world(vec![sender, receiver]).view(), &Job::default()).unwrap();
    assert_eq!(times(&found), [(1, 11), (2, 10), (3, 12)]);
    assert!(found.unmatched.is_empty());
}

#[test]
fn non_blocking_receives_match_in_the_order_they_were_posted() {
    let sender = events(&[
        (1, Event::Send(to(1, 0, Some(7)))),
        (2, Event::Send(to(1, 0, Some(8)))),
        (3, Event::SendComplete { request: 8 }),
        (4, Event::SendComplete { request: 7 }),
    ]);
    // Posted as 50, then 51; the second is completed first.
    let receiver = events(&[
        (1, Event::RecvPost { request: 50 }),
        (2, Event::RecvPost { request: 51 }),
        (10, Event::Recv(to(0, 0, Some(51)))),
        (11, Event::Recv(to(0, 0, Some(50)))),
    ]);
    let found = match_messages(world(vec![sender, receiver]).view(), &Job::default()).unwrap();
    assert_eq!(times(&found), [(1, 11), (2, 10)]);
}

#[test]
fn a_lost_send_ends_the_earlier_one_of_its_request() {
    let sender = events(&[
        (1, Event::Send(to(1, 0, Some(7)))),
        (2, Event::Send(to(9, 0, Some(7)))),
        (3, Event::RequestCancelled { request: 7 }),
    ]);
    let receiver = events(&[(10, Event::Recv(to(0, 0, None)))]);
    let found = match_messages(world(vec![sender, receiver]).view(), &Job::default()).unwrap();
    assert_eq!(times(&found), [(1, 10)]);
    assert_eq!(causes(&found), [(UnmatchedCause::UnknownPeer, 1)]);
}

#[test]
fn every_cause_is_reported() {
    let first = events(&[
        (1, Event::Send(to(1, 0, None))),
        (2, Event::Send(to(9, 0, None))),
        (3, Event::Send(to(2, 0, None))),
        (4, Event::Send(to(1, 3, Some(1)))),
        (5, Event::RequestCancelled { request: 1 }),
        (6, Event::RecvPost { request: 2 }),
        (7, Event::RequestCancelled { request: 2 }),
        (8, Event::RecvPost { request: 3 }),
        (9, Event::CollectiveBegin),
    ]);
    let access = |matching| Event::Rma {
        op: RmaOp::Put,
        window: WindowId(0),
        remote: 0,
        bytes: 4,
        matching,
    };
    let done = |matching, by| Event::RmaComplete {
        by,
        window: WindowId(0),
        matching,
    };
    let second = events(&[
        (1, Event::Recv(to(0, 4, None))),
        (2, access(1)),
        (3, done(1, RmaCompletion::Test)),
        (4, done(1, RmaCompletion::NonBlocking)),
        (5, done(1, RmaCompletion::Remote)),
        (6, access(2)),
        (7, done(3, RmaCompletion::Blocking)),
    ]);
    let found = match_messages(
        world(vec![first, second, Events::absent()]).view(),
        &Job::default(),
    )
    .unwrap();
    assert!(found.messages.is_empty());
    assert_eq!(found.accesses.len(), 1);
    assert_eq!(found.accesses[0].end.time, Ticks(4));
    assert_eq!(found.accesses[0].remote, Some(LocationId(0)));
    assert_eq!(
        causes(&found),
        [
            (UnmatchedCause::NoReceive, 1),
            (UnmatchedCause::NoSend, 1),
            (UnmatchedCause::NoCompletion, 1),
            (UnmatchedCause::Cancelled, 2),
            (UnmatchedCause::UnknownPeer, 1),
            (UnmatchedCause::PeerAbsent, 1),
            (UnmatchedCause::HalfCollective, 1),
            (UnmatchedCause::AccessNotComplete, 1),
            (UnmatchedCause::AccessNotStarted, 1),
        ]
    );
}

#[test]
fn the_nth_collective_of_each_rank_belongs_together() {
    let end = |comm, request| {
        let op = CollectiveOp::Allreduce;
        Event::CollectiveEnd(Collective {
            op,
            comm,
            root: None,
            sent: 1,
            received: 2,
            request,
        })
    };
    // Started first, ended last: its number is determined by its start.
    let first = events(&[
        (1, Event::CollectivePost { request: 4 }),
        (2, Event::CollectiveBegin),
        (3, end(WORLD, None)),
        (4, end(WORLD, Some(4))),
        (5, Event::CollectiveBegin),
        (6, end(CommId(1), None)),
    ]);
    let second = events(&[
        (11, Event::CollectiveBegin),
        (12, end(WORLD, None)),
        (13, Event::CollectiveBegin),
        (14, end(WORLD, None)),
        (15, Event::CollectiveBegin),
        (16, end(CommId(1), None)),
    ]);
    let found = match_messages(world(vec![first, second]).view(), &Job::default()).unwrap();
    let ends: Vec<Vec<u64>> = found
        .collectives
        .iter()
        .map(|instance| {
            instance
                .members
                .iter()
                .map(|member| member.end.time.0)
                .collect()
        })
        .collect();
    assert_eq!(ends, [vec![4, 12], vec![3, 14], vec![6], vec![16]]);
    assert!(found.unmatched.is_empty());
}

#[test]
fn threads_share_the_rank_of_their_process() {
    let sender = events(&[(1, Event::Send(to(1, 0, None)))]);
    let worker = events(&[(5, Event::Recv(to(0, 0, None)))]);
    let (mut definitions, events, _) = world(vec![sender, Events::default(), worker]).into_parts();
    // The third location is a second thread of the second process.
    let mut locations = definitions.system.locations().to_vec();
    locations[2].group = locations[1].group;
    let groups = definitions.system.groups().to_vec();
    definitions.system = SystemTree::new(vec![], groups, locations, &Default::default()).unwrap();
    let found = match_messages(
        Trace::new(definitions, events).unwrap().view(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(times(&found), [(1, 5)]);
    assert_eq!(found.messages[0].receiver.location, LocationId(2));
}

#[test]
fn inter_communicators_name_ranks_of_the_other_group() {
    let left = events(&[(1, Event::Send(to(0, 0, None)))]);
    let right = events(&[(5, Event::Recv(to(0, 0, None)))]);
    let (mut definitions, events, _) = world(vec![left, right]).into_parts();
    let side = |id| vec![Some(LocationId(id))];
    definitions.comms[0].members = Members::Between(side(0), side(1));
    let found = match_messages(
        Trace::new(definitions, events).unwrap().view(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(times(&found), [(1, 5)]);
}

#[test]
fn a_view_keeps_messages_with_an_end_in_it() {
    let sender = events(&[
        (1, Event::Send(to(1, 0, None))),
        (20, Event::Send(to(1, 0, None))),
    ]);
    let receiver = events(&[(5, Event::Recv(to(0, 0, None)))]);
    let trace = world(vec![sender, receiver]);
    let late = TimeRange::new(Ticks(4), Ticks(10)).unwrap();
    let found = match_messages(trace.view().between(late), &Job::default()).unwrap();
    assert_eq!(times(&found), [(1, 5)]);
    assert!(found.unmatched.is_empty(), "the send at 20 is outside");
    assert_eq!(
        match_messages(trace.view().only(&[LocationId(0)]), &Job::default())
            .unwrap()
            .unmatched
            .len(),
        1
    );
}

fn done(op: CollectiveOp, comm: CommId) -> Event<'static> {
    Event::CollectiveEnd(Collective {
        op,
        comm,
        root: None,
        sent: 1,
        received: 2,
        request: None,
    })
}

/// Returns the operation and the ends of the members.
fn operations(found: &Messages) -> Vec<(CollectiveOp, Vec<u64>)> {
    let ends = |instance: &CollectiveInstance| {
        let members = instance.members.iter();
        members.map(|member| member.end.time.0).collect()
    };
    let all = found.collectives.iter();
    all.map(|instance| (instance.op, ends(instance))).collect()
}

#[test]
fn collectives_of_threads_count_as_those_of_their_process() {
    use CollectiveOp::{Barrier, Bcast};
    // The threads of the first process alternate, and the worker goes first.
    let master = events(&[
        (10, Event::CollectiveBegin),
        (11, done(Bcast, WORLD)),
        (20, Event::CollectiveBegin),
        (21, done(Barrier, CommId(1))),
    ]);
    let worker = events(&[
        (1, Event::CollectiveBegin),
        (2, done(Barrier, WORLD)),
        (22, Event::CollectiveBegin),
        (23, done(Barrier, CommId(1))),
    ]);
    let other = events(&[
        (3, Event::CollectiveBegin),
        (4, done(Barrier, WORLD)),
        (12, Event::CollectiveBegin),
        (13, done(Bcast, WORLD)),
    ]);
    let (mut definitions, events, _) = world(vec![master, worker, other]).into_parts();
    let mut locations = definitions.system.locations().to_vec();
    locations[1].group = locations[0].group;
    let groups = definitions.system.groups().to_vec();
    definitions.system = SystemTree::new(vec![], groups, locations, &Default::default()).unwrap();
    let found = match_messages(
        Trace::new(definitions, events).unwrap().view(),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(
        operations(&found),
        [
            (Barrier, vec![2, 4]),
            (Bcast, vec![11, 13]),
            // Communicators that each location has to itself are counted separately, also on
            // threads.
            (Barrier, vec![21]),
            (Barrier, vec![23]),
        ]
    );
    assert!(found.unmatched.is_empty());
}

#[test]
fn another_collective_is_reported_and_not_merged() {
    use CollectiveOp::{Barrier, Bcast};
    let rank = |op, at| events(&[(at, Event::CollectiveBegin), (at + 1, done(op, WORLD))]);
    let trace = world(vec![rank(Bcast, 1), rank(Barrier, 3), rank(Barrier, 5)]);
    let found = match_messages(trace.view(), &Job::default()).unwrap();
    assert_eq!(operations(&found), [(Barrier, vec![4, 6])]);
    assert_eq!(causes(&found), [(UnmatchedCause::OtherCollective, 1)]);
    assert_eq!(found.unmatched[0].end.time, Ticks(2));
    // If two ranks differ, the operation of the first one counts.
    let trace = world(vec![rank(Bcast, 1), rank(Barrier, 3)]);
    assert_eq!(
        operations(&match_messages(trace.view(), &Job::default()).unwrap()),
        [(Bcast, vec![2])]
    );
}

#[test]
fn atomics_match_their_completion() {
    let window = WindowId(0);
    let op = RmaOp::Atomic {
        code: 3,
        received: 8,
    };
    let (remote, bytes, matching) = (1, 16, 5);
    let by = RmaCompletion::Blocking;
    let atomic = Event::Rma {
        op,
        window,
        remote,
        bytes,
        matching,
    };
    let end = Event::RmaComplete {
        by,
        window,
        matching,
    };
    let trace = world(vec![events(&[(1, atomic), (2, end)]), Events::default()]);
    let found = match_messages(trace.view(), &Job::default()).unwrap();
    assert_eq!((found.accesses[0].op, found.accesses[0].bytes), (op, 16));
    assert!(found.unmatched.is_empty());
}

#[test]
fn a_view_keeps_collectives_that_begin_or_end_in_it() {
    let rank = events(&[
        (1, Event::CollectiveBegin),
        (9, done(CollectiveOp::Barrier, WORLD)),
    ]);
    let trace = world(vec![rank]);
    for (start, end, kept) in [(0, 5, 1), (5, 20, 1), (2, 9, 0)] {
        let window = TimeRange::new(Ticks(start), Ticks(end)).unwrap();
        let found = match_messages(trace.view().between(window), &Job::default()).unwrap();
        assert_eq!(found.collectives.len(), kept, "from {start} to {end}");
    }
}

#[test]
fn matching_reports_progress_and_stops() {
    use std::sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    };
    #[derive(Default)]
    struct Count(AtomicU64);
    impl Progress for Count {
        fn advance(&self, phase: &'static str, amount: u64, total: u64) {
            assert_eq!((phase, total), ("messages", 3));
            self.0.fetch_add(amount, Ordering::Relaxed);
        }
    }
    /// Receiver that cancels at the first report.
    struct Stop(Job);
    impl Progress for Stop {
        fn advance(&self, _: &'static str, _: u64, _: u64) {
            self.0.cancel();
        }
    }
    let send = || events(&[(1, Event::Send(to(1, 0, None)))]);
    let trace = world(vec![send(), send(), send()]);
    let count = Arc::new(Count::default());
    let job = Job::with_progress(count.clone());
    let found = match_messages(trace.view(), &job).unwrap();
    assert_eq!(
        found,
        match_messages(trace.view(), &Job::default()).unwrap()
    );
    assert_eq!(count.0.load(Ordering::Relaxed), 3);
    let stopped = match_messages(trace.view(), &job.reporting_to(Stop(job.clone())));
    assert!(matches!(stopped, Err(Error::Cancelled(_))));
}

fn collective(op: CollectiveOp, sent: u64, received: u64) -> Event<'static> {
    Event::CollectiveEnd(Collective {
        op,
        comm: WORLD,
        root: None,
        sent,
        received,
        request: None,
    })
}

#[test]
fn messages_that_arrive_before_they_are_sent_are_counted_by_pair() {
    let first = events(&[
        (10, Event::Send(to(1, 0, None))),
        (20, Event::Send(to(1, 0, None))),
        (21, Event::Send(to(0, 9, None))),
        (22, Event::Recv(to(0, 9, None))),
        (40, Event::Recv(to(1, 0, None))),
    ]);
    let second = events(&[
        (4, Event::Recv(to(0, 0, None))),
        (20, Event::Recv(to(0, 0, None))),
        (30, Event::Send(to(0, 0, None))),
    ]);
    let found = match_messages(world(vec![first, second]).view(), &Job::default())
        .unwrap()
        .clock_violations();
    let count = |checked, violated, largest| ClockCount {
        checked,
        violated,
        largest,
    };
    // Messages of a location to itself do not constrain clocks.
    assert_eq!(found.messages, count(3, 1, 6));
    assert_eq!(found.collectives, count(0, 0, 0));
    let pair = ClockPair {
        sender: LocationId(0),
        receiver: LocationId(1),
        count: count(2, 1, 6),
    };
    assert_eq!(found.pairs, [pair]);
    assert!(found.is_any());
}

#[test]
fn collectives_that_end_before_all_have_begun_are_violations() {
    let violated = |op, bytes: [(u64, u64); 3], times: [(u64, u64); 3]| {
        let rank = |((begin, end), (sent, received)): ((u64, u64), (u64, u64))| {
            let done = collective(op, sent, received);
            events(&[(begin, Event::CollectiveBegin), (end, done)])
        };
        let ranks = times.into_iter().zip(bytes).map(rank).collect();
        let found = match_messages(world(ranks).view(), &Job::default())
            .unwrap()
            .clock_violations();
        assert_eq!(found.is_any(), found.collectives.violated > 0);
        (found.collectives.checked, found.collectives.largest)
    };
    let (all, none) = ([(8, 8); 3], [(0, 0); 3]);
    let early = [(0, 5), (9, 12), (3, 9)];
    assert_eq!(violated(CollectiveOp::Allreduce, all, early), (1, 4));
    assert_eq!(violated(CollectiveOp::Barrier, none, early), (1, 4));
    assert_eq!(
        violated(CollectiveOp::Barrier, none, [(0, 9), (9, 12), (3, 9)]),
        (1, 0)
    );
    // Operations without data and operations with a root do not synchronise all ranks.
    assert_eq!(violated(CollectiveOp::Allreduce, none, early), (0, 0));
    assert_eq!(violated(CollectiveOp::Reduce, all, early), (0, 0));
    // The last rank sends no data, so no rank waits for it; of the others rank 2 is last.
    let silent = [(8, 8), (0, 8), (8, 8)];
    assert_eq!(violated(CollectiveOp::Allgatherv, silent, early), (1, 0));
    let late = [(0, 1), (9, 12), (3, 9)];
    assert_eq!(violated(CollectiveOp::Allgatherv, silent, late), (1, 2));
    // Only the last rank receives, so no other can leave too early.
    let single = [(8, 0), (8, 8), (8, 0)];
    assert_eq!(violated(CollectiveOp::Allgatherv, single, early), (0, 0));
}
