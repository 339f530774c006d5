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
mod times;
mod training;

use crate::activity::Activities;
use crate::delay::DelayCosts;
use crate::device_collectives::{DeviceCollectives, LateReason};
use crate::running_state;
use crate::stragglers::{PeerSums, Stragglers};
use crate::training::{Group, OperationKind, TrainingJob};
use crate::waits::{Pattern, WaitState, WaitStates};
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

impl Finding {
    /// Returns a sentence about the finding.
    pub fn text(&self, definitions: &Definitions, activities: &Activities) -> String {
        let name = |path: Option<CallPathId>| {
            let (paths, regions) = (activities.paths(), &definitions.regions);
            let Some(path) = path else {
                return "time outside of functions".to_owned();
            };
            // The state in which a thread computes says less than the function around it.
            match running_state::function(paths, definitions, path) {
                Some(function) => format!("`{}`", paths.name(function, regions)),
                None => format!("computation (state `{}`)", paths.name(path, regions)),
            }
        };
        let is_of_threads = self.longest.is_some_and(|it| it.pattern.is_local());
        let noun = if is_of_threads { "thread" } else { "rank" };
        let labels = activities.labels();
        // A location outside of the machine has no label.
        let label =
            |location: LocationId| labels.get(location.index()).cloned().unwrap_or_default();
        let (saved, share) = (self.saved, self.share * 100.0);
        let waiters = match self.held_up {
            1 => "1 other waits".to_owned(),
            more => format!("{more} others wait"),
        };
        let others = match self.held_up {
            1 => "1 other".to_owned(),
            more => format!("{more} others"),
        };
        match self.kind {
            FindingKind::Delay { location, path } => {
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(": it takes {} times as long as its peers", rounded(factor))
                });
                let (label, path, cost) = (label(location), name(path), self.cost);
                format!(
                    "{label} holds up {others} directly, for {cost} of waiting in total, in {path}{times}; with the time of its peers the run takes {saved} less ({share:.1} %)"
                )
            }
            FindingKind::BadCalls {
                location,
                path,
                count,
            } => {
                let (label, path, cost) = (label(location), name(Some(path)), self.cost);
                let at = self
                    .window
                    .and_then(|it| activities.clock().nanos(it.start));
                let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                let own = self.own.unwrap_or_default();
                let peers = self.peers.unwrap_or_default();
                let calls = match count {
                    1 => format!(
                        "one call of {path} on {label}{at} takes {own} where its peers take {peers}"
                    ),
                    _ => format!(
                        "{count} calls of {path} on {label} are far longer than those of its peers: the longest{at} takes {own} instead of {peers}"
                    ),
                };
                format!(
                    "{calls}; {waiters} {cost} in total, and with the time of its peers the run takes {saved} less ({share:.1} %)"
                )
            }
            FindingKind::MovingImbalance { path } => {
                let (path, cost) = (name(Some(path)), self.cost);
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(
                        ", while the slowest {noun} in it takes {} times the mean in total",
                        rounded(factor)
                    )
                });
                format!(
                    "delays in {path} that move from {noun} to {noun} cost the others {cost} of waiting in total{times}; balancing each call saves {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Imbalance { path } => {
                let times = self.factor.map_or_else(String::new, |factor| {
                    format!(
                        ": they take {} times as long as the others",
                        rounded(factor)
                    )
                });
                let (ranks, path, cost) =
                    (names(&self.locations, &labels), name(Some(path)), self.cost);
                format!(
                    "{ranks} hold up {others} directly, for {cost} of waiting in total, in {path}{times}; balancing it over all saves {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Serial { location, path }
                if self
                    .longest
                    .is_some_and(|it| it.pattern == Pattern::IdleThread) =>
            {
                let (label, cost) = (label(location), self.cost);
                let own = self.own.unwrap_or_default();
                let thread = if label.starts_with("rank ") {
                    format!("a thread of {label}")
                } else {
                    label
                };
                let (begin, end) = activities.range().unwrap_or_default();
                let runtime = activities
                    .clock()
                    .total(u128::from(end.saturating_since(begin)));
                let own_share = own.0 as f64 * 100.0 / runtime.0.max(1) as f64;
                let place = match path {
                    Some(path)
                        if running_state::function(activities.paths(), definitions, path)
                            .is_none() =>
                    {
                        String::new()
                    }
                    path => format!(" in {}", name(path)),
                };
                let idle = match self.held_up {
                    1 => "1 other thread is".to_owned(),
                    more => format!("{more} other threads are"),
                };
                format!(
                    "{thread} runs alone outside of parallel regions for {own} ({own_share:.1} % of the run time){place}: {idle} idle for {cost} in total meanwhile; sharing it among all saves at most {saved} ({share:.1} %)"
                )
            }
            FindingKind::Serial { location, path } => {
                let (label, path, cost) = (label(location), name(path), self.cost);
                format!(
                    "{waiters} {cost} in total for {path}, which runs on one thread of {label}; sharing it saves at most {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::DeviceWork { location, path } => format!(
                "{} on {} keeps the host waiting for {}; without it the run is at most {saved} ({share:.1} % of the run time) shorter",
                name(Some(path)),
                label(location),
                self.cost
            ),
            FindingKind::LateRank { location, reason } => {
                let reason = match reason {
                    LateReason::Host => "its host launches them late",
                    LateReason::Copy => "copies run before them",
                    LateReason::Kernel => "its kernels take longer",
                    LateReason::Collective => "other collective operations run before them",
                    _ => "of work that the recording does not have",
                };
                format!(
                    "{} arrives last at collective operations because {reason}, and {waiters} {}; arriving together with the next one saves at most {saved} ({share:.1} % of the run time)",
                    label(location),
                    self.cost
                )
            }
            FindingKind::HostWork { location, path } => format!(
                "accelerators are without work for {} because the host launches late, the largest part of it after {} of {}; launches in time after the first one save at most {saved} ({share:.1} % of the run time)",
                self.cost,
                name(Some(path)),
                label(location)
            ),
            FindingKind::SlowStep { function, step } => {
                let call = self.step_name(function, step, activities);
                let times = self.factor.unwrap_or(1.0);
                let at = self
                    .window
                    .and_then(|it| activities.clock().nanos(it.start));
                let at = at.map_or_else(String::new, |at| format!(" at {at}"));
                format!(
                    "{call}{at} takes {times:.2} times as long as others on most locations; it costs {saved} ({share:.1} % of the run time)"
                )
            }
            FindingKind::Training {
                part: part @ Group::Operation(_),
                ..
            } => format!(
                "`{part}` takes unequal time on ranks, stages and micro-batches; equal durations save {saved} ({share:.1} % of the step times)"
            ),
            FindingKind::Training { part, operation } => {
                let times = match (operation, self.factor) {
                    (Some(kind), Some(factor)) => format!(
                        ": its `{}` takes {} times as long as elsewhere",
                        kind.name(),
                        rounded(factor)
                    ),
                    _ => String::new(),
                };
                format!(
                    "{part} slows the training job down{times}; ideal durations there save {saved} ({share:.1} % of the step times)"
                )
            }
            FindingKind::Transfers => format!(
                "MPI calls take {} beyond their waiting for others, summed over ranks; without this time for transfer and progress the run takes up to {saved} less ({share:.1} % of the run time)",
                self.cost
            ),
        }
    }
}

