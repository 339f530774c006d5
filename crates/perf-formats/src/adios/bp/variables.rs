//! [`Variable`] and [`Block`]: a variable or attribute of a step, with the positions of its values;
//! parsers of the indexes of variables, attributes and process groups in BP3 and BP4.

use super::primitives::{Damage, Fields, Kind, Read};
use std::sync::Arc;

/// A variable of a step.
#[derive(Clone, Debug)]
pub(in crate::adios) struct Variable {
    /// Name of the variable.
    pub(in crate::adios) name: Arc<str>,
    /// Type of its values.
    pub(in crate::adios) kind: Kind,
    /// Blocks of the variable.
    pub(in crate::adios) blocks: Vec<Block>,
}

/// A part of a variable that was written at once.
#[derive(Clone, Debug, Default)]
pub(in crate::adios) struct Block {
    /// Length in this block, total length and begin of the block, for each dimension.
    pub(in crate::adios) dims: Vec<[u64; 3]>,
    /// Value of a single integer.
    pub(in crate::adios) value: Option<u64>,
    /// Texts of the block.
    pub(in crate::adios) texts: Vec<String>,
    /// Number of the data file.
    pub(in crate::adios) file: u32,
    /// Position of the values in the data file.
    pub(in crate::adios) payload: u64,
    /// Operator that compressed or otherwise transformed the block.
    pub(in crate::adios) operator: Option<Operator>,
    /// Step of the block in BP3, from 1; 0 if there is none.
    pub(in crate::adios) time: u32,
}

/// An operator that transformed the values of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::adios) enum Operator {
    /// Operator with this name.
    Named(String),
    /// Operator whose number is the first byte of the values.
    InData,
}

impl Operator {
    /// Returns the name of an operator of ADIOS2 by its number.
    pub(in crate::adios) fn name(number: u8) -> String {
        let name = match number {
            0 => "blosc",
            1 => "bzip2",
            2 => "libpressio",
            3 => "mgard",
            4 => "png",
            5 => "sirius",
            6 => "sz",
            7 => "zfp",
            8 => "mgardplus",
            41 => "mdr",
            53 => "plugin",
            _ => return format!("operator {number}"),
        };
        name.into()
    }
}

impl Block {
    /// Returns the number of bytes of an array.
    pub(in crate::adios) fn len(&self, kind: Kind) -> u64 {
        let rows = self.dims.iter().map(|[local, ..]| *local);
        let count = rows.fold(1_u64, u64::saturating_mul);
        count.saturating_mul(kind.size())
    }
}

/// Text after the name of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::adios) enum Path {
    /// The path of the variable, as in BP3.
    Always,
    /// The letter of a memory layout in current writers of BP4, and a path in older ones.
    OrLayout,
}

/// Reads the variables or attributes of a step of BP4, in the order of their definition.
///
/// # Errors
///
/// Fails if data are missing or malformed.
pub(in crate::adios) fn read(fields: &mut Fields<'_>) -> Read<Vec<Variable>> {
    let count = fields.u32("a number of variables")?;
    let len = fields.u64("the length of an index")?;
    let mut part = fields.part(len, "an index of the declared length")?;
    let mut variables = Vec::new();
    for _ in 0..count {
        variables.push(variable(&mut part, Path::OrLayout)?);
    }
    Ok(in_order(variables))
}

/// Reads the variables or attributes of a file of BP3, in the order of their definition. The index
/// takes all fields, because ADIOS 1 writes too small a length. Damaged variables are skipped.
pub(in crate::adios) fn read_all(
    fields: &mut Fields<'_>,
    damaged: &mut Vec<Damage>,
) -> Vec<Variable> {
    let mut variables = Vec::new();
    let outcome = read_each(fields, |read| match read {
        Ok(variable) => variables.push(variable),
        Err(damage) => damaged.push(damage),
    });
    damaged.extend(outcome.err());
    in_order(variables)
}

/// Passes each variable of a file of BP3 or its damage to `each`.
///
/// # Errors
///
/// Fails if the rest of the variables cannot be found.
fn read_each(
    fields: &mut Fields<'_>,
    mut each: impl FnMut(Read<(u32, Variable)>),
) -> Result<(), Damage> {
    let count = fields.u32("a number of variables")?;
    fields.u64("the length of an index")?;
    for _ in 0..count {
        let start = *fields;
        let one = variable(fields, Path::Always);
        if one.is_err() {
            // Without its length, the position of the next variable is unknown.
            *fields = start;
            let len = fields.u32("the length of a variable")?;
            fields.bytes(len.into(), "a variable of the declared length")?;
        }
        each(one);
    }
    if fields.is_empty() {
        Ok(())
    } else {
        Err(fields.damage("the end of the index after its last variable"))
    }
}

