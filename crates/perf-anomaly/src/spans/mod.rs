//! Self-monitoring of a program: its `tracing` spans are recorded and judged as calls; [`Spans`]
//! configures and starts it (feature `tracing`).
//!
//! [`Spans`] configures and starts a [`SpanLayer`] for `tracing-subscriber`. The time between
//! entering and leaving a span is a call of the function `target::name`, on the thread that
//! executed it. Fields of events whose names begin with `counter.`, `monotonic_counter.`, `gauge.`
//! or `histogram.` are counters, as in other layers. The threads of the program only store times. A
//! separate thread converts them to calls and judges these, once in each [period](Spans::period).
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
//! A span of an asynchronous task is left whenever the task waits. Its calls are therefore the
//! intervals of work between waits, on any thread.

mod layer;
mod recorded_spans;
mod worker;

pub use layer::SpanLayer;
pub use worker::Watching;

use crate::{Monitor, Result};
use std::time::Duration;

/// Configuration of the monitoring of the spans of this process.
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
    /// Creates a configuration with a monitor that judges the calls. By default a step is 1 s long,
    /// and the process is rank 0 of program 0.
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

    /// Sets the length of a step, which is clamped to the range from a millisecond to a day.
    /// Default: 1 s.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period.clamp(Duration::from_millis(1), Duration::from_secs(86_400));
        self
    }

    /// Sets the number of enters, exits and counter values of a thread that may wait to be judged;
    /// each takes 24 bytes. Default: 1,048,576; at least 2. Further spans and counter values are
    /// dropped and [counted](Watching::left_out). A span is dropped with both its enter and its
    /// exit.
    pub fn limit(mut self, events: usize) -> Self {
        self.limit = events.max(2);
        self
    }

    /// Sets a callback that prints the worst calls or raises an alarm, for example. It is called on
    /// the judging thread, with the monitor and the step, whenever calls were judged. This happens
    /// after each step, and at the end for open calls. If there are many calls it also happens
    /// within a step, so that a step may occur more than once. Spans of the judging thread are not
    /// recorded. Default: no callback.
    pub fn each_step(mut self, what: impl FnMut(&mut Monitor, u64) + Send + 'static) -> Self {
        self.each_step = Some(Box::new(what));
        self
    }

    /// Starts the judging thread. Returns the layer, and a handle that ends the thread.
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
