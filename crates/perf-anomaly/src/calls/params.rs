//! [`CallsParams`]: conversion of events to calls and its limits.

use crate::{Result, error};
use perf_core::Nanos;

/// Counter of TAU that connects accelerator work to its launch.
pub(crate) const CORRELATION: &str = "Correlation ID";

/// Run time of a call that is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Runtime {
    /// Exclusive time.
    #[default]
    Exclusive,
    /// Inclusive time.
    Inclusive,
}

/// Entity that has a model of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelBy {
    /// Function of a program.
    #[default]
    Function,
    /// Call path of a program: the same function with another caller has another model.
    CallPath,
}

/// Treatment of exits that do not match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// Repairs all defects. An exit of an outer call closes all inner calls. An exit of a region
    /// without an open call is ignored, unless the following events show that it ended the
    /// innermost call. Times that go back are clamped, and [implausible](CallsParams::jump) ones
    /// are corrected. Open calls are closed at the end. On accelerator streams, where calls may
    /// overlap, an exit ends only the first call of its region.
    #[default]
    Mend,
    /// Behaves like Chimbuko 7.0: an exit that does not match the innermost call, or is earlier
    /// than its entry, is dropped and the call stays open; calls that are open at the end are never
    /// analysed.
    Strict,
}

/// Parameters of the conversion of events to calls: see [`Calls::params`](super::Calls::params).
///
/// ```
/// use perf_anomaly::calls::{Calls, ModelBy, Repair, Runtime};
/// // A model for each call path, of inclusive times, ten calls around each anomaly.
/// let params = Calls::params().model_by(ModelBy::CallPath).runtime(Runtime::Inclusive).context(10);
/// assert!(params.check().is_ok());
/// // The conversion of Chimbuko.
/// assert!(Calls::params().repair(Repair::Strict).check().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct CallsParams {
    /// Run time that is judged.
    pub(super) runtime: Runtime,
    /// Entity that has a model.
    pub(super) model: ModelBy,
    /// Treatment of exits that do not match.
    pub(super) repair: Repair,
    /// Number of kept calls before and after a call.
    pub(super) context: usize,
    /// Number of kept messages and counter values.
    pub(super) notes: usize,
    /// Prefixes of counters that describe the node.
    pub(super) monitoring: Vec<String>,
    /// Further counters that describe the node.
    pub(super) watched: Vec<(String, String)>,
    /// Counter that connects work to its launch.
    pub(super) correlation: String,
    /// Number of waiting launches and work items.
    pub(super) pending: usize,
    /// Deepest stack.
    pub(super) depth: usize,
    /// Largest number of call paths.
    pub(super) paths: usize,
    /// Largest number of regions and of counters.
    pub(super) names: usize,
    /// Largest number of streams.
    pub(super) streams: usize,
    /// Largest plausible program, rank and thread.
    pub(super) largest: (u32, u32, u32),
    /// Only rank with events.
    pub(super) only_rank: Option<u32>,
    /// Longest plausible time between two events.
    pub(super) jump: Nanos,
    /// Longest plausible time at an end of the stream.
    pub(super) gap: Nanos,
}

impl Default for CallsParams {
    fn default() -> Self {
        CallsParams {
            runtime: Runtime::default(),
            model: ModelBy::default(),
            repair: Repair::default(),
            context: 5,
            notes: 1024,
            monitoring: vec!["monitoring: ".into()],
            watched: Vec::new(),
            correlation: CORRELATION.into(),
            pending: 65_536,
            depth: 65_536,
            paths: 1 << 20,
            names: 1 << 20,
            streams: 1 << 18,
            largest: (1_000_000, 1 << 28, 1_000_000),
            only_rank: None,
            jump: Nanos(10_000_000_000),
            gap: Nanos(86_400_000_000_000),
        }
    }
}

impl CallsParams {
    /// Sets the run time that is judged. Default: exclusive.
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// Sets the entity that has a model of its own. Default: a function.
    pub fn model_by(mut self, model: ModelBy) -> Self {
        self.model = model;
        self
    }

    /// Sets the treatment of exits that do not match. Default: they are repaired.
    pub fn repair(mut self, repair: Repair) -> Self {
        self.repair = repair;
        self
    }

    /// Sets the number of calls of the same stream before and after a call, by order of entry, that
    /// can be queried. Default: 5; 0 keeps no calls, if only labels are needed.
    pub fn context(mut self, calls: usize) -> Self {
        self.context = calls;
        self
    }

