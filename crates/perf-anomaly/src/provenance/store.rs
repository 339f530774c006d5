//! [`Store`]: where entries are kept, and how they are asked for.

use super::record::{Entry, Kind, Record};
use crate::{Label, Result};
use perf_core::Nanos;
use std::ops::RangeInclusive;

/// In which order records come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Order {
    /// As they were put.
    #[default]
    Stored,
    /// Most time lost first, then the highest score.
    Severity,
    /// The highest score first, then most time lost.
    Score,
    /// By time of entry.
    Entry,
}

/// Which records are wanted. Everything that is not set does not matter.
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
    /// Calls of this label.
    pub label: Option<Label>,
    /// Calls of this program.
    pub program: Option<u32>,
    /// Calls of this rank.
    pub rank: Option<u32>,
    /// Calls of this thread.
    pub thread: Option<u32>,
    /// Calls of the function of this very name.
    pub function: Option<String>,
    /// Calls completed in these steps.
    pub steps: Option<RangeInclusive<u64>>,
    /// Calls of at least this score.
    pub score: Option<f64>,
    /// Calls that lost at least so much time.
    pub severity: Option<Nanos>,
    /// In which order they come.
    pub order: Order,
    /// At most so many.
    pub limit: Option<usize>,
}

impl Query {
    /// Whether a record is wanted.
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

    /// Orders records that come as they were put, and leaves out those past the limit.
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

/// What becomes of a record.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Revision {
    /// It stays.
    Keep,
    /// It is gone.
    Remove,
    /// It becomes this one.
    Replace(Box<Record>),
    /// All records stay as they were, and nobody is asked about others:
    /// [`Error::Cancelled`](crate::Error::Cancelled).
    Stop,
}

/// Where entries are kept.
///
/// [`Lines`](super::Lines) is a file of JSON Lines and `Sqlite` (feature `sqlite`) a database; both
/// hold the same entries, the same text for each, and answer the same.
///
/// ```
/// use perf_anomaly::provenance::{Entry, Memory, RunRecord, Store};
/// // Any store will do for a recorder; this one is gone with the program.
/// let mut store = Memory::new();
/// let bytes = store.put(&Entry::Run(RunRecord::default()))?;
/// store.commit()?;
/// let mut entries = 0;
/// store.each(&mut |_| { entries += 1; Ok(()) })?;
/// assert!(bytes > 0 && entries == 1);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
pub trait Store: std::fmt::Debug + Send {
    /// Adds an entry, and tells how many bytes it takes.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) if it cannot be written.
    fn put(&mut self, entry: &Entry) -> Result<u64>;

    /// What was put is there when this returns, whatever becomes of the program.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    fn commit(&mut self) -> Result<()>;

    /// Gives all entries in the order in which they were put.
    ///
    /// # Errors
    /// [`Error::Store`](crate::Error::Store) if they cannot be read, and what `take` fails with.
    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()>;

    /// The records that a query wants.
    ///
    /// # Errors
    /// As [`each`](Self::each).
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

    /// Looks at all records again, in the order in which they were put; tells how many were removed.
    ///
    /// # Errors
    /// As [`put`](Self::put) and [`each`](Self::each); then all stay as they were.
    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64>;

    /// Entries that were there, but could not be read: how many, and what was wrong with the first.
    fn unreadable(&self) -> Option<(u64, String)> {
        None
    }
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
