//! Columns return the stored events; views equal a filtered copy.

use crate::common;

use common::{enter, events, leave, trace};
use perf_core::Job;
use perf_core::*;
use proptest::prelude::*;

/// Event that owns its lists, since `Event` borrows them.
#[derive(Clone, Debug)]
enum Owned {
    Plain(Event<'static>),
    Metric(u32, Vec<u64>),
    Other(u32, Vec<u64>),
}

impl Owned {
    fn event(&self) -> Event<'_> {
        match self {
            Owned::Plain(event) => *event,
            Owned::Metric(set, values) => Event::Metric {
                set: MetricSetId(*set),
                values,
            },
            Owned::Other(kind, args) => Event::Other {
                kind: KindId(*kind),
                args,
            },
        }
    }
}

fn transfer() -> impl Strategy<Value = Transfer> {
    (
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        any::<u64>(),
        any::<Option<u64>>(),
    )
        .prop_map(|(peer, comm, tag, bytes, request)| Transfer {
            peer,
            comm: CommId(comm),
            tag,
            bytes,
            request,
        })
}

fn collective() -> impl Strategy<Value = Collective> {
    (
        any::<u8>(),
        any::<u32>(),
        any::<Option<u32>>(),
        any::<(u64, u64)>(),
        any::<Option<u64>>(),
    )
        .prop_map(|(op, comm, root, (sent, received), request)| Collective {
            op: CollectiveOp::from_code(op),
            comm: CommId(comm),
            root,
            sent,
            received,
            request,
        })
}

fn event() -> impl Strategy<Value = Owned> {
    let completions = [
        RmaCompletion::Blocking,
        RmaCompletion::NonBlocking,
        RmaCompletion::Test,
        RmaCompletion::Remote,
    ];
    prop_oneof![
        (0..=Events::MAX_ID).prop_map(|id| Owned::Plain(enter(id))),
        (0..=Events::MAX_ID).prop_map(|id| Owned::Plain(leave(id))),
        transfer().prop_map(|transfer| Owned::Plain(Event::Send(transfer))),
        transfer().prop_map(|transfer| Owned::Plain(Event::Recv(transfer))),
        collective().prop_map(|end| Owned::Plain(Event::CollectiveEnd(end))),
        any::<u64>().prop_map(|request| Owned::Plain(Event::SendComplete { request })),
        any::<u64>().prop_map(|request| Owned::Plain(Event::RecvPost { request })),
        any::<u64>().prop_map(|request| Owned::Plain(Event::RequestTest { request })),
        any::<u64>().prop_map(|request| Owned::Plain(Event::RequestCancelled { request })),
        any::<u64>().prop_map(|request| Owned::Plain(Event::CollectivePost { request })),
        Just(Owned::Plain(Event::CollectiveBegin)),
        any::<bool>().prop_map(|on| Owned::Plain(Event::Measuring { on })),
        any::<u64>().prop_map(|until| Owned::Plain(Event::Flush {
            until: Ticks(until)
        })),
        any::<u32>().prop_map(|id| Owned::Plain(Event::Sample {
            context: CallPathId(id)
        })),
        (0..3, any::<(u32, u32)>(), any::<(u64, u64, u64, u8)>()).prop_map(
            |(op, (window, remote), (bytes, received, matching, code))| Owned::Plain(Event::Rma {
                op: match op {
                    0 => RmaOp::Put,
                    1 => RmaOp::Get,
                    _ => RmaOp::Atomic { code, received },
                },
                window: WindowId(window),
                remote,
                bytes,
                matching,
            })
        ),
        (0usize..4, any::<u32>(), any::<u64>()).prop_map(move |(by, window, matching)| {
            Owned::Plain(Event::RmaComplete {
                by: completions[by],
                window: WindowId(window),
                matching,
            })
        }),
        (any::<u32>(), prop::collection::vec(any::<u64>(), 0..5))
            .prop_map(|(s, v)| Owned::Metric(s, v)),
        (any::<u32>(), prop::collection::vec(any::<u64>(), 0..9))
            .prop_map(|(k, v)| Owned::Other(k, v)),
    ]
}

/// Returns a strategy for events at ascending times, with ties.
fn stream() -> impl Strategy<Value = Vec<(u64, Owned)>> {
    prop::collection::vec((0u64..4, event()), 0..60).prop_map(|list| {
        let mut now = 0;
        let stamp = |(step, event)| {
            now += step;
            (now, event)
        };
        list.into_iter().map(stamp).collect()
    })
}

