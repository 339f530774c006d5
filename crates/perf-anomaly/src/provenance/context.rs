//! [`record`]: builds the [`Record`] of an abnormal call with its callers, neighbouring calls,
//! messages, counters, node and launch.

use super::record::{
    CallRecord, CounterRecord, Kind, LaunchRecord, LeftOut, MessageRecord, Record,
};
use crate::calls::{Call, CallFlags, CallKey, Calls, Launch};
use crate::{Judgement, Sample};
use perf_core::RegionId;
use std::collections::HashSet;

/// Properties of a stream that contain its host.
const HOST: [&str; 2] = ["Hostname", "hostname"];

/// Builds the record of a call with its context so far, with at most `most_frames` callers and
/// `most_notes` messages, counter values and node values each.
pub(super) fn record(
    calls: &Calls,
    (call, sample, judgement): (&Call, &Sample, &Judgement),
    kind: Kind,
    anomalies: &HashSet<CallKey>,
    (most_frames, most_notes): (usize, usize),
) -> Record {
    let key = calls.stream_key(call.stream).unwrap_or_default();
    let facts = calls.stream_metadata(call.stream);
    let host = facts.iter().find(|(name, _)| HOST.contains(&name.as_str()));
    let stack = calls.inner_stack(call, most_frames);
    let all = |list: &[Call]| {
        let short = |call: &Call| short(calls, call, anomalies);
        list.iter().map(short).collect::<Vec<_>>()
    };
    let messages = calls.last_messages(call, most_notes);
    let counters = calls.last_counters(call, most_notes);
    let node = calls.node_state(key.program, key.rank);
    let node = node.map_or(&[][..], |node| node.values());
    let kept_node = node.len().saturating_sub(most_notes);
    let left_out = LeftOut {
        frames: u64::from(call.depth).saturating_sub(stack.len() as u64),
        messages: u64::from(call.messages).saturating_sub(messages.len() as u64),
        counters: u64::from(call.counters).saturating_sub(counters.len() as u64),
        node: kept_node as u64,
    };
    Record {
        kind,
        program: key.program,
        rank: key.rank,
        thread: key.thread,
        host: host.map(|(_, name)| name.clone()),
        function: calls.function_name(sample.function),
        step: calls.batch().step(),
        call: short(calls, call, anomalies),
        exclusive: call.exclusive,
        runtime: sample.runtime,
        first: sample.first,
        label: judgement.label,
        score: judgement.score,
        severity: judgement.severity(sample),
        waits: calls.waits(sample.function),
        expected: judgement.expected,
        model: 0,
        repair: repair(call.flags).map(str::to_string),
        stack: all(&stack),
        before: all(&calls.before(call)),
        after: all(&calls.after(call.key())),
        messages: messages
            .into_iter()
            .map(|(at, is_sent, peer)| MessageRecord {
                at,
                is_sent,
                rank: peer.rank,
                tag: peer.tag,
                bytes: peer.bytes,
            })
            .collect(),
        counters: counters
            .into_iter()
            .map(|(at, counter, value)| CounterRecord {
                at,
                name: calls.counter_name(counter).unwrap_or("(unknown)").into(),
                value,
            })
            .collect(),
        node: node
            .iter()
            .skip(kept_node)
            .map(|(counter, at, value)| CounterRecord {
                at: *at,
                name: calls.node_field(*counter).unwrap_or("(unknown)").into(),
                value: *value,
            })
            .collect(),
        accelerator: if calls.is_gpu(call.stream) {
            accelerator(facts)
        } else {
            Vec::new()
        },
        launch: calls
            .launch(call.key())
            .map(|one| launch(calls, one, most_frames)),
        left_out,
    }
}

/// Converts a call of the surroundings.
pub(super) fn short(calls: &Calls, call: &Call, anomalies: &HashSet<CallKey>) -> CallRecord {
    CallRecord {
        id: calls.event_id(call),
        function: name(calls, call.region),
        number: call.number,
        caller: call.caller().map(|caller| caller.number),
        entry: call.entry,
        exit: (!call.flags.is_open()).then_some(call.exit),
        is_anomaly: anomalies.contains(&call.key()),
    }
}

pub(super) fn launch(calls: &Calls, launch: &Launch, most_frames: usize) -> LaunchRecord {
    let key = calls.stream_key(launch.call.stream).unwrap_or_default();
    let path = calls.path(launch.path);
    let left_out = path.len().saturating_sub(most_frames.saturating_add(1));
    let path = path.into_iter().skip(left_out);
    LaunchRecord {
        id: calls.launch_id(launch),
        thread: key.thread,
        entry: launch.entry,
        path: path.map(|region| name(calls, region)).collect(),
        correlation: launch.correlation,
        left_out: left_out as u64,
    }
}

fn name(calls: &Calls, region: RegionId) -> String {
    let known = calls.region_name(region);
    known.map_or("(unknown)", |(_, name)| name).into()
}

fn repair(flags: CallFlags) -> Option<&'static str> {
    if flags.closed_by_outer() {
        Some("closed by outer")
    } else if flags.closed_by_other_name() {
        Some("closed by other name")
    } else if flags.closed_at_end() {
        Some("closed at end")
    } else {
        None
    }
}

/// Returns device, context and queue of an accelerator stream.
fn accelerator(facts: &[(String, String)]) -> Vec<(String, String)> {
    const PLACES: [&str; 4] = [
        "CUDA Context",
        "CUDA Device",
        "CUDA Stream",
        "Accelerator Stream",
    ];
    let place = |name: &str| PLACES.contains(&name);
    let places = facts.iter().filter(|(name, _)| place(name));
    places.cloned().collect()
}
