//! [`events()`]: copies the event records of one location inside a time window to a new archive,
//! with enters and leaves for the regions that are open at its ends.

use super::event_chunk;
use crate::Result;
use crate::otf2::archive::anchor::Anchor;
use crate::otf2::definitions::id_maps::Maps;
use crate::otf2::definitions::local::LocalDefinitions;
use crate::otf2::open_regions::OpenRegions;
use crate::otf2::raw_events::RawEvent;
use crate::otf2::reader::Reader;
use crate::otf2::schema::event_ids::{CONTEXT_ENTER, CONTEXT_LEAVE, ENTER, LEAVE};
use crate::otf2::schema::{self, Record, Space, internal};
use crate::otf2::wire::{ByteOrder, Cursor};
use crate::otf2::write::{Chunks, Encoder, Sink};
use perf_core::{Job, LocationId, RegionId, TimeRange};
use std::ops::ControlFlow;

/// Copies the events of one location and returns their number in the new archive.
pub(super) fn events(
    reader: &Reader<'_>,
    location: LocationId,
    anchor: &Anchor,
    (window, member): (TimeRange, &str),
    sink: &mut dyn Sink,
    job: &Job,
) -> Result<u64> {
    let local = reader.local_definitions(location)?;
    let chunks = Chunks::new(
        format!("{member}.evt"),
        anchor.byte_order,
        event_chunk(anchor),
    )?;
    let defined = reader.resolved.definitions.system.location(location);
    let kind = defined.map(|it| it.kind).unwrap_or_default();
    let mut copy = Copy {
        local: &local,
        maps: &reader.resolved.maps,
        window,
        chunks,
        record: Encoder::new(anchor.byte_order),
        open: OpenRegions::of(kind),
        phase: Phase::Before,
        last: None,
        order: anchor.byte_order,
    };
    let (mut outcome, mut checks) = (Ok(()), job.checks());
    reader.records(location, |event| {
        if let Err(over) = checks.next(1) {
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

/// State of copying the records of one location.
struct Copy<'a> {
    /// Local definitions of the location.
    local: &'a LocalDefinitions,
    /// Maps from ids of the file to dense ids.
    maps: &'a Maps,
    /// Window of corrected time to keep.
    window: TimeRange,
    /// Writer of the new event file.
    chunks: Chunks,
    /// Encoder for added enters and leaves.
    record: Encoder,
    /// Open frames, as named by the file.
    open: OpenRegions<Name>,
    /// Position relative to the window.
    phase: Phase,
    /// Raw time of the last record.
    last: Option<u64>,
    /// Byte order of the new file.
    order: ByteOrder,
}

/// Reference of a file to a frame, by local id.
#[derive(Clone, Copy, Debug)]
enum Name {
    Region(u64),
    Context(u64),
}

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
                    // An empty window contains no timestamp at which open frames could be entered
                    // or left.
                } else if self.chunks.events() > 0 {
                    self.close(event.time, sink)?;
                } else {
                    // No event inside the window: the open frames stay open throughout.
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

    /// Writes enters for the frames that are open at the start of the window, at the first raw time
    /// inside it.
    fn open(&mut self, next: u64, sink: &mut dyn Sink) -> Result<()> {
        let names = self.open.kept();
        if names.is_empty() {
            return Ok(());
        }
        let start = self.window.start;
        let at = first(self.last.unwrap_or(next), next, |raw| {
            self.local.correct(raw) >= start
        });
        for name in names {
            self.frame(true, name, at, sink)?;
        }
        Ok(())
    }

    /// Writes leaves for the frames that are open at the end of the window, at the last raw time
    /// inside it.
    fn close(&mut self, next: u64, sink: &mut dyn Sink) -> Result<()> {
        let names = self.open.kept();
        if names.is_empty() {
            return Ok(());
        }
        let end = self.window.end;
        let last = self.last.unwrap_or(next);
        let beyond = first(last, next, |raw| self.local.correct(raw) >= end);
        let start = self.window.start;
        let inside = first(last, next, |raw| self.local.correct(raw) >= start);
        let at = beyond.saturating_sub(1).max(last).max(inside.min(beyond));
        for name in names.into_iter().rev() {
            self.frame(false, name, at, sink)?;
        }
        Ok(())
    }

    fn frame(&mut self, enters: bool, name: Name, at: u64, sink: &mut dyn Sink) -> Result<()> {
        // The unwind distance is unknown here; 1 states that only this frame changed.
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
            self.open.enter(region, name);
        } else {
            self.open.leave(region);
        }
    }

    /// Returns the region id for the stack replay. Undefined ids stay distinct from all others.
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

/// Returns the first number in `low..=high` that satisfies `fits`, or `high` if none before it
/// does. Requires that `fits` is monotonic: false, then true.
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

/// Returns a schema record for an unknown kind, with the id only.
pub(super) fn unknown(id: u8) -> Record {
    Record {
        id,
        name: "Unknown",
        has_length: true,
        fields: &[],
    }
}
