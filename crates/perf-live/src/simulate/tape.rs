//! [`Tape`]: messages that the ranks of a recording would send to a server, recorded step by step
//! in a replay with a detector for each rank.

use crate::client::{Link, Target, Who};
use crate::{Error, Result};
use perf_anomaly::lost_time::{FunctionSteps, ModeTimes, StepTimes};
use perf_anomaly::provenance::{Entry, Memory, Query, Record, Recorder, Revision, Store};
use perf_anomaly::server::{Client, Delta, Exchange, FunctionName, View};
use perf_anomaly::{Counters, Functions, Monitor, Replay, Result as AnomalyResult};
use perf_core::{
    EventSink, EventSource, Job, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey,
    TraceView,
};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Messages of the ranks of a recording to a server, step by step.
#[derive(Debug)]
pub struct Tape {
    /// Messages by rank of the recording.
    pub(super) ranks: Vec<Vec<RecordedMessage>>,
    /// Length of the recording.
    pub(super) span: Nanos,
    /// Number of steps.
    pub(super) steps: u64,
}

/// Message of a rank in a step.
#[derive(Clone, Debug)]
pub(super) struct RecordedMessage {
    /// Delta.
    pub(super) delta: Delta,
    /// Entries.
    pub(super) entries: Vec<Entry>,
}

