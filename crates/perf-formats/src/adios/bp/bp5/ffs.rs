//! [`Formats`]: descriptions of structures (names, types and offsets of their fields), which the
//! library FFS writes to `mmd.0`; [`Budget`]: bound on the memory that a part of a file may take.
//!
//! Each entry has an identifier of 12 bytes and the description of a structure, followed by those
//! of the structures inside of it. Lengths of descriptions are big-endian in every file.

use super::super::member::Member;
use super::super::primitives::{Fields, Kind, Read};
use crate::{Error, Result};
use perf_core::Place;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Length of the identifier of a format in bytes.
pub(super) const IDENTIFIER: u64 = 12;
/// Length of the head of a description in bytes.
const HEAD: u64 = 8;
/// Length of the head of a structure in bytes.
const STRUCTURE: u64 = 28;

/// A format: a structure and the structures inside of it.
#[derive(Debug)]
pub(super) struct Format {
    /// All structures; the first is the outermost one.
    structures: Vec<Structure>,
}

/// A structure: fields at fixed offsets.
#[derive(Debug)]
pub(super) struct Structure {
    /// Name of the structure.
    pub(super) name: String,
    /// Fields in order of their definition.
    pub(super) fields: Vec<Field>,
    /// Length of the fixed part in bytes.
    pub(super) size: u64,
    /// `true` for numbers in big-endian order.
    pub(super) is_big: bool,
}

/// A field of a structure.
#[derive(Debug)]
pub(super) struct Field {
    /// Name of the field.
    pub(super) name: String,
    /// Type of the field: a basic type, a structure, or an array of them.
    pub(super) kind: String,
    /// Length in bytes; of an array, the length of an element.
    pub(super) size: u64,
    /// Offset in the structure.
    pub(super) offset: u64,
}

/// Bytes that a part of a file may still take in memory. References to the same bytes could
/// otherwise require far more memory than the file has.
#[derive(Debug)]
pub(super) struct Budget(u64);

impl Budget {
    /// Creates the budget of `len` bytes of a file. Writers do not share bytes, but texts of
    /// structures may be shared by other versions of FFS.
    pub(super) fn of(len: u64) -> Self {
        Budget(len.saturating_mul(4))
    }

    /// Takes `len` bytes.
    pub(super) fn take(&mut self, len: u64, fields: &Fields<'_>) -> Read<()> {
        let left = self.0.checked_sub(len);
        self.0 = left.ok_or_else(|| fields.damage("elements that do not overlap"))?;
        Ok(())
    }
}

impl Field {
    /// Returns the type of a single number.
    pub(super) fn number(&self) -> Option<Kind> {
        Some(match (self.kind.as_str(), self.size) {
            ("integer", 1) => Kind::I8,
            ("integer", 2) => Kind::I16,
            ("integer", 4) => Kind::I32,
            ("integer", 8) => Kind::I64,
            ("unsigned integer", 1) => Kind::U8,
            ("unsigned integer", 2) => Kind::U16,
            ("unsigned integer", 4) => Kind::U32,
            ("unsigned integer", 8) => Kind::U64,
            _ => return None,
        })
    }
}

impl Structure {
    /// Returns the field with this name.
    pub(super) fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    /// Reads the description of a structure.
    fn read(all: &mut Fields<'_>) -> Read<Self> {
        let what = "the description of a structure";
        let head = all.part(STRUCTURE, what)?;
        let mut lengths = head.at(0, true, what)?;
        let low = u64::from(lengths.u16(what)?);
        lengths.u8(what)?;
        let is_big = lengths.u8(what)? != 0;
        let mut lengths = head.at(24, true, what)?;
        let len = u64::from(lengths.u16(what)?) << 16 | low;
        let mut numbers = head.at(4, is_big, what)?;
        let name = numbers.u32(what)?;
        let count = numbers.u32(what)?;
        let size = numbers.u32(what)?.into();
        numbers.u8(what)?;
        let fields_at = numbers.u8(what)?;
        // Offsets count from the head on, which was read already.
        let rest = len
            .checked_sub(STRUCTURE)
            .ok_or_else(|| head.damage(what))?;
        all.bytes(rest, "a structure of the declared length")?;
        let bytes = all.before(len, what)?;
        let mut budget = Budget::of(len);
        let mut text = |offset: u32| {
            let mut text = bytes.at(offset.into(), is_big, "the offset of a name")?;
            let text = text.zero_terminated("a name that ends with 0")?;
            budget.take(text.len() as u64, &bytes)?;
            Ok(String::from_utf8_lossy(text).into_owned())
        };
        let name = text(name)?;
        let mut entries = bytes.at(fields_at.into(), is_big, what)?;
        let mut fields = Vec::new();
        for _ in 0..count {
            let what = "a field of a structure";
            let (name, kind) = (entries.u32(what)?, entries.u32(what)?);
            let (size, offset) = (entries.u32(what)?, entries.u32(what)?);
            fields.push(Field {
                name: text(name)?,
                kind: text(kind)?,
                size: size.into(),
                offset: offset.into(),
            });
        }
        Ok(Structure {
            name,
            fields,
            size,
            is_big,
        })
    }
}

