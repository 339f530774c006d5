//! Cutting an archive: some locations, a window of time, every record as it stands.

use super::anchor::Anchor;
use super::definitions::DefinitionFile;
use super::local::LocalDefinitions;
use super::maps::Maps;
use super::reader::Reader;
use super::records::RawEvent;
use super::schema::{self, Record, Space, internal};
use super::wire::Cursor;
use super::write::{Chunks, Encoder, Fnv, Sink, WriteOptions, encode_anchor, put};
use crate::{Error, Result};
use perf_core::{CancelToken, FrameStack, LocationId, Place, Progress, RegionId, TimeRange};
use std::collections::HashMap;
use std::ops::ControlFlow;

/// What to keep of an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cut {
    /// Events inside this window of corrected time. Default: all of time.
    pub window: TimeRange,
    /// These locations. Default: all.
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
    /// Everything.
    pub fn new() -> Self {
        Cut::default()
    }

    /// Only events inside `window`, by corrected time. Default: all of time.
    pub fn window(mut self, window: TimeRange) -> Self {
        self.window = window;
        self
    }

    /// Only these locations. Default: all.
    pub fn locations(mut self, locations: Vec<LocationId>) -> Self {
        self.locations = Some(locations);
        self
    }

    /// Another name for the new archive. Default: that of the old one.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }
}