    /// Sets the number of messages and counter values of earlier steps that are kept for each
    /// stream. Default: 1,024. Those of the current step are all kept.
    pub fn notes(mut self, notes: usize) -> Self {
        self.notes = notes;
        self
    }

    /// Sets the prefixes of counters that describe the node and not a call. The rest of the name is
    /// the field of the node. Default: `monitoring: `.
    pub fn monitoring(mut self, prefixes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.monitoring = prefixes.into_iter().map(Into::into).collect();
        self
    }

    /// Adds a counter that describes the node: (counter, field of the node). Default: none.
    pub fn watch(
        mut self,
        counters: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let counters = counters.into_iter();
        self.watched = counters.map(|(a, b)| (a.into(), b.into())).collect();
        self
    }

    /// Sets the counter that connects accelerator work to its launch. Default: `Correlation ID`.
    pub fn correlation(mut self, counter: impl Into<String>) -> Self {
        self.correlation = counter.into();
        self
    }

    /// Sets the number of launches, and of calls on accelerators, of a rank that wait for their
    /// partner before the oldest is dropped. Default: 65,536.
    pub fn pending(mut self, calls: usize) -> Self {
        self.pending = calls;
        self
    }

    /// Sets the deepest stack of a stream; beyond it all calls are closed as damaged. Default:
    /// 65,536.
    pub fn depth(mut self, calls: usize) -> Self {
        self.depth = calls;
        self
    }

    /// Sets the largest number of distinct call paths. Default: 1,048,576.
    pub fn paths(mut self, paths: usize) -> Self {
        self.paths = paths;
        self
    }

    /// Sets the largest number of regions, and of counters. Default: 1,048,576.
    pub fn names(mut self, names: usize) -> Self {
        self.names = names;
        self
    }

    /// Sets the largest number of streams. Default: 262,144.
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }

    /// Sets the largest plausible program, rank and thread; larger ones are treated as corruption.
    /// Default: 1,000,000, 268,435,456 and 1,000,000.
    pub fn largest(mut self, program: u32, rank: u32, thread: u32) -> Self {
        self.largest = (program, rank, thread);
        self
    }

    /// Sets the only rank with events; those of others are treated as corruption. Default: any.
    pub fn only_rank(mut self, rank: impl Into<Option<u32>>) -> Self {
        self.only_rank = rank.into();
        self
    }

    /// Sets the longest time between two enters or exits of a stream that is accepted without
    /// further evidence. An event further ahead, and further than 16 times the recent usual
    /// interval, is accepted if the following events continue from there. An event that is alone
    /// there, or as far back, has a wrong time and is moved to that of its predecessor. If too few
    /// events follow in a step, they wait for the next one. A step that lies completely before the
    /// time of the previous one shows that one to be wrong. Default: 10 s. [`Repair::Strict`]
    /// accepts all times.
    pub fn jump(mut self, time: Nanos) -> Self {
        self.jump = time;
        self
    }

    /// Sets the longest plausible time between the first event of a stream and all others, or
    /// between the last ones and all others. Default: one day.
    pub fn gap(mut self, time: Nanos) -> Self {
        self.gap = time;
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) for a parameter out of range.
    pub fn check(self) -> Result<CheckedCallsParams> {
        let within = |name, value: usize, least: usize, most: usize, range| {
            error::within((least..=most).contains(&value), name, value, range)
        };
        within("context", self.context, 0, 1 << 20, "at most 1,048,576")?;
        within("notes", self.notes, 0, 1 << 30, "at most 2^30")?;
        within("pending", self.pending, 1, 1 << 30, "1 to 2^30")?;
        within("depth", self.depth, 1, 1 << 24, "1 to 2^24")?;
        within("paths", self.paths, 1, 1 << 30, "1 to 2^30")?;
        within("names", self.names, 1, 1 << 30, "1 to 2^30")?;
        within("streams", self.streams, 1, 1 << 30, "1 to 2^30")?;
        for (name, time) in [("jump", self.jump), ("gap", self.gap)] {
            error::within(time.0 > 0, name, time, "above 0")?;
        }
        Ok(CheckedCallsParams(self))
    }
}

/// Validated parameters.
#[derive(Clone, Debug, Default)]
pub struct CheckedCallsParams(pub(super) CallsParams);
