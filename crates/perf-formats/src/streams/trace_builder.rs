//! [`TraceBuilder`]: sink that collects the events of a stream and builds a trace from them.

use super::rules;
use crate::timestamps::{TIMESTAMPS_AHEAD, Verdict, judge_jump};
use crate::{Error, OpenOptions, Result};
use perf_core::{
    Clock, CommId, Communicator, Definitions, Diagnostics, Event, EventSink, Events, GroupKind,
    Limits, Location, LocationGroup, LocationGroupId, LocationId, LocationKind, Members, Metric,
    MetricId, MetricMode, MetricSet, MetricSetId, Nanos, Place, Region, RegionId, StreamEvent,
    StreamId, StreamKey, SystemTree, Ticks, Trace, Transfer, Value, ValueType,
};
use std::collections::{HashMap, HashSet};

/// A sink that keeps all events and builds a [`Trace`] with one location for each stream. Times are
/// in nanoseconds from the first event.
#[derive(Clone, Debug, Default)]
pub struct TraceBuilder {
    /// Regions so far.
    regions: Vec<Region>,
    /// Regions by program and name.
    region_ids: HashMap<(u32, String), RegionId>,
    /// Names of the counters.
    counters: Vec<String>,
    /// Value types of the counters.
    counter_types: Vec<ValueType>,
    /// Counters by name.
    counter_ids: HashMap<String, MetricId>,
    /// Counters with a value that exceeds the signed range.
    large_counters: HashSet<MetricId>,
    /// Streams so far.
    streams: Vec<Stream>,
    /// Streams by key.
    stream_ids: HashMap<StreamKey, StreamId>,
    /// Name of the source, used in diagnostics.
    name: String,
    /// Number of events so far, including dropped ones.
    count: u64,
    /// Maximum number of kept events; `None` for no maximum.
    most: Option<u64>,
}

#[derive(Clone, Debug)]
struct Stream {
    /// Identification of the stream.
    key: StreamKey,
    /// Enters and exits.
    functions: Vec<(Nanos, StreamEvent)>,
    /// Messages and counter values, which may follow the enters and exits of their step.
    notes: Vec<(Nanos, StreamEvent)>,
    /// Metadata of the stream.
    properties: Vec<(String, String)>,
}

impl Stream {
    fn first(&self) -> Option<Nanos> {
        let firsts = self.functions.first().into_iter().chain(self.notes.first());
        firsts.map(|(at, _)| *at).min()
    }

    /// Repairs damaged timestamps of both lists; returns their number.
    fn repair(&mut self) -> u64 {
        repair(&mut self.functions) + repair(&mut self.notes)
    }

    /// Sorts both lists by time. Returns the number of events that were out of order among the
    /// calls, the messages or the counter values.
    fn sort(&mut self) -> u64 {
        let (messages, counters): (Vec<_>, Vec<_>) = self
            .notes
            .iter()
            .partition(|(_, event)| !matches!(event, StreamEvent::Counter(..)));
        let late = |events: &[(Nanos, StreamEvent)]| {
            let pairs = events.windows(2);
            pairs
                .filter(|pair| matches!(pair, [a, b] if b.0 < a.0))
                .count() as u64
        };
        let count = late(&self.functions) + late(&messages) + late(&counters);
        self.functions.sort_by_key(|(at, _)| *at);
        self.notes.sort_by_key(|(at, _)| *at);
        count
    }

    /// Iterates over all events by time. Messages and counters at the time of an enter follow it,
    /// and those at the time of an exit precede it, so that they are inside the call.
    fn merged(&self) -> impl Iterator<Item = &(Nanos, StreamEvent)> {
        let mut notes = self.notes.iter().peekable();
        let mut functions = self.functions.iter().peekable();
        std::iter::from_fn(move || {
            let Some((at, event)) = functions.peek() else {
                return notes.next();
            };
            let is_exit = matches!(event, StreamEvent::Exit(_));
            let before = notes.next_if(|note| note.0 < *at || (is_exit && note.0 == *at));
            before.or_else(|| functions.next())
        })
    }
}

