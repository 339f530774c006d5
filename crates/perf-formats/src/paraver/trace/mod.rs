//! [`read_trace`]: converts the records of a `.prv` to a [`Trace`], with names from the `.pcf` and
//! labels from the `.row`.

mod deferred_events;
mod definitions;
mod locations;
mod record_order;
mod thread_sweep;

pub use locations::object_of;

use crate::paraver::companions::read_companion;
use crate::paraver::names;
use crate::paraver::reader::Reader;
use crate::paraver::record::{Batch, Communication, OnCpu, Pair, Record};
use crate::paraver::rules;
use crate::paraver::{Pcf, Row};
use crate::read_context::ReadContext;
use crate::{Error, OpenOptions, Result};
use deferred_events::{DeferredEvent, UnselectedCollective};
use definitions::Tables;
use locations::{Comms, Threads, system};
use perf_core::{
    Definitions, Diagnostics, Event, Events, Job, Merge, Place, Ticks, Trace, Transfer,
};
use record_order::{Beyond, Log, Sorted};
use std::path::Path;
use thread_sweep::{Scratch, Shared, Stream};

/// Reads a trace with the `.pcf` and `.row` next to it.
///
/// See the [module](super) for the conversion rules.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, paraver};
/// let (trace, diagnostics) = paraver::read_trace("run.prv.gz", &OpenOptions::new(), &Job::default())?;
/// println!("{} events; {diagnostics}", trace.len());
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`Reader::open`] and [`Reader::next_batch`], [`Error::Limit`] if a limit
/// is exceeded, and [`Error::Strict`] for the first repair or loss in strict mode.
pub fn read_trace(
    path: impl AsRef<Path>,
    options: &OpenOptions,
    job: &Job,
) -> Result<(Trace, Diagnostics)> {
    let path = path.as_ref();
    let reader = Reader::open(path, options, job)?;
    let limits = options.get_limits();
    let mut found = Diagnostics::default();
    let trace = path.to_string_lossy();
    let mut companion = |end: &str, rule| -> Result<Option<(String, Vec<u8>)>> {
        let file = read_companion(path, end, limits, job)?;
        if file.is_none() {
            found.add(rule, Place::file(&*trace));
        }
        Ok(file)
    };
    let pcf = companion("pcf", rules::NO_PCF)?;
    let row = companion("row", rules::NO_ROW)?;
    let named = pcf.unwrap_or_default();
    let pcf = Pcf::parse(&named.1);
    pcf.report(&named.0, &mut found);
    let named = row.unwrap_or_default();
    let row = Row::parse(&named.1);
    row.report(&named.0, &mut found);
    let (trace, own) = into_trace(reader, &pcf, &row)?;
    found.merge(&own);
    Ok((trace, found))
}

/// Reads the rest of a reader as a trace, with names from a `.pcf` and labels from a `.row`. Both
/// may be empty.
///
/// ```
/// use perf_core::Job;
/// use perf_formats::{OpenOptions, paraver::{Pcf, Reader, Row, into_trace}};
/// let text = "#Paraver (01/01/2024 at 00:00):100_ns:1(1):1:1(1:1)\n1:1:1:1:1:0:100:1\n";
/// let pcf = Pcf::parse(b"STATES\n0    Idle\n1    Computing\n");
/// let reader = Reader::new(text.as_bytes(), "run.prv", &OpenOptions::new(), &Job::default())?;
/// let (trace, _) = into_trace(reader, &pcf, &Row::default())?;
/// assert_eq!(trace.len(), 2);
/// assert!(trace.definitions().regions.iter().any(|region| region.name == "Computing"));
/// # Ok::<(), perf_formats::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of [`read_trace`].
pub fn into_trace(reader: Reader<'_>, pcf: &Pcf, row: &Row) -> Result<(Trace, Diagnostics)> {
    let Some(path) = reader.path().map(Path::to_path_buf) else {
        return sweep(reader, pcf, row, Sorted::All)?.map_err(|_| Error::Usage {
            what: "the records of a trace are out of order: open it as a file".into(),
        });
    };
    let options = reader.options().clone();
    match sweep(reader, pcf, row, Sorted::No)? {
        Ok(swept) => Ok(swept),
        Err(unordered) => {
            let reader = Reader::open(path, &options, &options.job)?;
            let sorted = Sorted::Threads(unordered);
            sweep(reader, pcf, row, sorted)?.map_err(|_| Error::Usage {
                what: "the trace changed while it was read".into(),
            })
        }
    }
}

