//! [`write_trace`]: exports a [`Trace`](perf_core::Trace) as a Paraver trace, with the lines of all
//! threads and messages in order of time; [`write_files`]: with its `.pcf` and `.row` files.

mod collectives;
mod event_lines;
mod event_types;
mod message_times;
mod objects;
mod states;
mod steps;

use crate::paraver::header::{Header, Resources, TimeUnit};
use crate::paraver::record::{Communication, OnCpu, Record};
use crate::paraver::rules;
use crate::paraver::write::Writer;
use crate::paraver::{Pcf, Row};
use crate::{Error, Result};
use collectives::Plan;
use event_lines::{Lines, Shared};
use event_types::Names;
use flate2::Compression;
use flate2::write::GzEncoder;
use message_times::Ends;
use objects::ObjectMap;
use perf_core::{
    Diagnostics, Job, LocationId, LocationView, Message, Messages, Nanos, Place, Ticks, TraceView,
    match_messages,
};
use states::{State, States};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use steps::Steps;

/// Companion files of a written `.prv`, and the diagnostics of writing it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Companions {
    /// Names for the `.pcf`.
    pub pcf: Pcf,
    /// Labels for the `.row`.
    pub row: Row,
    /// Dropped and changed parts of the trace.
    pub diagnostics: Diagnostics,
}

/// Writes a trace as a `.prv` into `out`, and returns its companion files. `name` is the name of `out` in errors.
///
/// | in the trace | in Paraver |
/// |---|---|
/// | MPI calls | types 50000001 to 5, with the values that Extrae uses, and the state of the call |
/// | regions with the name of a standard state | the state of this name |
/// | other regions | user functions, type 60000019, and lines, 60000119; outside MPI the state is Running |
/// | no region | state Idle |
/// | messages | communications: those of [`match_messages`](perf_core::match_messages) |
/// | collectives | types 50100001 to 4 |
/// | metrics | types with the increment since the last reading; PAPI counters have their usual types |
/// | samples | callers before MPI calls, sampled functions elsewhere |
/// | processes, locations | tasks, threads; an accelerator stream with overlapping activities becomes as many threads as are active at once |
///
/// Events without a counterpart are counted under [`rules::NOT_WRITTEN`].
///
/// Lines are written incrementally. Messages and collectives are matched before, which takes about 250 bytes for each
/// message and 150 bytes for each member of a collective. Overlapping calls take 40 bytes each.
///
/// ```
/// use perf_core::{Definitions, Event, Events, Job, Location, Region, RegionId, SystemTree, Ticks, Trace};
/// use perf_formats::paraver::write_trace;
/// # let mut definitions = Definitions::default();
/// # definitions.system = SystemTree::new(vec![], vec![], vec![Location::default()], &Default::default())?;
/// definitions.regions.push(Region::named("solve"));
/// let mut events = Events::default();
/// events.push(Ticks(0), Event::Enter { region: RegionId(0) })?;
/// events.push(Ticks(9), Event::Leave { region: RegionId(0) })?;
/// let trace = Trace::new(definitions, vec![events])?;
/// let mut text = Vec::new();
/// let written = write_trace(trace.view(), &mut text, "x.prv", &Job::default())?;
/// let text = String::from_utf8(text).expect("digits are UTF-8");
/// assert_eq!(text.lines().nth(1), Some("1:1:1:1:1:0:9:1"));
/// assert_eq!(text.lines().nth(2), Some("2:1:1:1:1:0:60000019:1"));
/// assert_eq!(written.pcf.value(60_000_019, 1), Some("solve"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns [`Error::Io`] if `out` fails, and [`Error::Cancelled`] if the job was cancelled.
pub fn write_trace<W: Write>(
    view: TraceView<'_>,
    out: W,
    name: &str,
    job: &Job,
) -> Result<Companions> {
    let mut found = Diagnostics::default();
    let messages = match_messages(view, job)?;
    let time = Time::new(view, name, &mut found);
    let mut steps = steps(view, job)?;
    let lanes = |id: LocationId| steps.get(&id).map_or(1, Vec::len);
    let objects = ObjectMap::new(view, lanes);
    let mut names = Names::new(view.definitions());
    let plan = Plan::new(view, &messages, &objects.tasks);
    let mut ends = Ends::default();
    for id in view.ids() {
        job.check()?;
        if let Some(first) = steps.get(&id).and_then(|of| of.first()) {
            ends.add(id, first.clone(), &names);
        }
    }
    let sent = Sent {
        messages: &messages.messages,
        objects: &objects,
        time: &time,
        ends: &ends,
    };
    let unmatched = messages
        .unmatched
        .iter()
        .filter(|one| !plan.is_collective(one.cause));
    found.add_many(
        rules::UNMATCHED,
        unmatched.count() as u64,
        Place::file(name),
    );
    let communicators = plan.communicators(view, &objects.tasks, &mut names);
    let header = Header {
        date: date(view),
        duration: time.of(last(view, &messages)),
        unit: time.unit,
        resources: Resources::Nodes(objects.cpus.clone()),
        applications: objects.applications.clone(),
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
    let mut threads = Vec::new();
    for id in view.ids() {
        let at = objects.of.get(&id).copied().into_iter();
        let all = at.chain(objects.more.get(&id).into_iter().flatten().copied());
        let steps = steps.remove(&id).unwrap_or_default();
        threads.extend(all.zip(steps).map(|(at, steps)| Thread::new(at, steps)));
    }
    let mut shared = Shared {
        plan: &plan,
        names: &mut names,
    };
    let total = view.len() as u64;
    write(&mut threads, &sent, &mut shared, &mut writer, total, job)?;
    for thread in &threads {
        thread.lines.report(name, &mut found);
    }
    writer.finish()?;
    Ok(Companions {
        pcf: names.pcf(),
        row: objects.row,
        diagnostics: found,
    })
}

/// Returns the steps of each location, one [`Steps`] for each lane. A location has several lanes if its calls overlap:
/// as many as there are calls open at once.
fn steps<'a>(view: TraceView<'a>, job: &Job) -> Result<HashMap<LocationId, Vec<Steps<'a>>>> {
    let each = view.locations().map(|location| {
        let steps = if location.overlaps(view.definitions(), job)? {
            Steps::lanes(location, job)?
        } else {
            vec![Steps::nested(location)]
        };
        Ok((location.id(), steps))
    });
    each.collect()
}

