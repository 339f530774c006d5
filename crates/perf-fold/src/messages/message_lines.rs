//! [`Line`]: one message or remote access; [`Lines`]: messages between folded rows for drawing,
//! bundled by row and pixel of both ends.

use crate::Folder;
use perf_core::{LocationId, Merge, Messages, RmaOp, Ticks, TimeRange};
use std::collections::BTreeMap;

/// Message or remote memory access, as a line from its sender to its receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Line {
    /// Location of the sender.
    pub from: LocationId,
    /// Time of sending.
    pub sent: Ticks,
    /// Location of the receiver.
    pub to: LocationId,
    /// Time of receipt.
    pub received: Ticks,
    /// Length in bytes.
    pub bytes: u64,
}

impl Line {
    /// Returns the messages and remote accesses that [`match_messages`](perf_core::match_messages)
    /// found as lines.
    ///
    /// A remote access runs from its start to its completion: a put runs to the remote location, a
    /// get from it. Some recordings contain copies between host and device as such accesses.
    /// Accesses with an unknown remote location are skipped.
    pub fn of(found: &Messages) -> impl Iterator<Item = Line> + '_ {
        let messages = found.messages.iter().map(|message| Line {
            from: message.sender.location,
            sent: message.sender.time,
            to: message.receiver.location,
            received: message.receiver.time,
            bytes: message.bytes,
        });
        let accesses = found.accesses.iter().filter_map(|access| {
            let (own, remote) = (access.start.location, access.remote?);
            let (from, to) = match access.op {
                RmaOp::Get => (remote, own),
                _ => (own, remote),
            };
            Some(Line {
                from,
                sent: access.start.time,
                to,
                received: access.end.time,
                bytes: access.bytes,
            })
        });
        messages.chain(accesses)
    }
}

/// Position of one end of a line along the time axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub enum Column {
    /// Before the window.
    Before,
    /// In the pixel of this number.
    At(u32),
    /// After the window.
    After,
}

/// The two ends of a bundle of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Ends {
    /// Row of the senders.
    pub from_row: u32,
    /// Pixel of sending.
    pub from: Column,
    /// Row of the receivers.
    pub to_row: u32,
    /// Pixel of receipt.
    pub to: Column,
}

/// Number and total size of messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Traffic {
    /// Number of messages.
    pub count: u64,
    /// Total size in bytes.
    pub bytes: u64,
}

impl Merge for Traffic {
    fn merge(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.bytes = self.bytes.saturating_add(other.bytes);
    }
}

/// Message lines between rows, bundled by row and pixel of both ends, and counts of the messages
/// that produce no line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Lines {
    /// Bundles by their ends. Each bundle has an end in the window, or begins before the window and
    /// ends after it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::bundles"))]
    pub bundles: BTreeMap<Ends, Traffic>,
    /// Messages with both ends in the same row. A fold cannot show them.
    pub inside: Traffic,
    /// Messages that end before the window begins or start after it ends.
    pub outside: Traffic,
    /// Messages with an end on a location that is in no row.
    pub elsewhere: Traffic,
}

impl Merge for Lines {
    fn merge(&mut self, other: &Self) {
        for (ends, traffic) in &other.bundles {
            self.bundles.entry(*ends).or_default().merge(traffic);
        }
        self.inside.merge(&other.inside);
        self.outside.merge(&other.outside);
        self.elsewhere.merge(&other.elsewhere);
    }
}

impl Folder {
    /// Bundles messages into lines between the rows of a fold of `window`.
    ///
    /// A location in several rows belongs to the topmost of these rows. Messages that arrive no
    /// later than they were sent, which is an effect of clock drift, are kept unchanged. Memory
    /// grows with the number of bundles.
    ///
    /// ```
    /// use perf_core::{Job, LocationId, Ticks};
    /// use perf_fold::{Column, Folder, GroupBy, Groups, Line, RegionMap, Timelines};
    /// # let trace = perf_core::samples::cosmo::trace();
    /// # let map = RegionMap::by_name(trace.definitions())?;
    /// # let timelines = Timelines::new(trace.view(), &map, &Job::default())?;
    /// let groups = Groups::by(&timelines, GroupBy::Process);
    /// let folder = Folder::new(&timelines, groups, Folder::params().columns(100).check()?)?;
    /// let message = |to, received| Line {
    ///     from: LocationId(0), sent: Ticks(0), to: LocationId(to), received: Ticks(received), bytes: 8,
    /// };
    /// let lines = folder.lines(timelines.range(), [message(1, 5), message(1, 6), message(0, 7)]);
    /// let (ends, traffic) = lines.bundles.first_key_value().expect("one bundle");
    /// assert_eq!((ends.to_row, ends.to, traffic.count, traffic.bytes), (1, Column::At(0), 2, 16));
    /// assert_eq!(lines.inside.count, 1);
    /// # Ok::<(), perf_fold::Error>(())
    /// ```
    pub fn lines(&self, window: TimeRange, messages: impl IntoIterator<Item = Line>) -> Lines {
        let rows = self.rows_by_location();
        let row = |location: LocationId| rows.get(&location).copied();
        let columns = self.checked().columns();
        let mut lines = Lines::default();
        for message in messages {
            let one = Traffic {
                count: 1,
                bytes: message.bytes,
            };
            let from = column(window, columns, message.sent);
            let to = column(window, columns, message.received);
            let counted = match (row(message.from), row(message.to)) {
                (None, _) | (_, None) => &mut lines.elsewhere,
                _ if from == to && !matches!(from, Column::At(_)) => &mut lines.outside,
                (Some(from_row), Some(to_row)) if from_row == to_row => &mut lines.inside,
                (Some(from_row), Some(to_row)) => {
                    let ends = Ends {
                        from_row,
                        from,
                        to_row,
                        to,
                    };
                    lines.bundles.entry(ends).or_default()
                }
            };
            counted.merge(&one);
        }
        lines
    }

    pub(crate) fn rows_by_location(&self) -> std::collections::HashMap<LocationId, u32> {
        let (timelines, groups) = (self.timelines(), self.groups());
        let mut rows = std::collections::HashMap::new();
        for (row, id) in (0..).zip(groups.rows()) {
            for stream in groups.get(*id).map_or(&[][..], |group| &group.streams) {
                if let Some(location) = timelines.location(*stream) {
                    rows.entry(location).or_insert(row);
                }
            }
        }
        rows
    }
}

/// Returns the pixel that contains `at`: the pixel p with edge p <= at < edge p+1. If pixels are
/// shorter than a tick, several pixels can start at this tick; the last one is returned.
fn column(window: TimeRange, columns: usize, at: Ticks) -> Column {
    if at < window.start {
        return Column::Before;
    }
    if at >= window.end {
        return Column::After;
    }
    let offset = u128::from(at.0 - window.start.0);
    let (span, count) = (u128::from(window.len()), columns as u128);
    // floor(p span / W) <= offset if and only if p < (offset + 1) W / span.
    let pixel = ((offset + 1) * count).div_ceil(span.max(1)) - 1;
    Column::At(u32::try_from(pixel).unwrap_or(u32::MAX))
}
