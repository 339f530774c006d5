//! [`write()`]: writes a trace as an OTF2 archive; [`Writer`]: does so location by location, for
//! traces that are not in memory as a whole.

mod chunks;
mod definitions;
mod encode;
mod events;
mod sink;

pub use encode::{Arg, Encoder};
pub use sink::{NewArchive, Sink};

use crate::otf2::archive::anchor::Anchor;
use crate::otf2::open_regions::OpenRegions;
use crate::otf2::schema::internal;
use crate::otf2::wire::ByteOrder;
use crate::{Error, Result};
pub(super) use chunks::{Chunks, put};
use definitions::{Records, Seen};
use events::Plan;
use perf_core::{
    Definitions, Diagnostics, Event, Job, LocationView, Place, RegionId, Ticks, TimeRange,
    TraceView,
};
use std::collections::HashSet;

crate::rule_table::rule_table! {
    /// OTF2 has no record for an event, or the event refers to a definition that a trace does not keep.
    EVENT_NOT_WRITTEN: Loss = "event-not-written",
        "an event has no OTF2 record or refers to an element that the trace does not contain; \
         dropped";
    /// An attribute value refers to a definition that a trace does not keep, for example a string.
    ATTRIBUTE_NOT_WRITTEN: Loss = "attribute-not-written",
        "an attribute of an event refers to an element that the trace does not contain; dropped";
    /// Events refer to an undefined region.
    REGION_NAMED: Repair = "region-named",
        "an event refers to an undefined region; defined as `region N`";
    /// A sample is completed with defaults, because a trace keeps only its calling context.
    SAMPLE_COMPLETED: Repair = "sample-completed",
        "a trace contains neither the unwind distance nor the interrupt generator of a \
         sample; written as 1 and as a generic generator";
}

/// Options for writing an archive.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WriteOptions {
    /// Name of the archive, default `traces`, for the files `traces.otf2`, `traces.def` and
    /// `traces/`.
    pub name: String,
    /// Byte order, default little-endian.
    pub order: ByteOrder,
    /// Size of an event chunk in bytes, default 1 MiB. The C library reads 256 KiB to 16 MiB.
    pub event_chunk: u64,
    /// Size of a definition chunk in bytes, default 4 MiB.
    pub definition_chunk: u64,
    /// Name of the writing program, default `perfkit`.
    pub creator: String,
}

impl Default for WriteOptions {
    fn default() -> Self {
        WriteOptions {
            name: "traces".into(),
            order: ByteOrder::Little,
            event_chunk: 1 << 20,
            definition_chunk: 4 << 20,
            creator: "perfkit".into(),
        }
    }
}

impl WriteOptions {
    /// Returns the same options with another name. Default: `traces`.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_formats::otf2::{Archive, MemoryArchive, WriteOptions, write};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (mut archive, options) = (MemoryArchive::default(), WriteOptions::default().with_name("cut"));
    /// write(trace.view(), &mut archive, &options, &Job::default())?;
    /// assert!(archive.size("cut.otf2")? > 0 && archive.size("traces.otf2").is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the same options with another byte order. Default: little-endian.
    pub fn with_order(mut self, order: ByteOrder) -> Self {
        self.order = order;
        self
    }

    /// Returns the same options with other chunk sizes in bytes, for events and definitions.
    /// Defaults: 1 MiB and 4 MiB.
    pub fn with_chunks(mut self, events: u64, definitions: u64) -> Self {
        self.event_chunk = events;
        self.definition_chunk = definitions;
        self
    }
}

