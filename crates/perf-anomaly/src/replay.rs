//! [`Replay`]: event source that pushes a recorded trace as a stream, step by step.

use crate::calls::{CORRELATION, NESTED, is_running, within};
use perf_core::{
    Cancelled, Definitions, Event, EventId, EventSink, EventSource, Job, Link, LocationGroupId,
    LocationId, LocationKind, Members, MetricId, Nanos, Peer, RegionId, StreamEvent, StreamId,
    StreamKey, SystemTree, Ticks, TimeRange, Trace, TraceView, Transfer, Unify, Value,
};
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// Pushes a [`Trace`] like a live stream, in steps of equal time, at full speed or paced.
///
/// Each process is a rank, in the order of the trace, and its locations are threads. If the names of
/// locations state [pipeline stages](Self::stages), each stage of a process is a rank. Accelerator
/// streams are numbered after the CPU threads, and belong to the process that uses the accelerator.
/// They have the property `Accelerator Stream`, and also `Accelerator Calls Nest` if their calls
/// nest.
///
/// Enters, exits, point-to-point messages, the bytes of collective operations and accesses to remote
/// memory, and metric samples (as counters) are pushed; other events are skipped. If links connect work on an accelerator to the call that launched it
/// ([`Trace::links`]), and both are in view, they get a common correlation id. Recorded values of
/// the correlation counter are then dropped.
///
/// Within a step, locations are pushed one after the other. A replay serves one sink, because the
/// ids of the sink are cached.
///
/// The state `Running` of Paraver's traces is any work. Within a function it is passed on as `Running in
/// FUNCTION`.
///
/// ```
/// use perf_anomaly::{Replay, calls::Calls};
/// use perf_core::{EventSource, Job, Nanos};
/// let trace = perf_core::samples::cosmo::trace();
/// let mut replay = Replay::new(trace.view(), Nanos(50_000_000));
/// let mut calls = Calls::default();
/// let mut count = 0;
/// while replay.next_step(&mut calls, &Job::default())? {
///     count += calls.batch().len();
/// }
/// assert_eq!(count * 2, trace.len());
/// assert_eq!(calls.streams().len(), 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Replay<'a> {
    /// View that is replayed.
    view: TraceView<'a>,
    /// Ids of the sink.
    ids: Ids,
    /// Locations.
    streams: Vec<Source>,
    /// Number of pipeline stages of a process; 0 without stages.
    stages: u32,
    /// Length of a step in ticks.
    period: u64,
    /// Time range of the events; `None` without events.
    range: Option<TimeRange>,
    /// Next step.
    step: u64,
    /// Speed relative to real time; `None` for full speed.
    pace: Option<f64>,
    /// Time at which a paced replay started.
    started: Option<Instant>,
}

/// Location during the replay.
#[derive(Clone, Debug)]
struct Source {
    /// Location.
    location: LocationId,
    /// Identity of its stream.
    key: StreamKey,
    /// Id of its stream in the sink.
    stream: StreamId,
    /// Number of events already pushed.
    done: usize,
    /// Indices of the enters that launch work, or are such work, each with the correlation id, in
    /// reverse order.
    correlations: Vec<(u32, u64)>,
    /// Open frames with their ids in the sink; only of recordings with the state `Running`.
    open: Vec<(RegionId, RegionId)>,
}

/// Largest number of pipeline stages.
const MAX_STAGES: u32 = 4096;

impl<'a> Replay<'a> {
    /// Replays a view in steps of `period`, at least one tick.
    pub fn new(view: TraceView<'a>, period: Nanos) -> Self {
        let clock = view.definitions().clock;
        let period = u128::from(period.0.max(1).unsigned_abs());
        let ticks = period * u128::from(clock.ticks_per_second()) / 1_000_000_000;
        Self::with_ticks(view, u64::try_from(ticks).unwrap_or(u64::MAX))
    }

    /// Replays a view in `steps` steps of equal length, or fewer if it has fewer ticks.
    pub fn in_steps(view: TraceView<'a>, steps: u64) -> Self {
        let len = view.range().map_or(0, |range| range.len());
        Self::with_ticks(view, len.div_ceil(steps.max(1)))
    }

