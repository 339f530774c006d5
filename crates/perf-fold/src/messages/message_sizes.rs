//! [`MessageSizes`]: number, bytes and transfer times of messages by [`SizeClass`], a range of
//! their length.

use crate::Line;
use perf_core::{Clock, Merge, Table, TimeRange};
use std::collections::BTreeMap;

/// Messages of similar length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct SizeClass {
    /// Number of messages.
    pub count: u64,
    /// Sum of their bytes.
    pub bytes: u64,
    /// Sum of the bytes of messages that are not early.
    pub timed_bytes: u64,
    /// Sum of the times from sending to receipt in ticks, over messages that are not early.
    pub time: u64,
    /// Longest of these times in ticks.
    pub longest: u64,
    /// Number of messages that were received before they were sent, an effect of clocks that
    /// disagree.
    pub early: u64,
}

impl Merge for SizeClass {
    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.timed_bytes = self.timed_bytes.saturating_add(other.timed_bytes);
        self.time = self.time.saturating_add(other.time);
        self.longest = self.longest.max(other.longest);
        self.early += other.early;
    }
}

/// Statistics of the messages of a window, in classes of length between powers of two.
///
/// ```
/// use perf_core::{Clock, LocationId, Ticks, TimeRange};
/// use perf_fold::{Line, MessageSizes};
/// let message = |sent, received, bytes| Line {
///     from: LocationId(0), sent: Ticks(sent), to: LocationId(1), received: Ticks(received), bytes,
/// };
/// let all = [message(0, 10, 0), message(1, 5, 1000), message(2, 12, 1023), message(90, 91, 1024)];
/// let window = TimeRange { start: Ticks(0), end: Ticks(50) };
/// let sizes = MessageSizes::of(window, all);
/// let table = sizes.table(Clock::default());
/// assert_eq!(table.rows(), 2);
/// assert_eq!((table.text_of(1, "from"), table.text_of(1, "below")), ("512 B".into(), "1 024 B".into()));
/// assert_eq!(table.text_of(1, "mean time"), "7 ns");
/// assert_eq!(table.text_of(1, "longest"), "10 ns");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct MessageSizes {
    /// Messages by class: class 0 has no bytes, class `n` has `2^(n-1)` to `2^n - 1` bytes.
    pub classes: BTreeMap<u32, SizeClass>,
}

impl MessageSizes {
    /// Counts the messages that are sent in `window`. The counts of consecutive windows therefore
    /// add up.
    pub fn of(window: TimeRange, messages: impl IntoIterator<Item = Line>) -> Self {
        // There may be millions of messages, and looking up a class in a tree takes longer than the rest.
        let mut sizes = [SizeClass::default(); u64::BITS as usize + 1];
        let sent = messages.into_iter();
        for message in sent.filter(|message| window.contains(message.sent)) {
            let time = message.received.0.checked_sub(message.sent.0);
            let one = SizeClass {
                count: 1,
                bytes: message.bytes,
                timed_bytes: time.map_or(0, |_| message.bytes),
                time: time.unwrap_or(0),
                longest: time.unwrap_or(0),
                early: u64::from(time.is_none()),
            };
            let class = u64::BITS - message.bytes.leading_zeros();
            if let Some(size) = sizes.get_mut(class as usize) {
                size.merge(&one);
            }
        }
        let classes = (0..).zip(sizes).filter(|(_, size)| size.count > 0);
        MessageSizes {
            classes: classes.collect(),
        }
    }

    /// Returns the classes as a table, the shortest messages first.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `from`, `below` | unsigned, B | length of the messages; `below` is missing for the longest class |
    /// | `messages` | unsigned | number of messages |
    /// | `bytes` | unsigned, B | their total length |
    /// | `mean time`, `longest` | time | time from sending to receipt; missing if all are early |
    /// | `bandwidth` | float, B/s | bytes by time from sending to receipt; missing if all are early |
    /// | `early` | unsigned | messages received before they were sent |
    pub fn table(&self, clock: Clock) -> Table {
        let all = || self.classes.iter();
        let from = all().map(|(class, _)| class.checked_sub(1).map_or(0, |power| 1u64 << power));
        let below = all().map(|(class, _)| 1u64.checked_shl(*class));
        let values = || self.classes.values();
        let timed = |of: &SizeClass| of.count - of.early;
        let mean = values().map(|of| clock.duration(of.time.checked_div(timed(of))?));
        let longest = values().map(|of| (timed(of) > 0).then(|| clock.duration(of.longest))?);
        let bandwidth = values().map(|of| {
            let seconds = clock.total(u128::from(of.time)).seconds();
            (seconds > 0.0).then(|| of.timed_bytes as f64 / seconds)
        });
        Table::new("message sizes", "Messages of a window by length.")
            .unsigned("from", "B", from)
            .unsigned("below", "B", below)
            .unsigned("messages", "", values().map(|of| of.count))
            .unsigned("bytes", "B", values().map(|of| of.bytes))
            .times("mean time", mean)
            .times("longest", longest)
            .floats("bandwidth", "B/s", bandwidth)
            .unsigned("early", "", values().map(|of| of.early))
    }
}
