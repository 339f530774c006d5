//! Definition files of OTF2: [`DefinitionFile`] splits one into raw records and skips damaged
//! bytes, [`Row`] decodes their fields, and the submodules resolve their ids.

pub(super) mod id_maps;
pub(super) mod local;
pub(super) mod resolve;

use crate::otf2::rules;
use crate::otf2::schema::{self, Kind, Record, internal};
use crate::otf2::wire::{ByteOrder, Cursor, Damage, Read};
use crate::otf2::write::Arg;
use perf_core::{Diagnostics, Place};
use std::sync::Arc;

/// A definition file, split into its records. References are not resolved, and no record is
/// dropped.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, otf2::{MemoryArchive, Reader, write}};
/// # let trace = perf_core::samples::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// let reader = Reader::new(archive, &OpenOptions::new(), &Job::default())?;
/// let regions = reader.definition_file().records().filter(|record| record.name() == "Region");
/// assert_eq!(regions.count(), trace.definitions().regions.len());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct DefinitionFile {
    /// Name of the file in the archive.
    name: Arc<str>,
    /// Bytes of the file.
    bytes: Vec<u8>,
    /// Byte order of the file.
    order: ByteOrder,
    /// Positions of the records.
    records: Vec<Span>,
    /// `true` for the file of a location.
    is_local: bool,
}

#[derive(Clone, Copy, Debug)]
struct Span {
    /// Id of the record.
    id: u8,
    /// Offset of the record.
    offset: usize,
    /// Start of the payload.
    start: usize,
    /// End of the payload.
    end: usize,
}

/// One record of a definition file, with its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinitionRecord<'a> {
    /// Id byte at the start of the record.
    pub id: u8,
    /// Offset of the record in the file.
    pub offset: u64,
    /// Bytes covered by the length byte of the record.
    pub payload: &'a [u8],
    /// Byte order of the payload.
    pub order: ByteOrder,
    /// `true` if the record is in the file of a location, where ids below 10 denote other records.
    pub is_local: bool,
}

impl DefinitionRecord<'_> {
    /// Returns the schema of the record, or `None` if its kind is unknown.
    pub fn record(&self) -> Option<&'static Record> {
        if self.is_local {
            schema::local_definition(self.id)
        } else {
            schema::definition(self.id)
        }
    }

    /// Returns the name of the record, or `Unknown` if its kind is unknown.
    pub fn name(&self) -> &'static str {
        self.record()
            .map_or(crate::otf2::event_conversion::UNKNOWN, |record| record.name)
    }

    /// Returns the fields in the order of the schema, up to the end of the record if it omits
    /// optional ones. Ids are those of the file. Returns `None` for an unknown or damaged record.
    /// For a mapping table, these are the fields before its elements.
    ///
    /// ```
    /// # use perf_core::{Definitions, Job, Region, Trace};
    /// use perf_formats::otf2::{Arg, MemoryArchive, Reader, write};
    /// # let mut definitions = Definitions::default();
    /// # definitions.regions.push(Region::named("main"));
    /// # let trace = Trace::new(definitions, vec![])?;
    /// # let mut archive = MemoryArchive::default();
    /// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
    /// let reader = Reader::new(archive, &Default::default(), &Job::default())?;
    /// let mut records = reader.definition_file().records();
    /// let region = records.find(|record| record.name() == "Region").expect("there is one");
    /// let fields = region.fields().expect("it is whole");
    /// let Arg::N(name) = fields[1] else { panic!("a name is a number") };
    /// assert_eq!(reader.string(name).as_deref(), Some("main"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn fields(&self) -> Option<Vec<Arg>> {
        let mut cursor = Cursor::new(self.payload, self.order);
        args(&mut cursor, self.record()?.fields).ok()
    }
}

/// Number of consecutive readable records that confirm the start of a record.
const RUN: usize = 3;
/// Longest payload accepted while searching for the start of a record, in bytes. It bounds the
/// search, which tries each byte.
const MAX_PAYLOAD: usize = 1 << 10;
/// Number of bytes that may follow the first end mark of a file.
const END_MARKS: usize = 8;

/// Next element of a chunk.
enum Next {
    /// A record with this id and payload length.
    Record(u8, usize),
    /// An end mark; `true` for the end of the file.
    End(bool),
}

fn is_known(id: u8) -> bool {
    schema::definition(id).is_some() || schema::local_definition(id).is_some()
}