/// Writes a part of an archive as an archive of its own, in memory for one chunk a location.
///
/// Records are copied as they stand, also those this version does not know: nothing is mapped,
/// corrected, unified or repaired, and the definitions stay what they are but for locations that
/// are left out. Calls that the window cuts are entered at its start and left at its end, so that
/// what is written is balanced as far as the original is.
///
/// ```
/// # use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
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
/// # write(trace.view(), &mut whole, &Default::default(), &(), &Default::default())?;
/// // One location that is in `main` from 10 to 90.
/// let reader = Reader::new(whole, &OpenOptions::new())?;
/// let window = TimeRange::new(Ticks(20), Ticks(31)).expect("it ends after it starts");
/// let mut part = MemoryArchive::default();
/// cut(&reader, &Cut::new().window(window), &mut part, &(), &Default::default())?;
/// let (trace, _) = Reader::new(part, &OpenOptions::new())?.read()?;
/// assert_eq!(trace.events()[0].times(), [Ticks(20), Ticks(30)]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Usage`] for an archive without an anchor, [`Error::Malformed`] and
/// [`Error::Truncated`] where an event file is damaged, since what cannot be read cannot be copied;
/// [`Error::Io`] where the system cannot read or write, [`Error::Cancelled`].
pub fn cut(
    reader: &Reader<'_>,
    selection: &Cut,
    sink: &mut dyn Sink,
    progress: &dyn Progress,
    cancel: &CancelToken,
) -> Result<()> {
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
        cancel.check()?;
        let key = reader.key(*location)?;
        let member = format!("{name}/{key}");
        if let Some(local) = reader.source.read_all(&reader.source.local(key))? {
            put(sink, &format!("{member}.def"), &local)?;
        }
        let events = match reader.source.size(&reader.source.events(key))? {
            Some(1..) => {
                let wanted = (selection.window, member.as_str());
                events(reader, *location, anchor, wanted, sink, cancel)?
            }
            _ => 0,
        };
        counts.insert(key, events);
        progress.advance("cut", 1, kept.len() as u64);
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

/// The size of chunks of events in the new archive: that of the old one, unless no record fits it.
fn event_chunk(anchor: &Anchor) -> u64 {
    possible(anchor.event_chunk).unwrap_or(WriteOptions::default().event_chunk)
}

fn definition_chunk(anchor: &Anchor) -> u64 {
    possible(anchor.definition_chunk).unwrap_or(WriteOptions::default().definition_chunk)
}

/// A chunk must hold its marks and a record, and be held in memory.
fn possible(chunk: u64) -> Option<u64> {
    Some(chunk).filter(|chunk| (64..=1 << 30).contains(chunk))
}

/// Records between two looks at the token.
const LOOK: usize = 1 << 16;

/// Copies the events of one location and says how many there are now.
fn events(
    reader: &Reader<'_>,
    location: LocationId,
    anchor: &Anchor,
    (window, member): (TimeRange, &str),
    sink: &mut dyn Sink,
    cancel: &CancelToken,
) -> Result<u64> {
    let local = reader.local_definitions(location)?;
    let chunks = Chunks::new(
        format!("{member}.evt"),
        anchor.byte_order,
        event_chunk(anchor),
    )?;
    let mut copy = Copy {
        local: &local,
        maps: &reader.resolved.maps,
        window,
        chunks,
        record: Encoder::new(anchor.byte_order),
        stack: FrameStack::default(),
        names: Vec::new(),
        phase: Phase::Before,
        last: None,
        order: anchor.byte_order,
    };
    let (mut outcome, mut looked) = (Ok(()), 0_usize);
    reader.records(location, |event| {
        looked += 1;
        if looked.is_multiple_of(LOOK)
            && let Err(over) = cancel.check()
        {
            outcome = Err(over.into());
            return ControlFlow::Break(());
        }
        outcome = copy.event(event, sink);
        if outcome.is_err() || copy.phase == Phase::After {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    outcome?;
    let events = copy.chunks.events();
    copy.chunks.finish(sink)?;
    Ok(events)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Before,
    Inside,
    After,
}

/// Copies the records of one location.
struct Copy<'a> {
    local: &'a LocalDefinitions,
    maps: &'a Maps,
    window: TimeRange,
    chunks: Chunks,
    record: Encoder,
    stack: FrameStack,
    /// What the frames on the stack are to the file.
    names: Vec<Name>,
    phase: Phase,
    /// Raw time of the last record.
    last: Option<u64>,
    order: super::wire::ByteOrder,
}

/// How a file names a frame: by local id.
#[derive(Clone, Copy, Debug)]
enum Name {
    Region(u64),
    Context(u64),
}

const ENTER: u8 = 12;
const LEAVE: u8 = 13;
const CONTEXT_ENTER: u8 = 66;
const CONTEXT_LEAVE: u8 = 67;

impl Copy<'_> {
    fn event(&mut self, event: RawEvent<'_>, sink: &mut dyn Sink) -> Result<()> {
        if self.window != TimeRange::ALL {
            let at = self.local.correct(event.time);
            if self.phase == Phase::Before && at >= self.window.start {
                self.phase = Phase::Inside;
                if at < self.window.end {
                    self.open(event.time, sink)?;
                }
            }
            if at >= self.window.end {
                if self.window.start >= self.window.end {
                    // A window without a tick has no place for the frames that are open around it.
                } else if self.chunks.events() > 0 {
                    self.close(event.time, sink)?;
                } else {
                    // No event inside: what is open is open all along.
                    self.open(event.time, sink)?;
                    self.close(event.time, sink)?;
                }
                self.phase = Phase::After;
                return Ok(());
            }
        } else {
            self.phase = Phase::Inside;
        }
        if self.phase == Phase::Inside {
            self.copy(event, sink)?;
        }
        self.track(event);
        self.last = Some(event.time);
        Ok(())
    }

    fn copy(&mut self, event: RawEvent<'_>, sink: &mut dyn Sink) -> Result<()> {
        self.record.clear();
        if !event.attributes.is_empty() {
            let list = unknown(internal::ATTRIBUTES);
            self.record.framed(&list, |out| out.raw(event.attributes));
        }
        let unknown = unknown(event.id);
        let known = schema::event(event.id).unwrap_or(&unknown);
        self.record.framed(known, |out| out.raw(event.payload));
        self.chunks.event(sink, event.time, self.record.bytes())
    }

    /// Enters what is open at the start of the window, at the first raw time inside it.
    fn open(&mut self, next: u64, sink: &mut dyn Sink) -> Result<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let start = self.window.start;
        let at = first(self.last.unwrap_or(next), next, |raw| {
            self.local.correct(raw) >= start
        });
        for name in self.names.clone() {
            self.frame(true, name, at, sink)?;
        }
        Ok(())
    }

    /// Leaves what is open at the end of the window, at the last raw time inside it.
    fn close(&mut self, next: u64, sink: &mut dyn Sink) -> Result<()> {
        if self.names.is_empty() {
            return Ok(());
        }
        let end = self.window.end;
        let last = self.last.unwrap_or(next);
        let beyond = first(last, next, |raw| self.local.correct(raw) >= end);
        let start = self.window.start;
        let inside = first(last, next, |raw| self.local.correct(raw) >= start);
        let at = beyond.saturating_sub(1).max(last).max(inside.min(beyond));
        for name in self.names.clone().into_iter().rev() {
            self.frame(false, name, at, sink)?;
        }
        Ok(())
    }

    fn frame(&mut self, enters: bool, name: Name, at: u64, sink: &mut dyn Sink) -> Result<()> {
        // Nothing is known of the frames below, so that one is taken to be unwound.
        let (id, args) = match (name, enters) {
            (Name::Region(region), true) => (ENTER, vec![region]),
            (Name::Region(region), false) => (LEAVE, vec![region]),
            (Name::Context(context), true) => (CONTEXT_ENTER, vec![context, 1]),
            (Name::Context(context), false) => (CONTEXT_LEAVE, vec![context]),
        };
        self.record.clear();
        if let Some(record) = schema::event(id) {
            self.record.event(record, &args);
        }
        self.chunks.event(sink, at, self.record.bytes())
    }

    fn track(&mut self, event: RawEvent<'_>) {
        let mut fields = Cursor::new(event.payload, self.order);
        let Ok(name) = fields.v32("a region or calling context") else {
            return;
        };
        let name = u64::from(name);
        let name = match event.id {
            ENTER | LEAVE => Name::Region(name),
            CONTEXT_ENTER | CONTEXT_LEAVE => Name::Context(name),
            _ => return,
        };
        let region = self.region(name);
        if event.id == ENTER || event.id == CONTEXT_ENTER {
            self.stack.enter(region);
            self.names.push(name);
        } else {
            self.stack.leave(region, |_, _, _| ());
            self.names.truncate(self.stack.frames().len());
        }
    }

    /// The region as `replay` will see it; what nothing defines keeps apart from all others.
    fn region(&self, name: Name) -> RegionId {
        const CONTEXTS: u32 = 1 << 30;
        let (dense, missing) = match name {
            Name::Region(id) => {
                let global = self.local.global(Space::Region, id);
                (self.maps.regions.get(global), !(global as u32))
            }
            Name::Context(id) => {
                let global = self.local.global(Space::CallingContext, id);
                let path = self.maps.contexts.get(global);
                let regions = &self.maps.context_regions;
                let region = path.and_then(|path| regions.get(path as usize).copied());
                (region, !(global as u32) ^ CONTEXTS)
            }
        };
        RegionId(dense.unwrap_or(missing))
    }
}

/// The first number from `low` to `high` that fits; `high` if none before it does. Fitting numbers
/// follow on those that do not.
fn first(mut low: u64, mut high: u64, fits: impl Fn(u64) -> bool) -> u64 {
    while low < high {
        let middle = low + (high - low) / 2;
        if fits(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    high
}

/// A record of which only the id is known.
fn unknown(id: u8) -> Record {
    Record {
        id,
        name: "Unknown",
        has_length: true,
        fields: &[],
    }
}

/// Copies the global definitions, without locations that are left out and with the new numbers of
/// events. Returns how many records there are, and a number that tells this archive apart.
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

/// A location with its new number of events; false if it is left out.
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
