//! [`Table`]: positions, each a [`Span`], of the rows of a metric in a `.cubex`; [`Files`]: reads
//! them from its `.index` member and the head of its `.data` member.

use crate::bytes::Bytes;
use crate::cube::rules;
use crate::cube::tar::Member;
use crate::{Error, Result};
use perf_core::{CallPathId, Diagnostics, Place};

const INDEX: &[u8] = b"CUBEX.INDEX";
const DATA: &[u8] = b"CUBEX.DATA";
const PACKED: &[u8] = b"ZCUBEX.DATA";
/// Length of the header: magic, byte order mark, version, kind.
const HEAD: u64 = 18;
const SPARSE: u8 = 1;
const DENSE: u8 = 3;

/// Position of one row in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cube) struct Span {
    /// First byte of the row.
    pub(in crate::cube) start: u64,
    /// Number of bytes in the file: those of the row, or fewer if it is compressed.
    pub(in crate::cube) size: u64,
}

/// The rows of a metric.
#[derive(Clone, Debug, Default)]
pub(in crate::cube) struct Table {
    /// `true` for big-endian rows.
    pub(in crate::cube) is_big: bool,
    /// `true` for compressed rows.
    pub(in crate::cube) is_packed: bool,
    /// Uncompressed size of a row in bytes.
    pub(in crate::cube) row: u64,
    /// First byte of the uncompressed rows.
    start: u64,
    /// Call path and its position in the index, or in `packed`, by ascending call path.
    rows: Vec<(CallPathId, u32)>,
    /// Positions of compressed rows.
    packed: Vec<Span>,
}

/// The archive members of a metric.
pub(in crate::cube) struct Files<'a> {
    /// Bytes of the archive.
    pub(in crate::cube) bytes: &'a Bytes,
    /// Name without extension.
    pub(in crate::cube) name: &'a str,
    /// Index member.
    pub(in crate::cube) index: Member,
    /// Data member.
    pub(in crate::cube) data: Member,
}

impl Files<'_> {
    fn place(&self, member: Member, extension: &str, offset: u64) -> Place {
        let place = self.bytes.place(member.start.saturating_add(offset));
        place.record(format!("{}.{extension}", self.name))
    }

    fn read(&self, of: Member, extension: &str, from: u64, size: u64) -> Result<Vec<u8>> {
        if from.checked_add(size).is_none_or(|end| end > of.size) {
            return Err(Error::Truncated {
                place: self.place(of, extension, of.size),
                expected: format!("{size} bytes at byte {from} of the member"),
            });
        }
        self.bytes.read(of.start + from, size, "the member")
    }

    /// Reads the index and the head of the data. `paths` are all call paths by row number, `row` is
    /// the size of a row in bytes.
    pub(in crate::cube) fn table(
        &self,
        paths: &[CallPathId],
        row: u64,
        found: &mut Diagnostics,
    ) -> Result<Table> {
        let head = self.read(self.index, "index", 0, HEAD.min(self.index.size))?;
        let malformed = |offset, expected: &str, got: String| Error::Malformed {
            place: self.place(self.index, "index", offset),
            expected: expected.into(),
            got,
        };
        if head.len() < HEAD as usize || !head.starts_with(INDEX) {
            return Err(malformed(
                0,
                "CUBEX.INDEX and a head of 18 bytes",
                show(&head),
            ));
        }
        let is_big = match head[11..15] {
            [1, 0, 0, 0] => false,
            [0, 0, 0, 1] => true,
            _ => {
                return Err(malformed(
                    11,
                    "the mark of the byte order",
                    show(&head[11..15]),
                ));
            }
        };
        let mut numbers = match head[17] {
            DENSE => (0..paths.len() as u32).collect(),
            // An index without rows may end here.
            SPARSE if self.index.size == HEAD => Vec::new(),
            SPARSE => {
                let count = u32_at(&self.read(self.index, "index", HEAD, 4)?, is_big);
                let size = u64::from(count) * 4;
                let rows = self.read(self.index, "index", HEAD + 4, size)?;
                let (rows, _) = rows.as_chunks::<4>();
                rows.iter().map(|bytes| u32_at(bytes, is_big)).collect()
            }
            kind => {
                return Err(Error::Unsupported {
                    place: self.place(self.index, "index", 17),
                    what: format!("an index of kind {kind} (1 is sparse, 3 dense)"),
                });
            }
        };
        let mut table = Table {
            is_big,
            row,
            ..Table::default()
        };
        let available = self.data_head(numbers.len(), &mut table, found)?;
        let missing = numbers.len().saturating_sub(available);
        if missing > 0 {
            let place = self.place(self.data, "data", self.data.size);
            found.add_many(rules::MISSING_ROWS, missing as u64, place);
            numbers.truncate(available);
        }
        let mut lost = 0;
        // Position of each call path in the index; of several, the first is used.
        let mut places = vec![None; paths.len()];
        for (number, place) in numbers.into_iter().zip(0u32..) {
            let path = paths.get(number as usize);
            match path.and_then(|path| places.get_mut(path.index())) {
                Some(slot @ None) => *slot = Some(place),
                _ => lost += 1,
            }
        }
        let is_stored = |place: u32| {
            let packed = table.packed.get(place as usize);
            packed.is_none_or(|row| row.size > 0)
        };
        let rows = (0u32..).map(CallPathId).zip(places);
        let rows = rows.filter_map(|(path, place)| Some((path, place?)));
        table.rows = rows.filter(|(_, place)| is_stored(*place)).collect();
        if table.is_packed {
            // Keep only rows that exist: an index alone may list all call paths of a profile.
            let rows = table.rows.iter_mut().zip(0u32..);
            table.packed = rows
                .filter_map(|((_, place), number)| {
                    let place = std::mem::replace(place, number);
                    table.packed.get(place as usize).copied()
                })
                .collect();
        }
        found.add_many(rules::BAD_ROWS, lost, self.place(self.index, "index", HEAD));
        Ok(table)
    }

    /// Reads the head of the data, and returns the number of rows, of `count`, that they can hold.
    fn data_head(&self, count: usize, table: &mut Table, found: &mut Diagnostics) -> Result<usize> {
        let head = self.read(self.data, "data", 0, self.data.size.min(19))?;
        if head.starts_with(DATA) {
            table.start = self.data.start + DATA.len() as u64;
            let size = self.data.size - DATA.len() as u64;
            let available = size.checked_div(table.row).unwrap_or(u64::MAX);
            return Ok(usize::try_from(available).unwrap_or(usize::MAX));
        }
        if !head.starts_with(PACKED) || head.len() < 19 {
            return Err(Error::Malformed {
                place: self.place(self.data, "data", 0),
                expected: "CUBEX.DATA or ZCUBEX.DATA".into(),
                got: show(&head),
            });
        }
        table.is_packed = true;
        let entries = u64_at(&head[11..], table.is_big);
        let size = entries.saturating_mul(24);
        let entries = self.read(self.data, "data", 19, size)?;
        let streams = self.data.start + 19 + size;
        let end = self.data.start + self.data.size;
        let (entries, _) = entries.as_chunks::<24>();
        let place = |entry: usize| self.place(self.data, "data", 19 + entry as u64 * 24);
        table.packed = vec![Span { start: 0, size: 0 }; count];
        let mut is_known = vec![false; count];
        let (mut cut, mut left) = (0, count as u64);
        // Streams may be stored in any order; the start of a stream determines its row.
        for (at, entry) in entries.iter().enumerate() {
            let start = streams.saturating_add(u64_at(&entry[8..], table.is_big));
            let mut size = u64_at(&entry[16..], table.is_big);
            let row = row_at(u64_at(entry, table.is_big), table.row);
            let slot =
                row.and_then(|row| Some((is_known.get_mut(row)?, table.packed.get_mut(row)?)));
            let Some((is_known, span)) = slot else {
                found.add(rules::STRAY_ENTRIES, place(at));
                continue;
            };
            if std::mem::replace(is_known, true) {
                found.add(rules::DUPLICATE_ENTRIES, place(at));
            } else {
                left -= 1;
            }
            if size > 0 && start.saturating_add(size) > end {
                cut += 1;
                size = 0;
            }
            *span = Span { start, size };
        }
        if table.row > 0 {
            found.add_many(rules::MISSING_ENTRIES, left, place(entries.len()));
        }
        let place = self.place(self.data, "data", self.data.size);
        found.add_many(rules::MISSING_ROWS, cut, place);
        Ok(count)
    }
}

