//! A clipped trace contains the calls, messages and collectives of its window, and nothing that looks like a defect.

use crate::common;

use common::{enter, events, leave, one_location, trace};
use perf_core::*;

const WORLD: CommId = CommId(0);

fn window(from: u64, to: u64) -> TimeRange {
    TimeRange::new(Ticks(from), Ticks(to)).unwrap()
}

fn of(trace: &Trace, from: u64, to: u64) -> Clipped {
    clip(trace, window(from, to), &Job::default()).unwrap()
}

fn listed(events: &Events) -> Vec<(u64, Event<'_>)> {
    let indices = 0..events.len();
    let event = |index| Some((events.time(index)?.0, events.event(index)?));
    indices.map(|index| event(index).unwrap()).collect()
}

fn to(peer: u32, request: Option<u64>) -> Transfer {
    Transfer {
        peer,
        comm: WORLD,
        tag: 7,
        bytes: 10,
        request,
    }
}

/// Returns two ranks that exchange blocking and non-blocking messages, synchronise, and access remote memory.
fn exchange() -> Trace {
    let barrier = Event::CollectiveEnd(Collective {
        op: CollectiveOp::Barrier,
        comm: WORLD,
        root: None,
        sent: 0,
        received: 0,
        request: None,
    });
    let rank = |late: u64, peer: u32| {
        let mut list = vec![(0, enter(0))];
        for step in 0..4 {
            let request = Some(step);
            let at = 20 * step + late;
            list.extend([
                (at + 1, Event::RecvPost { request: step }),
                (at + 2, Event::Send(to(peer, Some(100 + step)))),
                (at + 4, Event::RequestTest { request: step }),
                (at + 6, Event::Recv(to(peer, request))),
                (
                    at + 7,
                    Event::SendComplete {
                        request: 100 + step,
                    },
                ),
                (at + 8, Event::Send(to(peer, None))),
                (at + 9, Event::Recv(to(peer, None))),
                (at + 10, Event::CollectiveBegin),
                (at + 13, barrier),
                (
                    at + 14,
                    Event::Rma {
                        op: RmaOp::Put,
                        window: WindowId(0),
                        remote: peer,
                        bytes: 8,
                        matching: step,
                    },
                ),
                (
                    at + 16,
                    Event::RmaComplete {
                        by: RmaCompletion::Blocking,
                        window: WindowId(0),
                        matching: step,
                    },
                ),
            ]);
        }
        list.push((99, leave(0)));
        events(&list)
    };
    let (mut definitions, events, _) = trace(vec![rank(0, 1), rank(1, 0)]).into_parts();
    let members = Members::Ranks(vec![Some(LocationId(0)), Some(LocationId(1))]);
    definitions.comms.push(Communicator {
        members,
        ..Default::default()
    });
    definitions.windows.push(Window {
        comm: Some(WORLD),
        ..Default::default()
    });
    Trace::new(definitions, events).unwrap()
}

#[test]
fn communication_that_touches_a_window_is_whole_and_its_other_ends_are_at_the_edges() {
    let trace = exchange();
    let all = match_messages(trace.view(), &Job::default()).unwrap();
    assert_eq!(
        (
            all.messages.len(),
            all.collectives.len(),
            all.accesses.len()
        ),
        (16, 4, 8)
    );
    assert!(all.unmatched.is_empty());
    for from in 0..100 {
        for to in from + 1..=100 {
            let part = of(&trace, from, to);
            let found = match_messages(part.trace.view(), &Job::default()).unwrap();
            assert_eq!(found.unmatched, [], "{from}..{to}");
            let inside = |end: &Endpoint| window(from, to).contains(end.time);
            let at_edge = |end: &Endpoint| end.time.0.clamp(from, to);
            let touches = |it: &&Message| inside(&it.sender) || inside(&it.receiver);
            let expected = all.messages.iter().filter(touches);
            let mut expected: Vec<_> = expected
                .map(|it| (at_edge(&it.sender), at_edge(&it.receiver), it.tag))
                .collect();
            let mut messages: Vec<_> = found
                .messages
                .iter()
                .map(|it| (it.sender.time.0, it.receiver.time.0, it.tag))
                .collect();
            expected.sort();
            messages.sort();
            assert_eq!(messages, expected, "{from}..{to}");
            let crosses =
                |it: &&Message| touches(it) && !(inside(&it.sender) && inside(&it.receiver));
            assert_eq!(
                part.messages as usize,
                all.messages.iter().filter(crosses).count()
            );
            let members = |it: &&CollectiveInstance| {
                it.members
                    .iter()
                    .any(|it| inside(&it.begin) || inside(&it.end))
            };
            assert_eq!(
                found.collectives.len(),
                all.collectives.iter().filter(members).count()
            );
            let accesses = all
                .accesses
                .iter()
                .filter(|it| inside(&it.start) || inside(&it.end));
            assert_eq!(found.accesses.len(), accesses.count());
        }
    }
}

