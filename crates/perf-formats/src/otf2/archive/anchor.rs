//! [`Anchor`]: parser of the anchor file (`NAME.otf2`), which holds the metadata of an archive,
//! such as versions, byte order and chunk sizes.

use crate::otf2::schema::internal;
use crate::otf2::wire::{ByteOrder, Cursor, Damage, Read};
use crate::{Error, Result};
use perf_core::Place;

/// Contents of the anchor file (`NAME.otf2`).
///
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, otf2::{ByteOrder, MemoryArchive, Reader, write}};
/// # let trace = perf_core::samples::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// let reader = Reader::new(archive, &OpenOptions::new(), &Job::default())?;
/// let anchor = reader.anchor().expect("it was written with one");
/// assert_eq!((anchor.byte_order, anchor.locations), (ByteOrder::Little, 40));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Anchor {
    /// Byte order of all files.
    pub byte_order: ByteOrder,
    /// Version of the anchor's own format.
    pub anchor_format: u8,
    /// Version of the trace format.
    pub trace_format: u8,
    /// Version of the library that wrote the archive.
    pub version: (u8, u8, u8),
    /// Size of the chunks of event files in bytes.
    pub event_chunk: u64,
    /// Size of the chunks of definition files in bytes.
    pub definition_chunk: u64,
    /// Storage of the files: 1 for plain files, 2 for a SION container, 3 for none.
    pub substrate: u8,
    /// Compression of the files: 1 for none.
    pub compression: u8,
    /// Number of locations.
    pub locations: u64,
    /// Number of global definition records.
    pub definitions: u64,
    /// Name of the machine.
    pub machine: String,
    /// Name of the measurement system that wrote the archive.
    pub creator: String,
    /// Free-form description.
    pub description: String,
    /// Properties of the archive, as (key, value).
    pub properties: Vec<(String, String)>,
    /// Random number that identifies the archive.
    pub trace_id: Option<u64>,
    /// Number of snapshots.
    pub snapshots: u32,
    /// Number of thumbnails.
    pub thumbnails: u32,
}

impl Anchor {
    /// Returns `true` if `bytes` begin like an anchor.
    pub fn is_anchor(bytes: &[u8]) -> bool {
        match bytes {
            [internal::CHUNK_HEADER, order, rest @ ..] => {
                ByteOrder::from_byte(*order).is_some() && rest.starts_with(b"OTF2\0")
            }
            _ => false,
        }
    }

    /// Parses the anchor in `bytes`; `file` is its name in errors.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Malformed`] or [`Error::Truncated`] if the bytes are not a valid anchor,
    /// and [`Error::Unsupported`] for SION containers, compressed archives and newer trace formats.
    pub fn parse(file: &str, bytes: &[u8]) -> Result<Self> {
        if !Self::is_anchor(bytes) {
            return Err(Error::Malformed {
                place: Place::file(file).at(0),
                expected: "an OTF2 anchor (03, byte order, \"OTF2\")".into(),
                got: match bytes.get(..7) {
                    Some(start) => format!("bytes {start:02x?}"),
                    None => format!("{} bytes", bytes.len()),
                },
            });
        }
        let order = bytes.get(1).copied().and_then(ByteOrder::from_byte);
        let mut cursor = Cursor::new(bytes, order.unwrap_or_default());
        let anchor = fields(&mut cursor, order.unwrap_or_default());
        let anchor = anchor.map_err(|damage| damage.error(file, 0, "Anchor"))?;
        let unsupported = |what: String| Error::Unsupported {
            place: Place::file(file),
            what,
        };
        if anchor.trace_format > 3 {
            let what = format!("trace format {}", anchor.trace_format);
            return Err(unsupported(what));
        }
        if anchor.substrate == 2 {
            return Err(unsupported("an archive in a SION container".into()));
        }
        if anchor.compression > 1 {
            return Err(unsupported("a compressed archive".into()));
        }
        Ok(anchor)
    }
}

fn fields(cursor: &mut Cursor<'_>, byte_order: ByteOrder) -> Read<Anchor> {
    cursor.jump(7);
    let mut anchor = Anchor {
        byte_order,
        anchor_format: cursor.u8("the anchor format")?,
        trace_format: cursor.u8("the trace format")?,
        version: (
            cursor.u8("the version")?,
            cursor.u8("the version")?,
            cursor.u8("the version")?,
        ),
        event_chunk: cursor.u64("the chunk size of events")?,
        definition_chunk: cursor.u64("the chunk size of definitions")?,
        substrate: cursor.u8("the substrate")?,
        compression: cursor.u8("the compression")?,
        locations: cursor.u64("the number of locations")?,
        definitions: cursor.u64("the number of definitions")?,
        machine: text(cursor, "the machine")?,
        creator: text(cursor, "the creator")?,
        description: text(cursor, "the description")?,
        ..Anchor::default()
    };
    if anchor.anchor_format >= 2 {
        for _ in 0..cursor.u32("the number of properties")? {
            let key = text(cursor, "the key of a property")?;
            let value = text(cursor, "the value of a property")?;
            anchor.properties.push((key, value));
        }
        anchor.trace_id = Some(cursor.u64("the trace id")?);
    }
    if anchor.anchor_format >= 3 {
        anchor.snapshots = cursor.u32("the number of snapshots")?;
        anchor.thumbnails = cursor.u32("the number of thumbnails")?;
    }
    if cursor.u8("the end mark")? != internal::END_OF_FILE {
        return cursor.wrong("the end mark (02)");
    }
    Ok(anchor)
}

fn text(cursor: &mut Cursor<'_>, expected: &'static str) -> Read<String> {
    let bytes = cursor.text(expected)?;
    Ok(String::from_utf8_lossy(bytes).into_owned())
}

impl Damage {
    /// Converts the damage into an error, for files that cannot be read without the damaged part.
    pub(crate) fn error(self, file: &str, base: u64, record: &'static str) -> Error {
        let place = Place::file(file).at(base + self.at as u64).record(record);
        let expected = self.expected.to_string();
        if self.short {
            Error::Truncated { place, expected }
        } else {
            Error::Malformed {
                place,
                expected,
                got: "something else".into(),
            }
        }
    }
}