/// Returns the time of the last event or message.
fn last(view: TraceView<'_>, messages: &Messages) -> Ticks {
    let (start, end) = (view.window().start, view.window().end);
    let of = |location: LocationView<'_>| location.all().times().last().copied();
    let locations = view.locations().filter_map(of);
    let locations = locations.filter(|at| *at >= start).map(|at| at.min(end));
    let received = messages.messages.iter().map(|one| one.receiver.time);
    locations.chain(received).max().unwrap_or_default()
}

/// Writes a trace to `path` with `.pcf` and `.row` next to it. The trace is compressed if `path` ends in `.gz`. Returns
/// the dropped and changed parts of the trace.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, paraver::{read_trace, write_files}};
/// # let folder = std::env::temp_dir().join(format!("perf-formats-prv-{}", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// let path = folder.join("run.prv.gz");
/// let lost = write_files(perf_core::samples::cosmo::trace().view(), &path, &Job::default())?;
/// assert!(lost.is_empty());
/// let (trace, _) = read_trace(&path, &OpenOptions::new(), &Job::default())?;
/// assert_eq!(trace.definitions().system.locations().len(), 40);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`write_trace`].
pub fn write_files(view: TraceView<'_>, path: impl AsRef<Path>, job: &Job) -> Result<Diagnostics> {
    let path = path.as_ref();
    let name = path.to_string_lossy();
    let failed = |path: &Path, source| Error::Io {
        place: Place::file(path.to_string_lossy()),
        source,
    };
    let file = File::create(path).map_err(|error| failed(path, error))?;
    let written = if path.extension().is_some_and(|end| end == "gz") {
        let mut packed = GzEncoder::new(file, Compression::default());
        let written = write_trace(view, &mut packed, &name, job)?;
        packed.finish().map_err(|error| failed(path, error))?;
        written
    } else {
        write_trace(view, file, &name, job)?
    };
    let stem = crate::paraver::companions::stem(path);
    for (end, text) in [("pcf", written.pcf.text()), ("row", written.row.text())] {
        let path = crate::paraver::companions::with(&stem, end);
        std::fs::write(&path, text).map_err(|error| failed(&path, error))?;
    }
    Ok(written.diagnostics)
}

/// Writer of the lines of one thread.
#[derive(Debug)]
struct Thread<'a> {
    /// Paraver object of the thread.
    at: OnCpu,
    /// States of the thread.
    states: States<'a>,
    /// Next state to write.
    state: Option<State>,
    /// Steps of the thread.
    steps: Steps<'a>,
    /// Event lines of the thread.
    lines: Lines<'a>,
}

