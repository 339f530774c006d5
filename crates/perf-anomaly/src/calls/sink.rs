//! [`Calls`]: event sink that converts the events of all streams to completed calls, step by step,
//! and returns names, properties and health of streams and functions.

use super::counter_values::CounterBatch;
use super::gpu::Gpu;
use super::names::{CounterKind, Names};
use super::nature::{Communication, Nature};
use super::params::{CallsParams, CheckedCallsParams, ModelBy};
use super::stream::paths::Paths;
use super::stream::{Shared, Stream};
use super::{Batch, NodeState, StreamHealth};
use crate::FunctionId;
use perf_core::{
    CallPathId, EventSink, Job, Merge, MetricId, MetricMode, Nanos, Region, RegionId, StreamEvent,
    StreamId, StreamKey,
};
use std::collections::HashMap;

/// Converts events to completed calls, step by step.
///
/// After an [`EventSource`](perf_core::EventSource) has pushed a step, [`batch`](Self::batch)
/// contains the calls that were completed in it. After the last step, [`finish`](Self::finish)
/// closes open calls.
///
/// ```
/// use perf_anomaly::calls::Calls;
/// use perf_core::{EventSink, Nanos, StreamEvent, StreamKey};
/// let mut calls = Calls::default();
/// let thread = calls.stream(StreamKey { program: 0, rank: 3, thread: 0 });
/// let (solve, dot) = (calls.region(0, "solve"), calls.region(0, "dot"));
/// calls.push(thread, Nanos(100), StreamEvent::Enter(solve));
/// calls.push(thread, Nanos(120), StreamEvent::Enter(dot));
/// calls.push(thread, Nanos(150), StreamEvent::Exit(dot));
/// calls.push(thread, Nanos(190), StreamEvent::Exit(solve));
/// calls.end_step(0);
/// let batch = calls.batch();
/// // `dot` ended first; `solve` took 90 ns inclusive and 60 ns exclusive time.
/// assert_eq!(batch.samples()[1].runtime, Nanos(60));
/// assert_eq!(calls.function_name(batch.samples()[0].function), "dot");
/// assert_eq!(calls.event_id(&batch.calls()[0]), "3:0:1");
/// assert_eq!(calls.context(&batch.calls()[0]).stack[0].region, solve);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calls {
    /// Parameters.
    pub(super) params: CallsParams,
    /// Regions and counters.
    pub(super) names: Names,
    /// Call paths.
    paths: Paths,
    /// Streams.
    streams: Vec<Stream>,
    /// Id of each stream.
    stream_ids: HashMap<StreamKey, StreamId>,
    /// Streams in ascending order of program, rank and thread.
    order: Vec<StreamId>,
    /// Ranks.
    ranks: Vec<Rank>,
    /// Index of each rank.
    rank_ids: HashMap<(u32, u32), usize>,
    /// Calls of the last step.
    batch: Batch,
    /// Counter values of the last step.
    pub(super) counter_batch: CounterBatch,
    /// Calls that communicate, by function.
    communication: Communication,
    /// Defects that belong to no stream.
    lost: StreamHealth,
    /// Current step.
    step: u64,
    /// Last step that ended, and the number of events that were pending then; `None` if a part of a
    /// step was converted since.
    ended: Option<(u64, usize)>,
    /// `true` if each function has models for classes of sizes of its messages.
    by_size: bool,
    /// Job that can interrupt a step.
    pub(crate) job: Job,
}

/// Rank of a program.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// Number of enters and exits in this step.
    functions: u32,
    /// Launches and work.
    gpu: Gpu,
    /// State of the node.
    node: NodeState,
}

/// Common id of all corrupt streams.
const CORRUPT: StreamId = StreamId(u32::MAX);

impl Default for Calls {
    /// Returns an empty sink with the default parameters.
    fn default() -> Self {
        Calls::new(CheckedCallsParams::default())
    }
}

impl Calls {
    /// Returns the default parameters.
    pub fn params() -> CallsParams {
        CallsParams::default()
    }

