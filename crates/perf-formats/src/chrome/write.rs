//! [`write()`]: writes a view of a trace as Chrome Trace Event JSON, with overlapping activities on
//! separate lanes, and with messages and links as flows.

mod calls;
mod collectives;
mod places;

use crate::json::encode;
use crate::lanes::Lanes;
use crate::{Error, Result};
use calls::Call;
use collectives::Collectives;
use perf_core::{
    Event, EventId, Job, LinkKind, LocationId, LocationView, Messages, Place, Ticks, TraceView,
    Value, match_messages,
};
use places::{Places, Thread, category};
use std::collections::{HashMap, HashSet};
use std::io::Write;

/// Size of the write buffer in bytes.
const BUFFER: usize = 1 << 18;

/// Counts of written and skipped events, returned by [`write()`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Written {
    /// Number of calls and device activities.
    pub calls: u64,
    /// Number of instants.
    pub instants: u64,
    /// Number of metric samples.
    pub samples: u64,
    /// Number of flows: messages and links.
    pub flows: u64,
    /// Number of skipped events: unmatched ends of messages and collectives, one-sided communication, requests, switches of the measurement, call path samples.
    pub left_out: u64,
}

/// Writes a view as a Chrome trace for the common viewers.
///
/// | in the trace | in the file |
/// |---|---|
/// | a call on a thread, an activity on a stream | X; of category `kernel`, `gpu_memcpy` or `gpu_memset` on a stream, with `args.device` and `args.stream` |
/// | messages | s and f of category `message` |
/// | a collective operation in a call | arguments of the call, as PyTorch writes them for its own: `Collective name`, `Process Group Name`, `Group size`, `Seq`, `In msg nelems` and `Out msg nelems` with `dtype` `Byte`; and `Is root` |
/// | links | s and f, of category `ac2g` for a launch, with one `args.correlation` at both ends |
/// | metrics | C |
/// | other events with a name | i |
/// | groups and locations | `process_name` and `thread_name` |
///
/// Viewers treat overlapping events of a thread as nested, or drop them. Overlapping activities of
/// a stream are therefore distributed to further threads, its *lanes*, with the same `args.stream`.
/// A fold of `perf-fold` can be written as the trace that it converts to.
///
/// Times are microseconds with three decimals from the origin of the clock. If the wall-clock time
/// of the origin is known, it is written as `baseTimeNanoseconds`. Reading the file returns the
/// same calls, activities, instants and links.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, chrome};
/// let text = r#"[{"ph": "X", "cat": "kernel", "name": "axpy", "pid": 0, "tid": 7, "ts": 1.5, "dur": 2}]"#;
/// let trace = chrome::read("text", text.as_bytes(), &OpenOptions::new(), &Job::default())?.into_trace().expect("it is one");
/// let mut file = Vec::new();
/// let written = chrome::write(trace.view(), &mut file, &Job::default())?;
/// assert_eq!((written.calls, written.left_out), (1, 0));
/// let back = chrome::read("file", std::io::Cursor::new(file), &OpenOptions::new(), &Job::default())?;
/// assert_eq!(back.trace().map(perf_core::Trace::events), Some(trace.events()));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`] if `to` fails, and [`Error::Cancelled`] if the job was cancelled.
pub fn write(view: TraceView<'_>, to: &mut dyn Write, job: &Job) -> Result<Written> {
    let matched = match_messages(view, job)?;
    let mut writer = Writer {
        view,
        collectives: Collectives::new(&matched, view.definitions(), job)?,
        places: Places::new(view.definitions()),
        to,
        text: Vec::with_capacity(BUFFER + 4096),
        written: Written::default(),
        is_first: true,
        lanes: Vec::new(),
        threads: HashMap::new(),
        job,
    };
    writer.header();
    let total = view.ids().count() as u64;
    for location in view.locations() {
        job.check()?;
        writer.location(location)?;
        job.advance("write", 1, total);
    }
    writer.messages(&matched)?;
    writer.links()?;
    writer.order();
    writer.text.extend(b"\n]}\n");
    writer.flush()?;
    Ok(writer.written)
}

/// Names of the parameters of an operation of a training job.
const TRAINING_KEYS: [&str; 4] = ["step", "seq_id", "model_chunk", "mb_id"];

