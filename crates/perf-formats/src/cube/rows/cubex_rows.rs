//! [`FileRows`]: rows of severities in a `.cubex`, read from the file on request, with read-ahead
//! and decompression.

use super::batch::{Batch, LONG};
use super::data_type::DataType;
use super::index::{Span, Table};
use crate::bytes::Bytes;
use crate::{Error, Result};
use flate2::{Decompress, FlushDecompress, Status};
use perf_core::parallel::thread_number;
use perf_core::{CallPathId, MetricId, RowStore, Severities};
use std::sync::{Arc, Mutex};

/// The stored rows of a profile.
#[derive(Debug)]
pub(in crate::cube) struct FileRows {
    /// Bytes of the archive.
    pub(in crate::cube) bytes: Bytes,
    /// Table and type by metric; `None` if nothing is stored.
    pub(in crate::cube) metrics: Vec<Option<(Table, DataType)>>,
    /// State that is kept between rows, by the number of the thread that reads them. Threads with a
    /// common state would interrupt each other's sequence of rows, and thus its batches.
    pub(in crate::cube) held: [Mutex<Held>; STATES],
}

/// Number of states: profiles are seldom read by more threads at the same time.
pub(in crate::cube) const STATES: usize = 16;

/// State that is kept between rows, in cache lines of its own, because threads use neighbouring
/// states.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(in crate::cube) struct Held {
    /// Pieces that were read ahead, for short or encoded rows.
    ahead: Ahead,
    /// Rows whose layout is the same in memory and in the file.
    batch: Batch,
    /// Decompressor, about 40 KiB; `None` until it is needed.
    inflater: Option<Decompress>,
}

/// Pieces of the file that were read ahead. A system call costs more than a small row, so
/// neighbouring rows are read together; an isolated row is read by itself.
///
/// Several pieces are kept, because the order of call paths often differs from the order of the
/// file. Inclusive rows are stored in [`Order::Wide`](super::row_order::Order::Wide), and a walk
/// through the call tree visits each piece several times.
#[derive(Debug, Default)]
struct Ahead {
    /// Pieces, each at a slot derived from its number.
    pieces: Vec<Piece>,
    /// Buffer for a row that is in no piece, or in several.
    row: Vec<u8>,
    /// End of the last row.
    last: u64,
}

#[derive(Clone, Debug, Default)]
struct Piece {
    /// Number of the piece.
    number: u64,
    /// Bytes of the piece; empty until it is read.
    bytes: Vec<u8>,
}

/// Size of a piece in bytes. Pieces begin at multiples of it.
const PIECE: u64 = 1 << 16;

/// Number of kept pieces: 2 MiB, the rows of 4,000 call paths on 64 locations.
const PIECES: u64 = 32;

impl Ahead {
    /// Returns the bytes of a row.
    fn row(&mut self, bytes: &Bytes, span: Span) -> Result<&[u8]> {
        let end = span.start.saturating_add(span.size);
        let is_near = (self.last..self.last.saturating_add(PIECE)).contains(&span.start);
        self.last = end;
        let first = span.start / PIECE;
        let last = end.saturating_sub(1).max(span.start) / PIECE;
        let mut is_there = last - first <= 1 && end <= bytes.len();
        for number in first..=last {
            is_there = is_there && (self.has(number) || is_near && self.read(bytes, number)?);
            if !is_there {
                bytes.read_into(span.start, span.size, "a row", &mut self.row)?;
                return Ok(&self.row);
            }
        }
        let from = (span.start % PIECE) as usize;
        let size = span.size as usize;
        if first == last {
            return Ok(&self.piece(first)[from..from + size]);
        }
        let mut row = std::mem::take(&mut self.row);
        row.clear();
        row.extend_from_slice(&self.piece(first)[from..]);
        let rest = size.saturating_sub(row.len());
        row.extend_from_slice(&self.piece(last)[..rest]);
        self.row = row;
        Ok(&self.row)
    }

    fn piece(&self, number: u64) -> &[u8] {
        let piece = self.pieces.get((number % PIECES) as usize);
        let piece = piece.filter(|piece| piece.number == number);
        piece.map_or(&[], |piece| &piece.bytes)
    }

    fn has(&self, number: u64) -> bool {
        !self.piece(number).is_empty()
    }

    /// Reads a piece in place of another one. Returns `true` if it is available.
    fn read(&mut self, bytes: &Bytes, number: u64) -> Result<bool> {
        self.pieces.resize(PIECES as usize, Piece::default());
        let Some(piece) = self.pieces.get_mut((number % PIECES) as usize) else {
            return Ok(false);
        };
        let start = number * PIECE;
        let size = PIECE.min(bytes.len().saturating_sub(start));
        bytes.read_into(start, size, "rows", &mut piece.bytes)?;
        piece.number = number;
        Ok(true)
    }
}

