//! [`cut()`]: writes a part of an archive, selected by [`Cut`] (locations and a time window), as a
//! new archive, with records copied verbatim.

mod copy;

use super::archive::anchor::Anchor;
use super::definitions::DefinitionFile;
use super::reader::Reader;
use super::wire::Cursor;
use super::write::{Chunks, Encoder, Fnv, Sink, WriteOptions, encode_anchor, put};
use crate::{Error, Result};
use copy::{events, unknown};
use perf_core::{Job, LocationId, Place, TimeRange};
use std::collections::HashMap;

/// Selection of the part of an archive to keep.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cut {
    /// Window of corrected time whose events are kept. Default: all of time.
    pub window: TimeRange,
    /// Locations to keep. Default: all.
    pub locations: Option<Vec<LocationId>>,
    /// Name of the new archive. Default: that of the old one.
    pub name: Option<String>,
}

impl Default for Cut {
    fn default() -> Self {
        Cut {
            window: TimeRange::ALL,
            locations: None,
            name: None,
        }
    }
}

impl Cut {
    /// Selects everything.
    pub fn new() -> Self {
        Cut::default()
    }

    /// Keeps only events inside `window` of corrected time. Default: all of time.
    pub fn window(mut self, window: TimeRange) -> Self {
        self.window = window;
        self
    }

    /// Keeps only these locations. Default: all.
    pub fn locations(mut self, locations: Vec<LocationId>) -> Self {
        self.locations = Some(locations);
        self
    }

