//! [`Findings`]: the few things that cost the run most time, each with its evidence and a sentence;
//! [`FindingsPlan`]: checked parameters, which start the search.
//!
//! All analyses of the crate look at a trace, and their results compete by the run time that a fix would save:
//!
//! | finding | condition | saved |
//! |---|---|---|
//! | delay | a location delays others in a call path in which it spends longer than its peers | replay with the location as fast as the median of its peers, at most the waiting that it causes; for further call paths of the location a replay of the call path alone |
//! | bad calls | as a delay, and up to three calls make up most of the excess | as a delay |
//! | imbalance | as a delay, and several ranks take long in the call path | replay with the call path balanced over all ranks, or before each barrier over the threads of each team, at most the waiting that they cause |
//! | moving imbalance | as a delay, and balancing each call saves more than twice the excess of the slowest rank or thread over the mean | the same replay, at most the waiting in total |
//! | serial section | as a delay, and most peers are not in the call path at all | replay with the call path shared by the location and its peers |
//! | work of an accelerator | a host waits for it in a synchronising call | replay without it |
//! | late rank | an accelerator arrives last at collective operations | time between its arrivals and those before them |
//! | late launches | accelerators of a process have no work until it launches some | replay without computation of its threads, at most the time without work after the first launch |
//! | slow step | a step of a function is slower than others on most locations | time lost in it over the number of locations |
//! | part of a training job | a stage, data-parallel rank, worker or kind of operation is slower than its peers | replay with ideal durations of the part |
//! | transfers | MPI calls between `MPI_Init` and `MPI_Finalize` last beyond their waiting | replay without transfer times |
//!
//! Peers of a rank are the other ranks. Where threads of its process wait for it, they are these threads. The state in
//! which a thread of Paraver computes belongs to the function around it.
//!
//! Unequal times that move from rank to rank are no finding if the noise of single calls explains what they cost: a
//! standard deviation of up to 8 % is that of healthy machines.
//!
//! Findings below a share of the run time are dropped, [`FindingsParams::min_share`].

mod bad_calls;
mod balance;
mod callers;
mod collect;
mod text;
mod times;
mod training;

use crate::activity::Activities;
use crate::delay::DelayCosts;
use crate::device_collectives::{DeviceCollectives, LateReason};
use crate::stragglers::{PeerSums, Stragglers};
use crate::training::{Group, OperationKind, TrainingJob};
use crate::waits::{WaitState, WaitStates};
use crate::whatif::{Dependency, WhatIf};
use crate::{Error, Result};
use perf_core::{
    CallPathId, Definitions, Job, LocationId, Nanos, RegionId, Table, TimeRange, TraceView,
};

/// Parameters of [`Findings`]: set them, then [`check`](Self::check).
#[derive(Clone, Debug)]
pub struct FindingsParams {
    min_share: f64,
    max_findings: usize,
}

impl FindingsParams {
    /// Smallest share of the run time that a fix must save, default 0.01.
    pub fn min_share(mut self, share: f64) -> Self {
        self.min_share = share;
        self
    }

    /// Largest number of findings, default 10.
    pub fn max_findings(mut self, count: usize) -> Self {
        self.max_findings = count;
        self
    }

    /// Checks the parameters.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Parameter`] for a share outside of `0.0..=1.0`.
    pub fn check(self) -> Result<FindingsPlan> {
        if !(0.0..=1.0).contains(&self.min_share) {
            return Err(Error::Parameter {
                name: "min_share",
                value: self.min_share.to_string(),
                expected: "a number from 0 to 1",
            });
        }
        Ok(FindingsPlan(self))
    }
}

/// Checked parameters of [`Findings`].
#[derive(Clone, Debug)]
pub struct FindingsPlan(FindingsParams);

impl Default for FindingsPlan {
    fn default() -> Self {
        FindingsPlan(Findings::params())
    }
}