/// Distance from the previous event, in nanoseconds, above which a timestamp is checked against the
/// following ones. The detection of anomalies uses the same distance.
const FAR: u64 = 10_000_000_000;
/// Maximum plausible distance from the previous event, in nanoseconds, of a timestamp on which the
/// following events cannot decide: one day.
const GAP: u64 = 86_400_000_000_000;

/// Replaces times far ahead of their neighbours in the file by the previous time; returns their
/// number.
fn repair(events: &mut [(Nanos, StreamEvent)]) -> u64 {
    // Unsigned numbers in the order of the signed times.
    let ordinal = |at: Nanos| at.0.cast_unsigned() ^ (1 << 63);
    let mut before: Option<(u64, Nanos)> = None;
    let mut count = 0;
    for index in 0..events.len() {
        let (known, after) = events.split_at_mut(index + 1);
        let Some((at, _)) = known.last_mut() else {
            break;
        };
        let time = ordinal(*at);
        let last = before.map(|(time, _)| time);
        if last.is_some_and(|last| time <= last.saturating_add(FAR)) {
            before = before.max(Some((time, *at)));
            continue;
        }
        let after = after.get(..TIMESTAMPS_AHEAD).unwrap_or(after);
        let times: Vec<u64> = after.iter().map(|(at, _)| ordinal(*at)).collect();
        let instead = match judge_jump(last, time, &times, FAR) {
            Verdict::Plausible => None,
            Verdict::Outlier => {
                let back = after.iter().find(|(back, _)| *back < *at);
                before.map(|(_, at)| at).or(back.map(|(back, _)| *back))
            }
            Verdict::Undecided => before
                .filter(|(last, _)| time - last > GAP)
                .map(|(_, at)| at),
        };
        if let Some(instead) = instead {
            *at = instead;
            count += 1;
        }
        before = before.max(Some((ordinal(*at), *at)));
    }
    count
}

/// Size of an event in bytes.
const EVENT: u64 = size_of::<(Nanos, StreamEvent)>() as u64;

impl TraceBuilder {
    /// Creates a builder with this file as the source of diagnostics, and with as many events as
    /// the memory budget allows.
    pub(crate) fn of(path: &std::path::Path, limits: &Limits) -> Self {
        TraceBuilder {
            name: path.to_string_lossy().into_owned(),
            most: Some(limits.memory / EVENT),
            ..TraceBuilder::default()
        }
    }

    /// Checks that no event was dropped.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Limit`](crate::Error::Limit) if the events exceed the memory budget.
    pub(crate) fn check(&self, limits: &Limits) -> Result<()> {
        match self.most {
            Some(most) if self.count > most => Err(Error::Limit {
                place: Place::file(self.name.as_str()),
                what: "memory for events in bytes",
                got: self.count.saturating_mul(EVENT),
                limit: limits.memory,
            }),
            _ => Ok(()),
        }
    }

    /// Builds the trace.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Core`](crate::Error::Core) for more than 2^30 regions or records of a
    /// location.
    pub fn build(self) -> Result<Trace> {
        Ok(self.finish(&OpenOptions::new())?.0)
    }

    pub(crate) fn finish(mut self, options: &OpenOptions) -> Result<(Trace, Diagnostics)> {
        let mut found = Diagnostics::default();
        self.streams.sort_by_key(|stream| stream.key);
        for stream in &mut self.streams {
            let StreamKey { rank, thread, .. } = stream.key;
            let place = || {
                let record = format!("rank {rank}, thread {thread}");
                Place::file(self.name.as_str()).record(record)
            };
            found.add_many(rules::TIME_JUMP, stream.repair(), place());
            found.add_many(rules::OUT_OF_ORDER, stream.sort(), place());
        }
        let firsts = self.streams.iter().filter_map(Stream::first);
        let origin = firsts.min().unwrap_or_default();
        let mut columns = Vec::new();
        let definitions = self.definitions(origin, options)?;
        let mut programs: Vec<u32> = self.streams.iter().map(|one| one.key.program).collect();
        programs.dedup();
        for (location, stream) in definitions.system.locations().iter().zip(&self.streams) {
            // Index of its program among all programs.
            let program = stream.key.program;
            let comm = programs.partition_point(|other| *other < program);
            let comm = CommId(comm as u32);
            columns.push(if options.wants(location.key) {
                events(&self.counter_types, stream, (origin, comm), options)?
            } else {
                Events::absent()
            });
        }
        Ok((Trace::new(definitions, columns)?, found))
    }