struct Writer<'a, 'w> {
    /// View to write.
    view: TraceView<'a>,
    /// Collective operations by the events of their ends.
    collectives: Collectives,
    /// Processes and threads of the locations.
    places: Places,
    /// Target of the bytes.
    to: &'w mut dyn Write,
    /// Text that is not written yet.
    text: Vec<u8>,
    /// Counts so far.
    written: Written,
    /// `true` before the first event.
    is_first: bool,
    /// Locations of the additional threads, which are numbered after all locations.
    lanes: Vec<LocationId>,
    /// Threads of the activities on additional lanes.
    threads: HashMap<EventId, Thread>,
    /// Job whose cancellation is checked.
    job: &'w Job,
}

impl Writer<'_, '_> {
    fn header(&mut self) {
        self.text
            .extend(b"{\"schemaVersion\": 1, \"displayTimeUnit\": \"ns\"");
        if let Some(base) = self.view.definitions().clock.realtime {
            self.text
                .extend(format!(", \"baseTimeNanoseconds\": {base}").into_bytes());
        }
        self.text.extend(b", \"traceEvents\": [");
        for (pid, name) in self.places.processes.clone() {
            self.begin();
            let start = format!(
                "{{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": {pid}, \"args\": {{\"name\": "
            );
            self.text.extend(start.into_bytes());
            encode(&name, &mut self.text);
            self.text.extend(b"}}");
        }
    }

    /// Begins an event.
    fn begin(&mut self) {
        let lead: &[u8] = if self.is_first { b"\n" } else { b",\n" };
        self.text.extend(lead);
        self.is_first = false;
    }

    fn flush(&mut self) -> Result<()> {
        let done = self.to.write_all(&self.text);
        self.text.clear();
        done.map_err(|source| Error::Io {
            place: Place::file("Chrome trace"),
            source,
        })
    }

    fn location(&mut self, location: LocationView<'_>) -> Result<()> {
        let id = location.id();
        let own = self.places.of(id);
        let known = self.view.definitions().system.location(id);
        let name = known.map_or("", |location| &location.name);
        self.thread(own, name);
        if location.overlaps(self.view.definitions(), self.job)? {
            let (calls, notes) = calls::overlapping(location, self.job)?;
            self.work(location, calls, name)?;
            return self.notes(location, notes);
        }
        let (calls, notes) = calls::nested(location, self.job)?;
        for call in calls {
            self.call(location, call, own)?;
        }
        self.notes(location, notes)
    }

    /// Writes the activities of a stream, each on its first free lane.
    fn work(&mut self, location: LocationView<'_>, calls: Vec<Call>, name: &str) -> Result<()> {
        let id = location.id();
        let own = self.places.of(id);
        let mut lanes = Lanes::default();
        let mut threads = vec![own];
        for call in calls {
            let lane = lanes.take(call.start, call.end);
            if lane == threads.len() {
                let number = self.places.len() + self.lanes.len();
                let thread = (own.0, number as u64);
                self.lanes.push(id);
                self.thread(thread, &format!("{name}, lane {lane}"));
                threads.push(thread);
            }
            let thread = threads[lane];
            if let (1.., Ok(index)) = (lane, u32::try_from(call.enter)) {
                let location = id;
                self.threads.insert(EventId { location, index }, thread);
            }
            self.call(location, call, thread)?;
        }
        Ok(())
    }

