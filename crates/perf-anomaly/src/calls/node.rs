//! [`NodeState`]: monitoring counters of the node that a rank runs on.

use perf_core::{MetricId, Nanos, Value};

/// Largest delay of a value in nanoseconds.
const LATE: i64 = 60_000_000_000;

/// Last value of each monitoring counter of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeState {
    /// Counter, time and value.
    values: Vec<(MetricId, Nanos, Value)>,
}

impl NodeState {
    /// Returns the time of the last value; `None` before the first.
    pub fn at(&self) -> Option<Nanos> {
        self.values.iter().map(|(_, at, _)| *at).max()
    }

    /// Returns counter, time and value in the order in which the counters first occurred.
    /// [`Calls::node_field`](super::Calls::node_field) returns the name of a counter on the node.
    pub fn values(&self) -> &[(MetricId, Nanos, Value)] {
        &self.values
    }

    pub(super) fn set(&mut self, counter: MetricId, at: Nanos, value: Value) {
        match self.values.iter_mut().find(|(id, _, _)| *id == counter) {
            // A delayed value is ignored; but a stored value far ahead of later ones had a wrong
            // time.
            Some((_, known, _)) if *known > at && known.0.saturating_sub(at.0) <= LATE => {}
            Some(known) => *known = (counter, at, value),
            None => self.values.push((counter, at, value)),
        }
    }
}
