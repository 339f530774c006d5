//! Rows of a `.cubex`, read from the file as they are asked for.

use super::dtype::DataType;
use super::index::{Span, Table};
use crate::bytes::Bytes;
use crate::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};
use perf_core::{CallPathId, MetricId, RowStore, Severities, ValueType};
use std::sync::{Arc, Mutex};

/// The stored rows of a profile.
#[derive(Debug)]
pub(super) struct FileRows {
    pub(super) bytes: Bytes,
    /// By metric; `None` where nothing is stored.
    pub(super) metrics: Vec<Option<(Table, DataType)>>,
    /// State of streams that nobody reads at the moment: some 40 KiB each.
    pub(super) idle: Mutex<Vec<Decompress>>,
    pub(super) held: Mutex<Held>,
}

/// What goes from row to row.
#[derive(Debug, Default)]
pub(super) struct Held {
    ahead: Ahead,
    /// The last row: once whoever asked for it let it go, its memory serves for the next one. Rows
    /// are mostly looked at one after the other, and a new one would have to be cleared first.
    last: Option<Arc<Severities>>,
}

/// Bytes that were read ahead, for rows that are asked for one after the other: a call to the
/// system costs more than a small row. A row asked for by itself is read by itself.
#[derive(Debug, Default)]
struct Ahead {
    bytes: Vec<u8>,
    start: u64,
    /// Where the last row ended.
    last: u64,
}

/// Bytes of a row from which on it is read straight to where it stays: a call to the system costs
/// less than copying so many bytes once more.
const LONG: u64 = 1 << 13;

/// Bytes that are read ahead.
const AHEAD: u64 = 1 << 16;

/// Bytes of a row up to which its memory is kept for the next one.
const KEPT: u64 = 1 << 22;

impl Ahead {
    /// The bytes of a row.
    fn row(&mut self, bytes: &Bytes, span: Span) -> Result<&[u8]> {
        let end = span.start.saturating_add(span.size);
        let held = self.start..=self.start + self.bytes.len() as u64;
        if !(held.contains(&span.start) && held.contains(&end)) {
            let follows = (self.last..self.last.saturating_add(AHEAD)).contains(&span.start);
            let size = match follows {
                true => AHEAD.max(span.size),
                false => span.size,
            };
            let size = size.min(bytes.len().saturating_sub(span.start));
            bytes.read_into(span.start, size.max(span.size), "a row", &mut self.bytes)?;
            self.start = span.start;
        }
        self.last = end;
        let from = (span.start - self.start) as usize;
        let row = self.bytes.get(from..from + span.size as usize);
        Ok(row.unwrap_or_default())
    }
}

/// Deflate packs no better than this.
const MOST_PACKED: u64 = 1032;

impl FileRows {
    fn read(&self, table: &Table, kind: DataType, span: Span) -> Result<Arc<Severities>> {
        // A thread that would have to wait for another reads for itself.
        match self.held.try_lock() {
            Ok(mut held) => self.read_with(&mut held, table, kind, span),
            Err(_) => self.read_with(&mut Held::default(), table, kind, span),
        }
    }

    fn read_with(
        &self,
        held: &mut Held,
        table: &Table,
        kind: DataType,
        span: Span,
    ) -> Result<Arc<Severities>> {
        if table.is_packed || !kind.is_in_memory(table.is_big) {
            let bytes = held.ahead.row(&self.bytes, span)?;
            return Ok(Arc::new(self.decode(table, kind, span, bytes)?));
        }
        let empty = || Arc::new(Severities::zeros(ValueType::F64, 0));
        let mut row = held.last.take().unwrap_or_else(empty);
        // Somebody still has it.
        if Arc::strong_count(&row) > 1 || Arc::weak_count(&row) > 0 {
            row = empty();
        }
        let to = kind.in_memory(Arc::make_mut(&mut row), span.size);
        if span.size >= LONG {
            self.bytes.fill(span.start, to)?;
        } else {
            let from = held.ahead.row(&self.bytes, span)?;
            to.iter_mut().zip(from).for_each(|(to, from)| *to = *from);
        }
        if span.size <= KEPT {
            held.last = Some(Arc::clone(&row));
        }
        Ok(row)
    }

    fn decode(
        &self,
        table: &Table,
        kind: DataType,
        span: Span,
        bytes: &[u8],
    ) -> Result<Severities> {
        if !table.is_packed {
            return Ok(kind.decode(bytes, table.is_big));
        }
        let malformed = |got: String| Error::Malformed {
            place: self.bytes.place(span.start),
            expected: format!("a row of {} bytes, packed with zlib", table.row),
            got,
        };
        let size = usize::try_from(table.row).ok();
        let most = span.size.saturating_mul(MOST_PACKED).saturating_add(64);
        let Some(size) = size.filter(|_| table.row <= most) else {
            return Err(malformed(format!("{} bytes", span.size)));
        };
        let mut row = vec![0; size];
        let mut inflater = self.take();
        let status = inflater.decompress(bytes, &mut row, FlushDecompress::Finish);
        let (end, got) = match status {
            Ok(status) => (status == Status::StreamEnd, inflater.total_out()),
            Err(error) => return Err(malformed(error.to_string())),
        };
        inflater.reset(true);
        if let Ok(mut idle) = self.idle.lock() {
            idle.push(inflater);
        }
        match end && got == table.row {
            true => Ok(kind.decode(&row, table.is_big)),
            false if end => Err(malformed(format!("{got} bytes"))),
            false => Err(malformed("another size".into())),
        }
    }

    fn take(&self) -> Decompress {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        idle.unwrap_or_else(|| Decompress::new(true))
    }
}

impl RowStore for FileRows {
    fn row(
        &self,
        metric: MetricId,
        path: CallPathId,
    ) -> perf_core::Result<Option<Arc<Severities>>> {
        let Some(Some((table, kind))) = self.metrics.get(metric.index()) else {
            return Ok(None);
        };
        let Some(span) = table.span(path) else {
            return Ok(None);
        };
        let row = self.read(table, *kind, span);
        row.map(Some).map_err(unreadable)
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        match self.metrics.get(metric.index()) {
            Some(Some((table, _))) => table.paths().collect(),
            _ => Vec::new(),
        }
    }
}

/// An error of this crate as one of a row.
pub(super) fn unreadable(error: Error) -> perf_core::Error {
    perf_core::Error::Read(Arc::new(error))
}