/// Kind of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum FindingKind {
    /// A location delays others in a call path.
    Delay {
        /// The location.
        location: LocationId,
        /// The call path; `None` outside of all frames.
        path: Option<CallPathId>,
    },
    /// Few calls of a location delay others, while the location is as fast as its peers in all others.
    BadCalls {
        /// The location.
        location: LocationId,
        /// The call path.
        path: CallPathId,
        /// Number of the calls.
        count: usize,
    },
    /// Several locations delay others in a call path; [`Finding::locations`] lists them.
    Imbalance {
        /// The call path.
        path: CallPathId,
    },
    /// Locations delay others in a call path, now this one and now that one.
    MovingImbalance {
        /// The call path.
        path: CallPathId,
    },
    /// A location delays others in a call path that most others do not have.
    Serial {
        /// The location.
        location: LocationId,
        /// The call path; `None` outside of all frames.
        path: Option<CallPathId>,
    },
    /// A step of a function is slow on most locations.
    SlowStep {
        /// The function.
        function: RegionId,
        /// The step: number of the call among those of the function on a location.
        step: u64,
    },
    /// MPI calls last beyond their waiting.
    Transfers,
    /// Work of an accelerator that its host waits for.
    DeviceWork {
        /// The stream.
        location: LocationId,
        /// Call path of the work.
        path: CallPathId,
    },
    /// An accelerator that arrives last at collective operations.
    LateRank {
        /// Stream of its collective operations.
        location: LocationId,
        /// Last thing that it waited for before them.
        reason: LateReason,
    },
    /// A host that leaves its accelerators without work.
    HostWork {
        /// The location of the host with the largest cost.
        location: LocationId,
        /// The call path with the largest cost.
        path: CallPathId,
    },
    /// A part of a training job is slower than its peers.
    Training {
        /// The part.
        part: Group,
        /// Kind of operation that loses most time in the part; `None` if the part is a kind, or none is slow.
        operation: Option<OperationKind>,
    },
}

impl FindingKind {
    /// Returns `true` if the gain of such a finding is a bound that no fix reaches.
    ///
    /// ```
    /// use perf_wait::findings::FindingKind;
    /// assert!(FindingKind::Transfers.is_bound());
    /// ```
    pub fn is_bound(&self) -> bool {
        self.is_of_device() || matches!(self, FindingKind::Transfers)
    }

    /// Returns `true` for work of an accelerator or of its host that the other one waits for.
    pub fn is_of_device(&self) -> bool {
        matches!(
            self,
            FindingKind::DeviceWork { .. } | FindingKind::HostWork { .. }
        )
    }
}

/// One of the things that cost the run most time.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Finding {
    /// Kind.
    pub kind: FindingKind,
    /// Locations that cause it, in ascending order; empty where all do.
    pub locations: Vec<LocationId>,
    /// Run time that a fix would save.
    pub saved: Nanos,
    /// The same as a share of the run time.
    pub share: f64,
    /// Waiting time that it causes on all locations, or time lost on all of them.
    pub cost: Nanos,
    /// Number of locations that wait for it directly.
    pub held_up: usize,
    /// Factor by which it is slower than its peers, where it has some.
    pub factor: Option<f64>,
    /// Time of the location in the call path, where the finding is about one; of several locations the mean, and of
    /// [bad calls](FindingKind::BadCalls) the time of the longest. Of a
    /// [moving imbalance](FindingKind::MovingImbalance) the time of the slowest rank.
    pub own: Option<Nanos>,
    /// Median time of its peers in the call path, likewise. Of a moving imbalance the mean of all ranks.
    pub peers: Option<Nanos>,
    /// Longest wait state that it causes, where there is one.
    pub longest: Option<WaitState>,
    /// Function that makes the call after the computation that the finding is about, where the recording has callers of
    /// calls and no frames of functions: of a slow step the call after it, otherwise that which the longest wait state
    /// waits for.
    pub caller: Option<RegionId>,
    /// Window with the longest of the bad calls, or with the longest wait state that it causes, where there is one.
    pub window: Option<TimeRange>,
}