impl Format {
    /// Returns the outermost structure.
    pub(super) fn top(&self) -> Option<&Structure> {
        self.structures.first()
    }

    /// Returns the structure with this name.
    pub(super) fn structure(&self, name: &str) -> Option<&Structure> {
        self.structures.iter().find(|one| one.name == name)
    }

    /// Reads the description of a format.
    fn read(mut fields: Fields<'_>) -> Read<Self> {
        let what = "the description of a format";
        let mut head = fields.part(HEAD, what)?;
        head.bytes(4, what)?;
        let inner = head.u8(what)?;
        let mut structures = Vec::new();
        for _ in 0..=inner {
            structures.push(Structure::read(&mut fields)?);
        }
        Ok(Format { structures })
    }
}

/// A format, or the place and the expected element of a damaged entry.
type Known = std::result::Result<Arc<Format>, (Place, &'static str)>;

/// The formats of a file, which writers append to `mmd.0` before their first use.
#[derive(Debug)]
pub(super) struct Formats {
    /// Path of `mmd.0`.
    path: PathBuf,
    /// The file, if it was opened.
    file: Option<Member>,
    /// `true` for big-endian files.
    is_big: bool,
    /// Position of the next entry.
    next: u64,
    /// Formats by identifier.
    known: HashMap<Vec<u8>, Known>,
}

impl Formats {
    /// Creates the formats of a folder.
    pub(super) fn new(folder: &Path, is_big: bool) -> Self {
        Formats {
            path: folder.join("mmd.0"),
            file: None,
            is_big,
            next: 0,
            known: HashMap::new(),
        }
    }

    /// Returns the format with an identifier. `place` is the place of its use.
    ///
    /// # Errors
    ///
    /// Fails if the format is missing or damaged.
    pub(super) fn get(&mut self, identifier: &[u8], place: &Place) -> Result<Arc<Format>> {
        if !self.known.contains_key(identifier) {
            self.read_more()?;
        }
        let digits = || {
            let digits = identifier.iter().map(|byte| format!("{byte:02x}"));
            digits.collect::<String>()
        };
        match self.known.get(identifier) {
            Some(Ok(format)) => Ok(Arc::clone(format)),
            Some(Err((place, expected))) => Err(Error::Malformed {
                place: place.clone().record(format!("format {}", digits())),
                expected: (*expected).into(),
                got: "something else, or the end".into(),
            }),
            None => Err(Error::Malformed {
                place: place.clone(),
                expected: format!("a format that `{}` describes", self.path.display()),
                got: format!("the unknown format {}", digits()),
            }),
        }
    }

    /// Reads the entries that were appended since the last call. An incomplete entry stays the next
    /// one.
    fn read_more(&mut self) -> Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(Member::open(&self.path)?),
        };
        let len = file.len()?;
        let what = "the lengths of a format";
        while len.saturating_sub(self.next) >= 16 {
            let at = self.next;
            let head = file.read(at, 16, what)?;
            let mut head = Fields::new(&head, self.is_big);
            let mut length = || head.u64(what).map_err(|damage| file.malformed(at, damage));
            let (identifier, info) = (length()?, length()?);
            let end = identifier
                .checked_add(info)
                .and_then(|len| len.checked_add(at + 16));
            let Some(end) = end.filter(|end| *end <= len) else {
                return Ok(());
            };
            let key = file.read(at + 16, identifier, what)?;
            let info_at = at + 16 + identifier;
            let bytes = file.read(info_at, info, what)?;
            let format = Format::read(Fields::new(&bytes, self.is_big));
            let format = format
                .map(Arc::new)
                .map_err(|damage| (file.place(info_at + damage.at as u64), damage.expected));
            self.known.insert(key, format);
            self.next = end;
        }
        Ok(())
    }
}
