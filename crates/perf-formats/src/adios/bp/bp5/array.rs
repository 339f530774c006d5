//! [`Array`]: an array variable of one writer in one step of BP5, decoded from its structure in the
//! metadata and converted to [`Block`]s with positions in the data file.

use super::super::primitives::{Fields, Kind, Read};
use super::super::variables::{Block, Operator};
use super::ffs::{Budget, Field, Format};
use super::pointers::{number, numbers};
use super::records::Parts;

/// An array of a writer: blocks that were written at once.
pub(super) struct Array {
    /// Number of dimensions.
    dims: usize,
    /// Total length in each dimension; empty for local arrays.
    shape: Vec<u64>,
    /// Length of each block in each dimension.
    counts: Vec<u64>,
    /// Begin of each block in each dimension; empty for local arrays.
    starts: Vec<u64>,
    /// Offset of each block in the data of the writer in this step.
    locations: Vec<u64>,
    /// `true` if an operator transformed the values.
    has_operator: bool,
}

impl Array {
    /// Reads the array in a field.
    pub(super) fn read(
        format: &Format,
        field: &Field,
        record: Fields<'_>,
        budget: &mut Budget,
    ) -> Read<Self> {
        let what = "the structure of an array";
        let array = format.structure(&field.kind);
        let array = array.ok_or_else(|| record.damage(what))?;
        let get = |name| number(array, name, record, field.offset);
        let (dims, count) = (get("Dims")?, get("BlockCount")?);
        let all = dims.checked_mul(count);
        let all = all.ok_or_else(|| record.damage("numbers of dimensions and blocks"))?;
        let mut list = |name, count| numbers(record, array.is_big, get(name)?, count, budget);
        let mut names = array.fields.iter().map(|field| field.name.as_str());
        let offsets = names.find(|name| name.starts_with("Offset"));
        let read = Array {
            shape: list("Shape", dims)?,
            counts: list("Count", all)?,
            starts: list(offsets.unwrap_or("Offset"), all)?,
            locations: list("DataBlockLocation", count)?,
            dims: usize::try_from(dims).map_err(|_| record.damage(what))?,
            has_operator: field.kind.starts_with("MetaArrayOp"),
        };
        let is_whole = read.counts.len() as u64 == all && read.locations.len() as u64 == count;
        if is_whole {
            Ok(read)
        } else {
            Err(record.damage("lengths and a position for each block"))
        }
    }

    /// Returns the blocks with their positions in the data file of the writer.
    pub(super) fn blocks(&self, kind: Kind, parts: &Parts, record: Fields<'_>) -> Read<Vec<Block>> {
        let one = |(block, location): (usize, &u64)| {
            let dims = (0..self.dims).map(|dim| {
                let at = block * self.dims + dim;
                // Arrays without a global shape have neither shape nor starts.
                let get = |list: &[u64], at: usize| list.get(at).copied().unwrap_or_default();
                [
                    get(&self.counts, at),
                    get(&self.shape, dim),
                    get(&self.starts, at),
                ]
            });
            let (payload, rest) = parts.position(*location);
            let block = Block {
                dims: dims.collect(),
                file: parts.file,
                payload,
                operator: self.has_operator.then_some(Operator::InData),
                ..Block::default()
            };
            let is_inside = rest.is_none_or(|rest| block.len(kind) <= rest);
            if is_inside || self.has_operator {
                Ok(block)
            } else {
                Err(record.damage("a block within one flushed part of the data"))
            }
        };
        self.locations.iter().enumerate().map(one).collect()
    }
}

/// Returns the type of the values of an array, from the size and the number of the type in its
/// name.
pub(super) fn array_kind(size: &str, code: &str) -> Option<Kind> {
    Some(match code {
        "1" => Kind::I8,
        "2" => Kind::I16,
        "3" => Kind::I32,
        "4" => Kind::I64,
        "5" => Kind::U8,
        "6" => Kind::U16,
        "7" => Kind::U32,
        "8" => Kind::U64,
        // Events use no other types, so their sizes do not matter.
        _ => Kind::Other(size.parse::<u64>().ok()?.try_into().unwrap_or(0)),
    })
}