    /// Creates an empty sink.
    pub fn new(params: CheckedCallsParams) -> Self {
        let params = params.0;
        Calls {
            names: Names::default(),
            paths: Paths::new(params.paths),
            streams: Vec::new(),
            stream_ids: HashMap::new(),
            order: Vec::new(),
            ranks: Vec::new(),
            rank_ids: HashMap::new(),
            batch: Batch::default(),
            counter_batch: CounterBatch::default(),
            communication: Communication::default(),
            lost: StreamHealth::default(),
            step: 0,
            ended: None,
            by_size: false,
            job: Job::default(),
            params,
        }
    }

    /// Returns the calls that were completed in the last step.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Converts the pending events to calls within a step, for sources with more events in a step
    /// than fit in memory. The calls are in [`batch`](Self::batch), as after a step.
    pub fn flush(&mut self) -> &Batch {
        if self.pending() > 0 {
            self.ended = None;
        }
        self.replay(false);
        &self.batch
    }

    /// Converts the pending events to calls at the end of all streams. Open calls are closed at the
    /// last event of their stream and marked as [`closed_at_end`](super::CallFlags::closed_at_end),
    /// unless repair is [strict](super::Repair::Strict). The calls are in [`batch`](Self::batch),
    /// as after a step. If there were no events since the last step, they belong to that step.
    pub fn finish(&mut self) -> &Batch {
        if let Some((ended, waiting)) = self.ended
            && waiting == self.pending()
        {
            self.step = ended;
        }
        self.replay(true);
        for rank in &mut self.ranks {
            rank.gpu.finish(&mut self.lost);
        }
        &self.batch
    }

    fn replay(&mut self, is_end: bool) {
        for stream in &mut self.streams {
            stream.forget(&self.params, &self.batch);
        }
        self.batch.clear(self.step);
        self.counter_batch.begin();
        for id in &self.order {
            let Some(stream) = self.streams.get_mut(id.index()) else {
                continue;
            };
            let Some(rank) = self.ranks.get_mut(stream.rank) else {
                continue;
            };
            let first = self.batch.calls.len();
            let mut shared = Shared {
                params: &self.params,
                paths: &mut self.paths,
                names: &mut self.names,
                by_size: self.by_size,
                gpu: &mut rank.gpu,
                batch: &mut self.batch,
                lost: &mut self.lost,
                step: self.step,
                job: &self.job,
            };
            stream.replay(&mut shared, is_end);
            if is_end {
                stream.finish(&mut shared);
            }
            self.counter_batch
                .take(stream.key, &mut stream.counter_values);
            let own = first..self.batch.calls.len();
            if !own.is_empty() {
                self.batch.streams.push((*id, own));
            }
        }
        self.communication.add(&self.batch);
        for rank in &mut self.ranks {
            rank.gpu.forget(self.params.pending, &mut self.lost);
        }
    }

    /// Returns the number of events that are not yet converted to calls.
    pub fn pending(&self) -> usize {
        self.streams.iter().map(Stream::pending).sum()
    }

    /// Returns the counts of events and defects of one stream; `None` for an unknown id.
    pub fn stream_health(&self, stream: StreamId) -> Option<StreamHealth> {
        self.streams.get(stream.index()).map(|stream| stream.health)
    }

    /// Returns the counts of all streams, including defects that belong to no stream.
    pub fn health(&self) -> StreamHealth {
        let mut total = self.lost;
        for stream in &self.streams {
            total.merge(&stream.health);
        }
        total
    }

    /// Returns all streams, ordered by program, rank and thread.
    pub fn streams(&self) -> &[StreamId] {
        &self.order
    }

    /// Returns program, rank and thread of a stream; `None` for an unknown id.
    pub fn stream_key(&self, stream: StreamId) -> Option<StreamKey> {
        self.streams.get(stream.index()).map(|stream| stream.key)
    }

    /// Returns `true` if a stream belongs to an accelerator, according to its properties.
    pub fn is_gpu(&self, stream: StreamId) -> bool {
        let stream = self.streams.get(stream.index());
        stream.is_some_and(|stream| stream.is_gpu)
    }

    /// Returns the properties of a stream as (name, value), in order of first occurrence.
    pub fn stream_metadata(&self, stream: StreamId) -> &[(String, String)] {
        let stream = self.streams.get(stream.index());
        stream.map_or(&[], |stream| stream.metadata.as_slice())
    }

