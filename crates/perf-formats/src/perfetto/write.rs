//! [`write()`]: writes a view of a trace as Perfetto packets (tracks, slices, instants, counters
//! and flows), with several tracks for overlapping activities, and counts them in [`Written`].

mod events;
mod frames;

use super::proto::{Message, field};
use super::track::Tracks;
use crate::lanes::Lanes;
use crate::{Error, Result};
use events::flows;
use frames::{Counter, Frames};
use perf_core::{
    Definitions, Endpoint, Event, EventId, Interval, Job, LocationId, LocationView, MetricId,
    Place, RegionId, Ticks, TraceView, Value, intervals, match_messages, replay,
};
use std::collections::HashMap;
use std::io::Write;

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 18;
/// Id of the only packet sequence of the file.
const SEQUENCE: u64 = 1;
/// Flag: the sequence begins here, without interned names.
const CLEARED: u64 = 1;
/// Flag: the packet refers to interned names.
const NEEDS_NAMES: u64 = 2;
/// Id of Perfetto's clock of the wall time.
const REALTIME: u64 = 1;
/// Id of Perfetto's clock of the time since the system started.
const BOOTTIME: u64 = 6;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;

/// Counts of written and skipped events, returned by [`write()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of tracks.
    pub tracks: u64,
    /// Number of calls and device activities.
    pub slices: u64,
    /// Number of instants: ends of messages and links, and other events with a name.
    pub instants: u64,
    /// Number of metric values.
    pub samples: u64,
    /// Number of flows: messages and links.
    pub flows: u64,
    /// Number of skipped events: unmatched ends of messages, collectives, one-sided communication,
    /// requests, switches of the measurement, call path samples.
    pub left_out: u64,
}

/// Writes a view as a Perfetto trace.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::perfetto;
/// let trace = perf_core::samples::device::trace();
/// let mut file = Vec::new();
/// let written = perfetto::write(trace.view(), &mut file, &Job::default())?;
/// // A process, a device, a thread, two streams, and a lane of the second one.
/// assert_eq!((written.tracks, written.slices, written.flows), (6, 6 + 6, 6));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`] if `to` fails, and [`Error::Cancelled`] if the job was cancelled.
pub fn write(view: TraceView<'_>, to: &mut dyn Write, job: &Job) -> Result<Written> {
    let definitions = view.definitions();
    let start = view.range().map_or(Ticks(0), |range| range.start);
    let mut writer = Writer {
        view,
        definitions,
        tracks: Tracks::new(definitions),
        to,
        bytes: Vec::with_capacity(BUFFER + 4096),
        written: Written::default(),
        names: HashMap::new(),
        flows: Flows::default(),
        counters: HashMap::new(),
        start: nanos(definitions, start),
        job,
    };
    writer.header();
    writer.find_flows(job)?;
    let total = view.ids().count() as u64;
    for location in view.locations() {
        job.check()?;
        writer.location(location)?;
        job.advance("write", 1, total);
    }
    writer.flush()?;
    Ok(writer.written)
}

fn nanos(definitions: &Definitions, at: Ticks) -> i128 {
    match definitions.clock.nanos(at) {
        Some(nanos) => i128::from(nanos.0),
        None => i128::from(at.0),
    }
}

/// Flows by their begin or end event.
#[derive(Debug, Default)]
struct Flows {
    /// Numbers of the flows that begin at an event.
    from: HashMap<EventId, Vec<u64>>,
    /// Numbers of the flows that end at an event.
    to: HashMap<EventId, Vec<u64>>,
}

struct Writer<'a, 'w> {
    /// View to write.
    view: TraceView<'a>,
    /// Definitions of the trace.
    definitions: &'a Definitions,
    /// Track numbers.
    tracks: Tracks<'a>,
    /// Target of the bytes.
    to: &'w mut dyn Write,
    /// Bytes that are not written yet.
    bytes: Vec<u8>,
    /// Counts so far.
    written: Written,
    /// Numbers of names, from 1.
    names: HashMap<String, u64>,
    /// Flows by event.
    flows: Flows,
    /// Tracks of metrics.
    counters: HashMap<(LocationId, MetricId), u64>,
    /// Time of the first event in nanoseconds.
    start: i128,
    /// Job whose cancellation is checked.
    job: &'w Job,
}

impl Writer<'_, '_> {
    fn packet(&mut self, packet: &Message) {
        let mut outer = Message(std::mem::take(&mut self.bytes));
        outer.message(field::TRACE_PACKET, packet);
        self.bytes = outer.0;
    }

    fn flush(&mut self) -> Result<()> {
        let done = self.to.write_all(&self.bytes);
        self.bytes.clear();
        done.map_err(|source| Error::Io {
            place: Place::file("Perfetto trace"),
            source,
        })
    }

    fn header(&mut self) {
        let mut first = Message::default();
        first.number(field::PACKET_SEQUENCE, SEQUENCE);
        first.number(field::PACKET_SEQUENCE_FLAGS, CLEARED);
        let realtime = self.definitions.clock.realtime.map(i128::from);
        let realtime = realtime.and_then(|time| u64::try_from(time + self.start).ok());
        if let Some(realtime) = realtime {
            let mut snapshot = Message::default();
            for (id, time) in [(BOOTTIME, 0), (REALTIME, realtime)] {
                let mut clock = Message::default();
                clock.number(field::CLOCK_ID, id);
                clock.number(field::CLOCK_TIMESTAMP, time);
                snapshot.message(field::SNAPSHOT_CLOCKS, &clock);
            }
            first.message(field::PACKET_CLOCK_SNAPSHOT, &snapshot);
        }
        self.packet(&first);
        for group in self.tracks.groups(self.view) {
            self.describe(&group);
        }
    }