/// A trace, or the threads with records that must be sorted.
type Swept = std::result::Result<(Trace, Diagnostics), Vec<bool>>;

/// Reads the rest of a reader and sorts the records of the threads in `sorted`.
fn sweep(mut reader: Reader<'_>, pcf: &Pcf, row: &Row, sorted: Sorted) -> Result<Swept> {
    let options = reader.options().clone();
    let name = reader.name().to_string();
    let header = reader.header().clone();
    let mut found = Diagnostics::default();
    let threads = Threads::new(&header, reader.bound(), &name, &options)?;
    let system = system(&header, row, &options)?;
    let mut sweep = Sweep {
        streams: Vec::new(),
        shared: Shared {
            tables: Tables::new(pcf, options.get_limits()),
            comms: Comms::new(options.get_limits()),
            found: &mut found,
            name: &name,
            window: options.get_window(),
            depth: options.get_limits().depth as usize,
            scratch: Scratch::default(),
        },
        threads,
        beyond: Beyond::new(header.duration.0),
        has_beyond: Vec::new(),
        logs: Vec::new(),
        requests: 0,
        damaged: Vec::new(),
        comments: Vec::new(),
        calls: Vec::new(),
        name: &name,
    };
    for location in system.locations() {
        let object = self::locations::object_of(location).unwrap_or_default();
        let is_wanted = options.wants(location.key);
        let is_sorted = match &sorted {
            Sorted::No => false,
            // Threads after the last unsorted one are not listed.
            Sorted::Threads(threads) => threads.get(sweep.streams.len()).copied().unwrap_or(false),
            Sorted::All => true,
        };
        sweep.logs.push(is_sorted.then(Log::default));
        sweep.has_beyond.push(false);
        sweep.streams.push(Stream::new(object, is_wanted));
    }
    let limit = options.get_limits().memory;
    reader.each_batch(|batch| {
        sweep.batch(batch)?;
        match limit {
            u64::MAX => Ok(()),
            limit => sweep.check_memory(limit),
        }
    })?;
    if let Some(unordered) = sweep.unordered() {
        return Ok(Err(unordered));
    }
    let mut definitions = Definitions::default();
    definitions.clock = header.unit.clock();
    let processes: Vec<u32> = system
        .location_ids()
        .map(|id| system.process(id).map_or(u32::MAX, |group| group.0))
        .collect();
    let comments = std::mem::take(&mut sweep.comments);
    let (events, tables, comms) = sweep.finish(&processes, &options)?;
    definitions.system = system;
    definitions.regions = tables.regions;
    definitions.metrics = tables.metrics;
    definitions.metric_sets = tables.sets;
    definitions.kinds = tables.kinds;
    definitions.contexts = tables.contexts;
    definitions.comms = comms.all;
    definitions.properties = vec![
        ("date".into(), header.date.clone()),
        ("duration".into(), header.duration.to_string()),
    ];
    definitions.properties.extend(comments);
    let trace = Trace::new(definitions, events)?;
    found.merge(reader.diagnostics());
    options.judge(&found)?;
    Ok(Ok((trace, found)))
}

/// Maximum number of comments of the body that are kept as properties.
const COMMENTS: usize = 256;

struct Sweep<'a, 'p> {
    /// State of each thread.
    streams: Vec<Stream>,
    /// State shared by all threads.
    shared: Shared<'a, 'p>,
    /// Numbers of the threads of the header.
    threads: Threads,
    /// Counter of the records beyond twice the duration.
    beyond: Beyond,
    /// `true` for threads with a record beyond twice the duration.
    has_beyond: Vec<bool>,
    /// Stored records of the threads that are sorted; `None` for other threads.
    logs: Vec<Option<Log>>,
    /// Number of requests so far.
    requests: u64,
    /// Times of messages that count as damaged if the header is trusted.
    damaged: Vec<DamagedTime>,
    /// Comments of the body.
    comments: Vec<(String, String)>,
    /// Scratch buffer for the events of an unselected thread.
    calls: Vec<Pair>,
    /// Name of the trace in errors.
    name: &'a str,
}

