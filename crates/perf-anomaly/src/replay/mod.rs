//! [`Replay`]: event source that pushes a recorded trace as a stream, step by step.

mod ids;
mod iterations;
mod sources;

use crate::calls::NESTED;
use ids::Ids;
pub use iterations::Iterations;
use perf_core::{
    Cancelled, Event, EventSink, EventSource, Job, LocationId, Nanos, StreamEvent, StreamKey,
    Ticks, TimeRange, TraceView, Unify,
};
use sources::{Source, describe, is_gpu, launches, ranks, sources, stages};
use std::time::{Duration, Instant};

/// Pushes a [`Trace`](perf_core::Trace) like a live stream, in steps of equal time or in
/// [iterations](Self::with_iterations), at full speed or paced.
///
/// Each process is a rank, in the order of the trace, and its locations are threads. If the names of
/// locations state [pipeline stages](Self::stages), each stage of a process is a rank. Accelerator
/// streams are numbered after the CPU threads, and belong to the process that uses the accelerator.
/// They have the property `Accelerator Stream`, and also `Accelerator Calls Nest` if their calls
/// nest.
///
/// Enters, exits, point-to-point messages, the bytes of collective operations and accesses to remote
/// memory, and metric samples (as counters) are pushed; other events are skipped. If links connect work on an accelerator to the call that launched it
/// ([`Trace::links`](perf_core::Trace::links)), and both are in view, they get a common correlation id. Recorded values of
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
    /// Length of a step in ticks, without iterations.
    period: u64,
    /// Iterations that are steps.
    iterations: Option<Iterations>,
    /// Time range of the events; `None` without events.
    range: Option<TimeRange>,
    /// Next step.
    step: u64,
    /// Speed relative to real time; `None` for full speed.
    pace: Option<f64>,
    /// Time at which a paced replay started.
    started: Option<Instant>,
}

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
            ids: Ids::new(keys, !launches.is_empty()),
            iterations: None,
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

    /// Replays [iterations](Self::iterations) as steps. A rank is then compared with others in the same
    /// iteration, which may begin at another time. Default: steps of equal time.
    pub fn with_iterations(mut self, iterations: &Iterations) -> Self {
        self.iterations = Some(iterations.clone());
        self
    }

    /// Returns the number of steps.
    pub fn steps(&self) -> u64 {
        match (&self.iterations, self.range) {
            (_, None) => 0,
            (Some(iterations), Some(_)) => iterations.steps(),
            (None, Some(range)) => range.len().div_ceil(self.period),
        }
    }

    /// Returns the end of a step on a rank in ticks since the start of the range; the start of the next step.
    fn end(&self, rank: (u32, u32), step: u64) -> u64 {
        let (Some(range), last) = (self.range, self.steps().saturating_sub(1)) else {
            return 0;
        };
        match &self.iterations {
            _ if step >= last => range.len(),
            None => step.saturating_add(1).saturating_mul(self.period),
            Some(iterations) => {
                let end = iterations.end(rank, step);
                end.map_or(range.len(), |end| end.0.saturating_sub(range.start.0))
            }
        }
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

    /// Returns start and end of consecutive steps of a rank, given by program and number, in nanoseconds of the clock of
    /// the trace; `None` for a trace without events, or if a time has no representation in nanoseconds.
    pub fn times(&self, rank: (u32, u32), first: u64, last: u64) -> Option<(Nanos, Nanos)> {
        let (clock, range) = (self.view.definitions().clock, self.range?);
        let nanos = |ticks: u64| clock.nanos(Ticks(range.start.0.saturating_add(ticks)));
        let start = first
            .checked_sub(1)
            .map_or(0, |before| self.end(rank, before));
        Some((nanos(start)?, nanos(self.end(rank, last))?))
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

fn rank_of(source: &Source) -> (u32, u32) {
    (source.key.program, source.key.rank)
}

impl EventSource for Replay<'_> {
    type Error = Cancelled;

    fn next_step(&mut self, sink: &mut dyn EventSink, job: &Job) -> Result<bool, Cancelled> {
        let Some(range) = self.range else {
            return Ok(false);
        };
        if self.step >= self.steps() {
            return Ok(false);
        }
        let step = self.step;
        let ends: Vec<u64> = self
            .streams
            .iter()
            .map(|source| self.end(rank_of(source), step))
            .collect();
        self.wait(ends.iter().copied().max().unwrap_or_default(), job)?;
        let definitions = self.view.definitions();
        if self.step == 0 {
            self.ids.ask(definitions, sink);
        }
        let mut checks = job.checks();
        for (source, end) in self.streams.iter_mut().zip(ends) {
            job.check()?;
            let Some(location) = self.view.location(source.location) else {
                continue;
            };
            let times = location.times();
            let rest = &times[source.done..];
            let count = if end >= range.len() {
                rest.len()
            } else {
                let until = Ticks(range.start.0.saturating_add(end));
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