    /// Sets the name of the new archive. Default: that of the old one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Writes a part of an archive as a new archive. Memory for one chunk is needed at a time.
///
/// Records are copied verbatim, including those of unknown kinds: no id is mapped, no time
/// corrected, no region unified and no damage repaired. Definitions stay unchanged except that
/// unselected locations are dropped. Calls that the window cuts are entered at its start and left
/// at its end, so that the result is as balanced as the original.
///
/// ```
/// # use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// use perf_core::TimeRange;
/// use perf_formats::{OpenOptions, otf2::{Cut, MemoryArchive, Reader, cut, write}};
/// # let mut definitions = Definitions::default();
/// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// # definitions.regions.push(Region::named("main"));
/// # let mut events = Events::default();
/// # events.push(Ticks(10), Event::Enter { region: RegionId(0) })?;
/// # events.push(Ticks(90), Event::Leave { region: RegionId(0) })?;
/// # let trace = Trace::new(definitions, vec![events])?;
/// # let mut whole = MemoryArchive::default();
/// # write(trace.view(), &mut whole, &Default::default(), &Job::default())?;
/// // One location that is in `main` from 10 to 90.
/// let reader = Reader::new(whole, &OpenOptions::new(), &Job::default())?;
/// let window = TimeRange::new(Ticks(20), Ticks(31)).expect("it ends after it starts");
/// let mut part = MemoryArchive::default();
/// cut(&reader, &Cut::new().window(window), &mut part, &Job::default())?;
/// let (trace, _) = Reader::new(part, &OpenOptions::new(), &Job::default())?.read()?;
/// assert_eq!(trace.events()[0].times(), [Ticks(20), Ticks(30)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Usage`] for an archive without an anchor, [`Error::Malformed`] or
/// [`Error::Truncated`] if an event file is damaged, because unreadable records cannot be copied,
/// [`Error::Io`] if the system cannot read or write, and [`Error::Cancelled`] if the job was
/// cancelled.
pub fn cut(reader: &Reader<'_>, selection: &Cut, sink: &mut dyn Sink, job: &Job) -> Result<()> {
    let Some(anchor) = reader.anchor() else {
        let what = "an archive without an anchor cannot be cut; read and write it instead";
        return Err(Error::Usage { what: what.into() });
    };
    let name = selection.name.as_deref().unwrap_or(reader.name());
    let all = reader.definitions().system.location_ids();
    let mut kept: Vec<LocationId> = match &selection.locations {
        Some(some) => some.clone(),
        None => all.collect(),
    };
    kept.sort_unstable();
    kept.dedup();
    let mut counts = HashMap::new();
    for location in &kept {
        job.check()?;
        let key = reader.key(*location)?;
        let member = format!("{name}/{key}");
        if let Some(local) = reader.source.read_all(&reader.source.local(key))? {
            put(sink, &format!("{member}.def"), &local)?;
        }
        let events = match reader.source.size(&reader.source.events(key))? {
            Some(1..) => {
                let wanted = (selection.window, member.as_str());
                events(reader, *location, anchor, wanted, sink, job)?
            }
            _ => 0,
        };
        counts.insert(key, events);
        job.advance("cut", 1, kept.len() as u64);
    }
    let (definitions, id) = definitions(reader.definition_file(), anchor, &counts, name, sink)?;
    let anchor = Anchor {
        locations: counts.len() as u64,
        definitions,
        event_chunk: event_chunk(anchor),
        definition_chunk: definition_chunk(anchor),
        trace_id: Some(id),
        snapshots: 0,
        thumbnails: 0,
        ..anchor.clone()
    };
    put(
        sink,
        &format!("{name}.otf2"),
        encode_anchor(&anchor).bytes(),
    )
}

/// Returns the chunk size for events in the new archive: that of the old one, unless it cannot hold
/// a record.
fn event_chunk(anchor: &Anchor) -> u64 {
    possible(anchor.event_chunk).unwrap_or(WriteOptions::default().event_chunk)
}

fn definition_chunk(anchor: &Anchor) -> u64 {
    possible(anchor.definition_chunk).unwrap_or(WriteOptions::default().definition_chunk)
}

/// Returns the size if a chunk can hold its header, a record and its end mark, and fits in memory.
fn possible(chunk: u64) -> Option<u64> {
    Some(chunk).filter(|chunk| (64..=1 << 30).contains(chunk))
}

/// Copies the global definitions, without unselected locations and with updated event counts.
/// Returns the number of records and an identifier for the new archive.
fn definitions(
    file: &DefinitionFile,
    anchor: &Anchor,
    counts: &HashMap<u64, u64>,
    name: &str,
    sink: &mut dyn Sink,
) -> Result<(u64, u64)> {
    const LOCATION: u8 = 14;
    let mut chunks = Chunks::new(
        format!("{name}.def"),
        anchor.byte_order,
        definition_chunk(anchor),
    )?;
    let mut bytes = Encoder::new(anchor.byte_order);
    let (mut written, mut id) = (0, Fnv::default());
    for record in file.records() {
        bytes.clear();
        if record.id == LOCATION {
            let cut =
                location(record.payload, counts, &mut bytes).map_err(|()| Error::Malformed {
                    place: Place::file(file.name().clone()).at(record.offset),
                    expected: "a location".into(),
                    got: "something else".into(),
                })?;
            if !cut {
                continue;
            }
        } else {
            bytes.framed(&unknown(record.id), |out| out.raw(record.payload));
        }
        id.add(bytes.bytes());
        chunks.definition(sink, bytes.bytes())?;
        written += 1;
    }
    chunks.finish(sink)?;
    Ok((written, id.0))
}

/// Copies a location with its new number of events. Returns `false` if it is not selected.
fn location(payload: &[u8], counts: &HashMap<u64, u64>, out: &mut Encoder) -> Result<bool, ()> {
    let mut cursor = Cursor::new(payload, out.order());
    let fields = |cursor: &mut Cursor<'_>| {
        let key = cursor.v64("a location")?;
        let name = cursor.v32("a name")?;
        let kind = cursor.u8("a kind")?;
        cursor.v64("a number of events")?;
        Ok::<_, super::wire::Damage>((key, name, kind))
    };
    let (key, name, kind) = fields(&mut cursor).map_err(|_| ())?;
    let Some(events) = counts.get(&key) else {
        return Ok(false);
    };
    out.framed(&unknown(14), |out| {
        out.v64(key);
        out.v32(name.into());
        out.u8(kind);
        out.v64(*events);
        out.raw(cursor.rest());
    });
    Ok(true)
}