/// Returns `true` if a run of records of known kinds begins at `at`. A run may be shorter if the
/// bytes end with it.
fn is_run(data: &[u8], at: usize, order: ByteOrder) -> bool {
    let mut cursor = Cursor::new(data, order);
    cursor.jump(at);
    for count in 0..RUN {
        let offset = cursor.at();
        let Ok(id) = cursor.u8("a record") else {
            return count > 0;
        };
        let rest = cursor.rest();
        match id {
            internal::END_OF_CHUNK => return count > 0 && rest.iter().all(|byte| *byte == 0),
            internal::END_OF_BUFFER | internal::END_OF_FILE => {
                return count > 0 && rest.len() <= END_MARKS;
            }
            _ if !is_known(id) => return false,
            _ => {}
        }
        let payload = cursor.payload().ok();
        let Some(payload) = payload.filter(|payload| payload.len() <= MAX_PAYLOAD) else {
            return false;
        };
        let of = |is_local| DefinitionRecord {
            id,
            offset: offset as u64,
            payload,
            order,
            is_local,
        };
        if of(false).fields().or_else(|| of(true).fields()).is_none() {
            return false;
        }
    }
    true
}

fn args(cursor: &mut Cursor<'_>, fields: &[schema::Field]) -> Read<Vec<Arg>> {
    let mut all = Vec::new();
    for field in fields {
        if let Kind::List { count, of } = field.kind
            && !(field.optional && cursor.is_empty())
        {
            let count = cursor.count(count, field.name)?;
            let mut elements = Vec::new();
            for _ in 0..count {
                elements.push(args(cursor, of)?);
            }
            all.push(Arg::L(elements));
            continue;
        }
        all.push(match item(cursor, field, false)? {
            Item::Number(number) => Arg::N(number),
            Item::Text(text) => Arg::T(String::from_utf8_lossy(text).into_owned()),
            Item::Value(code, bits) => Arg::V(code, bits),
            Item::Absent | Item::List(_) => break,
        });
    }
    Ok(all)
}

impl DefinitionFile {
    /// Splits the bytes of a file into records. A damaged chunk is counted.
    pub(crate) fn split(
        name: Arc<str>,
        bytes: Vec<u8>,
        chunk: usize,
        found: &mut Diagnostics,
    ) -> Self {
        let mut file = DefinitionFile {
            order: order_of(&bytes).unwrap_or_default(),
            name,
            ..DefinitionFile::default()
        };
        let mut start = 0;
        let mut ended = false;
        while start < bytes.len() && !ended {
            let end = start.saturating_add(chunk.max(1)).min(bytes.len());
            let last = end == bytes.len();
            let data = &bytes[start..end];
            match file.chunk(data, start, found) {
                Ok(end_of_file) => {
                    ended = end_of_file;
                    if last && !ended {
                        found.add(rules::TRUNCATED, file.place(end as u64));
                    }
                }
                Err(damage) => {
                    let rule = if damage.short && last {
                        rules::TRUNCATED
                    } else {
                        rules::DAMAGED_CHUNK
                    };
                    found.add(rule, file.place((start + damage.at) as u64));
                }
            }
            start = end;
        }
        file.bytes = bytes;
        file
    }

    /// Splits one chunk into records. Returns `true` if the file ends in it. Damaged bytes are
    /// counted and skipped up to the next readable records.
    fn chunk(&mut self, data: &[u8], base: usize, found: &mut Diagnostics) -> Read<bool> {
        let mut cursor = Cursor::new(data, self.order);
        match chunk_header(&mut cursor, self.order) {
            Err(damage) if damage.short => return Err(damage),
            Err(_) => found.add(rules::DAMAGED_CHUNK, self.place(base as u64)),
            Ok(_) => {}
        }
        cursor.jump(internal::CHUNK_HEADER_LEN);
        while !cursor.is_empty() {
            let offset = cursor.at();
            let damage = match self.next(&mut cursor, data) {
                Ok(Next::Record(id, payload)) => {
                    let end = cursor.at();
                    self.records.push(Span {
                        id,
                        offset: base + offset,
                        start: base + end - payload,
                        end: base + end,
                    });
                    continue;
                }
                Ok(Next::End(is_end_of_file)) => return Ok(is_end_of_file),
                Err(damage) => damage,
            };
            let mut later = offset + 1..data.len();
            let Some(next) = later.find(|at| is_run(data, *at, self.order)) else {
                return Err(Damage {
                    at: offset,
                    ..damage
                });
            };
            let record = format!("{} bytes skipped", next - offset);
            let place = self.place((base + offset) as u64).record(record);
            found.add(rules::DAMAGED_CHUNK, place);
            cursor.jump(next);
        }
        Ok(false)
    }