    fn notes(&mut self, location: LocationView<'_>, notes: Vec<usize>) -> Result<()> {
        for index in notes {
            self.note(location, index);
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        if self.text.len() >= BUFFER {
            self.job.check()?;
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Writes the name of a thread.
    fn thread(&mut self, (pid, tid): Thread, name: &str) {
        self.begin();
        let start = format!(
            "{{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"name\": "
        );
        self.text.extend(start.into_bytes());
        encode(name, &mut self.text);
        self.text.extend(b"}}");
    }

    /// Writes the display order of threads if it differs from their numbers: lanes below their
    /// stream.
    fn order(&mut self) {
        if self.lanes.is_empty() {
            return;
        }
        let own = self.view.ids().map(|id| (self.places.of(id), id));
        let lanes = (self.places.len() as u64..).zip(&self.lanes);
        let lanes = lanes.map(|(tid, id)| ((self.places.of(*id).0, tid), *id));
        let all: Vec<(Thread, LocationId)> = own.chain(lanes).collect();
        for ((pid, tid), LocationId(order)) in all {
            self.begin();
            let text = format!(
                "{{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": {pid}, \"tid\": {tid}, \"args\": {{\"sort_index\": {order}}}}}"
            );
            self.text.extend(text.into_bytes());
        }
    }

    fn call(&mut self, location: LocationView<'_>, call: Call, thread: Thread) -> Result<()> {
        self.begin();
        self.written.calls += 1;
        let definitions = self.view.definitions();
        let place = definitions.system.location(location.id());
        let name = definitions.region_name(call.region);
        let region = definitions.regions.get(call.region.index());
        let is_beside = self.places.is_beside(location.id());
        let category = category(place, region, &name, is_beside);
        self.text.extend(b"{\"ph\": \"X\", \"cat\": \"");
        self.text.extend(category.as_bytes());
        self.text.extend(b"\", \"name\": ");
        encode(&name, &mut self.text);
        self.at(thread, call.start);
        let mut length = self.nanos(call.end) - self.nanos(call.start);
        let mut args = self.places.args(location.id());
        let offset = self.places.correlations(location.id());
        for attribute in location.all().attributes(call.enter) {
            let known = definitions.attributes.get(attribute.attribute.index());
            let value = match attribute.value {
                Value::U64(value) => i128::from(value),
                Value::I64(value) => i128::from(value),
                Value::F64(_) => continue,
            };
            match known.map(|known| known.name.as_str()) {
                Some("correlation") => args.push(("correlation", (value + offset).to_string())),
                Some("bytes") => args.push(("bytes", value.to_string())),
                Some("duration") if value < 0 => length = value,
                Some(name) => {
                    let kept = TRAINING_KEYS.iter().find(|key| **key == name);
                    args.extend(kept.map(|key| (*key, value.to_string())));
                }
                None => {}
            }
        }
        if let Some(own) = call.collective
            && let Some(end) = event_id(location, own)
            && let Some(Event::CollectiveEnd(own)) = location.all().event(own)
        {
            args.extend(self.collectives.args(end, &own).into_iter().flatten());
        }
        let length = format!(", \"dur\": {}", micros(length));
        self.text.extend(length.into_bytes());
        if !args.is_empty() {
            self.text.extend(b", \"args\": {");
            for (index, (key, value)) in args.iter().enumerate() {
                let lead = if index > 0 { ", " } else { "" };
                self.text
                    .extend(format!("{lead}\"{key}\": {value}").into_bytes());
            }
            self.text.push(b'}');
        }
        self.text.push(b'}');
        self.spill()
    }

    /// Writes process, thread and time.
    fn at(&mut self, (pid, tid): Thread, time: Ticks) {
        let time = micros(self.nanos(time));
        let text = format!(", \"pid\": {pid}, \"tid\": {tid}, \"ts\": {time}");
        self.text.extend(text.into_bytes());
    }

    fn nanos(&self, at: Ticks) -> i128 {
        let clock = self.view.definitions().clock;
        match clock.nanos(at) {
            Some(nanos) => i128::from(nanos.0),
            None => i128::from(at.0),
        }
    }

    fn note(&mut self, location: LocationView<'_>, index: usize) {
        let all = location.all();
        let (Some(time), Some(event)) = (all.time(index), all.event(index)) else {
            return;
        };
        let definitions = self.view.definitions();
        let thread = self.places.of(location.id());
        match event {
            Event::Metric { set, values } => {
                let members = definitions.metric_sets.get(set.index());
                let members = members.map_or(&[][..], |set| &set.members);
                let metrics: Vec<_> = members
                    .iter()
                    .filter_map(|id| definitions.metrics.get(id.index()))
                    .collect();
                let names: Vec<&str> = metrics.iter().map(|metric| metric.name.as_str()).collect();
                for (name, series) in places::series(&names) {
                    self.begin();
                    self.written.samples += 1;
                    self.text.extend(b"{\"ph\": \"C\", \"name\": ");
                    encode(name, &mut self.text);
                    self.at(thread, time);
                    self.text.extend(b", \"args\": {");
                    let mut lead: &[u8] = b"";
                    for (member, series) in series {
                        let Some((metric, bits)) = metrics.get(member).zip(values.get(member))
                        else {
                            continue;
                        };
                        self.text.extend(lead);
                        lead = b", ";
                        encode(series, &mut self.text);
                        let value = match Value::from_bits(metric.value_type, *bits) {
                            Value::U64(value) => value.to_string(),
                            Value::I64(value) => value.to_string(),
                            Value::F64(value) if value.is_finite() => format!("{value:?}"),
                            Value::F64(_) => "null".to_owned(),
                        };
                        self.text.extend(b": ");
                        self.text.extend(value.into_bytes());
                    }
                    self.text.extend(b"}}");
                }
            }
            Event::Other { .. } => {
                self.begin();
                self.written.instants += 1;
                self.text
                    .extend(b"{\"ph\": \"i\", \"s\": \"t\", \"name\": ");
                encode(definitions.event_name(event), &mut self.text);
                self.at(thread, time);
                self.text.push(b'}');
            }
            // Messages are written later, as flows. The begin of a collective operation is lost with its end.
            Event::Send(_) | Event::Recv(_) | Event::CollectiveBegin => {}
            Event::CollectiveEnd(_)
                if event_id(location, index).is_some_and(|end| self.collectives.contains(end)) => {}
            _ => self.written.left_out += 1,
        }
    }

    fn messages(&mut self, found: &Messages) -> Result<()> {
        let is_message = |end: &perf_core::Endpoint| {
            let events = self.view.trace().events().get(end.location.index());
            let event = events.and_then(|events| events.event(end.index));
            matches!(event, Some(Event::Send(_) | Event::Recv(_)))
        };
        let alone = found.unmatched.iter().filter(|it| is_message(&it.end));
        self.written.left_out += alone.count() as u64;
        for (id, message) in found.messages.iter().enumerate() {
            let end = |end: perf_core::Endpoint| (self.places.of(end.location), end.time);
            let (from, to) = (end(message.sender), end(message.receiver));
            self.flow("message", id, from, to)?;
        }
        Ok(())
    }

    fn links(&mut self) -> Result<()> {
        let ids: HashSet<LocationId> = self.view.ids().collect();
        let view = self.view;
        let seen = |end: EventId| {
            let location = view.location(end.location)?;
            let inside = location.range().contains(&(end.index as usize));
            let time = location.all().time(end.index as usize)?;
            (inside && ids.contains(&end.location)).then_some(time)
        };
        for (id, link) in view.trace().links().iter().enumerate() {
            let (Some(from), Some(to)) = (seen(link.from), seen(link.to)) else {
                continue;
            };
            let thread = |end: EventId| {
                let lane = self.threads.get(&end).copied();
                lane.unwrap_or_else(|| self.places.of(end.location))
            };
            let (from, to) = ((thread(link.from), from), (thread(link.to), to));
            let category = match link.kind {
                LinkKind::Launch => "ac2g",
                _ => "flow",
            };
            self.flow(category, id, from, to)?;
        }
        Ok(())
    }

    fn flow(
        &mut self,
        category: &str,
        id: usize,
        from: (Thread, Ticks),
        to: (Thread, Ticks),
    ) -> Result<()> {
        self.written.flows += 1;
        for (phase, (thread, time)) in [("s", from), ("f", to)] {
            self.begin();
            let bind = if phase == "f" { ", \"bp\": \"e\"" } else { "" };
            let text = format!(
                "{{\"ph\": \"{phase}\", \"id\": {id}, \"cat\": \"{category}\", \"name\": \"{category}\"{bind}"
            );
            self.text.extend(text.into_bytes());
            self.at(thread, time);
            self.text.push(b'}');
        }
        self.spill()
    }
}

/// Returns the id of an event of a location.
fn event_id(location: LocationView<'_>, index: usize) -> Option<EventId> {
    let index = u32::try_from(index).ok()?;
    Some(EventId {
        location: location.id(),
        index,
    })
}

/// Formats nanoseconds as microseconds with three decimals.
fn micros(nanos: i128) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    format!("{sign}{}.{:03}", nanos / 1000, nanos % 1000)
}