/// Writes a view of a trace as an archive: its locations, the events in its window, and all
/// definitions.
///
/// A window may cut calls. The frames open at its start are entered there, and those open at its
/// end are left there, so that the result is balanced. Times are written clock-corrected, as they
/// are in the trace, without clock offsets.
///
/// Returns the losses, counted by [`EVENT_NOT_WRITTEN`] and [`ATTRIBUTE_NOT_WRITTEN`], and the
/// completions, counted by [`REGION_NAMED`] and [`SAMPLE_COMPLETED`]. A trace keeps neither the
/// unwind distance of a sample nor its trigger, so that samples are written with distance 1 and one
/// generator. Enters and leaves of calling contexts are written as those of their regions, as the
/// reader returns them.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// use perf_formats::otf2::{Archive, MemoryArchive, write};
/// let mut definitions = Definitions::default();
/// definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// definitions.regions.push(Region::named("main"));
/// let mut events = Events::default();
/// events.push(Ticks(10), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(90), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
///
/// let mut archive = MemoryArchive::default();
/// let lost = write(trace.view(), &mut archive, &Default::default(), &Job::default())?;
/// assert!(lost.is_empty());
/// assert!(archive.size("traces/0.evt").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`](crate::Error::Io) if the sink fails, [`Error::Limit`](crate::Error::Limit)
/// if a record is longer than a chunk, [`Error::Usage`](crate::Error::Usage) if chunks are too
/// small for any record or two locations have the same key, and
/// [`Error::Cancelled`](crate::Error::Cancelled) if the job was cancelled.
pub fn write(
    view: TraceView<'_>,
    sink: &mut dyn Sink,
    options: &WriteOptions,
    job: &Job,
) -> Result<Diagnostics> {
    let mut writer = Writer::new(sink, view.definitions(), options.clone());
    let total = view.len() as u64;
    let mut done = HashSet::new();
    for location in view.locations() {
        // A view may list a location twice; an archive can contain it only once.
        if !done.insert(location.id()) {
            continue;
        }
        job.check().map_err(perf_core::Error::from)?;
        writer.location(location, job)?;
        job.advance("write", location.len() as u64, total);
    }
    writer.finish()
}

/// Writes an archive location by location, for traces that are not in memory as a whole.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// use perf_formats::otf2::{Archive, MemoryArchive, Writer};
/// let location = |key| Location { key, ..Location::default() };
/// let mut definitions = Definitions::default();
/// let locations = (0..3).map(location).collect();
/// definitions.system = SystemTree::new(vec![], vec![], locations, &Default::default())?;
/// definitions.regions.push(Region::named("main"));
/// let mut archive = MemoryArchive::default();
/// let mut writer = Writer::new(&mut archive, &definitions, Default::default());
/// for at in 0..3 {
///     // One location after the other is in memory.
///     let mut events = vec![Events::absent(); 3];
///     events[at] = Events::default();
///     events[at].push(Ticks(10), Event::Enter { region: RegionId(0) })?;
///     events[at].push(Ticks(90), Event::Leave { region: RegionId(0) })?;
///     let trace = Trace::new(definitions.clone(), events)?;
///     for location in trace.view().locations().skip(at).take(1) {
///         writer.location(location, &Job::default())?;
///     }
/// }
/// assert!(writer.finish()?.is_empty());
/// assert!(archive.size("traces/2.evt").is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Writer<'a> {
    /// Target of the bytes.
    sink: &'a mut dyn Sink,
    /// Definitions of the archive.
    definitions: &'a Definitions,
    /// Options of the writer.
    options: WriteOptions,
    /// Conversion plan of the events.
    plan: Plan<'a>,
    /// Information about the events so far.
    seen: Seen,
    /// Losses so far.
    lost: Diagnostics,
}

impl std::fmt::Debug for Writer<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Writer { options, seen, .. } = self;
        f.debug_struct("Writer")
            .field("options", options)
            .field("seen", seen)
            .finish_non_exhaustive()
    }
}

impl<'a> Writer<'a> {
    /// Creates a writer of an archive with these definitions, without writing yet.
    pub fn new(
        sink: &'a mut dyn Sink,
        definitions: &'a Definitions,
        options: WriteOptions,
    ) -> Self {
        let seen = Seen {
            events: vec![None; definitions.system.locations().len()],
            attributes: vec![None; definitions.attributes.len()],
            ..Seen::default()
        };
        let plan = Plan::new(definitions);
        Writer {
            sink,
            definitions,
            options,
            plan,
            seen,
            lost: Diagnostics::default(),
        }
    }