    fn with_ticks(view: TraceView<'a>, period: u64) -> Self {
        let launches = launches(view);
        let stages = stages(&view.definitions().system);
        let keys = ranks(view.trace(), &launches, &stages);
        Replay {
            stages: stages.values().max().map_or(0, |most| most + 1),
            streams: sources(view, &keys, &launches),
            ids: Ids {
                keys,
                has_launches: !launches.is_empty(),
                ..Ids::default()
            },
            period: period.max(1),
            range: view.range(),
            step: 0,
            pace: None,
            started: None,
            view,
        }
    }

    /// Paces the replay at `factor` times the speed of the recorded run. The events of a step are
    /// pushed together at its end. Default: full speed, which is also set by a factor that is not
    /// positive or not finite.
    pub fn pace(mut self, factor: f64) -> Self {
        self.pace = (factor > 0.0 && factor.is_finite()).then_some(factor);
        self
    }

    /// Sets the rule that decides which regions are the same function. Different functions of the
    /// same name are distinguished by their [labels](Unify::labels). Default: [`Unify::Location`].
    pub fn unify(mut self, unify: Unify) -> Self {
        self.ids.unify = unify;
        self
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> u64 {
        self.range
            .map_or(0, |range| range.len().div_ceil(self.period))
    }

    /// Returns the number of pipeline stages if the names of all locations state one, as in `PP rank 3, compute`.
    /// Rank `r` then is stage `r % stages` of process `r / stages`.
    pub fn stages(&self) -> Option<u32> {
        (self.stages > 0).then_some(self.stages)
    }

    /// Returns the locations in the order in which they are pushed, with the keys of their streams.
    pub fn streams(&self) -> impl Iterator<Item = (StreamKey, LocationId)> {
        self.streams
            .iter()
            .map(|source| (source.key, source.location))
    }

    /// Returns start and end of consecutive steps in nanoseconds of the clock of the trace; `None` for a
    /// trace without events, or if a time has no representation in nanoseconds.
    pub fn times(&self, first: u64, last: u64) -> Option<(Nanos, Nanos)> {
        let (clock, range) = (self.view.definitions().clock, self.range?);
        let nanos = |step: u64| {
            let ticks = step.saturating_mul(self.period);
            clock.nanos(Ticks(range.start.0.saturating_add(ticks)))
        };
        Some((nanos(first)?, nanos(last.saturating_add(1))?))
    }

    /// Waits until the paced replay has reached `ticks` from its start.
    fn wait(&mut self, ticks: u64, job: &Job) -> Result<(), Cancelled> {
        job.check()?;
        let Some(pace) = self.pace else {
            return Ok(());
        };
        let started = *self.started.get_or_insert_with(Instant::now);
        let rate = self.view.definitions().clock.ticks_per_second() as f64;
        let Ok(due) = Duration::try_from_secs_f64(ticks as f64 / rate / pace) else {
            return Ok(());
        };
        loop {
            let left = due.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(Duration::from_millis(20)));
            job.check()?;
        }
    }
}

impl EventSource for Replay<'_> {
    type Error = Cancelled;

    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool, Cancelled> {
        let Some(range) = self.range else {
            return Ok(false);
        };
        let from_start = |step: u64| step.saturating_mul(self.period);
        let (start, end) = (
            from_start(self.step),
            from_start(self.step.saturating_add(1)),
        );
        if start >= range.len() {
            return Ok(false);
        }
        self.wait(end.min(range.len()), job)?;
        let until = Ticks(range.start.0.saturating_add(end));
        let is_last = end >= range.len();
        let definitions = self.view.definitions();
        if self.step == 0 {
            self.ids.ask(definitions, sink);
        }
        let mut checks = job.checks();
        for source in &mut self.streams {
            job.check()?;
            let Some(location) = self.view.location(source.location) else {
                continue;
            };
            let times = location.times();
            let rest = &times[source.done..];
            let count = if is_last {
                rest.len()
            } else {
                rest.partition_point(|at| *at < until)
            };
            if self.step == 0 {
                source.stream = sink.stream(source.key);
                describe(definitions, source.location, source.stream, sink);
                let is_stream = is_gpu(definitions, source.location);
                if is_stream && !location.overlaps(definitions, job)? {
                    sink.metadata(source.stream, NESTED, "");
                }
            }
            let first = location.range().start + source.done;
            for index in first..first + count {
                checks.next(1)?;
                let all = location.all();
                if let (Some(at), Some(event)) = (all.time(index), all.event(index)) {
                    self.ids.push(definitions, source, (at, event), sink);
                    let known = source.correlations.last();
                    if let Some((_, id)) = known.filter(|known| known.0 as usize == index).copied()
                    {
                        source.correlations.pop();
                        if matches!(event, Event::Enter { .. }) {
                            sink.push(source.stream, Nanos(0), StreamEvent::Correlation(id));
                        }
                    }
                }
            }
            source.done += count;
        }
        sink.end_step(self.step);
        self.step += 1;
        // A sink with the same job may have stopped within its step.
        job.check()?;
        Ok(true)
    }
}