impl<'a> Thread<'a> {
    fn new(at: OnCpu, steps: Steps<'a>) -> Self {
        Thread {
            at,
            states: States::new(steps.clone()),
            state: None,
            lines: Lines::new(steps.location()),
            steps,
        }
    }

    /// Returns the time of the next line; `None` at the end.
    fn time(&self) -> Option<Ticks> {
        let state = self.state.map(|state| state.begin);
        [state, self.steps.time()].into_iter().flatten().min()
    }

    /// Writes the lines of an instant, states before events, and returns the number of steps.
    fn write<W: Write>(
        &mut self,
        now: Ticks,
        time: &Time,
        shared: &mut Shared<'_, '_>,
        writer: &mut Writer<W>,
    ) -> Result<u64> {
        while let Some(state) = self.state.filter(|state| state.begin == now) {
            writer.line(Record::State {
                at: self.at,
                begin: time.of(now),
                end: time.of(state.end),
                state: shared.names.state(state.state),
            })?;
            self.state = self.states.next(shared.names);
        }
        if self.steps.time() != Some(now) {
            return Ok(0);
        }
        let lines = &mut self.lines;
        lines.clear();
        let count = self.steps.instant(|step| lines.step(now, step, shared));
        for pairs in lines.lines() {
            let (at, time) = (self.at, time.of(now));
            writer.line(Record::Events { at, time, pairs })?;
        }
        Ok(count)
    }
}

/// Messages ordered by the time of their send calls.
struct Sent<'a> {
    /// Matched messages.
    messages: &'a [Message],
    /// Paraver objects of the locations.
    objects: &'a ObjectMap,
    /// Conversion of times.
    time: &'a Time,
    /// Second timestamps of the messages.
    ends: &'a Ends,
}

impl Sent<'_> {
    fn line<W: Write>(&self, message: &Message, writer: &mut Writer<W>) -> Result<()> {
        let (from, to) = (message.sender, message.receiver);
        let of = |location: LocationId| self.objects.of.get(&location).copied();
        let Some((sender, receiver)) = of(from.location).zip(of(to.location)) else {
            return Ok(());
        };
        writer.line(Record::Communication(&Communication {
            sender,
            logical_send: self.time.of(from.time),
            physical_send: self.time.of(self.ends.of(from)),
            receiver,
            logical_receive: self.time.of(self.ends.of(to)),
            physical_receive: self.time.of(to.time),
            size: message.bytes,
            tag: message.tag.into(),
        }))
    }
}

/// Writes the lines of all threads and messages in order of time. At the same time, the lines of a thread stay together
/// and messages come last.
fn write<W: Write>(
    threads: &mut [Thread<'_>],
    sent: &Sent<'_>,
    shared: &mut Shared<'_, '_>,
    writer: &mut Writer<W>,
    total: u64,
    job: &Job,
) -> Result<()> {
    let mut heap = BinaryHeap::new();
    for (number, thread) in threads.iter_mut().enumerate() {
        thread.state = thread.states.next(shared.names);
        heap.extend(thread.time().map(|at| Reverse((at, number))));
    }
    let mut messages = sent.messages.iter().peekable();
    let first = messages.peek().map(|message| message.sender.time);
    heap.extend(first.map(|at| Reverse((at, threads.len()))));
    let (mut instants, mut events) = (0_u64, 0);
    while let Some(Reverse((now, number))) = heap.pop() {
        let next = match threads.get_mut(number) {
            Some(thread) => {
                events += thread.write(now, sent.time, shared, writer)?;
                thread.time()
            }
            None => {
                while let Some(message) = messages.next_if(|one| one.sender.time == now) {
                    sent.line(message, writer)?;
                }
                messages.peek().map(|message| message.sender.time)
            }
        };
        heap.extend(next.map(|at| Reverse((at, number))));
        instants += 1;
        if instants.is_multiple_of(4096) {
            job.check()?;
            job.advance("lines", std::mem::take(&mut events), total);
        }
    }
    job.advance("lines", events, total);
    Ok(())
}

/// Conversion of the ticks of a trace to those of Paraver.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// Unit of the output.
    unit: TimeUnit,
    /// Tick that becomes time 0: the origin of the clock, or the first event if that is earlier.
    start: u64,
    /// Ticks per second, if they do not match a unit of Paraver.
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

/// Returns the date for the header: the date of the original Paraver trace, otherwise the date of the clock in UTC.
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
    // The calendar repeats every 146,097 days. Years begin in March here, so that leap days end
    // them.
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
