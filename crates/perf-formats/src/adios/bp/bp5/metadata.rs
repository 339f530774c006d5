//! [`MetadataReader`]: decodes the variables and attributes of a step of BP5 from the structures
//! that each writer stored in `md.0`.
//!
//! The metadata of each writer are a structure with one field for each variable of the file so far.
//! A bit field marks the variables that belong to the step. Pointers are offsets in the structure;
//! 0 is a null pointer.

use super::super::member::Member;
use super::super::primitives::{Damage, Fields, Kind, Read};
use super::super::variables::{Block, Variable};
use super::array::{Array, array_kind};
use super::ffs::{Budget, Field, Format, Formats, IDENTIFIER, Structure};
use super::pointers::{NUMBER, number, numbers, text};
use super::records::Parts;
use crate::{Error, Result};
use std::collections::HashMap;
use std::sync::Arc;

/// Name of the format of attributes.
const ATTRIBUTES: &str = "GenericAttributes";
/// Name of the formats with a field for each attribute, which are written with `UseOneTimeAttributes=false`.
const ATTRIBUTE_FIELDS: &str = "Attributes";

/// Reader of the metadata of a step.
pub(super) struct MetadataReader<'a> {
    /// File of the metadata, `md.0`.
    pub(super) index: &'a Member,
    /// Position of the step in the file.
    pub(super) start: u64,
    /// Parts of the data of each writer.
    pub(super) parts: &'a [Parts],
    /// Formats of the metadata.
    pub(super) formats: &'a mut Formats,
}

impl MetadataReader<'_> {
    /// Returns the variables and attributes of a step.
    pub(super) fn read(
        mut self,
        bytes: &[u8],
        is_big: bool,
    ) -> Result<(Vec<Variable>, Vec<Variable>)> {
        let mut fields = Fields::new(bytes, is_big);
        let blocks = blocks(&mut fields, self.parts.len());
        let blocks = blocks.map_err(|damage| self.damaged(damage))?;
        let mut variables = Variables::default();
        for (parts, block) in self.parts.iter().zip(blocks.metadata) {
            if let Some((format, record)) = self.record(block)? {
                let all = variables.add(&format, record, parts);
                all.map_err(|damage| self.damaged(damage))?;
            }
        }
        let mut attributes = Vec::new();
        for block in blocks.attributes {
            let position = block.position();
            let Some((format, record)) = self.record(block)? else {
                continue;
            };
            let texts = match format.top().map(|top| (top, top.name.as_str())) {
                Some((top, ATTRIBUTES)) => text_attributes(&format, top, record),
                Some((top, ATTRIBUTE_FIELDS)) => text_fields(top, record),
                other => {
                    let name = other.map_or("", |(_, name)| name);
                    return Err(Error::Unsupported {
                        place: self.index.place(self.start.saturating_add(position)),
                        what: format!("attributes in the format `{name}`"),
                    });
                }
            };
            attributes.extend(texts.map_err(|damage| self.damaged(damage))?);
        }
        Ok((variables.all, attributes))
    }

    fn damaged(&self, damage: Damage) -> Error {
        self.index.malformed(self.start, damage)
    }

    /// Returns the format and the bytes of a structure; `None` for an empty block.
    fn record<'b>(&mut self, mut block: Fields<'b>) -> Result<Option<(Arc<Format>, Fields<'b>)>> {
        if block.is_empty() {
            return Ok(None);
        }
        let place = self
            .index
            .place(self.start.saturating_add(block.position()));
        let identifier = block.bytes(IDENTIFIER, "the identifier of a format");
        let identifier = identifier.map_err(|damage| self.damaged(damage))?;
        let format = self.formats.get(identifier, &place)?;
        let is_big = format.top().is_some_and(|top| top.is_big);
        let read = || {
            let mut head = block.at(IDENTIFIER, is_big, "a structure")?;
            let len = head.u64("the length of a structure")?;
            head.bytes(4, "the head of a structure")?;
            head.part(len, "a structure of the declared length")
        };
        let record = read().map_err(|damage| self.damaged(damage))?;
        Ok(Some((format, record)))
    }
}

/// Blocks of a step, one for each writer.
struct Blocks<'a> {
    /// Structures with the variables.
    metadata: Vec<Fields<'a>>,
    /// Structures with the attributes.
    attributes: Vec<Fields<'a>>,
}

/// Splits the metadata of a step.
fn blocks<'a>(fields: &mut Fields<'a>, writers: usize) -> Read<Blocks<'a>> {
    let len = fields.u64("the length of a step")?;
    let mut step = fields.part(len, "a step of the declared length")?;
    let mut lengths = || -> Read<Vec<u64>> {
        let each = (0..writers).map(|_| step.u64("the length of the metadata of a writer"));
        each.collect()
    };
    let (metadata, attributes) = (lengths()?, lengths()?);
    let mut parts = |lengths: Vec<u64>| -> Read<Vec<Fields<'a>>> {
        let each = lengths.into_iter();
        let each = each.map(|len| step.part(len, "metadata of the declared length"));
        each.collect()
    };
    Ok(Blocks {
        metadata: parts(metadata)?,
        attributes: parts(attributes)?,
    })
}

/// The variables of all writers.
#[derive(Default)]
struct Variables {
    /// Variables in order of their first use.
    all: Vec<Variable>,
    /// Indexes of the variables by name.
    known: HashMap<Arc<str>, usize>,
}

