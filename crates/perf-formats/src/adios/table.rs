//! [`Table`]: positions in the data files of the rows of a table of integers, found by
//! [`BpFile::table`]; [`BpFile::rows`]: reading of the rows in parts.

use super::bp_file::{BpFile, is_damage};
use super::primitives::{Fields, Kind};
use super::variables::{Block, Operator, Variable};
use crate::{Error, Result};
use perf_core::Place;

/// Positions of the rows of a table.
#[derive(Debug, Default)]
pub(super) struct Table {
    /// Blocks of rows.
    blocks: Vec<Extent>,
    /// Number of valid rows, from the first on.
    pub(super) rows: u64,
    /// Place of the table, for diagnostics.
    pub(super) place: Place,
    /// Error of the missing rows.
    pub(super) damage: Option<Error>,
}

/// Rows that were written at once.
#[derive(Debug)]
struct Extent {
    /// Number of the data file.
    file: u32,
    /// Position of the first row in the file.
    start: u64,
    /// Number of rows.
    rows: u64,
    /// Type of the values.
    kind: Kind,
}

/// Number of bytes of rows that are read at once. They stay in a cache until they are converted,
/// and the memory is reused.
const PART: usize = 1 << 17;

impl BpFile {
    /// Returns the positions of the rows of a table of integers with `width` columns, all of them
    /// within their files. Damaged blocks are dropped; the error of the first is returned with the
    /// others.
    pub(super) fn table(&mut self, variable: &Variable, width: u64) -> Result<Table> {
        if self.data.is_spent {
            return Err(Error::Malformed {
                place: self.index.place().record(format!("`{}`", variable.name)),
                expected: "no more bytes in all steps together than the file has".into(),
                got: "more bytes in earlier steps".into(),
            });
        }
        let mut blocks: Vec<&Block> = variable.blocks.iter().collect();
        blocks.sort_by_key(|block| block.dims.first().map(|[_, _, start]| *start));
        let mut table = Table::default();
        let mut first = None;
        let row = width.saturating_mul(variable.kind.size());
        for block in blocks {
            let (extent, place) = match self.extent(variable, block, width) {
                Ok(found) => found,
                Err(error) if is_damage(&error) => {
                    table.damage.get_or_insert(error);
                    continue;
                }
                Err(error) => return Err(error),
            };
            table.rows = table.rows.saturating_add(extent.rows);
            table.blocks.push(extent);
            // Overlapping blocks, in one or several steps, could require far more memory than the
            // file has.
            let bytes = self
                .data
                .taken
                .saturating_add(table.rows.saturating_mul(row));
            let there = self.data.len()?;
            if bytes > there {
                self.data.is_spent = true;
                return Err(Error::Malformed {
                    place,
                    expected: format!("at most {there} bytes in all steps together"),
                    got: format!("{bytes} bytes"),
                });
            }
            first.get_or_insert(place);
        }
        if table.damage.is_none() {
            // A damaged table may be read again.
            self.data.taken = self
                .data
                .taken
                .saturating_add(table.rows.saturating_mul(row));
        }
        table.place = first.unwrap_or_default();
        Ok(table)
    }

    fn extent(
        &mut self,
        variable: &Variable,
        block: &Block,
        width: u64,
    ) -> Result<(Extent, Place)> {
        let data = self.data.get(block.file)?;
        let place = data
            .place(block.payload)
            .record(format!("`{}`", variable.name));
        let unsupported = |what: &str| Error::Unsupported {
            place: place.clone(),
            what: what.into(),
        };
        if let Some(operator) = &block.operator {
            let name = match operator {
                Operator::Named(name) => name.clone(),
                Operator::InData => {
                    let code = data.read(block.payload, 1, "the number of an operator")?;
                    Operator::name(code[0])
                }
            };
            return Err(unsupported(&format!("a table compressed with `{name}`")));
        }
        if !variable.kind.is_integer() {
            return Err(unsupported("a table of other than whole numbers"));
        }
        let rows = match block.dims[..] {
            [[rows, ..], [columns, _, 0]] if columns == width => rows,
            _ => {
                let dims: Vec<u64> = block.dims.iter().map(|[local, ..]| *local).collect();
                return Err(Error::Malformed {
                    place,
                    expected: format!("rows of {width} columns"),
                    got: format!("a block of {dims:?}"),
                });
            }
        };
        let row = width.checked_mul(variable.kind.size());
        let len = row.and_then(|row| row.checked_mul(rows));
        let len = len.unwrap_or(u64::MAX);
        data.check(block.payload, len, "the rows of a table")?;
        let extent = Extent {
            file: block.file,
            start: block.payload,
            rows,
            kind: variable.kind,
        };
        Ok((extent, place))
    }

    /// Passes the rows of a table to `each`. `part` is a reusable buffer.
    pub(super) fn rows<const N: usize>(
        &mut self,
        table: &Table,
        part: &mut Vec<u8>,
        mut each: impl FnMut([u64; N]),
    ) -> Result<()> {
        let mut left = table.rows;
        for block in &table.blocks {
            let row = N * block.kind.size() as usize;
            let most = (PART / row) as u64;
            let end = block.rows.min(left);
            left -= end;
            let mut at = 0;
            while at < end {
                let count = most.min(end - at);
                let size = count as usize * row;
                if part.len() < size {
                    part.resize(size, 0);
                }
                let bytes = &mut part[..size];
                let start = block.start + at * row as u64;
                self.data.get(block.file)?.fill(start, bytes)?;
                decode(bytes, block.kind, self.data.is_big, &mut each);
                at += count;
            }
        }
        Ok(())
    }
}

/// Decodes rows of `N` numbers.
#[inline]
fn decode<const N: usize>(bytes: &[u8], kind: Kind, is_big: bool, each: &mut impl FnMut([u64; N])) {
    if kind == Kind::U64 && !is_big {
        // Fast path for the form that the plug-in writes.
        let (words, _) = bytes.as_chunks();
        let (rows, _) = words.as_chunks::<N>();
        for row in rows {
            each(row.map(u64::from_le_bytes));
        }
        return;
    }
    let mut fields = Fields::new(bytes, is_big);
    while !fields.is_empty() {
        let mut row = [0; N];
        for number in &mut row {
            *number = fields.integer(kind, "a number").unwrap_or_default();
        }
        each(row);
    }
}
