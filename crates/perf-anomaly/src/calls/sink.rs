//! [`Calls`]: the sink.

use super::gpu::Gpu;
use super::names::{CounterKind, Names};
use super::params::{CallsParams, CheckedCallsParams, ModelBy};
use super::paths::Paths;
use super::stream::{Shared, Stream};
use super::{Batch, NodeState, StreamHealth};
use crate::FunctionId;
use perf_core::{
    CallPathId, EventSink, Job, Merge, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey,
};
use std::collections::HashMap;

/// Turns events into completed calls, step by step.
///
/// An [`EventSource`](perf_core::EventSource) pushes a step into it, and then
/// [`batch`](Self::batch) has the calls that were completed; after the last step,
/// [`finish`](Self::finish) closes what is open.
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
/// // `dot` ended first; `solve` took 90 ns, 60 ns of it itself.
/// assert_eq!(batch.samples()[1].runtime, Nanos(60));
/// assert_eq!(calls.function_name(batch.samples()[0].function), "dot");
/// assert_eq!(calls.event_id(&batch.calls()[0]), "3:0:1");
/// assert_eq!(calls.context(&batch.calls()[0]).stack[0].region, solve);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Calls {
    pub(super) params: CallsParams,
    names: Names,
    paths: Paths,
    streams: Vec<Stream>,
    stream_ids: HashMap<StreamKey, StreamId>,
    /// The streams by ascending key.
    order: Vec<StreamId>,
    ranks: Vec<Rank>,
    rank_ids: HashMap<(u32, u32), usize>,
    batch: Batch,
    lost: StreamHealth,
    step: u64,
    /// The step that ended last, as long as nothing came since, and how many events wait since then.
    ended: Option<(u64, usize)>,
    /// What can end a step in its midst.
    pub(crate) job: Job,
}

/// A rank of a program.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// Enters and exits in this step.
    functions: u32,
    gpu: Gpu,
    node: NodeState,
}

/// The id of all streams that are corrupt.
const CORRUPT: StreamId = StreamId(u32::MAX);

impl Default for Calls {
    /// Returns a sink with the default parameters that has seen nothing.
    fn default() -> Self {
        Calls::new(CheckedCallsParams::default())
    }
}

impl Calls {
    /// How events are turned into calls, to be set up and checked.
    pub fn params() -> CallsParams {
        CallsParams::default()
    }

