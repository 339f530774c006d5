//! Rows of a `.cubex`, read from the file as they are asked for.

use super::dtype::DataType;
use super::index::{Span, Table};
use crate::bytes::Bytes;
use crate::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};
use perf_core::{CallPathId, MetricId, RowStore, Severities};
use std::sync::{Arc, Mutex};

/// The stored rows of a profile.
#[derive(Debug)]
pub(super) struct FileRows {
    pub(super) bytes: Bytes,
    /// By metric; `None` where nothing is stored.
    pub(super) metrics: Vec<Option<(Table, DataType)>>,
    /// State of streams that nobody reads at the moment: some 40 KiB each.
    pub(super) idle: Mutex<Vec<Decompress>>,
    pub(super) ahead: Mutex<Ahead>,
}

/// Bytes that were read ahead, for rows that are asked for one after the other: a call to the
/// system costs more than a small row. A row asked for by itself is read by itself.
#[derive(Debug, Default)]
pub(super) struct Ahead {
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

impl Ahead {
    /// Gives `f` the bytes of a row.
    fn with<T>(&mut self, bytes: &Bytes, span: Span, f: impl FnOnce(&[u8]) -> T) -> Result<T> {
        let follows = (self.last..self.last.saturating_add(AHEAD)).contains(&span.start);
        let size = match follows {
            true => AHEAD.max(span.size),
            false => span.size,
        };
        let end = span.start.saturating_add(span.size);
        let held = self.start..=self.start + self.bytes.len() as u64;
        if !(held.contains(&span.start) && held.contains(&end)) {
            let size = size.min(bytes.len().saturating_sub(span.start));
            bytes.read_into(span.start, size.max(span.size), "a row", &mut self.bytes)?;
            self.start = span.start;
        }
        self.last = end;
        let from = (span.start - self.start) as usize;
        let row = self.bytes.get(from..from + span.size as usize);
        Ok(f(row.unwrap_or_default()))
    }
}

/// Deflate packs no better than this.
const MOST_PACKED: u64 = 1032;

impl FileRows {
    fn read(&self, table: &Table, kind: DataType, span: Span) -> Result<Severities> {
        if !table.is_packed
            && span.size >= LONG
            && let Some(mut row) = kind.as_in_memory(span.size, table.is_big)
        {
            self.bytes.fill(span.start, row.bytes_mut())?;
            return Ok(row.into());
        }
        // A thread that would have to wait for another reads for itself.
        if let Ok(mut ahead) = self.ahead.try_lock() {
            return ahead.with(&self.bytes, span, |bytes| {
                self.decode(table, kind, span, bytes)
            })?;
        }
        let bytes = self.bytes.read(span.start, span.size, "a row")?;
        self.decode(table, kind, span, &bytes)
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
        row.map(|row| Some(Arc::new(row))).map_err(unreadable)
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
