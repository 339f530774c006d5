//! [`Log`]: stores the records of a thread that are out of order, sorts them and repairs their
//! times; [`Beyond`]: judges times by the duration in the header.
//!
//! The state of a thread depends on all its records in order of time, so that an out-of-order
//! record cannot be inserted afterwards. A trace is therefore first read in the order of the file.
//! If records of a thread go back in time, the trace is read a second time, and the records of the
//! thread are kept in memory for sorting.

use super::thread_sweep::{Shared, Stream};
use crate::Result;
use crate::paraver::record::Pair;
use crate::paraver::rules;
use perf_core::{Diagnostics, Merge as _, Place};

/// Number of records that may always lie beyond twice the duration while the header is trusted.
const FEW: u64 = 2;
/// If more records than [`FEW`] lie beyond twice the duration, the header is trusted if at most one
/// record in this many does.
const TRUSTED: u64 = 1_000;

/// Threads whose records are stored and sorted.
#[derive(Clone, Debug)]
pub(super) enum Sorted {
    /// No threads: records are processed in the order of the file.
    No,
    /// The marked threads, by number.
    Threads(Vec<bool>),
    /// All threads, because the trace cannot be read a second time.
    All,
}

/// Records of a thread, in the order of the file until they are sorted.
#[derive(Debug, Default)]
pub(super) struct Log {
    /// Records of the thread.
    records: Vec<Logged>,
    /// Types and values of all event records.
    pairs: Vec<Pair>,
}

#[derive(Clone, Copy, Debug)]
struct Logged {
    /// Time of the record.
    time: u64,
    /// Offset of the record in the file.
    offset: u64,
    /// Line of the record.
    line: u64,
    /// Contents of the record.
    what: What,
}

#[derive(Clone, Copy, Debug)]
enum What {
    State { end: u64, state: u32 },
    Pairs { from: usize, to: usize },
}

impl Log {
    /// Adds a state. `at` is the byte offset and the line of the record.
    pub(super) fn state(&mut self, at: (u64, u64), (begin, end): (u64, u64), state: u32) {
        self.push(begin, at, What::State { end, state });
    }

    /// Adds events.
    pub(super) fn events(&mut self, at: (u64, u64), time: u64, pairs: &[Pair]) {
        let from = self.pairs.len();
        self.pairs.extend_from_slice(pairs);
        let to = self.pairs.len();
        self.push(time, at, What::Pairs { from, to });
    }

    fn push(&mut self, time: u64, (offset, line): (u64, u64), what: What) {
        self.records.push(Logged {
            time,
            offset,
            line,
            what,
        });
    }

    /// Returns `true` if no record is earlier than its predecessor.
    pub(super) fn is_sorted(&self) -> bool {
        self.records.is_sorted_by_key(|record| record.time)
    }

    /// Iterates over the offsets of the records in the file.
    pub(super) fn offsets(&self) -> impl Iterator<Item = u64> {
        self.records.iter().map(|record| record.offset)
    }

    /// Passes one record to `stream`.
    pub(super) fn give(
        &self,
        index: usize,
        stream: &mut Stream,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let Some(record) = self.records.get(index) else {
            return Ok(());
        };
        let name = shared.name;
        let place = || {
            let line = format!("line {}", record.line);
            Place::file(name).at(record.offset).record(line)
        };
        let done = match record.what {
            What::State { end, state } => stream.state(record.time, end, state, place, shared),
            What::Pairs { from, to } => stream.pairs(record.time, &self.pairs[from..to], shared),
        };
        done.map_err(|error| error.found_at(place))
    }

    /// Returns the memory of the records in bytes.
    pub(super) fn memory(&self) -> usize {
        self.records.capacity() * size_of::<Logged>() + self.pairs.capacity() * size_of::<Pair>()
    }

    /// Passes all records to `stream` in order of time. Records of the same time keep the order of the file. Times
    /// after `latest` are repaired.
    pub(super) fn replay(
        mut self,
        stream: &mut Stream,
        latest: Option<u64>,
        shared: &mut Shared<'_, '_>,
    ) -> Result<()> {
        let name = shared.name;
        let mut found = Diagnostics::default();
        let place = |record: &Logged| {
            let line = format!("line {}", record.line);
            Place::file(name).at(record.offset).record(line)
        };
        if let Some(latest) = latest {
            self.repair(latest, |record| found.add(rules::TIME_JUMP, place(record)));
        }
        let mut before = 0;
        for record in &self.records {
            if record.time < before {
                found.add(rules::OUT_OF_ORDER, place(record));
            }
            before = record.time;
        }
        // Repairs of an unselected thread are not reported.
        if stream.is_wanted {
            shared.found.merge(&found);
        }
        self.records.sort_by_key(|record| record.time);
        (0..self.records.len()).try_for_each(|index| self.give(index, stream, shared))
    }

    /// Repairs records with times after `latest`. Their begin becomes the time of the preceding record; the end of a
    /// state becomes the begin of the next record. Passes each repaired record to `tell`.
    fn repair(&mut self, latest: u64, mut tell: impl FnMut(&Logged)) {
        let mut before = 0;
        for record in &mut self.records {
            if record.time > latest {
                tell(record);
                record.time = before;
            }
            before = record.time;
        }
        let mut after = None;
        for record in self.records.iter_mut().rev() {
            if let What::State { end, .. } = &mut record.what
                && *end > latest
            {
                *end = after.unwrap_or(record.time).max(record.time);
                tell(record);
            }
            after = Some(record.time);
        }
    }
}

/// Counter of the records beyond twice the duration in the header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Beyond {
    /// Latest plausible time.
    latest: u64,
    /// Number of records.
    records: u64,
    /// Number of records beyond the limit.
    beyond: u64,
}

impl Beyond {
    /// Creates the counter for a trace of `duration` ticks. Without a duration no record is beyond it.
    pub(super) fn new(duration: u64) -> Self {
        let latest = match duration {
            0 => u64::MAX,
            duration => duration.saturating_mul(2),
        };
        Beyond {
            latest,
            records: 0,
            beyond: 0,
        }
    }

    /// Counts a record by its latest time, and returns `true` if that lies beyond the limit.
    #[inline]
    pub(super) fn is_beyond(&mut self, time: u64) -> bool {
        self.records += 1;
        let is_beyond = self.is_later(time);
        self.beyond += u64::from(is_beyond);
        is_beyond
    }

    /// Returns `true` if a time lies beyond the limit, without counting it.
    #[inline]
    pub(super) fn is_later(&self, time: u64) -> bool {
        time > self.latest
    }

    /// Returns the latest plausible time. `None` if no record lies beyond it, or if so many records do that the header
    /// must be wrong.
    pub(super) fn latest(&self) -> Option<u64> {
        let few = FEW.max(self.records / TRUSTED);
        (1..=few).contains(&self.beyond).then_some(self.latest)
    }
}