/// Smallest factor between slow and other locations that the noise of single calls does not explain.
const MIN_STEADY: f64 = 1.05;

/// The few things that cost a run most time, the largest first.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Findings {
    /// Recorded run time; the sum of the replayed step times of a training job.
    pub runtime: Nanos,
    /// Findings by falling time saved; those of a training job with the culprit first.
    pub findings: Vec<Finding>,
}

impl Findings {
    /// Returns the default parameters.
    pub fn params() -> FindingsParams {
        FindingsParams {
            min_share: 0.01,
            max_findings: 10,
        }
    }

    /// Returns the findings as a table.
    pub fn table(&self, definitions: &Definitions, activities: &Activities) -> Table {
        let rows = || self.findings.iter();
        Table::new("findings", "Things that cost the run most time.")
            .text("finding", rows().map(|it| it.text(definitions, activities)))
            .times("saved", rows().map(|it| it.saved))
            .floats("share", "%", rows().map(|it| it.share * 100.0))
            .times("cost", rows().map(|it| it.cost))
    }
}

impl FindingsPlan {
    /// Returns the culprits of a training job whose operations are known, in their order.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Cancelled`] if the job is cancelled.
    pub fn of_training(
        &self,
        training: &TrainingJob,
        definitions: &Definitions,
        job: &Job,
    ) -> Result<Findings> {
        training::findings(training, definitions, &self.0, job)
    }

    /// Looks for the things that cost a trace most time. Its clocks have to agree; see [`clocks`](crate::clocks).
    ///
    /// The findings of a [training job](TrainingJob::of_trace) are its culprits, in their order. `activities`, `waits` and
    /// `delays` do not matter then. Findings whose gain is a bound that no fix reaches come last: transfers that take no
    /// time, accelerators and hosts without work.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Nothing`] if the trace has no calls that communicate or wait, [`Error::Cycle`] if its calls cannot be replayed, and
    /// [`Error::Cancelled`] if the job is cancelled.
    pub fn find(
        &self,
        view: TraceView<'_>,
        activities: &Activities,
        waits: &WaitStates,
        delays: &DelayCosts,
        job: &Job,
    ) -> Result<Findings> {
        if let Some(training) = TrainingJob::of_trace(view, job)? {
            return self.of_training(&training, view.definitions(), job);
        }
        let exchanges = DeviceCollectives::of(view, activities, waits, job)?;
        self.of_program((view, activities), waits, delays, &exchanges, job)
    }

    /// Looks for the things that cost a program most time that is no training job, as [`find`](Self::find). `program` is
    /// the view with its activities.
    ///
    /// # Errors
    ///
    /// As [`find`](Self::find).
    pub fn of_program(
        &self,
        (view, activities): (TraceView<'_>, &Activities),
        waits: &WaitStates,
        delays: &DelayCosts,
        exchanges: &DeviceCollectives,
        job: &Job,
    ) -> Result<Findings> {
        // The sums of all calls are free again before the graph is built: both are large.
        let stragglers = {
            let mut sums = PeerSums::default();
            sums.add_trace(view, job)?;
            Stragglers::of(&sums, job)?
        };
        let none: &[Dependency] = &[];
        let whatif = WhatIf::of(view, activities, none, job)?;
        let sources = collect::Sources {
            view,
            activities,
            waits,
            delays,
            whatif: &whatif,
            stragglers: &stragglers,
            exchanges,
            min_share: self.0.min_share,
        };
        let (runtime, mut findings) = sources.findings(self.0.max_findings, job)?;
        // A gain without waiting or lost time comes from rounding alone.
        findings.retain(|it| it.share >= self.0.min_share && it.cost.0 > 0);
        findings.sort_by_key(|it| (it.kind.is_bound(), std::cmp::Reverse(it.saved)));
        findings.truncate(self.0.max_findings);
        Ok(Findings { runtime, findings })
    }
}
