//! The index of one step: its variables and attributes with their positions.

use super::primitives::{Damage, Fields, Kind, Read};

/// A variable of a step.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// Name of the variable.
    pub(super) name: String,
    /// Type of its values.
    pub(super) kind: Kind,
    /// Blocks of the variable.
    pub(super) blocks: Vec<Block>,
}

/// A part of a variable that was written at once.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    /// Length in this block, total length and begin of the block, for each dimension.
    pub(super) dims: Vec<[u64; 3]>,
    /// Value of a single integer.
    pub(super) value: Option<u64>,
    /// Texts of the block.
    pub(super) texts: Vec<String>,
    /// Number of the data file.
    pub(super) file: u32,
    /// Position of the values in the data file.
    pub(super) payload: u64,
    /// `true` if the block is compressed or otherwise transformed.
    pub(super) is_transformed: bool,
}

/// Reads variables or attributes, in the order of their definition.
///
/// # Errors
///
/// Fails if data are missing or malformed.
pub(super) fn read(fields: &mut Fields<'_>) -> Read<Vec<Variable>> {
    let count = fields.u32("a number of variables")?;
    let len = fields.u64("the length of an index")?;
    let mut part = fields.part(len, "an index of the declared length")?;
    let mut variables = Vec::new();
    for _ in 0..count {
        let len = part.u32("the length of a variable")?;
        let mut entry = part.part(len.into(), "a variable of the declared length")?;
        let member = entry.u32("the number of a variable")?;
        variables.push((member, variable(&mut entry)?));
    }
    variables.sort_by_key(|(member, _)| *member);
    Ok(variables.into_iter().map(|(_, one)| one).collect())
}

fn variable(entry: &mut Fields<'_>) -> Read<Variable> {
    entry.text("the group of a variable")?;
    let name = entry.text("the name of a variable")?;
    // Current writers store the letter of a memory layout here, older ones a path, which is empty.
    let mut path = entry.part(2, "a layout or path")?;
    if !matches!(path.bytes(2, "a layout or path")?, [b'A'..=b'Z', 0]) {
        path.rewind();
        let len = path.u16("the length of a path")?;
        entry.bytes(len.into(), "a path")?;
    }
    let code = entry.u8("a type")?;
    let kind = Kind::of(code).ok_or_else(|| entry.damage("the code of a type"))?;
    let count = entry.u64("a number of blocks")?;
    let mut blocks = Vec::new();
    for _ in 0..count {
        // The number of characteristics is redundant with their length.
        entry.u8("a number of characteristics")?;
        let len = entry.u32("the length of characteristics")?;
        let mut set = entry.part(len.into(), "characteristics of the declared length")?;
        blocks.push(block(&mut set, kind)?);
    }
    Ok(Variable { name, kind, blocks })
}

/// Identifiers of characteristics.
mod id {
    pub(super) const VALUE: u8 = 0;
    pub(super) const MIN: u8 = 1;
    pub(super) const MAX: u8 = 2;
    pub(super) const OFFSET: u8 = 3;
    pub(super) const DIMENSIONS: u8 = 4;
    pub(super) const VARIABLE: u8 = 5;
    pub(super) const PAYLOAD: u8 = 6;
    pub(super) const FILE: u8 = 7;
    pub(super) const TIME: u8 = 8;
    pub(super) const BITMAP: u8 = 9;
    pub(super) const TRANSFORM: u8 = 11;
    pub(super) const MIN_MAX: u8 = 12;
}

fn block(set: &mut Fields<'_>, kind: Kind) -> Read<Block> {
    let mut block = Block::default();
    while !set.is_empty() {
        match set.u8("a characteristic")? {
            id::VALUE => value(set, kind, &mut block)?,
            id::MIN | id::MAX => {
                set.bytes(kind.size(), "a minimum or maximum")?;
            }
            id::OFFSET => {
                set.u64("an offset")?;
            }
            id::DIMENSIONS => dimensions(set, &mut block)?,
            id::VARIABLE | id::TIME | id::BITMAP => {
                set.u32("a number")?;
            }
            id::PAYLOAD => block.payload = set.u64("the offset of data")?,
            id::FILE => block.file = set.u32("the number of a data file")?,
            id::TRANSFORM => {
                // The rest belongs to the operator.
                block.is_transformed = true;
                break;
            }
            id::MIN_MAX => min_max(set, kind, block.dims.len())?,
            _ => return Err(set.damage("a characteristic of BP4")),
        }
    }
    Ok(block)
}

fn value(set: &mut Fields<'_>, kind: Kind, block: &mut Block) -> Read<()> {
    // Attributes with several values store their number as a dimension.
    let count = block.dims.first().map_or(1, |[local, ..]| (*local).max(1));
    match kind {
        Kind::Text => block.texts.push(set.text("a text")?),
        Kind::Texts => {
            for _ in 0..count {
                block.texts.push(set.text("a text")?);
            }
        }
        Kind::Other(_) => {
            let len = count.checked_mul(kind.size());
            let len = len.ok_or_else(|| set.damage("a value"))?;
            set.bytes(len, "a value")?;
        }
        _ => {
            block.value = Some(set.integer(kind, "a value")?);
            let rest = (count - 1).checked_mul(kind.size());
            set.bytes(rest.ok_or_else(|| set.damage("a value"))?, "more values")?;
        }
    }
    Ok(())
}

fn dimensions(set: &mut Fields<'_>, block: &mut Block) -> Read<()> {
    let count = set.u8("a number of dimensions")?;
    set.u16("the length of dimensions")?;
    block.dims.clear();
    for _ in 0..count {
        let mut lengths = [0; 3];
        for length in &mut lengths {
            *length = set.u64("a dimension")?;
        }
        block.dims.push(lengths);
    }
    Ok(())
}

/// Skips minimum and maximum values, of the block and of its subdivisions.
fn min_max(set: &mut Fields<'_>, kind: Kind, dims: usize) -> Read<()> {
    let parts = u64::from(set.u16("a number of parts")?);
    let pair = 2 * kind.size();
    set.bytes(pair, "a minimum and maximum")?;
    if parts > 1 {
        set.u8("the division of parts")?;
        set.u64("the length of a part")?;
        set.bytes(2 * dims as u64, "numbers of parts")?;
        set.bytes(parts * pair, "minima and maxima of parts")?;
    }
    Ok(())
}

/// Reads the groups of processes that wrote a step. Returns `true` if one has column-major arrays,
/// as in Fortran.
///
/// # Errors
///
/// Fails if data are missing.
pub(super) fn is_column_major(fields: &mut Fields<'_>) -> Result<bool, Damage> {
    let count = fields.u64("a number of process groups")?;
    let len = fields.u64("the length of an index of process groups")?;
    let mut part = fields.part(len, "an index of process groups of the declared length")?;
    let mut is_column_major = false;
    for _ in 0..count {
        let len = part.u16("the length of a process group")?;
        let mut group = part.part(len.into(), "a process group of the declared length")?;
        group.text("the name of a group")?;
        is_column_major |= group.u8("the order of axes")? == b'y';
    }
    Ok(is_column_major)
}