impl Finding {
    /// Returns the name of a step. That of a state is named after the calls around it.
    fn step_name(&self, function: RegionId, step: u64, activities: &Activities) -> String {
        let definitions = activities.definitions();
        let region = definitions.regions.get(function.index());
        let start = self.window.map(|it| it.start);
        let start = start.filter(|_| region.is_some_and(running_state::is_running));
        let Some((before, after)) = start.and_then(|at| activities.around(at)) else {
            return format!("call {step} of `{}`", definitions.region_name(function));
        };
        let name = |id| activities.call(id).map(|call| activities.call_name(call));
        let before = name(before).unwrap_or_default();
        let after = after.and_then(name);
        let after = after.map_or_else(String::new, |after| format!(" and before `{after}`"));
        let caller = self.caller.map_or_else(String::new, |caller| {
            format!(" in `{}`", definitions.region_name(caller))
        });
        format!("computation {step} of each rank, after `{before}`{after}{caller},")
    }
}

/// Returns a factor with three significant digits.
fn rounded(factor: f64) -> String {
    match factor {
        100.0.. => format!("{factor:.0}"),
        10.0.. => format!("{factor:.1}"),
        _ => format!("{factor:.2}"),
    }
}

/// Smallest factor between slow and other locations that the noise of single calls does not explain.
const MIN_STEADY: f64 = 1.05;

/// Most names of locations in a sentence.
const MAX_NAMES: usize = 6;

/// Returns the names of locations, of ranks as `ranks 5, 6 and 9`.
fn names(locations: &[LocationId], labels: &[String]) -> String {
    let all: Vec<&str> = locations
        .iter()
        .filter_map(|id| labels.get(id.index()).map(String::as_str))
        .collect();
    // One word before all numbers: `rank`, or `THREAD` of Paraver.
    let noun = all.first().and_then(|it| it.split_once(' ')).map(|it| it.0);
    let number = |label: &&'_ str| {
        let rest = label.split_once(' ').filter(|it| Some(it.0) == noun)?.1;
        let is_number = rest.chars().all(|it| it.is_ascii_digit() || it == '.');
        is_number.then(|| label.len() - rest.len())
    };
    let starts: Option<Vec<usize>> = all.iter().map(number).collect();
    let (noun, all) = match (starts, noun) {
        (Some(starts), Some(noun)) => {
            let numbers = all.iter().zip(starts).map(|(it, at)| &it[at..]);
            (format!("{}s ", noun.to_lowercase()), numbers.collect())
        }
        _ => (String::new(), all),
    };
    match &all[..] {
        [first @ .., last] if all.len() <= MAX_NAMES && !first.is_empty() => {
            format!("{noun}{} and {last}", first.join(", "))
        }
        _ => {
            let (shown, more) = all.split_at(all.len().min(MAX_NAMES));
            match more.len() {
                0 => format!("{noun}{}", shown.join(", ")),
                more => format!("{noun}{} and {more} more", shown.join(", ")),
            }
        }
    }
}

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
