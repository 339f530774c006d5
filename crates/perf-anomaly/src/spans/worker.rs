//! [`Watching`]: handle of the judging thread; [`Worker`]: the thread, which pushes the recorded
//! spans of all threads to the monitor and ends its steps.

use super::recorded_spans::{Lane, Note, Shared, be_quiet, lock};
use super::{SpanLayer, Spans};
use crate::{Error, Monitor, Report, Result, Unfinished};
use perf_core::{EventSink, MetricId, Nanos, RegionId, StreamEvent, StreamId, StreamKey, Value};
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Handle of the running judging thread. [`finish`](Self::finish) ends the thread and returns the
/// results; dropping the handle ends the thread too.
#[derive(Debug)]
pub struct Watching {
    /// State shared with the layer.
    shared: Arc<Shared>,
    /// Judging thread.
    thread: Option<JoinHandle<Monitor>>,
}

pub(super) fn start(spans: Spans) -> Result<(SpanLayer, Watching)> {
    let shared = Arc::new(Shared::new(spans.limit));
    let layer = SpanLayer(Arc::clone(&shared));
    let worker = Worker {
        shared: Arc::clone(&shared),
        spans,
        regions: Vec::new(),
        counters: Vec::new(),
        streams: HashMap::new(),
        spare: Vec::new(),
        step: 0,
    };
    let thread = std::thread::Builder::new().name("perfkit-spans".into());
    let thread = thread.spawn(|| worker.run());
    let thread = thread.map_err(|error| Error::Spans(error.to_string()))?;
    let watching = Watching {
        shared,
        thread: Some(thread),
    };
    Ok((layer, watching))
}

impl Watching {
    /// Returns the number of spans and counters that were dropped because too many waited to be
    /// judged.
    pub fn left_out(&self) -> u64 {
        self.shared.left_out.load(Ordering::Relaxed)
    }

    /// Stops recording, judges the remaining calls and ends the last step. Open spans become calls
    /// that end at the last event of their thread.
    ///
    /// # Errors
    /// Returns [`Unfinished`] with the first error of the monitor's store or server. It contains
    /// the report, unless the judging thread panicked.
    pub fn finish(mut self) -> std::result::Result<Report, Unfinished> {
        match self.stop() {
            Some(mut monitor) => {
                monitor.add_left_out(self.left_out());
                monitor.finish()
            }
            None => Err(Unfinished {
                error: Error::Spans("it panicked".into()),
                report: None,
            }),
        }
    }

    fn stop(&mut self) -> Option<Monitor> {
        self.shared.is_on.store(false, Ordering::Relaxed);
        lock(&self.shared.state).is_over = true;
        self.shared.bell.notify_one();
        self.thread.take()?.join().ok()
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.stop();
    }
}

struct Worker {
    /// State shared with the layer.
    shared: Arc<Shared>,
    /// Configuration and monitor.
    spans: Spans,
    /// Id in the monitor of each region.
    regions: Vec<RegionId>,
    /// Id in the monitor of each counter.
    counters: Vec<MetricId>,
    /// Id in the monitor of the stream of each thread.
    streams: HashMap<u32, StreamId>,
    /// Empty buffer with the capacity that a thread needed.
    spare: Vec<(i64, Note)>,
    /// Current step.
    step: u64,
}

impl Worker {
    fn run(mut self) -> Monitor {
        be_quiet();
        let mut end = self.end();
        loop {
            let is_over = self.wait(end);
            self.drain();
            if is_over || Instant::now() >= end {
                self.spans.monitor.end_step(self.step);
                self.judged();
                let since = self.shared.origin.elapsed().as_nanos() / self.spans.period.as_nanos();
                let step = u64::try_from(since).unwrap_or(u64::MAX);
                self.step = step.max(self.step.saturating_add(1));
                end = self.end();
            } else {
                // Many notes in a short time must not wait for the end of the step.
                self.spans.monitor.flush();
                self.judged();
            }
            if is_over {
                self.spans.monitor.close();
                if !self.spans.monitor.batch().is_empty() {
                    self.judged();
                }
                return self.spans.monitor;
            }
        }
    }

    /// Calls the callback of the program, if any.
    fn judged(&mut self) {
        if let Some(each_step) = &mut self.spans.each_step {
            let step = self.spans.monitor.batch().step();
            each_step(&mut self.spans.monitor, step);
        }
    }

    /// Returns the end of the current step. Steps have equal lengths from the origin, regardless of
    /// their processing time.
    fn end(&self) -> Instant {
        let period = self.spans.period.as_nanos();
        let end = period.saturating_mul(u128::from(self.step) + 1);
        // Sufficient for 584 years.
        let end = Duration::from_nanos(u64::try_from(end).unwrap_or(u64::MAX));
        let end = self.shared.origin.checked_add(end);
        end.unwrap_or_else(|| Instant::now() + self.spans.period)
    }

    /// Sleeps until the step ends, many notes wait, or monitoring ends. Returns `true` if
    /// monitoring ends.
    fn wait(&self, end: Instant) -> bool {
        let mut state = lock(&self.shared.state);
        while !state.is_over && !state.is_urgent {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            let woken = self.shared.bell.wait_timeout(state, left);
            state = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        state.is_urgent = false;
        state.is_over
    }

    /// Pushes the notes of all threads to the monitor.
    fn drain(&mut self) {
        let lanes: Vec<Arc<Lane>> = lock(&self.shared.state).lanes.clone();
        for lane in &lanes {
            // The thread gets the emptied buffer of the previous thread.
            let mut notes = std::mem::take(&mut self.spare);
            std::mem::swap(&mut notes, &mut *lock(&lane.notes));
            self.learn();
            let stream = self.stream(lane);
            let monitor = &mut self.spans.monitor;
            for (at, note) in notes.drain(..) {
                let region = |number: u32| self.regions.get(number as usize).copied();
                let counter = |number: u32| self.counters.get(number as usize).copied();
                let event = match note {
                    Note::Enter(number) => region(number).map(StreamEvent::Enter),
                    Note::Exit(number) => region(number).map(StreamEvent::Exit),
                    Note::Count(number, value) => {
                        counter(number).map(|id| StreamEvent::Counter(id, Value::F64(value)))
                    }
                };
                if let Some(event) = event {
                    monitor.push(stream, Nanos(at), event);
                }
            }
            self.spare = notes;
        }
        drop(lanes);
        // Empty lanes without other owners belong to ended threads and are dropped.
        let mut state = lock(&self.shared.state);
        state
            .lanes
            .retain(|lane| Arc::strong_count(lane) > 1 || !lock(&lane.notes).is_empty());
    }

    /// Registers new names with the monitor.
    fn learn(&mut self) {
        let state = lock(&self.shared.state);
        let monitor = &mut self.spans.monitor;
        for name in state.regions.iter().skip(self.regions.len()) {
            self.regions.push(monitor.region(self.spans.program, name));
        }
        for name in state.counters.iter().skip(self.counters.len()) {
            self.counters.push(monitor.counter(name));
        }
    }

    fn stream(&mut self, lane: &Lane) -> StreamId {
        let key = StreamKey {
            program: self.spans.program,
            rank: self.spans.rank,
            thread: lane.thread,
        };
        let monitor = &mut self.spans.monitor;
        let stream = *self
            .streams
            .entry(lane.thread)
            .or_insert_with(|| monitor.stream(key));
        if let Some(name) = lock(&lane.name).take() {
            monitor.metadata(stream, "Thread", &name);
        }
        stream
    }
}