    /// A sink that has seen nothing.
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
            lost: StreamHealth::default(),
            step: 0,
            ended: None,
            job: Job::default(),
            params,
        }
    }

    /// The calls that were completed in the last step.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// Turns what was pushed since into calls, within a step: for who gets more events in a step
    /// than fit into memory. [`batch`](Self::batch) has them, as after a step.
    pub fn flush(&mut self) -> &Batch {
        if self.pending() > 0 {
            self.ended = None;
        }
        self.replay(false);
        &self.batch
    }

    /// Ends the stream: turns what was pushed since the last step into calls, and closes what is
    /// open at the last event of its stream, marked
    /// [`closed_at_end`](super::CallFlags::closed_at_end). [`batch`](Self::batch) has them, as
    /// after a step. Where nothing was pushed since the last step they are calls of that step.
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
            let own = first..self.batch.calls.len();
            if !own.is_empty() {
                self.batch.streams.push((*id, own));
            }
        }
        for rank in &mut self.ranks {
            rank.gpu.forget(self.params.pending, &mut self.lost);
        }
    }

    /// Events that were pushed and are not yet calls.
    pub fn pending(&self) -> usize {
        self.streams.iter().map(Stream::pending).sum()
    }

    /// What was wrong with one stream, and mended.
    pub fn stream_health(&self, stream: StreamId) -> Option<StreamHealth> {
        self.streams.get(stream.index()).map(|stream| stream.health)
    }

    /// What was wrong with all streams, and with what belonged to none.
    pub fn health(&self) -> StreamHealth {
        let mut total = self.lost;
        for stream in &self.streams {
            total.merge(&stream.health);
        }
        total
    }

    /// All streams by program, rank and thread.
    pub fn streams(&self) -> &[StreamId] {
        &self.order
    }

    /// Who runs on a stream.
    pub fn stream_key(&self, stream: StreamId) -> Option<StreamKey> {
        self.streams.get(stream.index()).map(|stream| stream.key)
    }

    /// Whether a stream is one of an accelerator, as its metadata tell.
    pub fn is_gpu(&self, stream: StreamId) -> bool {
        let stream = self.streams.get(stream.index());
        stream.is_some_and(|stream| stream.is_gpu)
    }

    /// What was told about a stream, as (name, value), in the order in which it was told first.
    pub fn stream_metadata(&self, stream: StreamId) -> &[(String, String)] {
        let stream = self.streams.get(stream.index());
        stream.map_or(&[], |stream| stream.metadata.as_slice())
    }

    /// What the monitoring counters of a rank say of its node.
    pub fn node_state(&self, program: u32, rank: u32) -> Option<&NodeState> {
        let rank = self.rank_ids.get(&(program, rank))?;
        self.ranks.get(*rank).map(|rank| &rank.node)
    }

    /// What a monitoring counter is called on the node; `None` for other counters.
    pub fn node_field(&self, counter: MetricId) -> Option<&str> {
        self.names.field(counter)
    }

    /// Program and name of a region.
    pub fn region_name(&self, region: RegionId) -> Option<(u32, &str)> {
        self.names.region_name(region)
    }

    /// The name of a counter.
    pub fn counter_name(&self, counter: MetricId) -> Option<&str> {
        self.names.counter_name(counter)
    }

    /// The regions of a call path, the outermost first. Empty for what is no path, and for paths
    /// past the limit.
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

    /// One more than the largest id a model can have by now.
    pub fn function_count(&self) -> usize {
        match self.params.model {
            ModelBy::Function => self.names.len(),
            ModelBy::CallPath => self.paths.len(),
        }
    }

    /// The program a model is of; `None` where there is no such model.
    pub fn function_program(&self, function: FunctionId) -> Option<u32> {
        self.names
            .region_name(self.function_region(function)?)
            .map(|(program, _)| program)
    }

    /// The region a model is of: for a call path, that of its last call.
    pub fn function_region(&self, function: FunctionId) -> Option<RegionId> {
        let region = match self.params.model {
            ModelBy::Function => function.0,
            ModelBy::CallPath => self.paths.get(function.0)?.0,
        };
        (self.names.len() > region as usize).then_some(RegionId(region))
    }

    /// The name of a model: of the function, or for a call path of all functions on it, such as
    /// `main / solve / dot`.
    pub fn function_name(&self, function: FunctionId) -> String {
        let name = |region: &RegionId| self.names.region_name(*region).map(|(_, name)| name);
        match self.params.model {
            ModelBy::Function => name(&RegionId(function.0)).unwrap_or("(unknown)").into(),
            ModelBy::CallPath => {
                let path = self.path(CallPathId(function.0));
                let names: Vec<&str> = path.iter().filter_map(name).collect();
                match names.is_empty() {
                    true => "(other)".into(),
                    false => names.join(" / "),
                }
            }
        }
    }

    pub(super) fn at(&self, stream: StreamId) -> Option<&Stream> {
        self.streams.get(stream.index())
    }

    pub(super) fn gpu(&self, stream: StreamId) -> Option<&Gpu> {
        let rank = self.at(stream)?.rank;
        self.ranks.get(rank).map(|rank| &rank.gpu)
    }

    /// Bytes of memory that streams and the batch hold. It depends on the longest step, not on how
    /// many there were.
    pub fn memory(&self) -> usize {
        let streams: usize = self.streams.iter().map(Stream::memory).sum();
        streams
            + self.batch.calls.capacity() * size_of::<super::Call>()
            + self.batch.samples.capacity() * size_of::<crate::Sample>()
    }

    /// Anything but an enter or exit.
    #[inline(never)]
    fn push_note(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        let Some(own) = self.streams.get_mut(stream.index()) else {
            return self.lose(stream);
        };
        match event {
            StreamEvent::Counter(counter, value) => match self.names.kind(counter) {
                None => own.health.unknown_counter += 1,
                Some(CounterKind::OfNode) => {
                    own.health.counters += 1;
                    if let Some(rank) = self.ranks.get_mut(own.rank) {
                        rank.node.set(counter, at, value);
                    }
                }
                Some(kind) => own.push_note(at, event, kind),
            },
            StreamEvent::Correlation(id) => own.push_correlation(id),
            _ => own.push_note(at, event, CounterKind::OfCall),
        }
    }

    /// Counts an event of no stream.
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

    fn counter(&mut self, name: &str) -> MetricId {
        let (id, shared) = self.names.counter(name, &self.params);
        self.lost.name_limit += u64::from(shared);
        id
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        if let Some(id) = self.stream_ids.get(&key) {
            return *id;
        }
        if self.refuse(key) {
            self.lost.corrupt_stream += 1;
            return CORRUPT;
        }
        // The limit is checked to be far below 2^32.
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
        // A rank that is late may end a step after later ones of others.
        let last = self.ended.map_or(step, |(last, _)| last.max(step));
        self.step = last.saturating_add(1);
        self.ended = Some((last, self.pending()));
    }
}

/// Facts that only streams of accelerators have.
const GPU: [&str; 4] = ["CUDA Context", "CUDA Device", "CUDA Stream", OVERLAPS];

/// Fact that follows [`OVERLAPS`] for streams whose calls nest, as those of offloaded functions do. It is not
/// kept: it says how to read the calls.
pub(crate) const NESTED: &str = "Accelerator Calls Nest";

/// The fact that only streams have whose calls are told as what is open when, not as a stack.
const OVERLAPS: &str = "Accelerator Stream";

/// Most facts that are kept a stream; a program has some dozens.
const METADATA: usize = 4096;