    /// Returns the last values of the counters that describe the node of a rank; `None` for a rank
    /// without streams.
    pub fn node_state(&self, program: u32, rank: u32) -> Option<&NodeState> {
        let rank = self.rank_ids.get(&(program, rank))?;
        self.ranks.get(*rank).map(|rank| &rank.node)
    }

    /// Returns the field of the node that a counter describes; `None` for counters that do not
    /// describe the node.
    pub fn node_field(&self, counter: MetricId) -> Option<&str> {
        self.names.field(counter)
    }

    /// Returns program and name of a region; `None` for an unknown id.
    pub fn region_name(&self, region: RegionId) -> Option<(u32, &str)> {
        self.names.region_name(region)
    }

    /// Returns the name of a counter; `None` for an unknown id.
    pub fn counter_name(&self, counter: MetricId) -> Option<&str> {
        self.names.counter_name(counter)
    }

    /// Returns the name of a counter with its unit, such as `memory (bytes)`, as far as the source knows it; `None` for an
    /// unknown id.
    pub(crate) fn counter_label(&self, counter: MetricId) -> Option<String> {
        self.names.counter_label(counter)
    }

    /// Returns the regions of a call path, outermost first. Empty for an unknown id, and for paths
    /// beyond the limit.
    pub fn path(&self, path: CallPathId) -> Vec<RegionId> {
        let mut regions = Vec::new();
        let mut at = path.0;
        while let Some((region, parent)) = self.paths.get(at) {
            regions.push(RegionId(region));
            at = parent;
        }
        regions.reverse();
        regions
    }

    /// Returns the number of function ids so far: all ids of models are below it.
    pub fn function_count(&self) -> usize {
        match self.params.model {
            ModelBy::Function => self.names.len(),
            ModelBy::CallPath => self.paths.len(),
        }
    }

    /// Returns the program of a model; `None` if there is no such model.
    pub fn function_program(&self, function: FunctionId) -> Option<u32> {
        self.names
            .region_name(self.function_region(function)?)
            .map(|(program, _)| program)
    }

