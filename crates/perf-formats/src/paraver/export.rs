//! A [`Trace`](perf_core::Trace) as a trace of Paraver.

use super::export_lines::Lines;
use super::export_names::Names;
use super::export_people::People;
use super::export_plan::Plan;
use super::header::{Header, Resources, TimeUnit};
use super::pcf::{Pcf, Row};
use super::record::{Batch, Communication, Record};
use super::rules;
use super::write::Writer;
use crate::{Error, Result};
use flate2::Compression;
use flate2::write::GzEncoder;
use perf_core::{
    CancelToken, Diagnostics, Endpoint, Messages, Nanos, Place, Progress, Ticks, TraceView,
    match_messages_with,
};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;

/// What belongs to a `.prv` that was written, and what it has no place for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Companions {
    /// Names, for the `.pcf`.
    pub pcf: Pcf,
    /// Labels, for the `.row`.
    pub row: Row,
    /// What was left out or changed.
    pub diagnostics: Diagnostics,
}

/// Writes a trace as a `.prv` into `out`, which errors call `name`; the rest is returned.
///
/// | in the trace | for Paraver |
/// |---|---|
/// | MPI calls | types 50000001 to 5, with the values that Extrae gives them, and the state of the call |
/// | regions with the name of a state | that state |
/// | other regions | user functions, type 60000019, and lines, 60000119; outside MPI the state is Running |
/// | no region | state Idle |
/// | messages | communications: those of [`match_messages`](perf_core::match_messages) |
/// | collectives | types 50100001 to 4 |
/// | metrics | types with what was counted since the last reading; PAPI counters have their usual ones |
/// | samples | callers before MPI calls, sampled functions elsewhere |
/// | processes, locations | tasks, threads |
///
/// Events without a counterpart are counted under [`rules::NOT_WRITTEN`]. Takes memory in
/// proportion to the trace.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// use perf_formats::paraver::write_trace;
/// # let mut definitions = Definitions::default();
/// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// definitions.regions.push(Region::named("solve"));
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(9), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
/// let mut text = Vec::new();
/// let written = write_trace(trace.view(), &mut text, "x.prv", &(), &Default::default())?;
/// let text = String::from_utf8(text).expect("digits are UTF-8");
/// assert_eq!(text.lines().nth(1), Some("1:1:1:1:1:0:9:1"));
/// assert_eq!(text.lines().nth(2), Some("2:1:1:1:1:0:60000019:1"));
/// assert_eq!(written.pcf.value(60_000_019, 1), Some("solve"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`Error::Io`] where `out` fails, and [`Error::Core`] if the work was cancelled.
pub fn write_trace<W: Write>(
    view: TraceView<'_>,
    out: W,
    name: &str,
    progress: &dyn Progress,
    cancel: &CancelToken,
) -> Result<Companions> {
    let mut found = Diagnostics::default();
    let messages = match_messages_with(view, progress, cancel)?;
    let time = Time::new(view, name, &mut found);
    let people = People::new(view);
    let mut names = Names::new(view.definitions());
    let plan = Plan::new(view, &messages, &people.tasks);
    let mut batches = Vec::new();
    let mut ends = HashMap::new();
    let total = view.ids().count() as u64;
    for location in view.locations() {
        cancel.check()?;
        let Some(at) = people.of.get(&location.id()) else {
            continue;
        };
        let mut lines = Lines::new(location, *at, &time, &plan, &mut names);
        perf_core::replay(location, &mut lines);
        let (batch, of_messages) = lines.finish(&mut found)?;
        batches.push(batch);
        ends.extend(of_messages);
        progress.advance("lines", 1, total);
    }
    let sent = communications(&messages, &people, &time, &ends)?;
    let unmatched = messages
        .unmatched
        .iter()
        .filter(|one| !plan.is_collective(one.cause));
    found.add_many(
        rules::UNMATCHED,
        unmatched.count() as u64,
        Place::file(name),
    );
    let communicators = plan.communicators(view, &people.tasks, &mut names);
    let mut last = 0;
    for record in batches.iter().flat_map(Batch::iter) {
        last = last.max(match record {
            Record::State { end, .. } => end.0,
            Record::Events { time, .. } => time.0,
            _ => 0,
        });
    }
    for record in sent.iter() {
        if let Record::Communication(message) = record {
            last = last.max(message.physical_receive.0);
        }
    }
    let header = Header {
        date: date(view),
        duration: Ticks(last),
        unit: time.unit,
        resources: Resources::Nodes(people.cpus.clone()),
        applications: people.applications.clone(),
        communicators: Some(communicators.len() as u64),
    };
    let mut writer = Writer::new(out, name);
    writer.header(&header)?;
    for (application, id, tasks) in &communicators {
        writer.line(Record::Communicator {
            application: *application,
            id: *id,
            tasks,
            is_upper: false,
        })?;
    }
    let mut all: Vec<&Batch> = batches.iter().collect();
    all.push(&sent);
    merge(&all, &mut writer, cancel)?;
    writer.finish()?;
    Ok(Companions {
        pcf: names.pcf(),
        row: people.row,
        diagnostics: found,
    })
}