/// Returns the pairs of a launch and its work that are both in view, in ascending order, so that
/// equal launches are adjacent.
fn launches(view: TraceView<'_>) -> Vec<(EventId, EventId)> {
    let definitions = view.definitions();
    let seen: HashMap<LocationId, std::ops::Range<usize>> = view
        .locations()
        .map(|location| (location.id(), location.range()))
        .collect();
    let is_seen = |event: EventId| {
        let range = seen.get(&event.location);
        range.is_some_and(|range| range.contains(&(event.index as usize)))
    };
    let links = view.trace().links().iter();
    // An arrow from a CPU thread to an accelerator is equivalent to a launch.
    let is_launch = |link: &&Link| {
        !is_gpu(definitions, link.from.location) && is_gpu(definitions, link.to.location)
    };
    let mut found: Vec<(EventId, EventId)> = links
        .filter(is_launch)
        .filter(|link| is_seen(link.from) && is_seen(link.to))
        .map(|link| (link.to, link.from))
        .collect();
    // Work has one launch, which is that of its first link.
    found.sort_by_key(|(work, _)| *work);
    found.dedup_by_key(|(work, _)| *work);
    let mut found: Vec<_> = found
        .into_iter()
        .map(|(work, launch)| (launch, work))
        .collect();
    found.sort_unstable();
    found
}

/// Returns the streams of the locations in view.
fn sources(
    view: TraceView<'_>,
    ranks: &[StreamKey],
    launches: &[(EventId, EventId)],
) -> Vec<Source> {
    let mut ids: HashMap<LocationId, Vec<(u32, u64)>> = HashMap::new();
    for (id, same) in launches.chunk_by(|one, other| one.0 == other.0).enumerate() {
        let launch = same.first().map(|(launch, _)| *launch);
        for event in launch.into_iter().chain(same.iter().map(|(_, work)| *work)) {
            let of_location = ids.entry(event.location).or_default();
            of_location.push((event.index, id as u64));
        }
    }
    let mut sources: Vec<Source> = view
        .ids()
        .map(|location| Source {
            location,
            key: ranks[location.index()],
            stream: StreamId(u32::MAX),
            done: 0,
            correlations: ids.remove(&location).unwrap_or_default(),
            open: Vec::new(),
        })
        .collect();
    for source in &mut sources {
        let last_first = |one: &(u32, u64)| std::cmp::Reverse(one.0);
        source.correlations.sort_unstable_by_key(last_first);
    }
    sources.sort_by_key(|source| source.key);
    sources
}

/// Returns the ranks of the processes that the recording states, if they are all different and less than twice
/// the number of processes; numbers of processes of the operating system are larger. Empty otherwise.
fn stated_ranks(system: &SystemTree) -> HashMap<LocationGroupId, u32> {
    let processes = system.processes_by_rank();
    let ranks = system.ranks();
    let most = 2 * processes.len() as u64;
    let stated = processes.into_iter().map(|id| {
        let rank = ranks.get(id.index()).copied().flatten();
        let rank = rank.filter(|rank| *rank < most && system.stated_rank(id) == Some(*rank))?;
        Some((id, u32::try_from(rank).ok()?))
    });
    stated.collect::<Option<_>>().unwrap_or_default()
}

/// Returns the pipeline stages of locations, if the names of all locations state one and there are several.
fn stages(system: &SystemTree) -> HashMap<LocationId, u32> {
    let stage = |id| {
        let (_, rest) = system.location(id)?.name.split_once("PP rank ")?;
        let number = rest.split(|it: char| !it.is_ascii_digit()).next()?;
        let stage = number.parse().ok().filter(|stage| *stage < MAX_STAGES)?;
        Some((id, stage))
    };
    let all: Option<HashMap<LocationId, u32>> = system.location_ids().map(stage).collect();
    all.filter(|all| all.values().any(|stage| *stage > 0))
        .unwrap_or_default()
}