/// Sorts variables by their number.
fn in_order(mut variables: Vec<(u32, Variable)>) -> Vec<Variable> {
    variables.sort_by_key(|(member, _)| *member);
    variables.into_iter().map(|(_, one)| one).collect()
}

/// Reads a variable and its number.
fn variable(fields: &mut Fields<'_>, form: Path) -> Read<(u32, Variable)> {
    let len = fields.u32("the length of a variable")?;
    let mut entry = fields.part(len.into(), "a variable of the declared length")?;
    let member = entry.u32("the number of a variable")?;
    entry.text("the group of a variable")?;
    let mut name = entry.text("the name of a variable")?;
    let start = entry;
    let layout = entry.bytes(2, "a layout or path")?;
    if form == Path::Always || !matches!(layout, [b'A'..=b'Z', 0]) {
        entry = start;
        let path = entry.text("a path")?;
        if !path.is_empty() {
            name = format!("{path}/{name}");
        }
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
    let name = name.into();
    Ok((member, Variable { name, kind, blocks }))
}

/// Identifiers of characteristics.
mod id {
    pub(in crate::adios) const VALUE: u8 = 0;
    pub(in crate::adios) const MIN: u8 = 1;
    pub(in crate::adios) const MAX: u8 = 2;
    pub(in crate::adios) const OFFSET: u8 = 3;
    pub(in crate::adios) const DIMENSIONS: u8 = 4;
    pub(in crate::adios) const VARIABLE: u8 = 5;
    pub(in crate::adios) const PAYLOAD: u8 = 6;
    pub(in crate::adios) const FILE: u8 = 7;
    pub(in crate::adios) const TIME: u8 = 8;
    pub(in crate::adios) const BITMAP: u8 = 9;
    pub(in crate::adios) const STATISTICS: u8 = 10;
    pub(in crate::adios) const TRANSFORM: u8 = 11;
    pub(in crate::adios) const MIN_MAX: u8 = 12;
}

fn block(set: &mut Fields<'_>, kind: Kind) -> Read<Block> {
    let mut block = Block::default();
    let mut statistics = 0;
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
            id::VARIABLE => {
                set.u32("the number of a variable")?;
            }
            id::TIME => block.time = set.u32("the number of a step")?,
            id::BITMAP => statistics = set.u32("a bitmap of statistics")?,
            id::STATISTICS => skip_statistics(set, kind, statistics)?,
            id::PAYLOAD => block.payload = set.u64("the offset of data")?,
            id::FILE => block.file = set.u32("the number of a data file")?,
            id::TRANSFORM => {
                // The rest belongs to the operator.
                let len = set.u8("the length of the name of an operator")?;
                let name = set.bytes(len.into(), "the name of an operator")?;
                let name = String::from_utf8_lossy(name).into_owned();
                block.operator = Some(Operator::Named(name));
                break;
            }
            id::MIN_MAX => min_max(set, kind, block.dims.len())?,
            _ => return Err(set.damage("a characteristic of BP3 or BP4")),
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

/// Skips the statistics of ADIOS 1, one for each bit.
fn skip_statistics(set: &mut Fields<'_>, kind: Kind, bitmap: u32) -> Read<()> {
    let number = if let Kind::Other(16) = kind { 16 } else { 8 };
    for bit in 0..32 {
        let len = match (bitmap >> bit & 1, bit) {
            (0, _) => continue,
            // Minimum and maximum.
            (_, 0 | 1) => kind.size(),
            // Number of values.
            (_, 2) => 4,
            // Sum and sum of squares.
            (_, 3 | 4) => number,
            // `1` if all values are finite.
            (_, 6) => 1,
            _ => return Err(set.damage("a known statistic of a block")),
        };
        set.bytes(len, "a statistic of a block")?;
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

/// Index of process groups: the parts that were written by one process in one step.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::adios) struct Groups {
    /// `true` if a group has column-major arrays, as in Fortran.
    pub(in crate::adios) is_column_major: bool,
    /// Last step of BP3, from 1.
    pub(in crate::adios) last_step: u32,
}

/// Reads the index of process groups.
///
/// # Errors
///
/// Fails if data are missing.
pub(in crate::adios) fn groups(fields: &mut Fields<'_>) -> Read<Groups> {
    let count = fields.u64("a number of process groups")?;
    // ADIOS 1 writes too small a length, and the index ends with its last group.
    fields.u64("the length of an index of process groups")?;
    let mut groups = Groups::default();
    for _ in 0..count {
        let len = fields.u16("the length of a process group")?;
        let mut group = fields.part(len.into(), "a process group of the declared length")?;
        group.text("the name of a group")?;
        groups.is_column_major |= group.u8("the order of axes")? == b'y';
        if !group.is_empty() {
            group.u32("the rank of a process group")?;
            group.text("the name of a step")?;
            let step = group.u32("the step of a process group")?;
            groups.last_step = groups.last_step.max(step);
        }
    }
    Ok(groups)
}
