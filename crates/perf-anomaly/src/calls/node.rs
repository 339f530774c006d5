//! [`NodeState`]: what monitoring counters say of the node a rank runs on.

use perf_core::{MetricId, Nanos, Value};

/// How late a value may come.
const LATE: i64 = 60_000_000_000;

/// The last value of each monitoring counter of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeState {
    values: Vec<(MetricId, Nanos, Value)>,
}

impl NodeState {
    /// Time of the last value; `None` before the first.
    pub fn at(&self) -> Option<Nanos> {
        self.values.iter().map(|(_, at, _)| *at).max()
    }

    /// Counter, time and value, in the order in which the counters came first. What a counter is
    /// called on the node is [`Calls::node_field`](super::Calls::node_field).
    pub fn values(&self) -> &[(MetricId, Nanos, Value)] {
        &self.values
    }

    pub(super) fn set(&mut self, counter: MetricId, at: Nanos, value: Value) {
        match self.values.iter_mut().find(|(id, _, _)| *id == counter) {
            // A value that comes late is no news; but one far ahead of what follows had a wrong time.
            Some((_, known, _)) if *known > at && known.0.saturating_sub(at.0) <= LATE => {}
            Some(known) => *known = (counter, at, value),
            None => self.values.push((counter, at, value)),
        }
    }
}