/// Returns rank and thread of all locations. Processes have the [`stated_ranks`], otherwise they are numbered
/// in the order of their locations; a location without a process is a separate rank. An accelerator stream belongs to the
/// rank that launches its first work, or if there is none, to the rank of its process.
fn ranks(
    trace: &Trace,
    launches: &[(EventId, EventId)],
    stages: &HashMap<LocationId, u32>,
) -> Vec<StreamKey> {
    let system = &trace.definitions().system;
    let mut launcher: HashMap<LocationId, (EventId, LocationId)> = HashMap::new();
    for (launch, work) in launches {
        let first = launcher.entry(work.location);
        let first = first.or_insert((*work, launch.location));
        if work.index < first.0.index {
            *first = (*work, launch.location);
        }
    }
    let mut order: Vec<(bool, LocationId)> = system
        .location_ids()
        .map(|id| (is_gpu(trace.definitions(), id), id))
        .collect();
    order.sort_unstable();
    let mut of_group = stated_ranks(system);
    let mut next = of_group.values().max().map_or(0, |most| most + 1);
    let mut new = || {
        next += 1;
        next - 1
    };
    let count = stages.values().max().map_or(1, |most| most + 1);
    let mut threads: HashMap<u32, u32> = HashMap::new();
    let mut keys = vec![StreamKey::default(); order.len()];
    for (_, id) in order {
        let launcher = launcher.get(&id).map(|(_, launcher)| *launcher);
        let process = launcher.and_then(|id| system.process(id));
        let rank = match process.or_else(|| system.process(id)) {
            Some(group) => *of_group.entry(group).or_insert_with(&mut new),
            None => new(),
        };
        let stage = stages.get(&id).copied().unwrap_or_default();
        let rank = rank.saturating_mul(count).saturating_add(stage);
        let own = threads.entry(rank).or_default();
        let thread = *own;
        *own += 1;
        if let Some(key) = keys.get_mut(id.index()) {
            *key = StreamKey {
                program: 0,
                rank,
                thread,
            };
        }
    }
    keys
}

fn is_gpu(definitions: &Definitions, id: LocationId) -> bool {
    let location = definitions.system.location(id);
    location.is_some_and(|location| location.kind == LocationKind::AcceleratorStream)
}

/// Sends the properties of a location to the sink.
fn describe(definitions: &Definitions, id: LocationId, stream: StreamId, sink: &mut dyn EventSink) {
    let Some(location) = definitions.system.location(id) else {
        return;
    };
    sink.metadata(stream, "Location", &location.name);
    if is_gpu(definitions, id) {
        sink.metadata(stream, "Accelerator Stream", &location.name);
    }
    for (name, value) in &location.properties {
        sink.metadata(stream, name, value);
    }
    let group = location
        .group
        .and_then(|group| definitions.system.group(group));
    let node = group.and_then(|group| definitions.system.node(group.parent?));
    if let Some(node) = node {
        sink.metadata(stream, "Hostname", &node.name);
    }
}

/// Translation of the ids of the trace to those of the sink.
#[derive(Clone, Debug, Default)]
struct Ids {
    /// Rule that decides which regions are the same function.
    unify: Unify,
    /// Id of each region.
    regions: Vec<RegionId>,
    /// `true` for each region that is the state `Running`; empty without such regions.
    states: Vec<bool>,
    /// Ids of this state within each function.
    within: HashMap<RegionId, RegionId>,
    /// Id of each metric in the sink; `None` for a metric that is dropped.
    metrics: Vec<Option<MetricId>>,
    /// Rank and thread of each location.
    keys: Vec<StreamKey>,
    /// `true` if links connect launches and work, so that the correlation counter is not needed.
    has_launches: bool,
}

impl Ids {
    fn ask(&mut self, definitions: &Definitions, sink: &mut dyn EventSink) {
        let labels = self.unify.labels(&definitions.regions);
        let labels = labels.iter();
        self.regions = labels.map(|label| sink.region(0, label)).collect();
        for (id, region) in self.regions.iter().zip(&definitions.regions) {
            sink.describe_region(*id, region);
        }
        self.states = definitions.regions.iter().map(is_running).collect();
        if !self.states.contains(&true) {
            self.states.clear();
        }
        let metrics = definitions.metrics.iter();
        self.metrics = metrics
            .map(|metric| {
                if self.has_launches && metric.name == CORRELATION {
                    None
                } else {
                    Some(sink.counter(&metric.name))
                }
            })
            .collect();
    }

