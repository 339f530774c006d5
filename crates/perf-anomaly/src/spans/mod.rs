//! Self-monitoring of a program: spans of `tracing` as calls (feature `tracing`).
//!
//! [`Spans`] is a layer of `tracing-subscriber`. The time between entering and leaving a span is a
//! call of the function `target::name`, on the thread that executed it. Fields of events whose
//! names begin with `counter.`, `monotonic_counter.`, `gauge.` or `histogram.` are counters, as in
//! other layers. The threads of the program only store times; a thread of the layer converts these
//! to calls and judges them, once each [period](Spans::period).
//!
//! ```
//! use perf_anomaly::{Monitor, spans::Spans};
//! use tracing_subscriber::prelude::*;
//!
//! let monitor = Monitor::default();
//!
//! let (layer, watching) = Spans::new(monitor).start()?;
//! let _guard = tracing_subscriber::registry().with(layer).set_default();
//! for step in 0..10 {
//!     tracing::info_span!("solve", step).in_scope(|| { /* work */ });
//! }
//! let report = watching.finish()?;
//! assert_eq!(report.losses.total().calls, 10);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A span of an asynchronous task is left whenever the task waits: its calls are the intervals of
//! work in between, on any thread.

mod lane;
mod layer;
mod worker;

pub use layer::SpanLayer;
pub use worker::Watching;

use crate::{Monitor, Result};
use std::time::Duration;

/// Configuration of span monitoring for this process.
pub struct Spans {
    /// Monitor that judges the calls.
    monitor: Monitor,
    /// Program.
    program: u32,
    /// Rank.
    rank: u32,
    /// Length of a step.
    period: Duration,
    /// Largest number of waiting notes for each thread.
    limit: usize,
    /// Callback after each step.
    each_step: Option<EachStep>,
}

/// Callback after the calls of a step were judged.
type EachStep = Box<dyn FnMut(&mut Monitor, u64) + Send>;

impl Spans {
    /// Judges calls with a monitor. A step is 1 s long, and the process is rank 0 of program 0.
    pub fn new(monitor: Monitor) -> Self {
        Spans {
            monitor,
            program: 0,
            rank: 0,
            period: Duration::from_secs(1),
            limit: 1 << 20,
            each_step: None,
        }
    }

    /// Sets program and rank of this process. Default: rank 0 of program 0.
    pub fn rank(mut self, program: u32, rank: u32) -> Self {
        (self.program, self.rank) = (program, rank);
        self
    }

    /// Sets the length of a step: at least a millisecond, at most a day. Default: 1 s.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period.clamp(Duration::from_millis(1), Duration::from_secs(86_400));
        self
    }

    /// Sets the number of entries, exits and counters of a thread that may wait to be judged, 24
    /// bytes each. Further spans are dropped as a whole, and counters too, and
    /// [counted](Watching::left_out). Default: 1,048,576.
    pub fn limit(mut self, events: usize) -> Self {
        self.limit = events.max(2);
        self
    }

    /// Calls `what` whenever calls were judged, on the thread of the layer, with their step: to
    /// print the worst calls, or to raise an alarm. This happens after each step, earlier if there
    /// are many calls, so that a number may occur more than once, and at the end for open calls.
    /// Spans of that thread are not recorded. Default: no callback.
    pub fn each_step(mut self, what: impl FnMut(&mut Monitor, u64) + Send + 'static) -> Self {
        self.each_step = Some(Box::new(what));
        self
    }

    /// Starts the judging thread; returns the layer, and a handle that ends it.
    ///
    /// # Errors
    /// Returns [`Error::Spans`](crate::Error::Spans) if the system cannot create a thread.
    pub fn start(self) -> Result<(SpanLayer, Watching)> {
        worker::start(self)
    }
}

impl std::fmt::Debug for Spans {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Spans")
            .field("program", &self.program)
            .field("rank", &self.rank)
            .field("period", &self.period)
            .field("limit", &self.limit)
            .finish_non_exhaustive()
    }
}
