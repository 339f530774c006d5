//! A program that watches itself: spans of `tracing` as calls (feature `tracing`).
//!
//! [`Spans`] is a layer of `tracing-subscriber`. Each time a span is entered and left is a call of
//! the function `target::name`, on the thread that did it; fields of events whose names begin with
//! `counter.`, `monotonic_counter.`, `gauge.` or `histogram.` are counters, as other layers have
//! them. The program's threads only write down times; a thread of the layer makes calls of
//! them and judges these, once a [period](Spans::period).
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
//! A span of an asynchronous task is left whenever the task waits: its calls are the stretches of work
//! between, on whatever thread they run.

mod lane;
mod layer;
mod worker;

pub use layer::SpanLayer;
pub use worker::Watching;

use crate::{Monitor, Result};
use std::time::Duration;

/// How the spans of this process are watched.
pub struct Spans {
    monitor: Monitor,
    program: u32,
    rank: u32,
    period: Duration,
    limit: usize,
    each_step: Option<EachStep>,
}

/// What is done when the calls of a step were judged.
type EachStep = Box<dyn FnMut(&mut Monitor, u64) + Send>;

impl Spans {
    /// Judges calls by a monitor. A step is 1 s long, and the process is rank 0 of program 0.
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

    /// Which rank of which program this process is. Default: rank 0 of program 0.
    pub fn rank(mut self, program: u32, rank: u32) -> Self {
        (self.program, self.rank) = (program, rank);
        self
    }

    /// How long a step is: at least a millisecond, at most a day. Default: 1 s.
    pub fn period(mut self, period: Duration) -> Self {
        self.period = period.clamp(Duration::from_millis(1), Duration::from_secs(86_400));
        self
    }

    /// How many entries, exits and counters of a thread may wait to be judged, 24 bytes each.
    /// Spans beyond are left out whole, counters too, and [counted](Watching::left_out). Default: 1,048,576.
    pub fn limit(mut self, events: usize) -> Self {
        self.limit = events.max(2);
        self
    }

    /// Calls `what` whenever calls were judged, on the thread of the layer, with their step: to print the
    /// worst calls, or to raise an alarm. That is after each step, before where much comes in one, so
    /// that a number may come more than once, and at the end with what was open. Spans of that thread are
    /// not watched. Default: nothing is called.
    pub fn each_step(mut self, what: impl FnMut(&mut Monitor, u64) + Send + 'static) -> Self {
        self.each_step = Some(Box::new(what));
        self
    }

    /// Starts the thread that judges: gives the layer, and what ends it all.
    ///
    /// # Errors
    /// [`Error::Spans`](crate::Error::Spans) if the system has no thread for it.
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
