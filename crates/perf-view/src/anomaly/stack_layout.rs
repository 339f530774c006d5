//! [`Layout`]: positions of a recorded call, its callers and its neighbouring calls, by depth and time.

use perf_anomaly::provenance::{CallRecord, Record};
use std::collections::{BTreeSet, HashMap};

/// Call with its depth.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bar<'a> {
    /// The recorded call.
    pub(super) call: &'a CallRecord,
    /// Depth below the outermost known call, which has depth 0.
    pub(super) depth: usize,
    /// `true` for the call that the record is about.
    pub(super) is_own: bool,
}

/// Calls by depth and time, and the ranks at the other ends of messages.
#[derive(Clone, Debug)]
pub(super) struct Layout<'a> {
    /// One bar for each call.
    pub(super) bars: Vec<Bar<'a>>,
    /// Number of levels.
    pub(super) depth: usize,
    /// Time window in nanoseconds, from the first neighbouring call to the end of the last one,
    /// with a margin of 4 %.
    pub(super) window: [i64; 2],
    /// Ranks at the other ends of messages, in ascending order.
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
                // A caller that is not in the record is assumed to be called from the innermost
                // stack frame that was entered before it.
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
        // Callers do not count for the bounds of the window, because they begin before it and end
        // after it.
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