/// Time of a message that lies beyond twice the duration, and counts as damaged if the header is trusted.
#[derive(Clone, Copy, Debug)]
struct DamagedTime {
    /// Number of the thread.
    stream: usize,
    /// Index of the deferred event with the damaged time; `None` if no event has it, for the call of a receive.
    late: Option<usize>,
    /// Other time of the same end of the message, which replaces the damaged time.
    other: Ticks,
}

/// Returns `true` if an event marks the begin or end of an MPI call, or a property of a collective.
fn is_of_call(pair: &Pair) -> bool {
    names::CALLS.contains(&pair.kind) || names::COLLECTIVE_FACTS.contains(&pair.kind)
}

impl<'p> Sweep<'_, 'p> {
    fn batch(&mut self, batch: &Batch) -> Result<()> {
        let name = self.name;
        for (index, record) in batch.iter().enumerate() {
            let place = || {
                Place::file(name)
                    .at(batch.offset(index))
                    .record(format!("line {}", batch.line(index)))
            };
            match record {
                Record::State {
                    at,
                    begin,
                    end,
                    state,
                } => {
                    if let Some(number) = self.stream(at, place) {
                        self.note_beyond(number, begin.0.max(end.0));
                        let shared = &mut self.shared;
                        let stream = self.streams.get_mut(number);
                        let Some(stream) = stream.filter(|of| of.is_wanted) else {
                            continue;
                        };
                        if let Some(Some(log)) = self.logs.get_mut(number) {
                            let at = (batch.offset(index), batch.line(index));
                            log.state(at, (begin.0, end.0), state);
                            continue;
                        }
                        let done = stream.state(begin.0, end.0, state, place, shared);
                        done.map_err(|error| error.found_at(place))?;
                    }
                }
                Record::Events { at, time, pairs } => {
                    let Some(number) = self.stream(at, place) else {
                        continue;
                    };
                    self.note_beyond(number, time.0);
                    let Some(stream) = self.streams.get_mut(number) else {
                        continue;
                    };
                    let pairs = if stream.is_wanted {
                        pairs
                    } else {
                        // Collectives of unselected threads are counted with the others.
                        self.calls.clear();
                        self.calls
                            .extend(pairs.iter().filter(|pair| is_of_call(pair)));
                        self.calls.as_slice()
                    };
                    if pairs.is_empty() {
                        continue;
                    }
                    if let Some(Some(log)) = self.logs.get_mut(number) {
                        log.events((batch.offset(index), batch.line(index)), time.0, pairs);
                    } else {
                        let done = stream.pairs(time.0, pairs, &mut self.shared);
                        done.map_err(|error| error.found_at(place))?;
                    }
                }
                Record::Communication(message) => self.message(message, place),
                Record::Communicator { .. } | Record::InterCommunicator { .. } => {
                    let shared = &mut self.shared;
                    shared
                        .comms
                        .add(record, &self.threads, &place(), shared.found);
                }
                Record::Global(_) => self.shared.found.add(rules::GLOBAL, place()),
                Record::Comment(text) => {
                    if self.comments.len() < COMMENTS {
                        let text = String::from_utf8_lossy(text).into_owned();
                        self.comments.push(("comment".into(), text));
                    }
                }
                Record::Blank => {}
            }
        }
        Ok(())
    }

    #[inline]
    fn note_beyond(&mut self, thread: usize, time: u64) {
        if self.beyond.is_beyond(time)
            && let Some(has_beyond) = self.has_beyond.get_mut(thread)
        {
            *has_beyond = true;
        }
    }

    /// Processes the stored records of all threads that turned out to be in order. Keeps the order of the file, so that
    /// the trace does not depend on its source.
    fn give_sorted(&mut self) -> Result<()> {
        let is_trusted = self.beyond.latest().is_some();
        let mut sorted: Vec<Option<Log>> = Vec::with_capacity(self.logs.len());
        for (log, has_beyond) in self.logs.iter_mut().zip(&self.has_beyond) {
            let is_plain = |log: &mut Log| log.is_sorted() && !(is_trusted && *has_beyond);
            sorted.push(log.take_if(is_plain));
        }
        let mut order = Vec::new();
        for (thread, log) in sorted.iter().enumerate() {
            let offsets = log.iter().flat_map(Log::offsets).enumerate();
            order.extend(offsets.map(|(index, offset)| (offset, thread, index)));
        }
        order.sort_unstable();
        for (_, thread, index) in order {
            if let (Some(Some(log)), Some(stream)) =
                (sorted.get(thread), self.streams.get_mut(thread))
            {
                log.give(index, stream, &mut self.shared)?;
            }
        }
        Ok(())
    }

    /// Returns `true` for each thread whose records must be sorted or repaired. `None` if the records of all such
    /// threads are already stored for sorting.
    fn unordered(&self) -> Option<Vec<bool>> {
        let is_trusted = self.beyond.latest().is_some();
        let streams = self.streams.iter().zip(&self.has_beyond);
        let must = |(stream, has_beyond): (&Stream, &bool)| {
            stream.is_unordered || (is_trusted && *has_beyond)
        };
        let all: Vec<bool> = streams.map(must).collect();
        let is_sorted = |(must, log): (&bool, &Option<Log>)| !must || log.is_some();
        if all.iter().zip(&self.logs).all(is_sorted) {
            None
        } else {
            Some(all)
        }
    }

    /// Returns the number of the thread of a record. Reports a change of its CPU, and a thread that does not exist.
    #[inline]
    fn stream(&mut self, at: OnCpu, place: impl Fn() -> Place) -> Option<usize> {
        let found = &mut self.shared.found;
        let Some(number) = self.threads.number(at.object) else {
            found.add(rules::UNKNOWN_OBJECT, place());
            return None;
        };
        let stream = self.streams.get_mut(number)?;
        if stream.cpu != at.cpu {
            if stream.cpu != 0 {
                found.add(rules::CPU_CHANGED, place());
            }
            stream.cpu = at.cpu;
        }
        Some(number)
    }

    /// Adds both ends of a message. The send has the time of its call and is completed when the message left. The
    /// receive has the time of arrival and is posted at the time of its call.
    fn message(&mut self, message: &Communication, place: impl Fn() -> Place) {
        let sent = message.logical_send.max(message.physical_send);
        let received = message.logical_receive.max(message.physical_receive);
        self.beyond.is_beyond(sent.max(received).0);
        let (sender, receiver) = (message.sender.object, message.receiver.object);
        let known = self
            .threads
            .number(sender)
            .zip(self.threads.number(receiver));
        let comm = self
            .shared
            .comms
            .of(sender.application, receiver.application, &self.threads);
        let Some(((from, to), comm)) = known.zip(comm) else {
            self.shared.found.add(rules::UNKNOWN_OBJECT, place());
            return;
        };
        if u32::try_from(message.tag).is_err() {
            self.shared.found.add(rules::TAG, place());
        }
        let transfer = |peer: u32, request: Option<u64>| Transfer {
            peer: peer.saturating_sub(1),
            comm,
            tag: message.tag as u32,
            bytes: message.size,
            request,
        };
        let beyond = self.beyond;
        let damaged = &mut self.damaged;
        let mut add =
            |number: usize, (time, other): (Ticks, Ticks), is_end: bool, event: Event<'static>| {
                let window = self.shared.window;
                if let Some(stream) = self.streams.get_mut(number)
                    && stream.is_wanted
                {
                    let before = stream.late.len();
                    let late = DeferredEvent {
                        time: time.0,
                        is_end,
                        event,
                    };
                    stream.push_late(late, window);
                    let is_damaged = beyond.is_later(time.0) && !beyond.is_later(other.0);
                    if is_damaged && stream.late.len() > before {
                        damaged.push(DamagedTime {
                            stream: number,
                            late: Some(before),
                            other,
                        });
                    }
                }
            };
        let mut request = |first: Ticks, second: Ticks| {
            (first < second).then(|| {
                self.requests += 1;
                self.requests
            })
        };
        let sending = request(message.logical_send, message.physical_send);
        let send = Event::Send(transfer(receiver.task, sending));
        let (called, left) = (message.logical_send, message.physical_send);
        add(from, (called, left), false, send);
        if let Some(request) = sending {
            let done = Event::SendComplete { request };
            add(from, (left, called), true, done);
        }
        let (called, arrived) = (message.logical_receive, message.physical_receive);
        let receiving = request(called, arrived);
        if let Some(request) = receiving {
            let posted = Event::RecvPost { request };
            add(to, (called, arrived), false, posted);
        }
        let received = Event::Recv(transfer(sender.task, receiving));
        // A message cannot arrive before it left. The replacement is therefore not earlier than the
        // send, if the time of the send is plausible.
        let other = if beyond.is_later(left.0) {
            called
        } else {
            called.max(left)
        };
        add(to, (arrived, other), true, received);
        let is_wanted = self.streams.get(to).is_some_and(|stream| stream.is_wanted);
        if is_wanted && beyond.is_later(called.0) && !beyond.is_later(arrived.0) {
            self.damaged.push(DamagedTime {
                stream: to,
                late: None,
                other: arrived,
            });
        }
    }

    /// Replaces damaged times of messages by the other time of the same end if the header is trusted, that is, if there
    /// is a `latest` plausible time.
    fn repair_messages(&mut self, latest: Option<u64>) {
        if latest.is_none() {
            return;
        }
        for damaged in std::mem::take(&mut self.damaged) {
            let stream = self.streams.get_mut(damaged.stream);
            let late = stream.zip(damaged.late);
            if let Some(late) = late.and_then(|(stream, at)| stream.late.get_mut(at)) {
                late.time = damaged.other.0;
                // Orders the event after the event of the same message that begins at this time.
                late.is_end = false;
            }
            let place = Place::file(self.name).record("a message");
            self.shared.found.add(rules::TIME_JUMP, place);
        }
    }

    fn check_memory(&self, limit: u64) -> Result<()> {
        let events = |stream: &Stream| {
            let late = stream.late.capacity() * size_of::<DeferredEvent>();
            stream.events.memory()
                + late
                + stream.unkept.capacity() * size_of::<UnselectedCollective>()
        };
        let logs = self.logs.iter().flatten().map(Log::memory);
        let memory = self.streams.iter().map(events).chain(logs).sum::<usize>();
        if memory as u64 > limit {
            Err(Error::Limit {
                place: Place::file(self.name),
                what: "bytes of events in memory",
                got: memory as u64,
                limit,
            })
        } else {
            Ok(())
        }
    }

    fn finish(
        mut self,
        processes: &[u32],
        options: &ReadContext,
    ) -> Result<(Vec<Events>, Tables<'p>, Comms)> {
        let latest = self.beyond.latest();
        self.give_sorted()?;
        self.repair_messages(latest);
        for (stream, log) in self.streams.iter_mut().zip(&mut self.logs) {
            options.advance(0, 0)?;
            if let Some(log) = log.take() {
                log.replay(stream, latest, &mut self.shared)?;
            }
            let place = || Place::file(self.name).record("the end");
            let done = stream.finish(&mut self.shared);
            done.map_err(|error| error.found_at(place))?;
            let count = deferred_events::take_back(&mut stream.late, latest);
            let place = Place::file(self.name).record("a message");
            self.shared.found.add_many(rules::TIME_JUMP, count, place);
        }
        let mixed = self.shared.tables.settle();
        let place = Place::file(self.name);
        self.shared
            .found
            .add_many(rules::SIGN, mixed, place.clone());
        let unnamed = self.shared.tables.unnamed;
        self.shared.found.add_many(rules::NAMES, unnamed, place);
        let streams = &mut self.streams;
        let mut late: Vec<Vec<DeferredEvent>> = streams
            .iter_mut()
            .map(|stream| std::mem::take(&mut stream.late))
            .collect();
        let unkept: Vec<Vec<UnselectedCollective>> = streams
            .iter_mut()
            .map(|stream| std::mem::take(&mut stream.unkept))
            .collect();
        let job = &options.job;
        deferred_events::share_roots(&mut late, &unkept, processes, job)?;
        let mut all = Vec::with_capacity(self.streams.len());
        for (stream, late) in self.streams.into_iter().zip(late) {
            options.advance(0, 0)?;
            all.push(if stream.is_wanted {
                deferred_events::merge(stream.events, late, job)?
            } else {
                Events::absent()
            });
        }
        Ok((all, self.shared.tables, self.shared.comms))
    }
}
