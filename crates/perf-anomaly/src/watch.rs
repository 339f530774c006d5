//! [`Watch`]: a program pushes its own events.

use perf_core::{
    EventSink, MetricId, Nanos, Peer, RegionId, StreamEvent, StreamId, StreamKey, Value,
};

/// The events of one rank of a program, pushed by the program itself into a sink.
///
/// Steps end by time, or when one says so; times are nanoseconds since any origin that all ranks
/// share. Wrong order, wrong names and forgotten exits are mended and counted by the sink.
///
/// ```
/// use perf_anomaly::Watch;
/// use perf_anomaly::calls::Calls;
/// use perf_core::Nanos;
/// let calls = Calls::new(Calls::params().check()?);
/// let mut watch = Watch::new(calls, 0, 3);
/// let solve = watch.region("solve");
/// for k in 0..10 {
///     watch.enter(0, solve, Nanos(100 * k));
///     watch.exit(0, solve, Nanos(100 * k + 60));
/// }
/// watch.end_step();
/// assert_eq!(watch.sink().batch().len(), 10);
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Watch<S> {
    sink: S,
    program: u32,
    rank: u32,
    threads: Vec<(u32, StreamId)>,
    period: Nanos,
    step: u64,
    /// When the step ends; `None` before the first event.
    end: Option<Nanos>,
}

impl<S: EventSink> Watch<S> {
    /// Watches a rank of a program. A step is 1 s long.
    pub fn new(sink: S, program: u32, rank: u32) -> Self {
        Watch {
            sink,
            program,
            rank,
            threads: Vec::new(),
            period: Nanos(1_000_000_000),
            step: 0,
            end: None,
        }
    }

    /// How long a step is, in the time of the events. Default: 1 s; 0 for steps that end only when
    /// one [says so](Self::end_step).
    pub fn period(mut self, period: Nanos) -> Self {
        self.period = period;
        self
    }

    /// The id of a region.
    pub fn region(&mut self, name: &str) -> RegionId {
        self.sink.region(self.program, name)
    }

    /// The id of a counter.
    pub fn counter(&mut self, name: &str) -> MetricId {
        self.sink.counter(name)
    }

    /// A region is entered.
    #[inline]
    pub fn enter(&mut self, thread: u32, region: RegionId, at: Nanos) {
        self.push(thread, at, StreamEvent::Enter(region));
    }

    /// A region is left.
    #[inline]
    pub fn exit(&mut self, thread: u32, region: RegionId, at: Nanos) {
        self.push(thread, at, StreamEvent::Exit(region));
    }

    /// A message is sent to a rank.
    pub fn send(&mut self, thread: u32, to: Peer, at: Nanos) {
        self.push(thread, at, StreamEvent::Send(to));
    }

    /// A message is received from a rank.
    pub fn receive(&mut self, thread: u32, from: Peer, at: Nanos) {
        self.push(thread, at, StreamEvent::Receive(from));
    }

    /// A counter has a value.
    pub fn count(&mut self, thread: u32, counter: MetricId, value: Value, at: Nanos) {
        self.push(thread, at, StreamEvent::Counter(counter, value));
    }

    /// A fact about a thread, such as its host.
    pub fn metadata(&mut self, thread: u32, name: &str, value: &str) {
        let stream = self.stream(thread);
        self.sink.metadata(stream, name, value);
    }

    /// Ends the step, and gives its number.
    pub fn end_step(&mut self) -> u64 {
        let step = self.step;
        self.sink.end_step(step);
        self.step += 1;
        self.end = None;
        step
    }

    /// The step that is going on.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The sink.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink, to change it.
    pub fn sink_mut(&mut self) -> &mut S {
        &mut self.sink
    }

    /// The sink, without the watch. The step that is going on is not ended.
    pub fn into_sink(self) -> S {
        self.sink
    }

    #[inline]
    fn push(&mut self, thread: u32, at: Nanos, event: StreamEvent) {
        if self.period.0 > 0 {
            let start = Nanos(at.0.saturating_add(self.period.0));
            let end = *self.end.get_or_insert(start);
            if at >= end {
                self.end_step();
                self.end = Some(start);
            }
        }
        let stream = self.stream(thread);
        self.sink.push(stream, at, event);
    }

    /// A program has few threads, and an event is mostly of the one before.
    #[inline]
    fn stream(&mut self, thread: u32) -> StreamId {
        match self.threads.first() {
            Some((known, stream)) if *known == thread => *stream,
            _ => self.other_stream(thread),
        }
    }

    fn other_stream(&mut self, thread: u32) -> StreamId {
        let known = self.threads.iter().position(|(known, _)| *known == thread);
        let at = known.unwrap_or_else(|| {
            let stream = self.sink.stream(StreamKey {
                program: self.program,
                rank: self.rank,
                thread,
            });
            self.threads.push((thread, stream));
            self.threads.len() - 1
        });
        self.threads.swap(0, at);
        self.threads
            .first()
            .map_or(StreamId(u32::MAX), |first| first.1)
    }
}
