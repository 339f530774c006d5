//! [`Watch`]: interface for a program that pushes its own events to a sink; ends a step when the
//! times of events show that it is over.

use perf_core::{
    EventSink, MetricId, Nanos, Peer, RegionId, StreamEvent, StreamId, StreamKey, Value,
};

/// Pushes the events of one rank, from within the program, to a sink.
///
/// Times are nanoseconds since any origin that all ranks share. The step of an event is `(time -
/// origin) / period`, so all ranks agree on it, even if one of them has no events for a long time.
/// Steps without events are skipped. Alternatively the program ends steps explicitly. The sink
/// repairs and counts wrong order, wrong names and missing exits.
///
/// A single wrong clock reading must not skip many steps. An event more than 16 steps ahead
/// therefore waits for two more events, or for the end of the step. If at least two events wait
/// then, and are within 16 steps of each other, the step is advanced to theirs. Otherwise the
/// waiting events are assigned to the current step and [counted](Self::wrong_steps).
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
    /// Receiver of the events.
    sink: S,
    /// Program.
    program: u32,
    /// Rank.
    rank: u32,
    /// Stream of each thread.
    threads: Vec<(u32, StreamId)>,
    /// Length of a step.
    period: Nanos,
    /// Time at which step 0 begins.
    origin: Nanos,
    /// Current step.
    step: u64,
    /// End of the step; `None` before the first event, and after a step was ended explicitly.
    end: Option<Nanos>,
    /// Time before which events need no check: the end of the step, unless events wait.
    until: Nanos,
    /// Events far ahead that wait for further events to confirm their step.
    ahead: Vec<(u32, Nanos, StreamEvent)>,
    /// Number of events that were assigned to an earlier step than that of their time.
    wrong: u64,
    /// Number of steps without events.
    empty: u64,
}

/// Number of steps beyond which an event is far ahead.
const FAR: u64 = 16;
/// Number of waiting events at which their step is decided.
const SURE: usize = 3;

impl<S: EventSink> Watch<S> {
    /// Creates a watch for a rank of a program, with steps of 1 s.
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

    /// Sets the length of a step in the time of the events. Default: 1 s. With 0, steps are only
    /// [ended explicitly](Self::end_step).
    pub fn period(mut self, period: Nanos) -> Self {
        self.period = period;
        self.look();
        self
    }

    /// Sets the time at which step 0 begins, which must be the same on all ranks. Default: 0.
    /// Earlier events belong to step 0.
    pub fn origin(mut self, origin: Nanos) -> Self {
        self.origin = origin;
        self
    }

    /// Returns the id of a region.
    pub fn region(&mut self, name: &str) -> RegionId {
        self.sink.region(self.program, name)
    }

    /// Returns the id of a counter.
    pub fn counter(&mut self, name: &str) -> MetricId {
        self.sink.counter(name)
    }

    /// Records the enter of a region.
    #[inline]
    pub fn enter(&mut self, thread: u32, region: RegionId, at: Nanos) {
        self.push(thread, at, StreamEvent::Enter(region));
    }

    /// Records the exit of a region.
    #[inline]
    pub fn exit(&mut self, thread: u32, region: RegionId, at: Nanos) {
        self.push(thread, at, StreamEvent::Exit(region));
    }

    /// Records a message sent to a rank.
    pub fn send(&mut self, thread: u32, to: Peer, at: Nanos) {
        self.push(thread, at, StreamEvent::Send(to));
    }

    /// Records a message received from a rank.
    pub fn receive(&mut self, thread: u32, from: Peer, at: Nanos) {
        self.push(thread, at, StreamEvent::Receive(from));
    }

    /// Records the value of a counter.
    pub fn count(&mut self, thread: u32, counter: MetricId, value: Value, at: Nanos) {
        self.push(thread, at, StreamEvent::Counter(counter, value));
    }

    /// Records a property of a thread, such as its host.
    pub fn metadata(&mut self, thread: u32, name: &str, value: &str) {
        let stream = self.stream(thread);
        self.sink.metadata(stream, name, value);
    }

    /// Ends the current step, and returns its number. Later events before the regular end of the
    /// step belong to the next step.
    pub fn end_step(&mut self) -> u64 {
        self.settle();
        self.finish_step()
    }

    /// Reports the current time without an event, which ends the step if it is over. This is for
    /// programs that have no events for a long time, but whose last calls should be judged.
    pub fn tick(&mut self, at: Nanos) {
        let step = self.step_of(at);
        let come = self.ahead.iter().map(|(_, at, _)| self.step_of(*at));
        let come = come.filter(|ahead| *ahead <= step).min();
        match come {
            // The explicit time confirms the waiting events.
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

    /// Returns the number of steps without events between the first and the last event.
    pub fn empty_steps(&self) -> u64 {
        self.empty
    }

    /// Returns the number of events that were assigned to an earlier step than that of their time,
    /// because the events around them did not confirm it.
    pub fn wrong_steps(&self) -> u64 {
        self.wrong
    }

    /// Returns the current step.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Returns the sink. It may not have received the last events: at most two events that are far
    /// ahead [wait](Self).
    pub fn sink(&self) -> &S {
        &self.sink
    }

    /// Returns the sink for modification.
    pub fn sink_mut(&mut self) -> &mut S {
        self.settle();
        &mut self.sink
    }

    /// Returns the sink by value. The current step is not ended.
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

    /// Handles an event that may end a step, or confirm the step of waiting events.
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
            // The waiting events were not confirmed.
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

    /// Returns the step of a time; 0 before the origin.
    fn step_of(&self, at: Nanos) -> u64 {
        let since = at.0.saturating_sub(self.origin.0).max(0) / self.period.0.max(1);
        since.cast_unsigned()
    }

    /// Decides about waiting events. If at least two of them are within [`FAR`] steps of the median
    /// step, or the current step is unknown, the step is advanced to the earliest of these.
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

    /// Pushes the waiting events to the sink, in the current step.
    fn release(&mut self) {
        for (thread, at, event) in std::mem::take(&mut self.ahead) {
            let stream = self.stream(thread);
            self.sink.push(stream, at, event);
        }
    }

    /// Computes the time up to which events need no check.
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

    /// Ends the current step, if any, and begins another one.
    fn advance(&mut self, step: u64) {
        if self.end.is_some() {
            self.finish_step();
            self.empty = self.empty.saturating_add(step.saturating_sub(self.step));
        }
        // A step that was ended explicitly is over.
        self.step = self.step.max(step);
        let end =
            i128::from(self.origin.0) + (i128::from(self.step) + 1) * i128::from(self.period.0);
        self.end = Some(Nanos(i64::try_from(end).unwrap_or(i64::MAX)));
    }

    /// Returns the stream of a thread. Programs have few threads, and consecutive events mostly
    /// belong to the same one.
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