fn columns(list: &[(u64, Owned)]) -> Events {
    let mut columns = Events::default();
    for (at, event) in list {
        columns.push(Ticks(*at), event.event()).unwrap();
    }
    columns
}

proptest! {
    #[test]
    fn every_event_comes_back(list in stream()) {
        let columns = columns(&list);
        prop_assert_eq!(columns.len(), list.len());
        for (index, (at, event)) in list.iter().enumerate() {
            prop_assert_eq!(columns.time(index), Some(Ticks(*at)));
            prop_assert_eq!(columns.event(index), Some(event.event()));
        }
        prop_assert_eq!(columns.event(list.len()), None);
    }

    #[test]
    fn appending_parts_equals_pushing_all(list in stream(), cut in 0usize..60) {
        let (first, second) = list.split_at(cut.min(list.len()));
        let mut parts = columns(first);
        for index in 0..parts.len().min(1) {
            let attribute = AttributeId(index as u32);
            parts.push_attribute(AttributeValue { attribute, type_code: 4, value: Value::U64(7) });
        }
        let attributes = parts.with_attributes();
        parts.append(&columns(second)).unwrap();
        let whole = columns(&list);
        for index in 0..list.len() {
            prop_assert_eq!(parts.event(index), whole.event(index));
        }
        prop_assert_eq!(parts.times(), whole.times());
        prop_assert_eq!(parts.with_attributes(), attributes);
    }

    #[test]
    fn a_window_equals_filtering(list in stream(), a in 0u64..200, b in 0u64..200) {
        let window = TimeRange::new(Ticks(a.min(b)), Ticks(a.max(b))).unwrap();
        let trace = trace(vec![columns(&list), Events::default()]);
        let inside: Vec<_> = list.iter().filter(|(at, _)| window.contains(Ticks(*at))).collect();
        let view = trace.view().between(window);
        let location = view.location(LocationId(0)).unwrap();
        let seen: Vec<_> = location.iter().collect();
        prop_assert_eq!(seen.len(), inside.len());
        for ((at, event), (expected_at, expected)) in seen.iter().zip(inside) {
            prop_assert_eq!((at.0, *event), (*expected_at, expected.event()));
        }
        prop_assert_eq!(view.len(), location.len());
    }
}

#[test]
fn an_enter_takes_at_most_sixteen_bytes() {
    let mut columns = Events::default();
    for at in 0..100_000 {
        columns.push(Ticks(at), enter(3)).unwrap();
    }
    columns.shrink_to_fit();
    assert!(
        columns.memory() <= 16 * columns.len(),
        "{} bytes",
        columns.memory()
    );
}

#[test]
fn invalid_events_are_rejected_without_effect() {
    let mut columns = events(&[(5, enter(0))]);
    let before = columns.clone();
    let transfer = Transfer {
        peer: 0,
        comm: CommId(0),
        tag: 0,
        bytes: 0,
        request: None,
    };
    assert!(matches!(
        columns.push(Ticks(4), Event::Send(transfer)),
        Err(Error::Backwards { .. })
    ));
    assert!(matches!(
        columns.push(Ticks(5), enter(Events::MAX_ID + 1)),
        Err(Error::TooMany { .. })
    ));
    let args = vec![0; 65_536];
    let long = Event::Other {
        kind: KindId(0),
        args: &args,
    };
    assert!(matches!(
        columns.push(Ticks(5), long),
        Err(Error::TooMany { .. })
    ));
    assert!(columns.append(&events(&[(4, enter(0))])).is_err());
    assert_eq!(columns, before);
}

#[test]
fn locations_in_view_are_those_asked_for() {
    let trace = trace(vec![
        events(&[(1, enter(0))]),
        events(&[(2, enter(0)), (3, leave(0))]),
    ]);
    let only = [LocationId(1), LocationId(7)];
    let view = trace.view().only(&only);
    assert_eq!(view.ids().collect::<Vec<_>>(), [LocationId(1)]);
    assert_eq!(view.len(), 2);
    assert_eq!(view.range(), TimeRange::new(Ticks(2), Ticks(4)));
    assert!(Trace::new(trace.definitions().clone(), vec![]).is_err());
}

#[test]
fn everything_crosses_threads() {
    fn ok<T: Send + Sync + Unpin + std::fmt::Debug>() {}
    ok::<Trace>();
    ok::<TraceView<'_>>();
    ok::<LocationView<'_>>();
    ok::<Events>();
    ok::<Profile>();
    ok::<Messages>();
    ok::<Diagnostics>();
    ok::<SystemTree>();
    ok::<Job>();
    ok::<Error>();
}
