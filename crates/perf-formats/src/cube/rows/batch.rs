//! [`Batch`]: long rows of a `.cubex` that are read several at a time, directly into their
//! memory.

use super::data_type::DataType;
use super::index::Table;
use crate::Result;
use crate::bytes::Bytes;
use perf_core::{MetricId, Severities, ValueType};
use std::collections::VecDeque;
use std::sync::Arc;

/// Minimum size in bytes for reading a row directly to its destination. Above it, a system call
/// costs less than another copy.
pub(super) const LONG: u64 = 1 << 13;

/// Size in bytes of the rows that are read together. Reading 106 MB in rows of 32 KiB and adding them
/// up takes 14.7 ms of CPU time row by row, 12.5 ms in batches of 256 KiB, 12.3 ms in batches of 1 MiB
/// and 12.9 ms in batches of 2 MiB, which do not fit in the cache of a core.
const BATCH: u64 = 1 << 20;

/// Maximum size in bytes of a single row whose memory is kept.
const KEPT: u64 = 1 << 22;

/// Rows that were read together, and memory for the next ones.
///
/// A caller that requests the rows of a metric one after the other gets them from batches, which
/// double in size as long as it goes on. A row that is requested by itself is read by itself.
#[derive(Debug, Default)]
pub(super) struct Batch {
    /// Rows that are read and not yet requested: the metric, the position in its table, and the row.
    ready: VecDeque<(MetricId, usize, Arc<Severities>)>,
    /// Rows of the caller. After it has released one, its memory is used again, which saves
    /// clearing new memory.
    lent: VecDeque<Arc<Severities>>,
    /// Position after the last requested row.
    next: Option<(MetricId, usize)>,
    /// Number of rows that the last batch was to have.
    count: usize,
}

impl Batch {
    /// Returns the row at a position in the table of a metric. Its layout must be the same in
    /// memory and in the file.
    pub(super) fn row(
        &mut self,
        bytes: &Bytes,
        (metric, at): (MetricId, usize),
        table: &Table,
        kind: DataType,
    ) -> Result<Arc<Severities>> {
        let is_next = self.next.replace((metric, at + 1)) == Some((metric, at));
        if self.ready.front().map(|row| (row.0, row.1)) != Some((metric, at)) {
            let most = usize::try_from(BATCH / table.row).unwrap_or(1).max(1);
            self.count = if is_next {
                self.count.saturating_mul(2).clamp(1, most)
            } else {
                1
            };
            let ready = std::mem::take(&mut self.ready);
            self.lent.extend(ready.into_iter().map(|row| row.2));
            let count = table.adjacent(at, self.count);
            let mut rows: Vec<_> = (0..count).map(|_| self.released()).collect();
            let rows_of = rows.iter_mut().map(Arc::make_mut);
            let mut buffers: Vec<_> = rows_of.map(|row| kind.in_memory(row, table.row)).collect();
            bytes.fill_each(table.span(at).start, &mut buffers)?;
            let rows = (at..).zip(rows).map(|(at, row)| (metric, at, row));
            self.ready.extend(rows);
        }
        let row = self.ready.pop_front().map(|(_, _, row)| row);
        let row = row.unwrap_or_else(empty);
        if table.row <= KEPT {
            self.lend(&row);
        }
        Ok(row)
    }

    /// Returns a row whose memory may be filled again: one that the caller has released, or an
    /// empty one.
    pub(super) fn released(&mut self) -> Arc<Severities> {
        // The oldest: the system copies faster to memory that is not in the nearest cache.
        let row = self.lent.pop_front();
        let row = row.filter(|row| Arc::strong_count(row) == 1 && Arc::weak_count(row) == 0);
        row.unwrap_or_else(empty)
    }

    /// Keeps the memory of a row for the time when the caller has released it.
    pub(super) fn lend(&mut self, row: &Arc<Severities>) {
        let most = BATCH / (row.len() as u64 * 8).max(LONG);
        while self.lent.len() as u64 > most {
            self.lent.pop_front();
        }
        self.lent.push_back(Arc::clone(row));
    }
}

fn empty() -> Arc<Severities> {
    Arc::new(Severities::zeros(ValueType::F64, 0))
}
