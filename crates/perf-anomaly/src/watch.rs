//! [`Watch`]: a program pushes its own events.

use perf_core::{
    EventSink, MetricId, Nanos, Peer, RegionId, StreamEvent, StreamId, StreamKey, Value,
};

/// The events of one rank of a program, pushed by the program itself into a sink.
///
/// Times are nanoseconds since any origin that all ranks share, and the step of an event is
/// `(time - origin) / period`: ranks agree on it however long one of them has nothing to tell. Steps
/// in which nothing came are passed over. Or one says when a step ends. Wrong order, wrong names and
/// forgotten exits are mended and counted by the sink.
///
/// A clock that is read wrongly once must not end all steps to come: an event more than 16 steps ahead
/// waits for two more, or the end of the step. If two are as far ahead, that is where the program is; else
/// the event is one of the step that is going on, and [counted](Self::wrong_steps).
///
/// ```
/// use perf_anomaly::Watch;
/// use perf_anomaly::calls::Calls;
/// use perf_core::Nanos;
/// let calls = Calls::default();
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
    origin: Nanos,
    step: u64,
    /// When the step ends; `None` before the first event, and after somebody ended a step.
    end: Option<Nanos>,
    /// Events before need no thought: the end of the step, unless some wait.
    until: Nanos,
    /// Events far ahead that wait for others.
    ahead: Vec<(u32, Nanos, StreamEvent)>,
    wrong: u64,
    empty: u64,
}

/// How many steps ahead is far.
const FAR: u64 = 16;
/// So many events say where a program is.
const SURE: usize = 3;

impl<S: EventSink> Watch<S> {
    /// Watches a rank of a program. A step is 1 s long.
    pub fn new(sink: S, program: u32, rank: u32) -> Self {
        Watch {
            sink,
            program,
            rank,
            threads: Vec::new(),
            period: Nanos(1_000_000_000),
            origin: Nanos(0),
            step: 0,
            end: None,
            until: Nanos(i64::MIN),
            ahead: Vec::new(),
            wrong: 0,
            empty: 0,
        }
    }

    /// How long a step is, in the time of the events. Default: 1 s; 0 for steps that end only when
    /// one [says so](Self::end_step).
    pub fn period(mut self, period: Nanos) -> Self {
        self.period = period;
        self.look();
        self
    }

    /// When step 0 begins, in the time of the events: the same on all ranks. Default: 0. What is earlier
    /// belongs to step 0.
    pub fn origin(mut self, origin: Nanos) -> Self {
        self.origin = origin;
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

    /// Ends the step, and gives its number. Events that come before its time is over belong to the next
    /// one.
    pub fn end_step(&mut self) -> u64 {
        self.settle();
        self.finish_step()
    }

    /// It is `at`, though nothing may have happened: ends the step if it is over. For programs that have
    /// nothing to tell for a long time, and whose last calls are to be judged all the same.
    pub fn tick(&mut self, at: Nanos) {
        let step = self.step_of(at);
        let come = self.ahead.iter().map(|(_, at, _)| self.step_of(*at));
        let come = come.filter(|ahead| *ahead <= step).min();
        match come {
            // The clock says that they are right.
            Some(come) => {
                self.advance(come);
                self.release();
            }
            None => self.settle(),
        }
        if self.end.is_some_and(|end| at >= end) {
            self.advance(step);
        }
        self.look();
    }

    /// Steps in which nothing came, between the first event and the last.
    pub fn empty_steps(&self) -> u64 {
        self.empty
    }

    /// Events far ahead of the step they are taken into, as those around them show.
    pub fn wrong_steps(&self) -> u64 {
        self.wrong
    }

    /// The step that is going on.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// The sink. At most two events that are far ahead [wait](Self) before it has them.
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// The sink, to change it.
    pub fn sink_mut(&mut self) -> &mut S {
        self.settle();
        &mut self.sink
    }

    /// The sink, without the watch. The step that is going on is not ended.
    pub fn into_sink(mut self) -> S {
        self.settle();
        self.sink
    }

    #[inline]
    fn push(&mut self, thread: u32, at: Nanos, event: StreamEvent) {
        if at >= self.until {
            return self.think(thread, at, event);
        }
        let stream = self.stream(thread);
        self.sink.push(stream, at, event);
    }

    /// An event at which a step ends, or after which one knows where the program is.
    #[cold]
    fn think(&mut self, thread: u32, at: Nanos, event: StreamEvent) {
        let is_over = self.period.0 > 0 && self.end.is_none_or(|end| at >= end);
        let step = self.step_of(at);
        if is_over && step > self.step.saturating_add(FAR) {
            self.ahead.push((thread, at, event));
            if self.ahead.len() >= SURE {
                self.settle();
            }
        } else {
            // Whoever waited was not borne out.
            self.wrong = self.wrong.saturating_add(self.ahead.len() as u64);
            self.release();
            if is_over {
                self.advance(step);
            }
            let stream = self.stream(thread);
            self.sink.push(stream, at, event);
        }
        self.look();
    }

    /// The step of a time; that of what is before the origin is 0.
    fn step_of(&self, at: Nanos) -> u64 {
        let since = at.0.saturating_sub(self.origin.0).max(0) / self.period.0.max(1);
        since.cast_unsigned()
    }

    /// Decides about events that wait: if there are enough of them, or nothing else is known, the step is
    /// theirs, by the one in the middle.
    fn settle(&mut self) {
        let is_known = self.end.is_some() || self.step > 0;
        let mut steps: Vec<u64> = self.ahead.iter().map(|one| self.step_of(one.1)).collect();
        steps.sort_unstable();
        let middle = steps.get((steps.len().max(1) - 1) / 2).copied();
        if let Some(middle) = middle {
            let is_near = |step: &&u64| step.abs_diff(middle) <= FAR;
            let near = steps.iter().filter(is_near).count();
            if !is_known || near > 1 {
                let first = steps.iter().find(is_near).copied();
                self.advance(first.unwrap_or(middle));
                self.wrong = self.wrong.saturating_add((steps.len() - near) as u64);
            } else {
                self.wrong = self.wrong.saturating_add(steps.len() as u64);
            }
        }
        self.release();
        self.look();
    }

    /// Pushes events that waited into the step that is going on.
    fn release(&mut self) {
        for (thread, at, event) in std::mem::take(&mut self.ahead) {
            let stream = self.stream(thread);
            self.sink.push(stream, at, event);
        }
    }

    /// Finds out up to when events need no thought.
    fn look(&mut self) {
        self.until = match (self.period.0 > 0, self.ahead.is_empty()) {
            (false, _) => Nanos(i64::MAX),
            (true, false) => Nanos(i64::MIN),
            (true, true) => self.end.unwrap_or(Nanos(i64::MIN)),
        };
    }

    fn finish_step(&mut self) -> u64 {
        let step = self.step;
        self.sink.end_step(step);
        self.step = step.saturating_add(1);
        self.end = None;
        self.look();
        step
    }

    /// Ends the step that is going on, if one is, and begins another one.
    fn advance(&mut self, step: u64) {
        if self.end.is_some() {
            self.finish_step();
            self.empty = self.empty.saturating_add(step.saturating_sub(self.step));
        }
        // A step that somebody ended is over.
        self.step = self.step.max(step);
        let end =
            i128::from(self.origin.0) + (i128::from(self.step) + 1) * i128::from(self.period.0);
        self.end = Some(Nanos(i64::try_from(end).unwrap_or(i64::MAX)));
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