impl Tape {
    /// Replays a recording in `steps` steps, each rank with a separate detector, and stores the
    /// messages for the server of `target`. The server learns the names of the functions.
    ///
    /// # Errors
    /// Returns an error if the server cannot be reached, or the recording has no rank.
    pub fn record(view: TraceView<'_>, steps: u64, target: &Target) -> Result<Self> {
        // The recording is replayed twice: first to collect the names, then with the numbers that
        // the server assigns to them.
        let first = play(view, steps, None)?;
        let mut names: Vec<FunctionName> = Vec::new();
        for recorded in first.ranks.iter().flatten() {
            for name in &recorded.delta.names {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        let recorded = first.ranks.first().and_then(|rank| rank.first());
        let mut delta =
            recorded
                .map(|recorded| recorded.delta.clone())
                .ok_or(Error::Parameter {
                    name: "recording",
                    value: "of no rank".into(),
                    range: "of at least one rank with calls",
                })?;
        let link = Link::open(target, Who::default())?;
        delta.client = link.client();
        delta.names = names;
        delta.model = delta.model.emptied();
        delta.functions = Functions::default();
        delta.steps.clear();
        delta.times = StepTimes::default();
        delta.modes = ModeTimes::default();
        delta.losses = FunctionSteps::default();
        delta.changes.clear();
        delta.counters = Counters::default();
        let mut exchange = link.exchange();
        exchange.send(&delta)?;
        let view_of_names = exchange.receive()?;
        play(view, steps, view_of_names)
    }

    /// Returns the number of ranks of the recording.
    pub fn ranks(&self) -> usize {
        self.ranks.len()
    }
}

/// Messages and entries collected during the replay.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<(Vec<RecordedMessage>, Vec<Entry>)>>);

impl Heard {
    fn with<T>(&self, work: impl FnOnce(&mut (Vec<RecordedMessage>, Vec<Entry>)) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Exchange that stores deltas and returns a view with the names that the server knows.
#[derive(Debug)]
struct Writing {
    /// Collected messages.
    heard: Heard,
    /// View with the names.
    view: Option<View>,
}

impl Exchange for Writing {
    fn send(&mut self, delta: &Delta) -> AnomalyResult<()> {
        self.heard.with(|(recorded, entries)| {
            recorded.push(RecordedMessage {
                delta: delta.clone(),
                entries: std::mem::take(entries),
            });
        });
        Ok(())
    }

    fn receive(&mut self) -> AnomalyResult<Option<View>> {
        Ok(self.view.take())
    }
}

/// Store that collects entries.
#[derive(Debug)]
struct Keeping(Heard);

impl Store for Keeping {
    fn put(&mut self, entry: &Entry) -> AnomalyResult<u64> {
        self.0.with(|(_, entries)| entries.push(entry.clone()));
        Ok(0)
    }

    fn commit(&mut self) -> AnomalyResult<()> {
        Ok(())
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> AnomalyResult<()>) -> AnomalyResult<()> {
        Memory::new().each(take)
    }

    fn query(&mut self, query: &Query) -> AnomalyResult<Vec<Record>> {
        Memory::new().query(query)
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> AnomalyResult<u64> {
        Memory::new().revise(judge)
    }
}

fn play(view: TraceView<'_>, steps: u64, known: Option<View>) -> Result<Tape> {
    let mut all = Split {
        known,
        ranks: BTreeMap::new(),
        streams: Vec::new(),
        regions: Vec::new(),
        counters: Vec::new(),
        error: None,
    };
    let mut replay = Replay::in_steps(view, steps);
    // The job is never cancelled.
    while replay
        .next_step(&mut all, &Job::default())
        .unwrap_or_default()
    {
        if let Some(error) = all.error.take() {
            return Err(error.into());
        }
    }
    let mut ranks: Vec<Vec<RecordedMessage>> = Vec::new();
    for (_, (monitor, heard)) in all.ranks {
        monitor.finish().map_err(perf_anomaly::Error::from)?;
        ranks.push(heard.with(|(recorded, _)| std::mem::take(recorded)));
    }
    // A rank without messages cannot be played.
    ranks.retain(|recorded| !recorded.is_empty());
    let of_steps = |recorded: &RecordedMessage| recorded.delta.steps.clone();
    let all_steps: Vec<_> = ranks.iter().flatten().flat_map(of_steps).collect();
    let first = all_steps.iter().map(|step| step.start).min();
    let last = all_steps.iter().map(|step| step.end).max();
    let span = last
        .unwrap_or_default()
        .0
        .saturating_sub(first.unwrap_or_default().0);
    let end = all_steps.iter().map(|step| step.step).max();
    Ok(Tape {
        ranks,
        span: Nanos(span),
        steps: end.map_or(0, |end| end + 1),
    })
}

/// Sink with a separate monitor for each rank.
#[derive(Debug)]
struct Split {
    /// View with the names of the server.
    known: Option<View>,
    /// Monitor and collected messages of each rank.
    ranks: BTreeMap<(u32, u32), (Monitor, Heard)>,
    /// Rank of each stream, and the number of the stream in the monitor of that rank.
    streams: Vec<((u32, u32), StreamId)>,
    /// Regions registered before a rank existed.
    regions: Vec<(u32, String)>,
    /// Counters registered before a rank existed.
    counters: Vec<String>,
    /// First error.
    error: Option<perf_anomaly::Error>,
}

impl Split {
    fn monitor(&self) -> perf_anomaly::Result<(Monitor, Heard)> {
        let heard = Heard::default();
        let writing = Writing {
            heard: heard.clone(),
            view: self.known.clone(),
        };
        let client = Client::new(1, writing).in_flight(usize::MAX);
        let recorder = Recorder::new(Default::default(), Box::new(Keeping(heard.clone())));
        let mut monitor = Monitor::default().record(recorder).share(client);
        for (program, name) in &self.regions {
            monitor.region(*program, name);
        }
        for name in &self.counters {
            monitor.counter(name);
        }
        Ok((monitor, heard))
    }

    fn at(&mut self, stream: StreamId) -> Option<(&mut Monitor, StreamId)> {
        let (rank, own) = *self.streams.get(stream.0 as usize)?;
        Some((&mut self.ranks.get_mut(&rank)?.0, own))
    }
}

impl EventSink for Split {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        let known = self
            .regions
            .iter()
            .position(|(own, known)| *own == program && known == name);
        let at = known.unwrap_or_else(|| {
            self.regions.push((program, name.into()));
            for (monitor, _) in self.ranks.values_mut() {
                monitor.region(program, name);
            }
            self.regions.len() - 1
        });
        RegionId(at as u32)
    }

    fn counter(&mut self, name: &str) -> MetricId {
        let known = self.counters.iter().position(|known| known == name);
        let at = known.unwrap_or_else(|| {
            self.counters.push(name.into());
            for (monitor, _) in self.ranks.values_mut() {
                monitor.counter(name);
            }
            self.counters.len() - 1
        });
        MetricId(at as u32)
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        let rank = (key.program, key.rank);
        if !self.ranks.contains_key(&rank) {
            match self.monitor() {
                Ok(made) => drop(self.ranks.insert(rank, made)),
                Err(error) => self.error = Some(error),
            }
        }
        let own = match self.ranks.get_mut(&rank) {
            Some((monitor, _)) => monitor.stream(key),
            None => StreamId(u32::MAX),
        };
        self.streams.push((rank, own));
        StreamId((self.streams.len() - 1) as u32)
    }

    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        if let Some((monitor, own)) = self.at(stream) {
            monitor.push(own, at, event);
        }
    }

    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        if let Some((monitor, own)) = self.at(stream) {
            monitor.metadata(own, name, value);
        }
    }

    fn end_step(&mut self, step: u64) {
        for (monitor, _) in self.ranks.values_mut() {
            monitor.end_step(step);
            if let Some(error) = monitor.take_error() {
                self.error = self.error.take().or(Some(error));
            }
        }
    }
}