impl Variables {
    /// Adds the variables of a writer.
    fn add(&mut self, format: &Format, record: Fields<'_>, parts: &Parts) -> Read<()> {
        let what = "the structure of the variables of a step";
        let top = format.top().ok_or_else(|| record.damage(what))?;
        let bits = Bits::read(top, record)?;
        let mut budget = Budget::of(record.len());
        let is_head = |field: &&Field| {
            field.name.starts_with("BitField") || field.name.starts_with("DataBlockSize")
        };
        let fields = top.fields.iter().skip_while(is_head);
        for (number, field) in fields.enumerate() {
            if !bits.is_set(number)? {
                continue;
            }
            let mut parts_of_name = field.name.splitn(4, '_');
            let mut next = || parts_of_name.next().unwrap_or_default();
            let (name, kind, blocks) = match next() {
                "BPG" | "BPL" | "BPJ" => {
                    let (size, code, name) = (next(), next(), next());
                    let kind = array_kind(size, code);
                    let kind = kind.ok_or_else(|| record.damage("the type of an array"))?;
                    let array = Array::read(format, field, record, &mut budget)?;
                    (name, kind, array.blocks(kind, parts, record)?)
                }
                "BPg" | "BPl" => match field.number() {
                    Some(kind) => {
                        let mut value = record.at(field.offset, top.is_big, "a value")?;
                        let block = Block {
                            value: Some(value.integer(kind, "a value")?),
                            ..Block::default()
                        };
                        let name = field.name.split_once('_').map_or("", |(_, name)| name);
                        (name, kind, vec![block])
                    }
                    // Events use no other values.
                    None => continue,
                },
                _ => continue,
            };
            self.extend(name, kind, blocks)
                .ok_or_else(|| record.damage("one type for the variable of all writers"))?;
        }
        Ok(())
    }

    /// Adds blocks to a variable. Returns `None` if the variable has another type.
    fn extend(&mut self, name: &str, kind: Kind, blocks: Vec<Block>) -> Option<()> {
        let index = match self.known.get(name) {
            Some(index) => *index,
            None => {
                let name: Arc<str> = name.into();
                self.known.insert(Arc::clone(&name), self.all.len());
                self.all.push(Variable {
                    name,
                    kind,
                    blocks: Vec::new(),
                });
                self.all.len() - 1
            }
        };
        let variable = self.all.get_mut(index).filter(|one| one.kind == kind)?;
        variable.blocks.extend(blocks);
        Some(())
    }
}

/// Bits of the variables that belong to a step.
struct Bits<'a> {
    /// Structure of the variables.
    record: Fields<'a>,
    /// Offset of the bits in the structure.
    start: u64,
    /// Number of words of 64 bits.
    words: u64,
    /// `true` for big-endian words.
    is_big: bool,
}

impl<'a> Bits<'a> {
    fn read(top: &Structure, record: Fields<'a>) -> Read<Self> {
        let number = |name| number(top, name, record, 0);
        Ok(Bits {
            record,
            start: number("BitField")?,
            words: number("BitFieldCount")?,
            is_big: top.is_big,
        })
    }

    fn is_set(&self, bit: usize) -> Read<bool> {
        let what = "a bit for each variable";
        let (word, bit) = (bit as u64 / 64, bit % 64);
        if word >= self.words || self.start == 0 {
            return Ok(false);
        }
        let at = self.start.saturating_add(word * NUMBER);
        let word = self.record.at(at, self.is_big, what)?.u64(what)?;
        Ok(word >> bit & 1 == 1)
    }
}

/// Returns the attributes with texts. Events use no numeric attributes.
fn text_attributes(format: &Format, top: &Structure, record: Fields<'_>) -> Read<Vec<Variable>> {
    let count = number(top, "StrAttrCount", record, 0)?;
    let start = number(top, "StrAttrs", record, 0)?;
    let what = "the structure of an attribute";
    let inner = format.structure("StrAttr");
    let inner = inner.ok_or_else(|| record.damage(what))?;
    let mut budget = Budget::of(record.len());
    let mut attributes = Vec::new();
    for index in 0..count {
        budget.take(inner.size.max(NUMBER), &record)?;
        let base = index.checked_mul(inner.size);
        let base = base.and_then(|base| base.checked_add(start));
        let base = base.ok_or_else(|| record.damage(what))?;
        let get = |name| number(inner, name, record, base);
        let name = text(record, get("name")?, &mut budget)?;
        // The first character is the type. An empty name, which no writer produces, stays empty.
        let name = String::from_utf8_lossy(name.get(1..).unwrap_or_default());
        let count = get("ElementCount")?;
        let pointers = numbers(record, inner.is_big, get("Values")?, count, &mut budget)?;
        let mut texts = Vec::new();
        for pointer in pointers {
            let bytes = text(record, pointer, &mut budget)?;
            texts.push(String::from_utf8_lossy(bytes).into_owned());
        }
        attributes.push(text_attribute(&name, texts));
    }
    Ok(attributes)
}

/// Returns the attributes with a single text of a format with a field for each attribute. The name of a field is
/// `BPg_8_14_` and that of the attribute. Events use no other attributes.
fn text_fields(top: &Structure, record: Fields<'_>) -> Read<Vec<Variable>> {
    let mut budget = Budget::of(record.len());
    let fields = top.fields.iter().filter(|field| field.kind == "string");
    let texts = fields.map(|field| {
        let name = field.name.splitn(4, '_').nth(3).unwrap_or_default();
        let mut pointer = record.at(field.offset, top.is_big, "a pointer to a text")?;
        let bytes = match pointer.u64("a pointer to a text")? {
            0 => &[][..],
            pointer => text(record, pointer, &mut budget)?,
        };
        let value = String::from_utf8_lossy(bytes).into_owned();
        Ok(text_attribute(name, vec![value]))
    });
    texts.collect()
}

fn text_attribute(name: &str, texts: Vec<String>) -> Variable {
    Variable {
        name: name.into(),
        kind: Kind::Texts,
        blocks: vec![Block {
            texts,
            ..Block::default()
        }],
    }
}
