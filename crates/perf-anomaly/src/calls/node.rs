//! [`NodeState`]: last values of the counters that describe the node on which a rank runs.

use perf_core::{MetricId, Nanos, Value};

/// Largest plausible delay of a value in nanoseconds, one minute.
const LATE: i64 = 60_000_000_000;

/// Last value of each counter that describes the node of a rank.
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

    /// Returns counter, time and last value, in the order in which the counters first occurred.
    /// [`Calls::node_field`](super::Calls::node_field) returns the field of the node that a counter
    /// describes.
    pub fn values(&self) -> &[(MetricId, Nanos, Value)] {
        &self.values
    }

    pub(super) fn set(&mut self, counter: MetricId, at: Nanos, value: Value) {
        match self.values.iter_mut().find(|(id, _, _)| *id == counter) {
            // A delayed value is ignored. If it is delayed by more than [`LATE`], the stored value
            // had a wrong time and is replaced.
            Some((_, known, _)) if *known > at && known.0.saturating_sub(at.0) <= LATE => {}
            Some(known) => *known = (counter, at, value),
            None => self.values.push((counter, at, value)),
        }
    }
}
