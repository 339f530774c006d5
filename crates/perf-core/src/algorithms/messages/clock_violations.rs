//! [`ClockViolations`]: numbers, pairs of locations and table of the matched [`Messages`] and
//! collectives that contradict the clocks of their locations.

use super::{CollectiveInstance, Messages};
use crate::{Clock, CollectiveOp, LocationId, Table, Ticks};
use std::collections::BTreeMap;

/// Number of conditions on the clocks of locations that were checked, and of those that are
/// violated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClockCount {
    /// Number of conditions checked.
    pub checked: u64,
    /// Number of conditions violated.
    pub violated: u64,
    /// Largest violation in ticks, or 0 without violations.
    pub largest: u64,
}

impl ClockCount {
    /// Adds a condition: `late` must not be before `early`.
    fn add(&mut self, early: Ticks, late: Ticks) {
        let back = early.saturating_since(late);
        self.checked += 1;
        self.violated += u64::from(back > 0);
        self.largest = self.largest.max(back);
    }
}

/// Messages from one location to another that arrive before they are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ClockPair {
    /// Location of the sender.
    pub sender: LocationId,
    /// Location of the receiver.
    pub receiver: LocationId,
    /// Messages between the two; at least one violates the clock condition.
    pub count: ClockCount,
}

/// Violations of the clock condition in a trace.
///
/// A message cannot be received before it is sent, and no rank leaves an N-to-N collective before
/// all ranks have entered it. If the events of two locations contradict this, their clocks
/// disagree, and their times cannot be compared.
///
/// | condition | checked for | a violation |
/// |---|---|---|
/// | message | each message between two locations | the receive is complete before the send begins |
/// | collective | each [N-to-N](CollectiveOp::is_all_to_all) operation of two members or more | a member that receives data ends before the last member that sends data begins |
///
/// A collective without data does not synchronise and is not checked. A barrier is always checked.
/// The absence of violations does not prove that the clocks agree: they may disagree by less than
/// the transfer time of the messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct ClockViolations {
    /// Messages between two locations.
    pub messages: ClockCount,
    /// N-to-N collective operations.
    pub collectives: ClockCount,
    /// Pairs of locations with at least one violation, in ascending order.
    pub pairs: Vec<ClockPair>,
}

impl ClockViolations {
    /// Returns `true` if a condition is violated, that is, if clocks disagree.
    pub fn is_any(&self) -> bool {
        self.messages.violated + self.collectives.violated > 0
    }

    /// Returns a table with a row for each condition. The columns are `condition`, the numbers
    /// `checked` and `violated`, and `largest`, the largest violation as a time.
    ///
    /// ```
    /// use perf_core::{Clock, ClockViolations};
    /// let table = ClockViolations::default().table(Clock::default());
    /// assert_eq!(table.text_of(1, "condition"), "collective");
    /// ```
    pub fn table(&self, clock: Clock) -> Table {
        let rows = [("message", self.messages), ("collective", self.collectives)];
        let largest = rows.map(|row| clock.total(u128::from(row.1.largest)));
        Table::new(
            "clocks",
            "Messages and collectives that contradict the clocks.",
        )
        .text("condition", rows.map(|row| row.0))
        .unsigned("checked", "", rows.map(|row| row.1.checked))
        .unsigned("violated", "", rows.map(|row| row.1.violated))
        .times("largest", largest)
    }
}

impl Messages {
    /// Counts the messages and collectives that contradict the clocks of their locations.
    ///
    /// Takes O(n log p) time for n message ends and p pairs of locations.
    ///
    /// ```
    /// use perf_core::{ClockCount, Endpoint, LocationId, Message, Messages, Ticks};
    /// let at = |location, time| Endpoint { time: Ticks(time), location: LocationId(location), index: 0 };
    /// let message = |sent, received| Message {
    ///     sender: at(0, sent),
    ///     receiver: at(1, received),
    ///     comm: Default::default(),
    ///     tag: 0,
    ///     bytes: 8,
    /// };
    /// let mut found = Messages::default();
    /// found.messages = vec![message(10, 14), message(20, 13), message(30, 30)];
    /// let clocks = found.clock_violations();
    /// assert_eq!(clocks.messages, ClockCount { checked: 3, violated: 1, largest: 7 });
    /// assert_eq!((clocks.pairs.len(), clocks.is_any()), (1, true));
    /// ```
    pub fn clock_violations(&self) -> ClockViolations {
        let mut found = ClockViolations::default();
        let mut pairs: BTreeMap<(LocationId, LocationId), ClockCount> = BTreeMap::new();
        for message in &self.messages {
            let (sender, receiver) = (message.sender, message.receiver);
            // Messages of a location to itself involve only one clock.
            if sender.location != receiver.location {
                let pair = pairs.entry((sender.location, receiver.location));
                pair.or_default().add(sender.time, receiver.time);
                found.messages.add(sender.time, receiver.time);
            }
        }
        let violated = pairs.into_iter().filter(|(_, count)| count.violated > 0);
        let pair = |((sender, receiver), count)| ClockPair {
            sender,
            receiver,
            count,
        };
        found.pairs = violated.map(pair).collect();
        for collective in &self.collectives {
            if let Some((begin, end)) = bounds(collective) {
                found.collectives.add(begin, end);
            }
        }
        found
    }
}

/// Returns the latest begin of a member that sends data and the earliest end of another member that
/// receives data; `None` for an operation that does not synchronise.
fn bounds(of: &CollectiveInstance) -> Option<(Ticks, Ticks)> {
    if !of.op.is_all_to_all() {
        return None;
    }
    let is_barrier = of.op == CollectiveOp::Barrier;
    let senders = of.members.iter().filter(|it| is_barrier || it.sent > 0);
    let last = senders.max_by_key(|it| it.begin.time)?.begin;
    // The last member to begin is skipped: it ends after its own begin, and therefore after all
    // members have begun.
    let receivers = of.members.iter().filter(|it| is_barrier || it.received > 0);
    let others = receivers.filter(|it| it.begin.location != last.location);
    let first = others.map(|it| it.end.time).min()?;
    Some((last.time, first))
}
