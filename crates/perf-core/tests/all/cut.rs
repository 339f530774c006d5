//! A cut contains whole calls, messages and collectives of its window, and nothing that looks like a defect.

use crate::common;

use common::{enter, events, leave, one_location, trace};
use perf_core::*;

const WORLD: CommId = CommId(0);

fn window(from: u64, to: u64) -> TimeRange {
    TimeRange::new(Ticks(from), Ticks(to)).unwrap()
}

fn of(trace: &Trace, from: u64, to: u64) -> Cut {
    cut(trace, window(from, to), &Job::default()).unwrap()
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
fn communication_is_whole_or_absent_in_every_window() {
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
            let ends = |message: &Message| (message.sender.time, message.receiver.time);
            let whole = all
                .messages
                .iter()
                .filter(|it| inside(&it.sender) && inside(&it.receiver));
            let messages = found.messages.iter().map(ends);
            assert!(messages.eq(whole.map(ends)), "{from}..{to}");
            let touching = all
                .messages
                .iter()
                .filter(|it| inside(&it.sender) || inside(&it.receiver));
            assert_eq!(
                part.messages,
                (touching.count() - found.messages.len()) as u64
            );
            let members = |it: &&CollectiveInstance| {
                it.members
                    .iter()
                    .all(|it| inside(&it.begin) && inside(&it.end))
            };
            assert_eq!(
                found.collectives.len(),
                all.collectives.iter().filter(members).count()
            );
            let accesses = all
                .accesses
                .iter()
                .filter(|it| inside(&it.start) && inside(&it.end));
            assert_eq!(found.accesses.len(), accesses.count());
        }
    }
}

#[test]
fn requests_that_cross_an_edge_leave_nothing_behind() {
    let trace = exchange();
    // Two messages were sent before the window and received in it; one is sent in it and received after it. Their
    // tests and completions in the window go with them.
    let part = of(&trace, 5, 9);
    let kinds: Vec<_> = listed(&part.trace.events()[0])
        .into_iter()
        .map(|(at, _)| at)
        .collect();
    assert_eq!(kinds, [5, 9]);
    assert_eq!((part.messages, part.calls), (3, 2));
}

#[test]
fn a_window_around_the_recording_changes_nothing() {
    let trace = exchange();
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