    /// Returns the region of a model; for a call path, the region of its innermost call. Models of calls
    /// with messages of several sizes have the same region. `None` if there is no such model.
    ///
    /// ```
    /// use perf_anomaly::{FunctionId, Monitor, Watch};
    /// use perf_core::{Nanos, Peer};
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// let send = watch.region("MPI_Send");
    /// watch.enter(0, send, Nanos(0));
    /// watch.send(0, Peer { bytes: 100_000, ..Peer::default() }, Nanos(1));
    /// watch.exit(0, send, Nanos(9));
    /// watch.end_step();
    /// let calls = watch.sink().calls();
    /// assert_eq!(calls.function_name(FunctionId(1)), "MPI_Send of 64 KiB to 256 KiB");
    /// assert_eq!(calls.function_region(FunctionId(1)), Some(send));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn function_region(&self, function: FunctionId) -> Option<RegionId> {
        let region = match self.params.model {
            ModelBy::Function => self.names.whole(function.0).0,
            ModelBy::CallPath => self.paths.get(function.0)?.0,
        };
        (self.names.len() > region as usize).then_some(RegionId(region))
    }

    /// Returns the name of a model: the name of a function, or the names of all functions on a call
    /// path, such as `main / solve / dot`.
    pub fn function_name(&self, function: FunctionId) -> String {
        let name = |region: &RegionId| self.names.region_name(*region).map(|(_, name)| name);
        match self.params.model {
            ModelBy::Function => name(&RegionId(function.0)).unwrap_or("(unknown)").into(),
            ModelBy::CallPath => {
                let path = self.path(CallPathId(function.0));
                let names: Vec<&str> = path.iter().filter_map(name).collect();
                if names.is_empty() {
                    "(other)".into()
                } else {
                    names.join(" / ")
                }
            }
        }
    }

    /// Gives the calls of a function models by the bytes that they transfer, in classes of a factor of
    /// four. Call paths have no such models.
    pub(crate) fn separate_sizes(&mut self) {
        self.by_size = self.params.model == ModelBy::Function;
    }

    /// Returns the function of a size class, and the least number of bytes of the class; `None` for other
    /// models.
    pub(crate) fn size_class(&self, class: FunctionId) -> Option<(FunctionId, u64)> {
        let (function, bytes) = self.names.whole(class.0);
        (self.by_size && function != class.0).then_some((FunctionId(function), bytes))
    }

    /// Replaces the models of the calls of the batch.
    pub(crate) fn judged_by(&mut self, model: impl Fn(FunctionId) -> FunctionId) {
        if self.names.has_sizes() {
            for sample in &mut self.batch.samples {
                sample.function = model(sample.function);
            }
        }
    }

    /// Returns the nature of a model; for a call path, that of its innermost call. `None` if there is no
    /// such model.
    pub(crate) fn nature(&self, function: FunctionId) -> Option<Nature> {
        self.names.nature(self.function_region(function)?)
    }

    /// Returns `true` for a model of calls that do work of their own, so that ranks can be compared.
    pub(crate) fn computes(&self, function: FunctionId) -> bool {
        self.nature(function) != Some(Nature::Local) && !self.waits(function)
    }

    /// Returns `true` for a model of calls that wait for other ranks, threads or devices, according to the role,
    /// programming model or name of the function. A function that sends or receives messages itself in at least half
    /// of its calls so far waits too, whatever its name is.
    ///
    /// ```
    /// use perf_anomaly::{FunctionId, Monitor, Watch};
    /// use perf_core::Nanos;
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// for (at, name) in [(0, "solve"), (1, "MPI_Allreduce")] {
    ///     let region = watch.region(name);
    ///     watch.enter(0, region, Nanos(10 * at));
    ///     watch.exit(0, region, Nanos(10 * at + 5));
    /// }
    /// watch.end_step();
    /// let calls = watch.sink().calls();
    /// assert_eq!([0, 1].map(|at| calls.waits(FunctionId(at))), [false, true]);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn waits(&self, function: FunctionId) -> bool {
        match self.nature(function).unwrap_or_default() {
            Nature::Computes => self.communication.is_most_of(function),
            Nature::Waits => true,
            Nature::Local | Nature::UnknownFunctions => false,
        }
    }

    /// Returns `true` for a model of time in unknown functions.
    pub(crate) fn is_unknown(&self, function: FunctionId) -> bool {
        self.nature(function) == Some(Nature::UnknownFunctions)
    }

    /// Returns `true` if there are models of time in unknown functions.
    pub(crate) fn has_unknown_functions(&self) -> bool {
        self.names.has_unknown
    }

    pub(super) fn at(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(stream.index())
    }

    pub(super) fn gpu(&self, stream: StreamId) -> Option<&Gpu> {
        let rank = self.at(stream)?.rank;
        self.ranks.get(rank).map(|rank| &rank.gpu)
    }

    /// Returns the memory of the streams and the batch in bytes. It depends on the longest step,
    /// not on the number of steps.
    pub fn memory(&self) -> usize {
        let streams: usize = self.streams.iter().map(Stream::memory).sum();
        streams
            + self.batch.calls.capacity() * size_of::<super::Call>()
            + self.batch.samples.capacity() * size_of::<crate::Sample>()
    }

    /// Adds an event other than an enter or exit.
    #[inline(never)]
    fn push_note(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        let Some(own) = self.streams.get_mut(stream.index()) else {
            return self.lose(stream);
        };
        match event {
            StreamEvent::Counter(counter, value) => {
                let kind = self.names.kind(counter);
                if let Some(CounterKind::OfNode | CounterKind::OfCall) = kind {
                    let of_stream = (own.key, &mut own.counter_values);
                    let is_count = || self.names.counts_events(counter);
                    let batch = &mut self.counter_batch;
                    batch.push(of_stream, counter, value, is_count);
                }
                match kind {
                    None => own.health.unknown_counter += 1,
                    Some(CounterKind::OfNode) => {
                        own.health.counters += 1;
                        if let Some(rank) = self.ranks.get_mut(own.rank) {
                            rank.node.set(counter, at, value);
                        }
                    }
                    Some(kind) => own.push_note(at, event, kind),
                }
            }
            StreamEvent::Correlation(id) => own.push_correlation(id),
            _ => own.push_note(at, event, CounterKind::OfCall),
        }
    }

    /// Counts an event of an unknown stream.
    #[cold]
    fn lose(&mut self, stream: StreamId) {
        match stream {
            CORRUPT => self.lost.corrupt_event += 1,
            _ => self.lost.unknown_stream += 1,
        }
    }

    fn refuse(&mut self, key: StreamKey) -> bool {
        let (program, rank, thread) = self.params.largest;
        let is_other = self.params.only_rank.is_some_and(|only| only != key.rank);
        key.program > program
            || key.rank > rank
            || key.thread > thread
            || is_other
            || self.streams.len() >= self.params.streams
    }
}

