//! [`MessageMatrix`]: number, bytes and transfer times of messages for each [`Pair`] of folded
//! rows, of the sender and of the receiver.

use crate::{Folder, Line, Traffic};
use perf_core::{Clock, Merge, Nanos, Table, TimeRange};
use std::collections::BTreeMap;

/// Messages from one row to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Pair {
    /// Number and bytes of all messages.
    pub traffic: Traffic,
    /// Sum of the times from sending to receipt in ticks, over messages that are not early.
    pub time: u64,
    /// Number of messages that were received before they were sent, an effect of clocks that
    /// disagree.
    pub early: u64,
}

/// Messages of a window by the rows of their sender and receiver.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageMatrix {
    /// Messages by the numbers of the rows of sender and receiver.
    pub pairs: BTreeMap<(u32, u32), Pair>,
    /// Messages with an end on a location that is in no row.
    pub elsewhere: Traffic,
    /// Labels of the rows.
    labels: Vec<String>,
    /// Clock of the recording.
    clock: Clock,
}

impl Merge for Pair {
    fn merge(&mut self, other: &Self) {
        self.traffic.merge(&other.traffic);
        self.time = self.time.saturating_add(other.time);
        self.early += other.early;
    }
}

impl MessageMatrix {
    /// Returns the labels of the rows.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// Returns the mean time of a pair from sending to receipt in nanoseconds; `None` if all its
    /// messages are early.
    pub fn mean_time(&self, pair: &Pair) -> Option<Nanos> {
        let mean = pair.time.checked_div(pair.traffic.count - pair.early)?;
        self.clock.duration(mean)
    }

    /// Returns the matrix with neighbouring rows joined to at most `most` blocks of equal size. The
    /// label of a block names its first and last row. Nothing changes if the rows fit.
    pub fn in_blocks(&self, most: usize) -> MessageMatrix {
        let size = self.labels.len().div_ceil(most.max(1));
        if size < 2 {
            return self.clone();
        }
        let label = |block: &[String]| match block {
            [only] => only.clone(),
            [first, .., last] => format!("{first} to {last}"),
            [] => String::new(),
        };
        let mut joined = MessageMatrix {
            pairs: BTreeMap::new(),
            elsewhere: self.elsewhere,
            labels: self.labels.chunks(size).map(label).collect(),
            clock: self.clock,
        };
        for ((from, to), pair) in &self.pairs {
            let block = |row: u32| row / size as u32;
            let ends = (block(*from), block(*to));
            joined.pairs.entry(ends).or_default().merge(pair);
        }
        joined
    }

    /// Returns the pairs of rows as a table, the most bytes first.
    ///
    /// | column | type | meaning |
    /// |---|---|---|
    /// | `sender`, `receiver` | text | label of the row |
    /// | `messages` | unsigned | number of messages |
    /// | `bytes` | unsigned, B | their total length |
    /// | `mean time` | time | mean time from sending to receipt; missing if all are early |
    /// | `early` | unsigned | messages received before they were sent |
    pub fn table(&self) -> Table {
        let mut pairs: Vec<_> = self.pairs.iter().collect();
        pairs.sort_by_key(|(_, pair)| std::cmp::Reverse((pair.traffic.bytes, pair.traffic.count)));
        let label = |row: u32| self.labels.get(row as usize).map_or("", String::as_str);
        let all = || pairs.iter().map(|(_, pair)| *pair);
        Table::new("messages", "Messages between the rows of a window.")
            .text("sender", pairs.iter().map(|((from, _), _)| label(*from)))
            .text("receiver", pairs.iter().map(|((_, to), _)| label(*to)))
            .unsigned("messages", "", all().map(|pair| pair.traffic.count))
            .unsigned("bytes", "B", all().map(|pair| pair.traffic.bytes))
            .times("mean time", all().map(|pair| self.mean_time(pair)))
            .unsigned("early", "", all().map(|pair| pair.early))
    }
}

impl Folder {
    /// Counts the messages that are sent in `window` by the rows of sender and receiver. The counts of
    /// consecutive windows therefore add up. A location in several rows belongs to the topmost row.
    ///
    /// ```
    /// use perf_core::{Cell, Job, LocationId, Ticks};
    /// use perf_fold::{Folder, GroupBy, Groups, Line, RegionMap, Timelines};
    /// # let trace = perf_core::samples::cosmo::trace();
    /// # let map = RegionMap::by_name(trace.definitions())?;
    /// # let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let folder = Folder::new(&timelines, Groups::by(&timelines, GroupBy::Process), Default::default())?;
    /// let message = |sent, received| Line {
    ///     from: LocationId(0), sent: Ticks(sent), to: LocationId(1), received: Ticks(received), bytes: 8,
    /// };
    /// let messages = [message(5, 9), message(20, 26), message(30, 12), message(500_000_000, 500_000_001)];
    /// let matrix = folder.messages(timelines.range(), messages);
    /// let pair = matrix.pairs[&(0, 1)];
    /// assert_eq!((pair.traffic.count, pair.traffic.bytes, pair.time, pair.early), (3, 24, 10, 1));
    /// assert_eq!(matrix.table().text_of(0, "mean time"), "5 ns");
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn messages(
        &self,
        window: TimeRange,
        messages: impl IntoIterator<Item = Line>,
    ) -> MessageMatrix {
        let rows = self.rows_by_location();
        let groups = self.groups();
        let label = |id| groups.get(id).map_or("", |group| group.label.as_str());
        let mut matrix = MessageMatrix {
            labels: groups
                .rows()
                .iter()
                .map(|id| label(*id).to_owned())
                .collect(),
            clock: self.timelines().clock(),
            ..MessageMatrix::default()
        };
        let sent = messages.into_iter();
        for message in sent.filter(|message| window.contains(message.sent)) {
            let one = Traffic {
                count: 1,
                bytes: message.bytes,
            };
            let (Some(from), Some(to)) = (rows.get(&message.from), rows.get(&message.to)) else {
                matrix.elsewhere.merge(&one);
                continue;
            };
            let pair = matrix.pairs.entry((*from, *to)).or_default();
            pair.traffic.merge(&one);
            match message.received.0.checked_sub(message.sent.0) {
                Some(time) => pair.time = pair.time.saturating_add(time),
                None => pair.early += 1,
            }
        }
        matrix
    }
}
