//! [`Layout`]: where the calls around an abnormal one lie, by depth and time.

use perf_anomaly::provenance::{CallRecord, Record};
use std::collections::{BTreeSet, HashMap};

/// A call on its level.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar<'a> {
    pub(super) call: &'a CallRecord,
    /// 0 for the outermost one that is known.
    pub(super) depth: usize,
    /// Whether it is the call itself.
    pub(super) is_own: bool,
}

/// Calls by depth and time, and the ranks that messages come from and go to.
#[derive(Clone, Debug)]
pub(super) struct Layout<'a> {
    pub(super) bars: Vec<Bar<'a>>,
    /// Levels of calls.
    pub(super) depth: usize,
    /// Time in nanoseconds: from the first neighbour to the end of the last one.
    pub(super) window: [i64; 2],
    /// Ranks at the other ends of messages, in order.
    pub(super) peers: Vec<u32>,
}

impl<'a> Layout<'a> {
    pub(super) fn of(record: &'a Record) -> Self {
        let mut levels: HashMap<u64, usize> = HashMap::new();
        let mut bars = Vec::new();
        for (depth, call) in record.stack.iter().chain([&record.call]).enumerate() {
            levels.insert(call.number, depth);
            let is_own = call.number == record.call.number;
            bars.push(Bar {
                call,
                depth,
                is_own,
            });
        }
        let mut around: Vec<&CallRecord> = record.before.iter().chain(&record.after).collect();
        around.sort_by_key(|call| call.number);
        for call in around {
            if levels.contains_key(&call.number) {
                continue;
            }
            let depth = match call.caller {
                None => 0,
                // A caller that is not known was called from the innermost one entered before it.
                Some(caller) => levels.get(&caller).map_or_else(
                    || {
                        1 + record
                            .stack
                            .iter()
                            .filter(|one| one.number < caller)
                            .count()
                    },
                    |above| above + 1,
                ),
            };
            levels.insert(call.number, depth);
            bars.push(Bar {
                call,
                depth,
                is_own: false,
            });
        }
        let own = &record.call;
        let end = |call: &CallRecord| call.exit.map_or(call.entry.0, |exit| exit.0);
        // Callers reach beyond what is shown.
        let inside = || {
            let near = record.before.iter().chain(&record.after).chain([own]);
            near.filter(|call| record.stack.iter().all(|above| above.number != call.number))
        };
        let first = inside()
            .map(|call| call.entry.0)
            .min()
            .unwrap_or(own.entry.0);
        let last = inside().map(end).max().unwrap_or_else(|| end(own));
        let margin = last.saturating_sub(first).max(1) / 25;
        let peers: BTreeSet<u32> = record.messages.iter().map(|message| message.rank).collect();
        Layout {
            depth: bars.iter().map(|bar| bar.depth + 1).max().unwrap_or(1),
            bars,
            window: [
                first.saturating_sub(margin),
                last.saturating_add(margin.max(1)),
            ],
            peers: peers.into_iter().collect(),
        }
    }
}