    fn definitions(&self, origin: Nanos, options: &OpenOptions) -> Result<Definitions> {
        let mut groups: Vec<LocationGroup> = Vec::new();
        let mut locations = Vec::new();
        let mut comms: Vec<Communicator> = Vec::new();
        let mut before: Option<StreamKey> = None;
        // Ranks far above the number of streams indicate corruption, so the total length of
        // communicators is bounded.
        let mut room = self.streams.len().saturating_mul(64).saturating_add(65_536);
        let many = self.streams.iter().any(|stream| stream.key.program > 0);
        for (index, stream) in self.streams.iter().enumerate() {
            let key = stream.key;
            let is_new_program = before.is_none_or(|before| before.program != key.program);
            if is_new_program {
                comms.push(Communicator {
                    name: format!("all ranks of program {}", key.program),
                    members: Members::Ranks(Vec::new()),
                    parent: None,
                });
            }
            if is_new_program || before.is_none_or(|before| before.rank != key.rank) {
                let name = if many {
                    format!("program {}, rank {}", key.program, key.rank)
                } else {
                    format!("rank {}", key.rank)
                };
                groups.push(LocationGroup {
                    name,
                    kind: GroupKind::Process,
                    ..LocationGroup::default()
                });
                if let Some(comm) = comms.last_mut() {
                    let id = LocationId::from_index(index);
                    join(comm, key.rank, id, &mut room);
                }
            }
            before = Some(key);
            let is_gpu = stream
                .properties
                .iter()
                .any(|(name, _)| name.starts_with("CUDA "));
            locations.push(Location {
                name: format!("thread {}", key.thread),
                kind: if is_gpu {
                    LocationKind::AcceleratorStream
                } else {
                    LocationKind::CpuThread
                },
                group: LocationGroupId::from_index(groups.len() - 1),
                key: index as u64,
                properties: stream.properties.clone().into(),
            });
        }
        let metrics = self.counters.iter().zip(&self.counter_types);
        let metrics = metrics.map(|(name, kind)| Metric {
            name: name.clone(),
            value_type: *kind,
            mode: MetricMode::Absolute,
            ..Metric::default()
        });
        let sets = (0..self.counters.len() as u32).map(|counter| MetricSet {
            members: vec![MetricId(counter)],
            scope: None,
            is_shared: false,
        });
        let mut definitions = Definitions::default();
        definitions.metrics = metrics.collect();
        definitions.metric_sets = sets.collect();
        let mut clock = Clock::default();
        // Large times count from 1970 and give the wall-clock time; others have an arbitrary
        // origin.
        clock.realtime = u64::try_from(origin.0).ok().filter(|at| *at > YEAR_2000);
        definitions.clock = clock;
        definitions.system = SystemTree::new(Vec::new(), groups, locations, options.get_limits())?;
        definitions.regions = self.regions.clone();
        definitions.comms = comms;
        Ok(definitions)
    }
}

