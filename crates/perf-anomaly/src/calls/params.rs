//! [`CallsParams`]: options and limits of the conversion of events to calls; [`Runtime`],
//! [`ModelBy`], [`Repair`]: time that is judged, entity that has a model, and treatment of wrong
//! events.

use crate::{Result, error};
use perf_core::Nanos;

/// Default counter that connects accelerator work to its launch, as TAU names it.
pub(crate) const CORRELATION: &str = "Correlation ID";

/// Time of a call that is judged as its run time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Runtime {
    /// Exclusive time, without callees.
    #[default]
    Exclusive,
    /// Inclusive time, with callees.
    Inclusive,
}

/// Entity that has a model of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModelBy {
    /// Each function of a program.
    #[default]
    Function,
    /// Each call path of a program, so that a function has a separate model for each caller.
    CallPath,
}

/// Treatment of wrong, missing and unordered events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Repair {
    /// Repairs all defects. An exit of an outer call closes all inner calls. An exit of a region
    /// without an open call is ignored, unless the following events show that it ended the
    /// innermost call. Times that go back are replaced by the time of the preceding event, and
    /// [implausible](CallsParams::jump) times are corrected. Calls that are open at the end of the
    /// stream are closed there. On accelerator streams, where calls may overlap, an exit ends only
    /// the open call of its region that was entered first.
    #[default]
    Mend,
    /// Behaves like Chimbuko 7.0. An exit that does not match the innermost call, or is earlier
    /// than its entry, is dropped, and the call stays open. Calls that are open at the end are
    /// never analysed.
    Strict,
}

perf_core::parameters! {
    /// Parameters of the conversion of events to calls, created by
    /// [`Calls::params`](super::Calls::params).
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
        /// Sets the time that is judged as the run time. Default: exclusive time.
        pub(super) runtime: Runtime = Runtime::default(),
        /// Sets the treatment of wrong, missing and unordered events. Default: they are repaired.
        pub(super) repair: Repair = Repair::default(),
        /// Sets the number of calls that can be queried before and after a call, by order of entry on
        /// the same stream. Default: 5; 0 keeps no calls, which suffices if only labels are needed.
        pub(super) context: usize = 5,
        /// Sets the number of messages and counter values of earlier steps that are kept for each
        /// stream. Default: 1,024. Messages and counter values of the current step are all kept.
        pub(super) notes: usize = 1024,
        /// Sets the prefixes of the names of counters that describe the node and not a call. The rest
        /// of the name is the field of the node. Default: `monitoring: `.
        pub(super) monitoring: Vec<String> = vec!["monitoring: ".into()]
            => |prefixes: impl IntoIterator<Item = impl Into<String>>| {
                prefixes.into_iter().map(Into::into).collect()
            },
        /// Sets the counter that connects accelerator work to its launch. Default: `Correlation ID`.
        pub(super) correlation: String = CORRELATION.into()
            => |counter: impl Into<String>| counter.into(),
        /// Sets the number of launches, and of calls on accelerators, that may wait for their partner
        /// on a rank. The oldest beyond this number are dropped. It also limits the connected pairs
        /// that are kept on a rank, and the messages and counter values of a stream that wait for the
        /// next step. Default: 65,536.
        pub(super) pending: usize = 65_536,
        /// Sets the largest depth of the stack of a stream. A call beyond it closes all open calls,
        /// because the stream is damaged. Accelerator streams with overlapping calls are limited to
        /// 1,024 open calls. Default: 65,536.
        pub(super) depth: usize = 65_536,
        /// Sets the largest number of distinct call paths. Default: 1,048,576.
        pub(super) paths: usize = 1 << 20,
        /// Sets the largest number of regions, and of counters. Default: 1,048,576.
        pub(super) names: usize = 1 << 20,
        /// Sets the largest number of streams. Default: 262,144.
        pub(super) streams: usize = 1 << 18,
        /// Sets the largest plausible program, rank and thread; larger numbers are treated as
        /// corruption. Default: 1,000,000, 268,435,456 and 1,000,000.
        pub(super) largest: (u32, u32, u32) = (1_000_000, 1 << 28, 1_000_000)
            => |program: u32, rank: u32, thread: u32| (program, rank, thread),
        /// Sets the only rank whose events are accepted; events of other ranks are treated as
        /// corruption. Default: all ranks are accepted.
        pub(super) only_rank: Option<u32> = None => |rank: impl Into<Option<u32>>| rank.into(),
        /// Sets the longest time between two enters or exits of a stream that is accepted without
        /// further evidence. Default: 10 s. [`Repair::Strict`] accepts all times.
        ///
        /// An event is far ahead if the time since its predecessor is longer, and longer than 16 times
        /// the longest recent interval. It is accepted if the following events continue from its time.
        /// If they do not, or if the event is equally far back, its time is wrong and is replaced by
        /// that of its predecessor. If too few events follow in a step, the event waits for the next
        /// step. If a step lies completely before the last time of the previous step, the time of the
        /// stream is set back.
        pub(super) jump: Nanos = Nanos(10_000_000_000),
        /// Sets the longest plausible time between the first event of a stream and all later ones, or
        /// between the last events and all earlier ones. Default: one day.
        pub(super) gap: Nanos = Nanos(86_400_000_000_000),
    } and {
        /// Entity that has a model of its own.
        pub(super) model: ModelBy = ModelBy::default(),
        /// Further counters that describe the node, each with the field of the node.
        pub(super) watched: Vec<(String, String)> = Vec::new(),
    }
}

impl CallsParams {
    /// Sets the entity that has a model of its own. Default: each function.
    pub fn model_by(mut self, model: ModelBy) -> Self {
        self.model = model;
        self
    }

    /// Sets further counters that describe the node, each as (counter, field of the node). Default:
    /// none.
    pub fn watch(
        mut self,
        counters: impl IntoIterator<Item = (impl Into<String>, impl Into<String>)>,
    ) -> Self {
        let counters = counters.into_iter();
        self.watched = counters.map(|(a, b)| (a.into(), b.into())).collect();
        self
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`](crate::Error::Parameter) unless `context` is at most 2^20,
    /// `notes` at most 2^30, `depth` from 1 to 2^24, `pending`, `paths`, `names` and `streams` from
    /// 1 to 2^30, and `jump` and `gap` above 0.
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

/// Validated [`CallsParams`].
#[derive(Clone, Debug, Default)]
pub struct CheckedCallsParams(pub(super) CallsParams);