#[test]
fn requests_are_whole_or_absent() {
    let part = of(&exchange(), 5, 9);
    let events = listed(&part.trace.events()[0]);
    // The receive at 6 brings its post, and the send at 2 is received in the window by the other rank. The test at 4
    // is left out.
    let expected = [
        (5, enter(0)),
        (5, Event::RecvPost { request: 0 }),
        (5, Event::Send(to(1, Some(100)))),
        (6, Event::Recv(to(1, Some(0)))),
        (7, Event::SendComplete { request: 100 }),
        (8, Event::Send(to(1, None))),
        (9, leave(0)),
    ];
    assert_eq!(events, expected);
    assert_eq!((part.messages, part.calls), (3, 2));
}

#[test]
fn posts_before_the_window_keep_their_order() {
    // Two receives are posted in the order in which the messages are sent, and end in the other order.
    let first = Some(1);
    let second = Some(2);
    let receiver = events(&[
        (1, Event::RecvPost { request: 1 }),
        (2, Event::RecvPost { request: 2 }),
        (30, Event::Recv(to(0, second))),
        (40, Event::Recv(to(0, first))),
    ]);
    let sender = events(&[
        (20, Event::Send(to(1, None))),
        (25, Event::Send(to(1, None))),
    ]);
    let (definitions, _, _) = exchange().into_parts();
    let trace = Trace::new(definitions, vec![sender, receiver]).unwrap();
    let part = of(&trace, 10, 50);
    let found = match_messages(part.trace.view(), &Job::default()).unwrap();
    let times: Vec<_> = found
        .messages
        .iter()
        .map(|it| (it.sender.time.0, it.receiver.time.0))
        .collect();
    assert_eq!(times, [(20, 40), (25, 30)]);
}

#[test]
fn a_rank_waits_in_a_call_until_the_end_of_the_window() {
    let barrier = |request| {
        Event::CollectiveEnd(Collective {
            op: CollectiveOp::Barrier,
            comm: WORLD,
            root: None,
            sent: 0,
            received: 0,
            request,
        })
    };
    let rank = |begin: u64| {
        let begin = (begin, Event::CollectiveBegin);
        events(&[
            (0, enter(0)),
            (begin.0, enter(1)),
            begin,
            (52, barrier(None)),
            (52, leave(1)),
            (60, leave(0)),
        ])
    };
    let (mut definitions, _, _) = exchange().into_parts();
    definitions.regions[1].paradigm = Paradigm::Mpi;
    let trace = Trace::new(definitions, vec![rank(10), rank(50)]).unwrap();
    let part = of(&trace, 20, 40);
    let waits = [
        (20, enter(0)),
        (20, enter(1)),
        (20, Event::CollectiveBegin),
        (40, barrier(None)),
        (40, leave(1)),
        (40, leave(0)),
    ];
    assert_eq!(listed(&part.trace.events()[0]), waits);
    // The other rank is not there until then.
    let late = [
        (20, enter(0)),
        (40, enter(1)),
        (40, Event::CollectiveBegin),
        (40, barrier(None)),
        (40, leave(1)),
        (40, leave(0)),
    ];
    assert_eq!(listed(&part.trace.events()[1]), late);
    assert_eq!((part.collectives, part.calls), (1, 3));
    // Nobody waits in a window before the barrier.
    assert_eq!(of(&trace, 1, 9).collectives, 0);
}

