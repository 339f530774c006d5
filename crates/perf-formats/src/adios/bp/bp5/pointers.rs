//! Functions that read numbers, lists of numbers and texts from a structure in the metadata of BP5,
//! following its pointers. Pointers are offsets in the structure; 0 is a null pointer.

use super::super::primitives::{Fields, Read};
use super::ffs::{Budget, Structure};

/// Length of a pointer or number in bytes.
pub(super) const NUMBER: u64 = 8;

/// Reads the number or pointer in a field of a structure at `base`.
pub(super) fn number(
    structure: &Structure,
    name: &str,
    record: Fields<'_>,
    base: u64,
) -> Read<u64> {
    let what = "a structure with the fields of BP5";
    let field = structure.field(name).ok_or_else(|| record.damage(what))?;
    let at = base.saturating_add(field.offset);
    record.at(at, structure.is_big, what)?.u64(what)
}

/// Reads `count` numbers at a pointer; none if the pointer is 0.
pub(super) fn numbers(
    record: Fields<'_>,
    is_big: bool,
    pointer: u64,
    count: u64,
    budget: &mut Budget,
) -> Read<Vec<u64>> {
    let what = "a list of numbers";
    if pointer == 0 {
        return Ok(Vec::new());
    }
    let mut list = record.at(pointer, is_big, what)?;
    let len = count.checked_mul(NUMBER).ok_or_else(|| list.damage(what))?;
    budget.take(len, &list)?;
    let mut list = list.part(len, what)?;
    let mut numbers = Vec::new();
    while !list.is_empty() {
        numbers.push(list.u64(what)?);
    }
    Ok(numbers)
}

/// Reads the text at a pointer.
pub(super) fn text<'a>(record: Fields<'a>, pointer: u64, budget: &mut Budget) -> Read<&'a [u8]> {
    let mut text = record.at(pointer, false, "the position of a text")?;
    let bytes = text.zero_terminated("a text that ends with 0")?;
    budget.take(bytes.len() as u64, &text)?;
    Ok(bytes)
}