/// Writes a trace as `path`, packed if that ends in `.gz`, with `.pcf` and `.row` beside it.
///
/// # Errors
/// As [`write_trace`].
pub fn write_files(
    view: TraceView<'_>,
    path: impl AsRef<Path>,
    progress: &dyn Progress,
    cancel: &CancelToken,
) -> Result<Diagnostics> {
    let path = path.as_ref();
    let name = path.to_string_lossy();
    let failed = |path: &Path, source| Error::Io {
        place: Place::file(path.to_string_lossy()),
        source,
    };
    let file = File::create(path).map_err(|error| failed(path, error))?;
    let written = if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = GzEncoder::new(file, Compression::default());
        let written = write_trace(view, &mut packed, &name, progress, cancel)?;
        packed.finish().map_err(|error| failed(path, error))?;
        written
    } else {
        write_trace(view, file, &name, progress, cancel)?
    };
    let stem = super::format::stem(path);
    for (end, text) in [("pcf", written.pcf.text()), ("row", written.row.text())] {
        let path = super::format::with(&stem, end);
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(written.diagnostics)
}

/// Lines of all threads and messages in order of time; at one time states, events and messages of a
/// thread stay together.
fn merge<W: Write>(all: &[&Batch], writer: &mut Writer<W>, cancel: &CancelToken) -> Result<()> {
    let key = |batch: &Batch, index: usize| batch.entries.get(index).map(|entry| entry.time);
    let mut heap = BinaryHeap::new();
    for (number, batch) in all.iter().enumerate() {
        heap.extend(key(batch, 0).map(|time| Reverse((time, number, 0))));
    }
    let mut count = 0_u64;
    while let Some(Reverse((time, number, mut index))) = heap.pop() {
        let Some(batch) = all.get(number) else {
            continue;
        };
        let mut next = Some(time);
        while next == Some(time) {
            writer.record(batch, index)?;
            index += 1;
            next = key(batch, index);
        }
        heap.extend(next.map(|time| Reverse((time, number, index))));
        count += 1;
        if count.is_multiple_of(4096) {
            cancel.check()?;
        }
    }
    Ok(())
}

/// Messages in order of the time their sends were called.
fn communications(
    messages: &Messages,
    people: &People,
    time: &Time,
    ends: &HashMap<Endpoint, Ticks>,
) -> Result<Batch> {
    let mut batch = Batch::default();
    for message in &messages.messages {
        let sides = people
            .of
            .get(&message.sender.location)
            .zip(people.of.get(&message.receiver.location));
        let Some((sender, receiver)) = sides else {
            continue;
        };
        let other = |end: Endpoint| ends.get(&end).copied().unwrap_or(end.time);
        batch.push(Record::Communication(&Communication {
            sender: *sender,
            logical_send: time.of(message.sender.time),
            physical_send: time.of(other(message.sender)),
            receiver: *receiver,
            logical_receive: time.of(other(message.receiver)),
            physical_receive: time.of(message.receiver.time),
            size: message.bytes,
            tag: message.tag.into(),
        }))?;
    }
    Ok(batch)
}

/// Ticks of the trace to those of Paraver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    unit: TimeUnit,
    start: u64,
    /// Ticks a second, where these are no unit of Paraver.
    rate: Option<u64>,
}

impl Time {
    fn new(view: TraceView<'_>, name: &str, found: &mut Diagnostics) -> Self {
        let clock = view.definitions().clock;
        let first = view.range().map_or(Ticks(0), |range| range.start);
        let (unit, rate) = match clock.ticks_per_second() {
            1_000_000_000 => (TimeUnit::Nano, None),
            1_000_000 => (TimeUnit::Micro, None),
            1_000 => (TimeUnit::Milli, None),
            rate => {
                found.add(rules::CLOCK, Place::file(name));
                (TimeUnit::Nano, Some(rate))
            }
        };
        Time {
            unit,
            start: clock.origin().min(first).0,
            rate,
        }
    }

    pub(super) fn of(&self, at: Ticks) -> Ticks {
        let ticks = at.0.saturating_sub(self.start);
        Ticks(match self.rate {
            None => ticks,
            Some(rate) => {
                let nanos = u128::from(ticks) * 1_000_000_000 / u128::from(rate);
                u64::try_from(nanos).unwrap_or(u64::MAX)
            }
        })
    }
}

/// The date of a header: that of the trace of Paraver the trace was, or of its clock, in UTC.
fn date(view: TraceView<'_>) -> String {
    let definitions = view.definitions();
    let mut properties = definitions.properties.iter();
    let known = properties.find(|(key, _)| key == "date");
    if let Some((_, date)) = known.filter(|(_, date)| !date.contains([')', '\n'])) {
        return date.clone();
    }
    let nanos = definitions.clock.realtime.unwrap_or_default();
    let seconds = nanos / Nanos(1_000_000_000).0.unsigned_abs();
    let (days, minutes) = (seconds / 86_400, seconds % 86_400 / 60);
    // The calendar repeats every 146,097 days; years begin in March, so that leap days end them.
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (day, month) = (day - (153 * month + 2) / 5 + 1, (month + 2) % 12 + 1);
    let year = year + 400 * era + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60, minutes % 60);
    format!("{day:02}/{month:02}/{year:04} at {hour:02}:{minute:02}")
}