    fn describe(&mut self, track: &Message) {
        let mut packet = Message::default();
        packet.number(field::PACKET_SEQUENCE, SEQUENCE);
        packet.message(field::PACKET_TRACK_DESCRIPTOR, track);
        self.written.tracks += 1;
        self.packet(&packet);
    }

    /// Numbers the links and messages in view, from 1, links first.
    fn find_flows(&mut self, job: &Job) -> Result<()> {
        let view = self.view;
        let ids: std::collections::HashSet<LocationId> = view.ids().collect();
        let is_seen = |end: EventId| {
            let location = view.location(end.location);
            let inside = location.is_some_and(|it| it.range().contains(&(end.index as usize)));
            inside && ids.contains(&end.location)
        };
        for link in view.trace().links() {
            if is_seen(link.from) && is_seen(link.to) {
                self.flow(link.from, link.to);
            }
        }
        let found = match_messages(view, job)?;
        let id = |end: &Endpoint| {
            let index = u32::try_from(end.index).ok()?;
            let location = end.location;
            Some(EventId { location, index }).filter(|id| is_seen(*id))
        };
        for message in &found.messages {
            if let (Some(from), Some(to)) = (id(&message.sender), id(&message.receiver)) {
                self.flow(from, to);
            }
        }
        Ok(())
    }

    fn flow(&mut self, from: EventId, to: EventId) {
        self.written.flows += 1;
        let flow = self.written.flows;
        self.flows.from.entry(from).or_default().push(flow);
        self.flows.to.entry(to).or_default().push(flow);
    }

    fn location(&mut self, location: LocationView<'_>) -> Result<()> {
        let id = location.id();
        let track = self.tracks.location(id);
        let description = self.tracks.describe(id, track, 0);
        self.describe(&description);
        if location.overlaps(self.definitions, self.job)? {
            return self.work(location, track);
        }
        let mut counter = Counter::default();
        replay(location, &mut counter, self.job)?;
        let all = location.all();
        let is_enter = |index: &usize| matches!(all.event(*index), Some(Event::Enter { .. }));
        let enters: Vec<usize> = location.range().filter(is_enter).collect();
        let before = counter.0.saturating_sub(enters.len());
        let job = self.job;
        let mut frames = Frames {
            writer: self,
            location,
            track,
            // Stack frames that are open before the window have no enter in it.
            before,
            enters: enters.into_iter(),
            failed: None,
        };
        replay(location, &mut frames, job)?;
        frames.failed.map_or(Ok(()), Err)
    }

    /// Writes the calls of a location with overlapping activities on as many tracks as calls
    /// overlap, and then its other events.
    fn work(&mut self, location: LocationView<'_>, track: u64) -> Result<()> {
        let mut calls = Vec::new();
        intervals(location, |call| calls.push(call), self.job)?;
        let key = |call: &Interval| (call.start, call.enter);
        self.job.sort_by(&mut calls, |a, b| key(a).cmp(&key(b)))?;
        let mut lanes = Lanes::default();
        let mut tracks = vec![track];
        for call in calls {
            let lane = lanes.take(call.start, call.end);
            if lane == tracks.len() {
                let uuid = self.tracks.more();
                let description = self.tracks.describe(location.id(), uuid, lane);
                self.describe(&description);
                tracks.push(uuid);
            }
            let track = tracks[lane];
            self.begin(location, track, call.start, call.region, Some(call.enter));
            self.event(track, call.end, SLICE_END, None, |_| {});
            self.spill()?;
        }
        for index in location.range() {
            match location.all().event(index) {
                Some(Event::Enter { .. } | Event::Leave { .. }) | None => {}
                Some(event) => self.note(location, track, event, index),
            }
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        if self.bytes.len() >= BUFFER {
            self.job.check()?;
            self.flush()
        } else {
            Ok(())
        }
    }

    fn begin(
        &mut self,
        location: LocationView<'_>,
        track: u64,
        at: Ticks,
        region: RegionId,
        enter: Option<usize>,
    ) {
        self.written.slices += 1;
        let name = self.definitions.region_name(region);
        let (from, to) = self.flows_at(location.id(), enter);
        let enter = enter.into_iter();
        let values: Vec<_> = enter
            .flat_map(|enter| location.all().attributes(enter))
            .collect();
        let definitions = self.definitions;
        self.event(track, at, SLICE_BEGIN, Some(&name), |event| {
            for attribute in values {
                let known = definitions.attributes.get(attribute.attribute.index());
                let mut annotation = Message::default();
                match attribute.value {
                    Value::U64(value) => annotation.number(field::ANNOTATION_UINT, value),
                    Value::I64(value) => annotation.signed(field::ANNOTATION_INT, value),
                    Value::F64(value) => annotation.double(field::ANNOTATION_DOUBLE, value),
                };
                let name = known.map_or("attribute", |known| &known.name);
                annotation.text(field::ANNOTATION_NAME, name);
                event.message(field::EVENT_ANNOTATION, &annotation);
            }
            flows(event, &from, &to);
        });
    }
}