impl EventSink for Calls {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        let (id, shared) = self.names.region(program, name, self.params.names);
        self.lost.name_limit += u64::from(shared);
        id
    }

    fn describe_region(&mut self, region: RegionId, properties: &Region) {
        self.names.describe(region, properties);
    }

    fn counter(&mut self, name: &str) -> MetricId {
        let (id, shared) = self.names.counter(name, &self.params);
        self.lost.name_limit += u64::from(shared);
        id
    }

    fn describe_counter(&mut self, counter: MetricId, unit: &str, mode: MetricMode) {
        self.names.describe_counter(counter, unit, mode);
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        if let Some(id) = self.stream_ids.get(&key) {
            return *id;
        }
        if self.refuse(key) {
            self.lost.corrupt_stream += 1;
            return CORRUPT;
        }
        // The limit is validated to be far below 2^32.
        let id = StreamId(self.streams.len() as u32);
        let rank = *self
            .rank_ids
            .entry((key.program, key.rank))
            .or_insert_with(|| {
                self.ranks.push(Rank::default());
                self.ranks.len() - 1
            });
        self.stream_ids.insert(key, id);
        self.streams.push(Stream::new(id, key, rank));
        let streams = &self.streams;
        let at = self.order.partition_point(|other| {
            let other = streams.get(other.index());
            other.is_some_and(|other| other.key < key)
        });
        self.order.insert(at, id);
        id
    }

    #[inline]
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        let (region, is_exit) = match event {
            StreamEvent::Enter(region) => (region, false),
            StreamEvent::Exit(region) => (region, true),
            note => return self.push_note(stream, at, note),
        };
        let Some(own) = self.streams.get_mut(stream.index()) else {
            return self.lose(stream);
        };
        let Some(rank) = self.ranks.get_mut(own.rank) else {
            return;
        };
        // The highest bit marks events that waited for the next step.
        let index = rank.functions & (u32::MAX >> 1);
        rank.functions = index.saturating_add(1);
        if region.index() >= self.names.len() {
            own.health.unknown_region += 1;
            return;
        }
        own.push_function(at, region.0, is_exit, index);
    }

    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        let Some(stream) = self.streams.get_mut(stream.index()) else {
            return;
        };
        if name == NESTED {
            stream.overlaps = false;
            return;
        }
        stream.is_gpu |= GPU.contains(&name);
        stream.overlaps |= name == OVERLAPS;
        let metadata = &mut stream.metadata;
        if let Some((_, known)) = metadata.iter_mut().find(|(known, _)| known == name) {
            value.clone_into(known);
        } else if metadata.len() < METADATA {
            metadata.push((name.into(), value.into()));
        } else {
            stream.health.lost_metadata += 1;
        }
    }

    fn end_step(&mut self, step: u64) {
        self.step = step;
        self.replay(false);
        for rank in &mut self.ranks {
            rank.functions = 0;
        }
        // A delayed rank may end a step after other ranks have ended later steps.
        let last = self.ended.map_or(step, |(last, _)| last.max(step));
        self.step = last.saturating_add(1);
        self.ended = Some((last, self.pending()));
    }
}

/// Properties that only accelerator streams have.
const GPU: [&str; 4] = ["CUDA Context", "CUDA Device", "CUDA Stream", OVERLAPS];

/// Property that follows [`OVERLAPS`] for streams whose calls nest, such as those of offloaded
/// functions. It is not stored, because it only states how to interpret the calls.
pub(crate) const NESTED: &str = "Accelerator Calls Nest";

/// Property of streams whose calls may overlap and do not form a stack.
const OVERLAPS: &str = "Accelerator Stream";

/// Largest number of properties for each stream; programs have some dozens.
const METADATA: usize = 4096;
