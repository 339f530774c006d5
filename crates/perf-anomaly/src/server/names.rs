//! [`FunctionName`]: program and name, which identify a function across ranks; [`NameTable`]:
//! numbers of these names at a server.

use crate::detect::table;
use crate::format_version::{Reader, Writer};
use crate::{FunctionId, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Program and name of a function, or of a call path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FunctionName {
    /// Program within a workflow.
    pub program: u32,
    /// Name of the function, or for a call path the names of all functions on it.
    #[cfg_attr(feature = "serde", serde(serialize_with = "crate::serialize::text"))]
    pub name: Arc<str>,
}

/// Longest name in a message in bytes, which suffices for a path of a thousand calls.
const LONGEST: u64 = 1 << 16;

impl FunctionName {
    /// Smallest encoded size in bytes.
    const LEAST: usize = 5;

    pub(super) fn write(names: &[FunctionName], to: &mut Writer) {
        to.u32(names.len() as u32);
        for one in names {
            to.u32(one.program);
            to.text(cut(&one.name));
        }
    }

    pub(super) fn read(from: &mut Reader<'_>) -> Result<Vec<FunctionName>> {
        let count = from.count(
            Self::LEAST,
            "a number of names that fits the remaining bytes",
        )?;
        let name = |from: &mut Reader<'_>| {
            Ok(FunctionName {
                program: from.u32("a program")?,
                name: from.text(LONGEST, "the name of a function")?.into(),
            })
        };
        (0..count).map(|_| name(from)).collect()
    }
}

/// Truncates a name to the length that a message allows.
pub(super) fn cut(name: &str) -> &str {
    let mut end = name.len().min(LONGEST as usize);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or_default()
}

/// Table of names and their numbers, which are assigned from 0 in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub(super) struct NameTable {
    /// Names by number.
    names: Vec<FunctionName>,
    /// Numbers by name.
    numbers: HashMap<FunctionName, u32>,
}

impl NameTable {
    pub(super) fn names(&self) -> &[FunctionName] {
        &self.names
    }

    pub(super) fn len(&self) -> usize {
        self.names.len()
    }

    /// Returns the memory in bytes; both tables share the texts.
    pub(super) fn memory(&self) -> usize {
        let texts = self
            .names
            .iter()
            .map(|one| one.name.len() + 2 * size_of::<usize>());
        self.names.capacity() * size_of::<FunctionName>()
            + table(self.numbers.capacity(), size_of::<(FunctionName, u32)>())
            + texts.sum::<usize>()
    }

    pub(super) fn get(&self, name: &FunctionName) -> Option<FunctionId> {
        self.numbers.get(name).copied().map(FunctionId)
    }

    /// Returns the number of a name, and adds the name if it is new; `None` if it is new and the
    /// limit is reached.
    pub(super) fn number(&mut self, name: &FunctionName, limit: usize) -> Option<FunctionId> {
        if let Some(known) = self.get(name) {
            return Some(known);
        }
        let number = u32::try_from(self.names.len()).ok()?;
        if self.names.len() >= limit {
            return None;
        }
        self.names.push(name.clone());
        self.numbers.insert(name.clone(), number);
        Some(FunctionId(number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_are_cut_between_characters() {
        let name = FunctionName {
            program: 1,
            name: "\u{e4}".repeat(40_000).into(),
        };
        let mut to = Writer::default();
        FunctionName::write(&[name.clone(), name], &mut to);
        let read = FunctionName::read(&mut Reader::new(&to.0)).unwrap();
        assert_eq!(read.len(), 2);
        assert_eq!(read[0].name.len(), 1 << 16);
    }

    #[test]
    fn equal_names_have_one_number() {
        let name = |program, name: &str| FunctionName {
            program,
            name: name.into(),
        };
        let mut table = NameTable::default();
        let numbers = [name(0, "a"), name(1, "a"), name(0, "a"), name(0, "b")]
            .map(|name| table.number(&name, 2).map(|number| number.0));
        assert_eq!(numbers, [Some(0), Some(1), Some(0), None]);
    }
}