    /// Returns the id of a region. An undefined region is named by its number.
    fn region(
        &self,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        match self.regions.get(id.index()) {
            Some(known) => *known,
            None => sink.region(0, &definitions.region_name(id)),
        }
    }

    /// Returns the id of a region that a location enters.
    fn enter(
        &mut self,
        source: &mut Source,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        let own = self.region(id, definitions, sink);
        if self.states.is_empty() {
            return own;
        }
        let is_running = self.states.get(id.index()) == Some(&true);
        let outer = source.open.last().filter(|_| is_running);
        let own = outer.map_or(own, |(outer, _)| {
            *self.within.entry(*outer).or_insert_with(|| {
                let region = within(&definitions.region_name(*outer));
                let own = sink.region(0, &region.name);
                sink.describe_region(own, &region);
                own
            })
        });
        source.open.push((id, own));
        own
    }

    /// Returns the id of a region that a location leaves.
    fn leave(
        &self,
        source: &mut Source,
        id: RegionId,
        definitions: &Definitions,
        sink: &mut dyn EventSink,
    ) -> RegionId {
        match source.open.iter().rposition(|(open, _)| *open == id) {
            Some(at) => source.open.drain(at..).next().map_or(id, |(_, own)| own),
            None => self.region(id, definitions, sink),
        }
    }

    /// Returns the peer of a message with its rank, or with its number in the communicator if the
    /// rank is unknown.
    fn peer(&self, from: LocationId, transfer: Transfer, definitions: &Definitions) -> Peer {
        let rank_of = |location: LocationId| self.keys.get(location.index()).map(|key| key.rank);
        let at = |ranks: &[Option<LocationId>]| {
            let location = ranks.get(transfer.peer as usize).copied().flatten();
            location.and_then(rank_of)
        };
        let comm = definitions.comms.get(transfer.comm.index());
        let rank = match comm.map(|comm| &comm.members) {
            Some(Members::Ranks(ranks)) => at(ranks),
            Some(Members::Own) => rank_of(from),
            Some(Members::Between(first, second)) => {
                let own = rank_of(from);
                let is_first = first.iter().flatten().any(|one| rank_of(*one) == own);
                at(if is_first { second } else { first })
            }
            _ => None,
        };
        Peer {
            rank: rank.unwrap_or(transfer.peer),
            tag: transfer.tag,
            bytes: transfer.bytes,
        }
    }

    fn push(
        &mut self,
        definitions: &Definitions,
        source: &mut Source,
        (at, event): (Ticks, Event<'_>),
        sink: &mut dyn EventSink,
    ) {
        let (from, stream) = (source.location, source.stream);
        // A time beyond 292 years is wrong, but the event is kept.
        let at = definitions.clock.nanos(at).unwrap_or(Nanos(i64::MAX));
        let event = match event {
            Event::Enter { region } => {
                StreamEvent::Enter(self.enter(source, region, definitions, sink))
            }
            Event::Leave { region } => {
                StreamEvent::Exit(self.leave(source, region, definitions, sink))
            }
            Event::Send(transfer) => StreamEvent::Send(self.peer(from, transfer, definitions)),
            Event::Recv(transfer) => StreamEvent::Receive(self.peer(from, transfer, definitions)),
            Event::CollectiveEnd(end) => StreamEvent::Bytes(end.sent.saturating_add(end.received)),
            Event::Rma { bytes, .. } => StreamEvent::Bytes(bytes),
            Event::Metric { set, values } => {
                let set = definitions.metric_sets.get(set.index());
                let members = set.map_or(&[][..], |set| &set.members);
                for (metric, bits) in members.iter().zip(values) {
                    let known = definitions.metrics.get(metric.index());
                    let id = self.metrics.get(metric.index()).copied().flatten();
                    let (Some(known), Some(id)) = (known, id) else {
                        continue;
                    };
                    let value = Value::from_bits(known.value_type, *bits);
                    sink.push(stream, at, StreamEvent::Counter(id, value));
                }
                return;
            }
            _ => return,
        };
        sink.push(stream, at, event);
    }
}