/// Returns the events of a stream; the ranks of a program share a communicator.
fn events(
    types: &[ValueType],
    stream: &Stream,
    (origin, comm): (Nanos, CommId),
    options: &OpenOptions,
) -> Result<Events> {
    let window = options.get_window();
    let is_all = window == perf_core::TimeRange::ALL;
    let mut events = Events::default();
    events.reserve(stream.functions.len() + stream.notes.len());
    for (at, event) in stream.merged() {
        let at = Ticks(at.0.abs_diff(origin.0));
        if !is_all && !window.contains(at) {
            continue;
        }
        let transfer = |peer: &perf_core::Peer| Transfer {
            peer: peer.rank,
            comm,
            tag: peer.tag,
            bytes: peer.bytes,
            request: None,
        };
        match event {
            StreamEvent::Enter(region) => events.push(at, Event::Enter { region: *region })?,
            StreamEvent::Exit(region) => events.push(at, Event::Leave { region: *region })?,
            StreamEvent::Send(peer) => events.push(at, Event::Send(transfer(peer)))?,
            StreamEvent::Receive(peer) => events.push(at, Event::Recv(transfer(peer)))?,
            StreamEvent::Counter(counter, value) => {
                let kind = types.get(counter.index()).copied();
                let value = match kind.unwrap_or_default() {
                    ValueType::F64 => Value::F64(value.as_f64()),
                    _ => *value,
                };
                let values = &[value.to_bits()];
                let set = MetricSetId(counter.0);
                events.push(at, Event::Metric { set, values })?;
            }
            _ => {}
        }
    }
    Ok(events)
}

/// Nanoseconds from 1970 to 2000.
const YEAR_2000: u64 = 946_684_800_000_000_000;

/// Assigns a location to `rank` of a communicator, if the budget on members allows that many ranks.
/// Otherwise the members become unknown.
fn join(comm: &mut Communicator, rank: u32, id: Option<LocationId>, room: &mut usize) {
    let Members::Ranks(ranks) = &mut comm.members else {
        return;
    };
    let rank = rank as usize;
    let Some(left) = room.checked_sub((rank + 1).saturating_sub(ranks.len())) else {
        comm.members = Members::Unknown;
        return;
    };
    *room = left;
    if ranks.len() <= rank {
        ranks.resize(rank + 1, None);
    }
    if let Some(member) = ranks.get_mut(rank) {
        *member = id;
    }
}

impl EventSink for TraceBuilder {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        let key = (program, name.to_owned());
        *self.region_ids.entry(key).or_insert_with(|| {
            self.regions.push(Region::named(name));
            RegionId(self.regions.len() as u32 - 1)
        })
    }

    fn counter(&mut self, name: &str) -> MetricId {
        *self.counter_ids.entry(name.to_owned()).or_insert_with(|| {
            self.counters.push(name.to_owned());
            self.counter_types.push(ValueType::U64);
            MetricId(self.counters.len() as u32 - 1)
        })
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        *self.stream_ids.entry(key).or_insert_with(|| {
            self.streams.push(Stream {
                key,
                functions: Vec::new(),
                notes: Vec::new(),
                properties: Vec::new(),
            });
            StreamId(self.streams.len() as u32 - 1)
        })
    }

    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        self.count += 1;
        if self.most.is_some_and(|most| self.count > most) {
            return;
        }
        if let StreamEvent::Counter(counter, value) = event
            && let Some(kind) = self.counter_types.get_mut(counter.index())
        {
            // Select the widest type of the values: a signed type cannot represent large unsigned
            // values.
            let is_large = matches!(value, Value::U64(value) if i64::try_from(value).is_err());
            if is_large {
                self.large_counters.insert(counter);
            }
            let has_large =
                !self.large_counters.is_empty() && self.large_counters.contains(&counter);
            *kind = match (*kind, value) {
                (ValueType::F64, _) | (_, Value::F64(_)) => ValueType::F64,
                (ValueType::I64, _) | (_, Value::I64(_)) if has_large => ValueType::F64,
                (ValueType::I64, _) | (_, Value::I64(_)) => ValueType::I64,
                _ => ValueType::U64,
            };
        }
        if let Some(stream) = self.streams.get_mut(stream.index()) {
            match event {
                StreamEvent::Enter(_) | StreamEvent::Exit(_) => stream.functions.push((at, event)),
                _ => stream.notes.push((at, event)),
            }
        }
    }

    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        if let Some(stream) = self.streams.get_mut(stream.index()) {
            stream.properties.push((name.into(), value.into()));
        }
    }

    fn end_step(&mut self, _step: u64) {}
}