#[test]
fn a_window_around_the_recording_changes_nothing() {
    let (definitions, mut recorded, _) = exchange().into_parts();
    // A receive that never ends remains.
    recorded[0]
        .push(Ticks(99), Event::RecvPost { request: 77 })
        .unwrap();
    let trace = Trace::new(definitions, recorded).unwrap();
    let part = of(&trace, 0, 500);
    assert_eq!(part.trace, trace);
    assert_eq!(
        (part.calls, part.messages, part.collectives, part.accesses),
        (0, 0, 0, 0)
    );
}

#[test]
fn calls_that_end_at_the_start_are_left_out() {
    let list = [
        (0, enter(0)),
        (5, enter(1)),
        (10, leave(1)),
        (10, enter(2)),
        (20, leave(2)),
        (30, leave(0)),
    ];
    let part = of(&trace(vec![events(&list)]), 10, 20);
    let expected = [
        (10, enter(0)),
        (10, enter(2)),
        (20, leave(2)),
        (20, leave(0)),
    ];
    assert_eq!(listed(&part.trace.events()[0]), expected);
    assert_eq!(part.calls, 2);
}

#[test]
fn overlapping_kernels_keep_their_lengths() {
    // The first kernel runs from 0 to 20, the second from 10 to 30.
    let calls = [(0, false, 0), (10, false, 1), (20, true, 0), (30, true, 1)];
    let trace = one_location(
        LocationKind::AcceleratorStream,
        Paradigm::Cuda,
        ["a", "b"],
        calls,
    );
    let part = of(&trace, 5, 25);
    let mut lengths = Vec::new();
    let location = part.trace.location(LocationId(0)).unwrap();
    intervals(
        location,
        |it| lengths.push((it.region.0, it.start.0, it.end.0)),
        &Job::default(),
    )
    .unwrap();
    assert_eq!(lengths, [(0, 5, 20), (1, 10, 25)]);
}

#[test]
fn values_and_switches_hold_at_the_start() {
    let mut list = Definitions::default();
    list.metrics = vec![
        Metric {
            mode: MetricMode::Absolute,
            ..Metric::default()
        },
        Metric {
            mode: MetricMode::Accumulated,
            ..Metric::default()
        },
    ];
    list.metric_sets = [0, 1]
        .map(|id| MetricSet {
            members: vec![MetricId(id)],
            ..MetricSet::default()
        })
        .to_vec();
    let (own, recorded, _) = trace(vec![events(&[
        (0, enter(0)),
        (
            1,
            Event::Metric {
                set: MetricSetId(0),
                values: &[230],
            },
        ),
        (
            2,
            Event::Metric {
                set: MetricSetId(1),
                values: &[50],
            },
        ),
        (3, Event::Measuring { on: false }),
        (40, Event::Measuring { on: true }),
        (50, leave(0)),
    ])])
    .into_parts();
    list.system = own.system;
    list.regions = own.regions;
    let part = of(&Trace::new(list, recorded).unwrap(), 10, 45);
    let expected = [
        (10, enter(0)),
        (10, Event::Measuring { on: false }),
        (
            10,
            Event::Metric {
                set: MetricSetId(0),
                values: &[230],
            },
        ),
        (40, Event::Measuring { on: true }),
        (45, leave(0)),
    ];
    assert_eq!(listed(&part.trace.events()[0]), expected);
}

#[test]
fn links_follow_their_events() {
    let host = events(&[
        (0, enter(0)),
        (10, enter(1)),
        (12, leave(1)),
        (50, leave(0)),
    ]);
    let device = events(&[(5, enter(2)), (8, leave(2)), (20, enter(2)), (30, leave(2))]);
    let link = |from, to| Link {
        kind: LinkKind::Launch,
        from: EventId {
            location: LocationId(0),
            index: from,
        },
        to: EventId {
            location: LocationId(1),
            index: to,
        },
    };
    let trace = trace(vec![host, device])
        .with_links(vec![link(0, 0), link(1, 2)])
        .unwrap();
    let part = of(&trace, 9, 40);
    assert_eq!(part.trace.links(), [link(1, 0)]);
}