    /// Reads the next record or end mark.
    fn next(&self, cursor: &mut Cursor<'_>, data: &[u8]) -> Read<Next> {
        let at = cursor.at();
        let id = cursor.u8("a record")?;
        let rest = cursor.rest();
        match id {
            internal::END_OF_CHUNK if rest.iter().all(|byte| *byte == 0) => {
                return Ok(Next::End(false));
            }
            internal::END_OF_BUFFER | internal::END_OF_FILE if rest.len() <= END_MARKS => {
                return Ok(Next::End(true));
            }
            0..=4 if (at + 1..data.len()).any(|at| is_run(data, at, self.order)) => {
                return cursor.wrong("a definition record");
            }
            internal::END_OF_CHUNK => return Ok(Next::End(false)),
            internal::END_OF_BUFFER | internal::END_OF_FILE => return Ok(Next::End(true)),
            internal::CHUNK_HEADER => return cursor.wrong("a definition record"),
            _ => {}
        }
        let payload = cursor.payload()?.len();
        // Later versions define further kinds of records, and damaged bytes look like them: only a
        // run of known records behind it confirms an unknown kind.
        if !is_known(id) && !cursor.is_empty() && !is_run(data, cursor.at(), self.order) {
            return cursor.wrong("a definition record");
        }
        Ok(Next::Record(id, payload))
    }

    /// Creates the representation of a missing file.
    pub(crate) fn named(name: &str) -> Self {
        DefinitionFile {
            name: name.into(),
            ..DefinitionFile::default()
        }
    }

    /// Returns the name of the file in the archive.
    pub fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Returns the byte order of the file.
    pub fn byte_order(&self) -> ByteOrder {
        self.order
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Returns `true` if there is no record.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Iterates over the records in the order of the file.
    pub fn records(&self) -> impl Iterator<Item = DefinitionRecord<'_>> {
        self.records.iter().map(|span| self.at(span))
    }

    pub(crate) fn record(&self, index: usize) -> Option<DefinitionRecord<'_>> {
        self.records.get(index).map(|span| self.at(span))
    }

    fn at(&self, span: &Span) -> DefinitionRecord<'_> {
        DefinitionRecord {
            id: span.id,
            offset: span.offset as u64,
            payload: &self.bytes[span.start..span.end],
            order: self.order,
            is_local: self.is_local,
        }
    }

    /// Marks the file as the local definitions of a location.
    pub(crate) fn of_location(mut self) -> Self {
        self.is_local = true;
        self
    }

    /// Returns the size of the file in bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    pub(crate) fn place(&self, offset: u64) -> Place {
        Place::file(self.name.clone()).at(offset)
    }
}

/// Returns the byte order given by the first chunk header of a file.
pub(crate) fn order_of(bytes: &[u8]) -> Option<ByteOrder> {
    match bytes {
        [internal::CHUNK_HEADER, order, ..] => ByteOrder::from_byte(*order),
        _ => None,
    }
}

/// Reads a chunk header: its first and last event number.
pub(crate) fn chunk_header(cursor: &mut Cursor<'_>, order: ByteOrder) -> Read<(u64, u64)> {
    let start = *cursor;
    let mark = cursor.u8("a chunk header")?;
    let byte = cursor.u8("a chunk header")?;
    if mark != internal::CHUNK_HEADER || byte != order.byte() {
        return start.wrong("a chunk header");
    }
    let first = cursor.u64("the first event number of a chunk")?;
    let last = cursor.u64("the last event number of a chunk")?;
    Ok((first, last))
}

/// A field of a definition.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Item<'a> {
    /// The record ends before this field.
    Absent,
    Number(u64),
    Text(&'a [u8]),
    /// Type code and bits of a value.
    Value(u8, u64),
    /// The elements of a list, flattened.
    List(Vec<u64>),
}