/// Maximum compression ratio of deflate.
const MOST_PACKED: u64 = 1032;

impl FileRows {
    /// Reads the row at a position in the table of a metric.
    fn read(
        &self,
        held: &mut Held,
        (metric, at): (MetricId, usize),
        table: &Table,
        kind: DataType,
    ) -> Result<Arc<Severities>> {
        let span = table.span(at);
        if table.is_packed || !kind.is_in_memory(table.is_big) {
            let bytes = held.ahead.row(&self.bytes, span)?;
            let row = self.decode(table, kind, (span, bytes), &mut held.inflater)?;
            return Ok(Arc::new(row));
        }
        if span.size >= LONG {
            return held.batch.row(&self.bytes, (metric, at), table, kind);
        }
        let mut row = held.batch.released();
        let to = kind.in_memory(Arc::make_mut(&mut row), span.size);
        let from = held.ahead.row(&self.bytes, span)?;
        let size = to.len().min(from.len());
        if let (Some(to), Some(from)) = (to.get_mut(..size), from.get(..size)) {
            to.copy_from_slice(from);
        }
        held.batch.lend(&row);
        Ok(row)
    }

    fn decode(
        &self,
        table: &Table,
        kind: DataType,
        (span, bytes): (Span, &[u8]),
        inflater: &mut Option<Decompress>,
    ) -> Result<Severities> {
        if !table.is_packed {
            return Ok(kind.decode(bytes, table.is_big));
        }
        let malformed = |got: String| Error::Malformed {
            place: self.bytes.place(span.start),
            expected: format!("a row of {} bytes, compressed with zlib", table.row),
            got,
        };
        let size = usize::try_from(table.row).ok();
        let most = span.size.saturating_mul(MOST_PACKED).saturating_add(64);
        let Some(size) = size.filter(|_| table.row <= most) else {
            return Err(malformed(format!("{} bytes", span.size)));
        };
        let mut row = vec![0; size];
        let inflater = inflater.get_or_insert_with(|| Decompress::new(true));
        inflater.reset(true);
        let status = inflater.decompress(bytes, &mut row, FlushDecompress::Finish);
        let (end, got) = match status {
            Ok(status) => (status == Status::StreamEnd, inflater.total_out()),
            Err(error) => return Err(malformed(error.to_string())),
        };
        if end && got == table.row {
            Ok(kind.decode(&row, table.is_big))
        } else if end {
            Err(malformed(format!("{got} bytes")))
        } else {
            Err(malformed("another size".into()))
        }
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
        let Some(at) = table.find(path) else {
            return Ok(None);
        };
        let read = |held: &mut Held| self.read(held, (metric, at), table, *kind);
        let own = thread_number() % STATES;
        let (others, held) = self.held.split_at(own);
        let row = match held
            .iter()
            .chain(others)
            .find_map(|held| held.try_lock().ok())
        {
            Some(mut held) => read(&mut held),
            None => read(&mut Held::default()),
        };
        row.map(Some).map_err(unreadable)
    }

    fn paths(&self, metric: MetricId) -> Vec<CallPathId> {
        match self.metrics.get(metric.index()) {
            Some(Some((table, _))) => table.paths().collect(),
            _ => Vec::new(),
        }
    }
}

/// Converts an error of this crate to a row error.
pub(in crate::cube) fn unreadable(error: Error) -> perf_core::Error {
    perf_core::Error::Read(Arc::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use perf_core::{Job, Limits};

    #[test]
    fn rows_are_those_of_the_file_in_whatever_order_they_are_asked_for() {
        let mut state = 1_u64;
        let mut random = |below: u64| {
            // splitmix64 generator.
            state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
            let bits = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            (bits >> 20) % below
        };
        let all: Vec<u8> = (0..40 * PIECE + 777).map(|_| random(256) as u8).collect();
        let bytes = Bytes::new(all.clone(), "a", &Limits::default(), &Job::default()).unwrap();
        let mut ahead = Ahead::default();
        let mut start = 0;
        for at in 0..3_000_u64 {
            let size = match at % 50 {
                0 => random(3 * PIECE),
                _ => random(1_000),
            };
            start = match at % 10 {
                // Consecutive, slightly further on, or random positions.
                0..7 => start,
                7 | 8 => start + random(PIECE),
                _ => random(all.len() as u64),
            };
            start = start.min(all.len() as u64 - size);
            let range = start as usize..(start + size) as usize;
            assert_eq!(
                ahead.row(&bytes, Span { start, size }).unwrap(),
                &all[range]
            );
            start += size;
        }
        let start = all.len() as u64 - 3;
        for size in [4, u64::MAX] {
            let error = ahead.row(&bytes, Span { start, size }).unwrap_err();
            assert!(matches!(error, Error::Truncated { .. }), "{error}");
        }
    }
}