    /// Writes the events of a location, which must be one of the definitions. Each location can be
    /// written once. A location with absent events gets no event file.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write()`], and [`Error::Usage`] if a location with the same key was
    /// already written.
    pub fn location(&mut self, location: LocationView<'_>, job: &Job) -> Result<()> {
        let Some(defined) = self.definitions.system.location(location.id()) else {
            return Err(perf_core::Error::Undefined {
                what: "location",
                id: location.id().0.into(),
                count: self.definitions.system.locations().len(),
            }
            .into());
        };
        if !self.seen.keys.insert(defined.key) {
            let what = format!("location {} was written already", defined.key);
            return Err(Error::Usage { what });
        }
        let member = format!("{}/{}", self.options.name, defined.key);
        let written = if location.all().is_absent() {
            0
        } else {
            self.events(location, format!("{member}.evt"), job)?
        };
        if let Some(events) = self.seen.events.get_mut(location.id().index()) {
            *events = Some(written);
        }
        let WriteOptions {
            order,
            definition_chunk,
            ..
        } = self.options;
        Chunks::new(format!("{member}.def"), order, definition_chunk)?.finish(self.sink)
    }

    fn events(&mut self, location: LocationView<'_>, member: String, job: &Job) -> Result<u64> {
        let mut chunks = Chunks::new(member, self.options.order, self.options.event_chunk)?;
        let mut record = Encoder::new(self.options.order);
        let (all, range, window) = (location.all(), location.range(), location.window());
        let mut checks = job.checks();
        // An empty window contains no timestamp at which open frames could be entered or left.
        let has_room = window.start < window.end;
        let is_part = range.len() < all.len();
        let mut open = OpenRegions::new(is_part && location.overlaps(self.definitions, job)?);
        if range.start < all.len() && has_room {
            for piece in checks.pieces(0..range.start) {
                piece?
                    .filter_map(|index| all.event(index))
                    .for_each(|event| pass(&mut open, event));
            }
            for region in open.kept() {
                checks.next(1)?;
                let enter = Event::Enter { region };
                self.event(&mut chunks, &mut record, window.start, enter, &[])?;
            }
        }
        let is_cut = range.end < all.len() && has_room;
        let mut attributes = Vec::new();
        for (index, (time, event)) in range.zip(location.iter()) {
            checks.next(1)?;
            attributes.clear();
            attributes.extend(all.attributes(index));
            self.event(&mut chunks, &mut record, time, event, &attributes)?;
            if is_cut {
                pass(&mut open, event);
            }
        }
        if is_cut {
            let last = location.times().last().copied().unwrap_or(window.start);
            let end = Ticks(window.end.0.saturating_sub(1)).max(last);
            for region in open.kept().into_iter().rev() {
                checks.next(1)?;
                self.event(&mut chunks, &mut record, end, Event::Leave { region }, &[])?;
            }
        }
        let events = chunks.events();
        chunks.finish(self.sink)?;
        Ok(events)
    }

    fn event(
        &mut self,
        chunks: &mut Chunks,
        record: &mut Encoder,
        time: Ticks,
        event: Event<'_>,
        attributes: &[perf_core::AttributeValue],
    ) -> Result<()> {
        record.clear();
        let mut lost = 0;
        if !attributes.is_empty() {
            lost = self.plan.attributes(attributes, record);
        }
        if self.plan.event(event, record).is_err() {
            self.lost.add(
                EVENT_NOT_WRITTEN,
                Place::file(self.definitions.event_name(event)),
            );
            return Ok(());
        }
        if let Event::Sample { .. } = event {
            self.lost
                .add(SAMPLE_COMPLETED, Place::file("CallingContextSample"));
        }
        if lost > 0 {
            let place = Place::file(self.definitions.event_name(event));
            self.lost.add_many(ATTRIBUTE_NOT_WRITTEN, lost, place);
        }
        for value in attributes {
            if let Some(kind) = self.seen.attributes.get_mut(value.attribute.index()) {
                kind.get_or_insert(value.type_code);
            }
        }
        if let Event::Enter { region } | Event::Leave { region } = event
            && region.index() >= self.definitions.regions.len()
            && self.seen.undefined_regions.insert(region.0)
        {
            self.lost
                .add(REGION_NAMED, Place::file(format!("region {region}")));
        }
        let end = Ticks(time.0.saturating_add(1));
        let range = self
            .seen
            .range
            .get_or_insert(TimeRange { start: time, end });
        range.start = range.start.min(time);
        range.end = range.end.max(end);
        chunks.event(self.sink, time.0, record.bytes())
    }