/// A definition with validated fields. They are decoded on access, because a file may contain a
/// million small records whose decoded form is much larger.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row<'a> {
    /// Schema of the record.
    pub(crate) record: &'static Record,
    /// Offset of the record in the file.
    pub(crate) offset: u64,
    /// Bytes of the fields.
    payload: &'a [u8],
    /// Byte order of the payload.
    order: ByteOrder,
}

// Bounds the memory amplification: a record of nine bytes must not occupy hundreds.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(size_of::<Row<'_>>() <= 48);

impl<'a> Row<'a> {
    pub(crate) fn parse(
        from: DefinitionRecord<'a>,
        record: &'static Record,
        order: ByteOrder,
    ) -> Read<Self> {
        let mut cursor = Cursor::new(from.payload, order);
        for field in record.fields {
            item(&mut cursor, field, false)?;
        }
        Ok(Row {
            record,
            offset: from.offset,
            payload: from.payload,
            order,
        })
    }

    /// Decodes a field. Lists in earlier fields are skipped without being stored.
    fn item(&self, field: usize) -> Option<Item<'a>> {
        let mut cursor = Cursor::new(self.payload, self.order);
        for before in self.record.fields.get(..field)? {
            item(&mut cursor, before, false).ok()?;
        }
        item(&mut cursor, self.record.fields.get(field)?, true).ok()
    }

    /// Returns a number, or `None` if the record ends before it.
    pub(crate) fn number(&self, field: usize) -> Option<u64> {
        match self.item(field) {
            Some(Item::Number(number)) => Some(number),
            _ => None,
        }
    }

    pub(crate) fn get(&self, field: usize) -> u64 {
        self.number(field).unwrap_or_default()
    }

    pub(crate) fn byte(&self, field: usize) -> u8 {
        self.get(field) as u8
    }

    /// Returns an id, or `None` if it is undefined.
    pub(crate) fn id(&self, field: usize) -> Option<u64> {
        let space = match self.record.fields.get(field)?.kind {
            Kind::Id(space) => space,
            _ => return self.number(field),
        };
        self.number(field).filter(|id| *id != space.undefined())
    }

    pub(crate) fn list(&self, field: usize) -> Vec<u64> {
        match self.item(field) {
            Some(Item::List(list)) => list,
            _ => Vec::new(),
        }
    }

    pub(crate) fn text(&self, field: usize) -> &'a [u8] {
        match self.item(field) {
            Some(Item::Text(text)) => text,
            _ => &[],
        }
    }

    pub(crate) fn value(&self, field: usize) -> Option<(u8, u64)> {
        match self.item(field) {
            Some(Item::Value(code, bits)) => Some((code, bits)),
            _ => None,
        }
    }
}

/// Decodes the field at the cursor. The elements of a list are stored only if `keep` is set.
fn item<'a>(cursor: &mut Cursor<'a>, field: &schema::Field, keep: bool) -> Read<Item<'a>> {
    if field.optional && cursor.is_empty() {
        return Ok(Item::Absent);
    }
    let name = field.name;
    Ok(match field.kind {
        Kind::U8 => Item::Number(cursor.u8(name)?.into()),
        Kind::U32 => Item::Number(cursor.v32(name)?.into()),
        Kind::U64 | Kind::I64 => Item::Number(cursor.v64(name)?),
        Kind::Fixed64 | Kind::F64 => Item::Number(cursor.u64(name)?),
        Kind::Text => Item::Text(cursor.text(name)?),
        Kind::Id(space) => Item::Number(cursor.id(space, name)?),
        Kind::Value => {
            let code = cursor.u8(name)?;
            Item::Value(code, cursor.value(code)?)
        }
        Kind::List { count, of } => {
            let count = cursor.count(count, name)?;
            let mut numbers = Vec::new();
            // Each element takes at least one byte, so that a wrong count ends the loop at the end
            // of the record.
            for _ in 0..count {
                element(cursor, of, &mut numbers)?;
                if !keep {
                    numbers.clear();
                }
            }
            Item::List(numbers)
        }
    })
}

fn element(cursor: &mut Cursor<'_>, of: &[schema::Field], out: &mut Vec<u64>) -> Read<()> {
    for field in of {
        if field.kind == Kind::Value {
            let code = cursor.u8(field.name)?;
            out.extend([code.into(), cursor.value(code)?]);
        } else {
            cursor.numbers(std::slice::from_ref(field), out, &mut |_, id| id)?;
        }
    }
    Ok(())
}