/// Returns the index of the row at this distance from the first one.
fn row_at(start: u64, row: u64) -> Option<usize> {
    let whole = start.checked_rem(row)? == 0;
    whole.then(|| usize::try_from(start / row).ok())?
}

impl Table {
    /// Returns the position of the row of a call path in this table.
    pub(in crate::cube) fn find(&self, path: CallPathId) -> Option<usize> {
        // Fast path: usually, all preceding call paths have rows too.
        match self.rows.get(path.index()) {
            Some(row) if row.0 == path => Some(path.index()),
            _ => {
                let at = self.rows.binary_search_by_key(&path, |(path, _)| *path);
                at.ok()
            }
        }
    }

    /// Returns the position in the file of the row that [`find`](Self::find) returned.
    pub(in crate::cube) fn span(&self, at: usize) -> Span {
        let place = self.rows.get(at).map_or(0, |(_, place)| *place);
        if self.is_packed {
            let packed = self.packed.get(place as usize).copied();
            return packed.unwrap_or(Span { start: 0, size: 0 });
        }
        let start = self.start + u64::from(place) * self.row;
        let size = self.row;
        Span { start, size }
    }

    /// Returns the number of uncompressed rows, from position `at` on and at most `most`, that
    /// follow each other in the file.
    pub(in crate::cube) fn adjacent(&self, at: usize, most: usize) -> usize {
        let rows = self.rows.get(at..).unwrap_or_default();
        let pairs = rows.windows(2).take(most.saturating_sub(1));
        let next = pairs.take_while(|pair| pair[0].1.checked_add(1) == Some(pair[1].1));
        1 + next.count()
    }

    pub(in crate::cube) fn paths(&self) -> impl Iterator<Item = CallPathId> + '_ {
        self.rows.iter().map(|(path, _)| *path)
    }
}

fn u32_at(bytes: &[u8], is_big: bool) -> u32 {
    let Some((bytes, _)) = bytes.split_first_chunk() else {
        return 0;
    };
    if is_big {
        u32::from_be_bytes(*bytes)
    } else {
        u32::from_le_bytes(*bytes)
    }
}

fn u64_at(bytes: &[u8], is_big: bool) -> u64 {
    let Some((bytes, _)) = bytes.split_first_chunk() else {
        return 0;
    };
    if is_big {
        u64::from_be_bytes(*bytes)
    } else {
        u64::from_le_bytes(*bytes)
    }
}

fn show(bytes: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(bytes))
}
