//! The arena of calls equals a reference implementation on random streams, for any steps.

use crate::naive;

use naive::What;
use perf_anomaly::calls::{Call, Calls, Repair};
use perf_core::{EventSink, Nanos, Peer, RegionId, StreamEvent, StreamKey};
use proptest::prelude::*;

/// Returns events of one stream: mostly nested calls, with defects.
fn events() -> impl Strategy<Value = Vec<(i64, What)>> {
    let event = prop_oneof![
        4 => (0u32..4).prop_map(What::Enter),
        5 => (0u32..5).prop_map(What::Exit),
        2 => Just(What::Note),
    ];
    prop::collection::vec((0i64..3, event), 0..120).prop_map(|events| {
        // If several enters and exits share a time, a message at that time may belong to any of the
        // calls, so none is generated.
        let (mut at, mut functions, mut notes) = (100, 0, 0);
        let next = |(gap, event): (i64, What)| {
            let is_note = event == What::Note;
            let is_tie = if is_note { functions > 1 } else { notes > 0 };
            let gap = gap.max(i64::from(is_tie));
            if gap > 0 {
                (functions, notes) = (0, 0);
            }
            at += gap;
            notes += usize::from(is_note);
            functions += usize::from(!is_note);
            (at, event)
        };
        events.into_iter().map(next).collect()
    })
}

fn sink(repair: Repair, context: usize) -> Calls {
    let params = Calls::params().repair(repair).context(context);
    Calls::new(params.check().expect("values in range"))
}

fn event(calls: &mut Calls, what: What) -> StreamEvent {
    let region = |calls: &mut Calls, id: u32| calls.region(0, &format!("f{id}"));
    match what {
        What::Enter(id) => StreamEvent::Enter(region(calls, id)),
        What::Exit(id) => StreamEvent::Exit(region(calls, id)),
        What::Note => StreamEvent::Send(Peer::default()),
    }
}

/// Converts a call to the form of the reference implementation.
fn plain(calls: &Calls, call: &Call) -> naive::NaiveCall {
    let name = |region: &RegionId| {
        let (_, name) = calls.region_name(*region).expect("it is there");
        RegionId(name[1..].parse().expect("it is there"))
    };
    naive::NaiveCall {
        path: calls.path(call.path).iter().map(name).collect(),
        entry: call.entry.0,
        exit: call.exit.0,
        exclusive: call.exclusive.0,
        notes: calls.messages(call).iter().map(|(at, ..)| at.0).collect(),
        children: call.children as usize,
        at_end: call.flags.closed_at_end(),
    }
}

fn run(
    events: &[(i64, What)],
    steps: &[usize],
    repair: Repair,
    context: usize,
) -> Vec<naive::NaiveCall> {
    let mut calls = sink(repair, context);
    let stream = calls.stream(StreamKey::default());
    let mut found = Vec::new();
    let collect = |calls: &Calls, found: &mut Vec<_>| {
        let batch = calls.batch();
        assert_eq!(batch.calls().len(), batch.samples().len());
        found.extend(batch.calls().iter().map(|call| plain(calls, call)));
    };
    for (index, (at, what)) in events.iter().enumerate() {
        let event = event(&mut calls, *what);
        calls.push(stream, Nanos(*at), event);
        // A message at the time of an exit belongs to the call that ends, if it comes in the same
        // step.
        let is_tie = events.get(index + 1).is_some_and(|next| next.0 == *at);
        if steps.contains(&index) && !is_tie {
            calls.end_step(index as u64);
            collect(&calls, &mut found);
        }
    }
    calls.finish();
    collect(&calls, &mut found);
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 400 } else { 2000 }))]

    #[test]
    fn one_step_equals_the_naive_version(
        events in events(),
        strict: bool,
        swaps in prop::collection::vec((0usize..120, 0usize..120), 0..4),
    ) {
        let repair = if strict { Repair::Strict } else { Repair::Mend };
        let mut events = events;
        for (a, b) in swaps {
            if a < events.len() && b < events.len() {
                events.swap(a, b);
            }
        }
        prop_assert_eq!(run(&events, &[], repair, 3), naive::calls(&events, repair));
    }

    /// The end of steps does not affect an intact stream, nor does the kept context.
    #[test]
    fn steps_make_no_difference(
        events in events(),
        steps in prop::collection::vec(0usize..120, 0..6),
        context in 1usize..4,
        strict: bool,
    ) {
        let repair = if strict { Repair::Strict } else { Repair::Mend };
        prop_assert_eq!(run(&events, &steps, repair, context), naive::calls(&events, repair));
    }

    /// Queried after each step, neighbours and callers of a call are those by order of entry.
    #[test]
    fn neighbours_are_those_by_order_of_entry(
        events in events(),
        steps in prop::collection::vec(0usize..120, 0..6),
        context in 1usize..5,
    ) {
        let mut calls = sink(Repair::Mend, context);
        let stream = calls.stream(StreamKey::default());
        let mut waiting: Vec<Call> = Vec::new();
        let (mut entries, mut before_step) = (0, 0);
        for (index, (at, what)) in events.iter().enumerate() {
            let event = event(&mut calls, *what);
            entries += u64::from(matches!(what, What::Enter(_)));
            calls.push(stream, Nanos(*at), event);
            let is_last = index + 1 == events.len();
            if !steps.contains(&index) && !is_last {
                continue;
            }
            if is_last { calls.finish(); } else { calls.end_step(index as u64); }
            for call in calls.batch().calls() {
                let around = calls.context(call);
                let numbers: Vec<u64> = around.before.iter().map(|call| call.number).collect();
                let from = call.number.saturating_sub(context as u64);
                // Calls further back than those kept from the last step are dropped.
                let oldest = u64::saturating_sub(before_step, context as u64);
                let known = if call.number < oldest {
call.number
} else {
from.max(oldest)
};
                prop_assert_eq!(numbers, (known..call.number).collect::<Vec<_>>());
                let mut depth = call.depth;
                for caller in around.stack.iter().rev() {
                    prop_assert_eq!(caller.depth + 1, depth);
                    prop_assert!(caller.entry <= call.entry);
                    depth -= 1;
                }
                prop_assert_eq!(depth, 0);
                prop_assert_eq!(calls.path(call.path).len(), around.stack.len() + 1);
            }
            let oldest = u64::saturating_sub(before_step, context as u64);
            let known = calls.batch().calls().iter().filter(|call| call.number >= oldest);
            waiting.extend(known);
            before_step = entries;
            let mut still = Vec::new();
            for call in waiting {
                let after: Vec<u64> = calls.after(call.key()).iter().map(|call| call.number).collect();
                let end = (call.number + 1 + context as u64).min(entries);
                prop_assert_eq!(&after, &(call.number + 1..end).collect::<Vec<_>>());
                if after.len() < context {
                    still.push(call);
                }
            }
            waiting = still;
        }
    }
}