    /// Writes the global definitions and the anchor.
    ///
    /// # Errors
    ///
    /// Returns the errors of [`write()`].
    pub fn finish(self) -> Result<Diagnostics> {
        let WriteOptions {
            name,
            order,
            definition_chunk,
            ..
        } = &self.options;
        let records = Records::of(self.definitions, &self.seen);
        let mut chunks = Chunks::new(format!("{name}.def"), *order, *definition_chunk)?;
        let mut bytes = Encoder::new(*order);
        let mut id = Fnv::default();
        for (record, args) in &records {
            bytes.clear();
            bytes.record(record, args);
            id.add(bytes.bytes());
            chunks.definition(self.sink, bytes.bytes())?;
        }
        chunks.finish(self.sink)?;
        let locations = self.seen.events.iter().flatten().count() as u64;
        let anchor = self.anchor(locations, records.len() as u64, id.0);
        put(
            self.sink,
            &format!("{name}.otf2"),
            encode_anchor(&anchor).bytes(),
        )?;
        Ok(self.lost)
    }

    fn anchor(&self, locations: u64, definitions: u64, id: u64) -> Anchor {
        let property = |key: &str| {
            let mut all = self.definitions.properties.iter();
            let found = all.find(|(name, _)| name == key);
            found.map_or_else(String::new, |(_, value)| value.clone())
        };
        // Properties of an anchor have names of the form `NAMESPACE::NAME`; other properties are
        // not written.
        let properties = self.definitions.properties.iter();
        let properties = properties.filter(|(key, _)| key.contains("::"));
        Anchor {
            byte_order: self.options.order,
            anchor_format: 3,
            trace_format: 2,
            version: (3, 0, 0),
            event_chunk: self.options.event_chunk,
            definition_chunk: self.options.definition_chunk,
            substrate: 1,
            compression: 1,
            locations,
            definitions,
            machine: property("otf2.machine"),
            creator: self.options.creator.clone(),
            description: property("otf2.description"),
            properties: properties.cloned().collect(),
            trace_id: Some(id),
            snapshots: 0,
            thumbnails: 0,
        }
    }
}

fn pass(open: &mut OpenRegions<RegionId>, event: Event<'_>) {
    match event {
        Event::Enter { region } => open.enter(region, region),
        Event::Leave { region } => open.leave(region),
        _ => {}
    }
}

/// Encodes the anchor file, always in format 3.
pub(super) fn encode_anchor(anchor: &Anchor) -> Encoder {
    let mut out = Encoder::new(anchor.byte_order);
    out.u8(internal::CHUNK_HEADER);
    out.u8(anchor.byte_order.byte());
    out.text("OTF2");
    let (major, minor, bugfix) = anchor.version;
    for byte in [3, anchor.trace_format, major, minor, bugfix] {
        out.u8(byte);
    }
    out.u64(anchor.event_chunk);
    out.u64(anchor.definition_chunk);
    out.u8(anchor.substrate);
    out.u8(anchor.compression);
    out.u64(anchor.locations);
    out.u64(anchor.definitions);
    out.text(&anchor.machine);
    out.text(&anchor.creator);
    out.text(&anchor.description);
    out.u32(anchor.properties.len() as u32);
    for (key, value) in &anchor.properties {
        out.text(key);
        out.text(value);
    }
    out.u64(anchor.trace_id.unwrap_or_default());
    out.u32(anchor.snapshots);
    out.u32(anchor.thumbnails);
    out.u8(internal::END_OF_FILE);
    out.u8(internal::END_OF_BUFFER);
    out
}

/// FNV-1a hash. The archive id is derived from the definitions, so that the output is reproducible.
pub(super) struct Fnv(pub(super) u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    pub(super) fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    }
}
