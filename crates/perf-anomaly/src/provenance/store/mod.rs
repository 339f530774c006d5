//! [`Store`]: interface for the storage of entries, implemented in submodules; [`Query`] and
//! [`Order`]: selection and order of records; [`Revision`]: their removal or replacement.

mod lines;
mod memory;
mod merge;
#[cfg(feature = "sqlite")]
mod sqlite;

pub use lines::Lines;
pub use memory::Memory;
pub use merge::{merge, open};
#[cfg(feature = "sqlite")]
pub use sqlite::Sqlite;

use super::record::{Entry, Kind, Record};
use crate::{Label, Result};
use perf_core::Nanos;
use std::ops::RangeInclusive;

/// Order of records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// Order in which the records were stored.
    #[default]
    Stored,
    /// Descending time lost, then descending score.
    Severity,
    /// Descending score, then descending time lost.
    Score,
    /// Ascending time of entry.
    Entry,
}

/// Selection of records. Fields that are not set match everything.
///
/// ```
/// use perf_anomaly::provenance::{Order, Query};
/// let worst = Query { rank: Some(3), order: Order::Severity, limit: Some(10), ..Query::default() };
/// assert!(worst.function.is_none());
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Query {
    /// Abnormal or normal calls.
    pub kind: Option<Kind>,
    /// Label.
    pub label: Option<Label>,
    /// Program.
    pub program: Option<u32>,
    /// Rank.
    pub rank: Option<u32>,
    /// Thread.
    pub thread: Option<u32>,
    /// Exact name of the function.
    pub function: Option<String>,
    /// Steps in which calls were completed.
    pub steps: Option<RangeInclusive<u64>>,
    /// Smallest score.
    pub score: Option<f64>,
    /// Smallest time lost in nanoseconds.
    pub severity: Option<Nanos>,
    /// Order of the records.
    pub order: Order,
    /// Largest number of records.
    pub limit: Option<usize>,
}

impl Query {
    /// Returns `true` if a record is selected.
    pub fn wants(&self, record: &Record) -> bool {
        fn is<T: PartialEq>(wanted: Option<&T>, found: &T) -> bool {
            wanted.is_none_or(|wanted| wanted == found)
        }
        is(self.kind.as_ref(), &record.kind)
            && is(self.label.as_ref(), &record.label)
            && is(self.program.as_ref(), &record.program)
            && is(self.rank.as_ref(), &record.rank)
            && is(self.thread.as_ref(), &record.thread)
            && is(self.function.as_ref(), &record.function)
            && self
                .steps
                .as_ref()
                .is_none_or(|steps| steps.contains(&record.step))
            && self.score.is_none_or(|least| record.score >= least)
            && self.severity.is_none_or(|least| record.severity >= least)
    }

    /// Sorts records that are in storage order, and drops records beyond the limit.
    pub(super) fn arrange(&self, records: &mut Vec<Record>) {
        match self.order {
            Order::Stored => {}
            Order::Entry => records.sort_by_key(|one| one.call.entry),
            Order::Severity => records.sort_by(|one, other| {
                let first = other.severity.cmp(&one.severity);
                first.then(other.score.total_cmp(&one.score))
            }),
            Order::Score => records.sort_by(|one, other| {
                let first = other.score.total_cmp(&one.score);
                first.then(other.severity.cmp(&one.severity))
            }),
        }
        records.truncate(self.limit.unwrap_or(usize::MAX));
    }
}

/// Decision about a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Revision {
    /// The record is unchanged.
    Keep,
    /// The record is removed.
    Remove,
    /// The record is replaced by the given one.
    Replace(Box<Record>),
    /// All records are unchanged, and the revision ends with
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    Stop,
}

/// Storage of entries.
///
/// [`Lines`](super::Lines) is a file of JSON Lines and `Sqlite` (feature `sqlite`) a database. Both
/// hold the same entries with the same text, and give the same results.
///
/// ```
/// use perf_anomaly::provenance::{Entry, Memory, RunRecord, Store};
/// // A recorder accepts any store; this one is discarded when the program ends.
/// let mut store = Memory::new();
/// let bytes = store.put(&Entry::Run(RunRecord::default()))?;
/// store.commit()?;
/// let mut entries = 0;
/// store.each(&mut |_| { entries += 1; Ok(()) })?;
/// assert!(bytes > 0 && entries == 1);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
pub trait Store: std::fmt::Debug + Send {
    /// Adds an entry, and returns its size in bytes.
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if the entry cannot be written.
    fn put(&mut self, entry: &Entry) -> Result<u64>;

    /// Commits all added entries, so that they survive the end of the program.
    ///
    /// # Errors
    /// Returns the errors of [`put`](Self::put).
    fn commit(&mut self) -> Result<()>;

    /// Calls `take` with each entry in storage order. Unreadable entries are skipped and
    /// [counted](Self::unreadable).
    ///
    /// # Errors
    /// Returns [`Error::Store`](crate::Error::Store) if the store cannot be read, and the errors of
    /// `take`.
    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()>;

    /// Returns the records that a query selects.
    ///
    /// # Errors
    /// Returns the errors of [`each`](Self::each).
    fn query(&mut self, query: &Query) -> Result<Vec<Record>> {
        let mut records = Vec::new();
        self.each(&mut |entry| {
            match entry {
                Entry::Call(record) if query.wants(&record) => records.push(*record),
                _ => {}
            }
            Ok(())
        })?;
        query.arrange(&mut records);
        Ok(records)
    }

    /// Revises all records in storage order by the decisions of `judge`. Returns the number of
    /// removed records.
    ///
    /// # Errors
    /// Returns the errors of [`put`](Self::put) and [`each`](Self::each); all records are then
    /// unchanged.
    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64>;

    /// Returns the number of entries that could not be read the last time, and the first error;
    /// `None` if all were readable. Default: `None`.
    fn unreadable(&self) -> Option<(u64, String)> {
        None
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
