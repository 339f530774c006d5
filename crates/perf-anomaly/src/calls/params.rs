//! [`CallsParams`]: how events are turned into calls, and what that may cost.

use crate::{Result, error};
use perf_core::Nanos;

/// The counter that ties work of accelerators to its launch, as TAU calls it.
pub(crate) const CORRELATION: &str = "Correlation ID";

/// Which run time of a call is judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Runtime {
    /// Time in the call and in no call it made.
    #[default]
    Exclusive,
    /// Time from entry to exit.
    Inclusive,
}

/// What has a model of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelBy {
    /// A function of a program.
    #[default]
    Function,
    /// A call path of a program: the same function called from elsewhere is another one.
    CallPath,
}

/// What is done about exits that do not fit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// An exit of a call further out closes all inside it; one of a region of which no call is open
    /// is ignored, unless what follows shows that it was the innermost call that ended; times that
    /// go back are held, and those that [cannot be](CallsParams::jump) mended; what is open at the end
    /// is closed there. On streams of accelerators, where calls may overlap, an exit ends the first
    /// call of its region and no other.
    #[default]
    Mend,
    /// As Chimbuko 7.0: an exit that does not name the innermost call, or is earlier than its
    /// entry, is dropped and the call stays open; what is open at the end is never analysed.
    Strict,
}

/// How events are turned into calls: see [`Calls::params`](super::Calls::params).
///
/// ```
/// use perf_anomaly::calls::{Calls, ModelBy, Repair, Runtime};
/// // A model for each call path, of inclusive times, ten calls around each anomaly.
/// let params = Calls::params().model_by(ModelBy::CallPath).runtime(Runtime::Inclusive).context(10);
/// assert!(params.check().is_ok());
/// // As Chimbuko turns events into calls.
/// assert!(Calls::params().repair(Repair::Strict).check().is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct CallsParams {
    pub(super) runtime: Runtime,
    pub(super) model: ModelBy,
    pub(super) repair: Repair,
    pub(super) context: usize,
    pub(super) notes: usize,
    pub(super) monitoring: Vec<String>,
    pub(super) watched: Vec<(String, String)>,
    pub(super) correlation: String,
    pub(super) pending: usize,
    pub(super) depth: usize,
    pub(super) paths: usize,
    pub(super) names: usize,
    pub(super) streams: usize,
    pub(super) largest: (u32, u32, u32),
    pub(super) only_rank: Option<u32>,
    pub(super) jump: Nanos,
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
    /// Which run time is judged. Default: exclusive.
    pub fn runtime(mut self, runtime: Runtime) -> Self {
        self.runtime = runtime;
        self
    }

    /// What has a model of its own. Default: a function.
    pub fn model_by(mut self, model: ModelBy) -> Self {
        self.model = model;
        self
    }

    /// What is done about exits that do not fit. Default: they are mended.
    pub fn repair(mut self, repair: Repair) -> Self {
        self.repair = repair;
        self
    }

    /// How many calls of the same stream before and after a call can be asked for, by order of
    /// entry. Default: 5; 0 keeps no calls at all, for who wants labels alone.
    pub fn context(mut self, calls: usize) -> Self {
        self.context = calls;
        self
    }

    /// How many messages and counter values of earlier steps are kept a stream. Default: 1,024.
    /// Those of the step itself are all kept.
    pub fn notes(mut self, notes: usize) -> Self {
        self.notes = notes;
        self
    }

    /// Counters that tell of the node and not of a call: those whose name begins with one of
    /// `prefixes`. The rest of the name is the field of the node. Default: `monitoring: `.
    pub fn monitoring(mut self, prefixes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.monitoring = prefixes.into_iter().map(Into::into).collect();
        self
    }

    /// Further counters that tell of the node: (counter, field of the node). Default: none.
    pub fn watch(
        mut self,
        counters: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let counters = counters.into_iter();
        self.watched = counters.map(|(a, b)| (a.into(), b.into())).collect();
        self
    }

    /// The counter that ties work of accelerators to its launch. Default: `Correlation ID`.
    pub fn correlation(mut self, counter: impl Into<String>) -> Self {
        self.correlation = counter.into();
        self
    }

    /// How many launches, and calls on accelerators, of a rank wait for their partner before the
    /// oldest is given up. Default: 65,536.
    pub fn pending(mut self, calls: usize) -> Self {
        self.pending = calls;
        self
    }

    /// Deepest stack of a stream before all of it is closed as garbage. Default: 65,536.
    pub fn depth(mut self, calls: usize) -> Self {
        self.depth = calls;
        self
    }

    /// Most call paths that are told apart. Default: 1,048,576.
    pub fn paths(mut self, paths: usize) -> Self {
        self.paths = paths;
        self
    }

    /// Most regions, and most counters. Default: 1,048,576.
    pub fn names(mut self, names: usize) -> Self {
        self.names = names;
        self
    }

    /// Most streams. Default: 262,144.
    pub fn streams(mut self, streams: usize) -> Self {
        self.streams = streams;
        self
    }

    /// The largest program, rank and thread that are no sign of corruption. Default: 1,000,000,
    /// 268,435,456 and 1,000,000.
    pub fn largest(mut self, program: u32, rank: u32, thread: u32) -> Self {
        self.largest = (program, rank, thread);
        self
    }

    /// The one rank whose events come; those of others are a sign of corruption. Default: any.
    pub fn only_rank(mut self, rank: impl Into<Option<u32>>) -> Self {
        self.only_rank = rank.into();
        self
    }

    /// The longest time between two enters or exits of a stream that is believed at once. What lies
    /// further ahead, and further than 16 times what was usual of late, is believed when the events after
    /// it go on from there; an event that is alone there, or as far back, has a wrong time and is taken at
    /// that of the one before. Where too few follow in a step, they wait for the next one. A step that lies
    /// before the time of the one before it as a whole shows that to be wrong. Default: 10 s.
    /// [`Repair::Strict`] believes all times.
    pub fn jump(mut self, time: Nanos) -> Self {
        self.jump = time;
        self
    }

    /// The longest time between the first event of a stream and all others, or the last ones and all
    /// others, that is believed. Default: a day.
    pub fn gap(mut self, time: Nanos) -> Self {
        self.gap = time;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// [`Error::Parameter`](crate::Error::Parameter) for one out of its range.
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

/// Parameters that were checked.
#[derive(Clone, Debug, Default)]
pub struct CheckedCallsParams(pub(super) CallsParams);
