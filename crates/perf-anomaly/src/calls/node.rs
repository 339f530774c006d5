//! [`NodeState`]: what monitoring counters say of the node a rank runs on.

use perf_core::{MetricId, Nanos, Value};

/// The last value of each monitoring counter of a rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeState {
    at: Option<Nanos>,
    values: Vec<(MetricId, Nanos, Value)>,
}

impl NodeState {
    /// Time of the last value; `None` before the first.
    pub fn at(&self) -> Option<Nanos> {
        self.at
    }

    /// Counter, time and value, in the order in which the counters came first. What a counter is
    /// called on the node is [`Calls::node_field`](super::Calls::node_field).
    pub fn values(&self) -> &[(MetricId, Nanos, Value)] {
        &self.values
    }

    pub(super) fn set(&mut self, counter: MetricId, at: Nanos, value: Value) {
        self.at = self.at.max(Some(at));
        match self.values.iter_mut().find(|(id, _, _)| *id == counter) {
            // A value that comes late is no news.
            Some((_, known, _)) if *known > at => {}
            Some(known) => *known = (counter, at, value),
            None => self.values.push((counter, at, value)),
        }
    }
}
