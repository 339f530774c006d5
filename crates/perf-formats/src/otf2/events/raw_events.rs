//! [`RawEvent`]: an event record of one location with its local ids and local time;
//! [`Reader::records`]: visits all of them in the order of the file.

use crate::otf2::archive::files::Source;
use crate::otf2::definitions::chunk_header;
use crate::otf2::reader::Reader;
use crate::otf2::schema::{self, internal};
use crate::otf2::wire::{ByteOrder, Cursor, Read};
use crate::{Error, Result};
use perf_core::{LocationId, Place};
use std::ops::ControlFlow;

/// A raw event of a file. Its ids are not mapped and its time is not corrected.
///
/// ```
/// use perf_core::{Job, LocationId};
/// use perf_formats::{OpenOptions, otf2::{MemoryArchive, Reader, write}};
/// use std::ops::ControlFlow;
/// # let trace = perf_core::samples::cosmo::trace();
/// # let mut archive = MemoryArchive::default();
/// # write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// let reader = Reader::new(archive, &OpenOptions::new(), &Job::default())?;
/// let mut first = None;
/// reader.records(LocationId(0), |event| {
///     first = Some((event.name(), event.time, event.fields()));
///     ControlFlow::Break(())
/// })?;
/// assert_eq!(first, Some(("Enter", 0, Some(vec![0]))));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawEvent<'a> {
    /// Time of the local clock.
    pub time: u64,
    /// Id of the record; [`schema::event`] returns its fields.
    pub id: u8,
    /// Bytes of its fields: those covered by its length byte, or the single integer of a record
    /// without a length byte.
    pub payload: &'a [u8],
    /// Payload of the preceding attribute list, or empty if there is none.
    pub attributes: &'a [u8],
    /// Offset of the record in the file.
    pub offset: u64,
    /// Byte order of the payload.
    pub order: ByteOrder,
}

impl RawEvent<'_> {
    /// Returns the name of the record, or `Unknown` if its kind is unknown.
    pub fn name(&self) -> &'static str {
        schema::event(self.id).map_or(super::event_conversion::UNKNOWN, |record| record.name)
    }

    /// Returns the fields as numbers with local ids, in the order of the schema. The count of a
    /// list precedes its elements. Returns `None` for an unknown or damaged record.
    pub fn fields(&self) -> Option<Vec<u64>> {
        let record = schema::event(self.id)?;
        let mut fields = Vec::new();
        let mut cursor = Cursor::new(self.payload, self.order);
        let read = cursor.numbers(record.fields, &mut fields, &mut |_, id| id);
        read.ok().map(|()| fields)
    }
}

impl Reader<'_> {
    /// Calls `visit` for each raw event of a location until it returns `Break`. The window of the
    /// options is ignored.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Malformed`] or [`Error::Truncated`] if the file is damaged, because
    /// unreadable records cannot be passed on, and [`Error::Io`] if the system cannot read or the
    /// file is missing.
    pub fn records(
        &self,
        location: LocationId,
        mut visit: impl FnMut(RawEvent<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let member = self.source.events(self.key(location)?);
        let Some((shape, _)) = self.source.shape(&member, self.known())? else {
            let source = std::io::ErrorKind::NotFound.into();
            return Err(crate::otf2::archive::files::failed(&member, None, source));
        };
        self.source.with_buffer(|buffer| {
            let mut time = 0;
            for chunk in 0..shape.chunks() {
                let (start, end) = shape.span(chunk);
                let mut at = start;
                let mut least = Source::block_len();
                loop {
                    self.source.block(&member, at, end, least, buffer)?;
                    let whole = at + buffer.len() as u64 >= end || buffer.len() < least;
                    let mut walk = Walk {
                        order: shape.order,
                        base: at,
                        time,
                        is_start: at == start,
                        done: 0,
                    };
                    let walked = walk.run(buffer, &mut visit);
                    time = walk.time;
                    at += walk.done as u64;
                    match walked {
                        Ok(Some(Walked::Stop)) => return Ok(()),
                        Ok(Some(Walked::End)) if chunk + 1 == shape.chunks() => return Ok(()),
                        Ok(Some(Walked::End)) => {
                            return Err(Error::Malformed {
                                place: Place::file(member.as_str()).at(at),
                                expected: "an event, since more chunks follow".into(),
                                got: "the end mark".into(),
                            });
                        }
                        Ok(Some(Walked::Chunk)) => break,
                        Ok(None) if whole => break,
                        Ok(None) => {}
                        Err(damage) if damage.short && !whole => {
                            if walk.done == 0 {
                                least = least.saturating_mul(2);
                            }
                        }
                        Err(damage) => return Err(damage.error(&member, walk.base, "event")),
                    }
                }
            }
            Err(Error::Truncated {
                place: Place::file(member.as_str()).at(shape.size),
                expected: "the end mark".into(),
            })
        })
    }
}

enum Walked {
    Chunk,
    /// The end mark of the file was reached.
    End,
    /// The visitor returned `Break`.
    Stop,
}

/// Iteration over one block.
struct Walk {
    /// Byte order of the file.
    order: ByteOrder,
    /// Offset of the block in the file.
    base: u64,
    /// Time of the last timestamp.
    time: u64,
    /// `true` if the block begins with a chunk header.
    is_start: bool,
    /// Number of bytes up to the end of the last complete event, which need not be read again.
    done: usize,
}

impl Walk {
    fn run(
        &mut self,
        data: &[u8],
        visit: &mut impl FnMut(RawEvent<'_>) -> ControlFlow<()>,
    ) -> Read<Option<Walked>> {
        let mut cursor = Cursor::new(data, self.order);
        if self.is_start {
            chunk_header(&mut cursor, self.order)?;
            self.done = cursor.at();
        }
        let mut attributes: &[u8] = &[];
        while !cursor.is_empty() {
            let offset = cursor.at();
            let id = cursor.u8("an event")?;
            match id {
                internal::END_OF_CHUNK => return Ok(Some(Walked::Chunk)),
                internal::END_OF_BUFFER | internal::END_OF_FILE => return Ok(Some(Walked::End)),
                internal::CHUNK_HEADER => return cursor.wrong("an event"),
                internal::TIMESTAMP => {
                    self.time = cursor.u64("a time")?;
                    if attributes.is_empty() {
                        self.done = cursor.at();
                    }
                    continue;
                }
                internal::ATTRIBUTES => {
                    attributes = cursor.payload()?;
                    continue;
                }
                _ => {}
            }
            let payload = if schema::event(id).is_some_and(|record| !record.has_length) {
                let start = cursor.at();
                cursor.v64("the field of an event")?;
                let len = cursor.at() - start;
                cursor.jump(start);
                cursor.take(len, "the field of an event")?
            } else {
                cursor.payload()?
            };
            self.done = cursor.at();
            let event = RawEvent {
                time: self.time,
                id,
                payload,
                attributes,
                offset: self.base + offset as u64,
                order: self.order,
            };
            attributes = &[];
            if visit(event).is_break() {
                return Ok(Some(Walked::Stop));
            }
        }
        if attributes.is_empty() {
            return Ok(None);
        }
        Err(crate::otf2::wire::Damage {
            at: cursor.at(),
            expected: "an event after its attributes",
            short: true,
        })
    }
}
