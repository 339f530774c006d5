//! [`Analysis`]: wait states of one trace with delay costs, critical path, findings and
//! efficiencies; [`Training`]: findings and slowdowns of a training job instead.

use crate::failure::{Failure, input};
use crate::progress::Bar;
use perfkit::core::{LocationId, LocationKind, Nanos, TraceView, parallel};
use perfkit::wait::Error;
use perfkit::wait::activity::Activities;
use perfkit::wait::clocks::{ClockEstimate, ClockModel};
use perfkit::wait::critical::{CriticalPath, Extent};
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::device_collectives::DeviceCollectives;
use perfkit::wait::efficiency::{Efficiencies, HybridEfficiencies, IdealNetwork};
use perfkit::wait::findings::Findings;
use perfkit::wait::training::{Slowdowns, TrainingJob};
use perfkit::wait::waits::{Pattern, WaitState, WaitStates};
use perfkit::wait::whatif::Change;

/// Smallest share of the run time that a start-up must have to be reported.
const MIN_START_UP: f64 = 0.1;

/// Wait states of a trace with the results derived from them.
#[derive(Debug)]
pub(crate) struct Analysis {
    /// Activities of all locations.
    pub(crate) activities: Activities,
    /// Wait states.
    pub(crate) waits: WaitStates,
    /// Delay costs of the wait states.
    pub(crate) delays: DelayCosts,
    /// Critical path.
    pub(crate) path: CriticalPath,
    /// Findings in descending order of the time that a fix would save.
    pub(crate) findings: Findings,
    /// Efficiencies of the ranks; `None` if the trace has no MPI calls.
    pub(crate) efficiencies: Option<Efficiencies>,
    /// Efficiencies of threads and accelerators; `None` without them.
    pub(crate) hybrid: Option<HybridEfficiencies>,
    /// Collective operations of accelerators.
    pub(crate) exchanges: DeviceCollectives,
    /// Locations with MPI calls; without MPI, threads with calls.
    pub(crate) ranks: Vec<LocationId>,
    /// Name of each location.
    pub(crate) labels: Vec<String>,
    /// Clocks after their correction; `None` if they were not corrected.
    clocks: Option<ClockEstimate>,
}

/// Slowdowns of a training job with the findings about them.
#[derive(Debug)]
pub(crate) struct Training {
    /// Activities of all locations.
    pub(crate) activities: Activities,
    /// Findings in descending order of the time that a fix would save.
    pub(crate) findings: Findings,
    /// Slowdowns of steps, ranks and operations.
    pub(crate) slowdowns: Slowdowns,
    /// Number of operations.
    pub(crate) operations: usize,
}

/// Result of the analysis of a trace.
#[derive(Debug)]
pub(crate) enum Analysed {
    /// Wait states of a trace in which locations can wait.
    Found(Box<Analysis>),
    /// Slowdowns of a training job with pipeline stages and data-parallel ranks.
    Training(Box<Training>),
    /// No location of the trace can wait for another one.
    Nothing {
        /// Reason why no location can wait.
        reason: String,
        /// Clause about a subcommand for such recordings; may be empty.
        hint: &'static str,
    },
}

impl Analysis {
    /// Analyses a trace, with at most `top` findings. `is_corrected` states that its clocks were corrected.
    ///
    /// # Errors
    /// Returns [`Failure::Input`] if the trace cannot be replayed.
    pub(crate) fn of(
        view: TraceView<'_>,
        top: usize,
        is_corrected: bool,
    ) -> Result<Analysed, Failure> {
        let job = Bar::job();
        let activities = Activities::of(view, &job).map_err(input)?;
        let plan = Findings::params()
            .max_findings(top)
            .check()
            .map_err(input)?;
        if let Some(training) = TrainingJob::of_trace(view, &job).map_err(input)? {
            return Ok(Analysed::Training(Box::new(Training {
                findings: plan
                    .of_training(&training, view.definitions(), &job)
                    .map_err(input)?,
                slowdowns: training.slowdowns(&job).map_err(input)?,
                operations: training.operations().len(),
                activities,
            })));
        }
        if let Some(nothing) = nothing(view, &activities) {
            return Ok(nothing);
        }
        let waits = WaitStates::of_activities(&activities, &job).map_err(input)?;
        let delays = DelayCosts::of(view, &activities, &waits, &job).map_err(input)?;
        let exchanges = DeviceCollectives::of(view, &activities, &waits, &job).map_err(input)?;
        let has_mpi = activities.calls().any(|(_, call)| !call.kind.is_local());
        // The path and the efficiencies are independent and take little memory.
        let mut path = Err(Error::Nothing { what: "MPI calls" });
        let (mut efficiencies, mut hybrid) = (None, None);
        parallel::join(
            &mut || {
                let extent = Extent::Run;
                path = CriticalPath::of(view, &activities, &waits, extent, &job);
            },
            &mut || {
                let network = IdealNetwork::default();
                let of_mpi = || Efficiencies::of_activities(view, &activities, &network, &job);
                let of_all = || HybridEfficiencies::of_activities(view, &activities, &job);
                efficiencies = has_mpi.then(of_mpi);
                hybrid = activities.is_hybrid().then(of_all);
            },
        );
        let (efficiencies, hybrid) = (efficiencies.transpose(), hybrid.transpose());
        let findings = plan.of_program((view, &activities), &waits, &delays, &exchanges, &job);
        Ok(Analysed::Found(Box::new(Analysis {
            findings: findings.map_err(input)?,
            delays,
            path: path.map_err(input)?,
            exchanges,
            efficiencies: efficiencies.map_err(input)?,
            hybrid: hybrid.map_err(input)?,
            ranks: Change::ranks(&activities),
            labels: activities.labels(),
            clocks: if is_corrected {
                let estimate = ClockEstimate::of(view, ClockModel::Auto, &job);
                Some(estimate.map_err(input)?)
            } else {
                None
            },
            waits,
            activities,
        })))
    }

    /// Returns the name of a location.
    pub(crate) fn label(&self, location: LocationId) -> &str {
        self.labels.get(location.index()).map_or("", String::as_str)
    }

    /// Returns the largest error of a wait state that corrected clocks leave: the sum of the uncertainties of the
    /// location that waits and of the cause. Returns `None` if the clocks were not corrected or the error is unbounded.
    pub(crate) fn clock_error(&self, state: &WaitState) -> Option<Nanos> {
        let clocks = self.clocks.as_ref()?;
        let uncertainty = |location: LocationId| {
            let of = clocks.locations.iter().find(|it| it.location == location);
            of?.uncertainty
        };
        let both = uncertainty(state.call.location)? + uncertainty(state.cause?.location)?;
        Some(self.activities.clock().total(both.max(0.0) as u128))
    }

    /// Returns the number of accelerator streams with calls.
    pub(crate) fn streams(&self) -> usize {
        let system = &self.activities.definitions().system;
        let is_stream = |id| {
            let kind = system.location(id).map(|it| it.kind);
            kind == Some(LocationKind::AcceleratorStream)
        };
        let all = (0..).map(LocationId).zip(self.activities.locations());
        let with_calls = all.filter(|(_, own)| !own.calls.is_empty());
        with_calls.filter(|(id, _)| is_stream(*id)).count()
    }

    /// Describes the longest time that a stream waits for its first work, which no finding counts; `None` if it is
    /// below a tenth of the run time.
    pub(crate) fn start_up(&self) -> Option<String> {
        let states = self.waits.states().iter();
        let first = states.filter(|it| it.pattern == Pattern::DeviceIdle && it.call.index == 0);
        let longest = first.max_by_key(|it| (it.ticks, std::cmp::Reverse(it.call)))?;
        let (time, runtime) = (self.time(longest.ticks), self.findings.runtime);
        let share = time.0 as f64 / runtime.0.max(1) as f64;
        (share >= MIN_START_UP).then(|| {
            format!(
                "{} is without work for the first {time} ({:.1} % of the run time): such a start-up is no finding",
                self.label(longest.call.location),
                share * 100.0
            )
        })
    }

    /// Returns a number of ticks as a time.
    pub(crate) fn time(&self, ticks: u64) -> Nanos {
        self.activities.clock().total(u128::from(ticks))
    }

    /// Returns the waiting time of all locations as a share of [`all_time`](Self::all_time).
    pub(crate) fn waiting_share(&self) -> f64 {
        let waiting = self
            .waits
            .states()
            .iter()
            .filter(|it| it.pattern.is_waiting());
        let ticks = waiting.map(|it| it.ticks).sum();
        self.time(ticks).0 as f64 / self.all_time().max(1.0)
    }

    /// Returns the run time times the number of locations that communicate or wait, in nanoseconds.
    pub(crate) fn all_time(&self) -> f64 {
        let all = self.activities.locations().iter();
        let count = all.filter(|location| !location.calls.is_empty()).count();
        self.findings.runtime.0 as f64 * count as f64
    }
}

/// Reason why nothing can be said about calls that wait.
pub(crate) const NO_PARTNERS: &str = "calls that may wait are recorded, but nothing that says for whom (messages, collectives, \
     launches): waiting cannot be told from other time in them";

/// Returns the reason why no location of a trace can wait for another one, or `None` if a location
/// can wait.
fn nothing(view: TraceView<'_>, activities: &Activities) -> Option<Analysed> {
    let has_partners = !activities.messages().is_empty() || !activities.collectives().is_empty();
    let has_links = !activities.links().is_empty();
    let locations = activities.locations().iter();
    let callers = locations.filter(|location| !location.calls.is_empty());
    if (has_partners || has_links) && callers.count() > 1 {
        return None;
    }
    let locations = view.locations().filter(|location| !location.is_empty());
    let has_calls = activities.calls().next().is_some();
    let compare = "`perfkit report` compares the locations";
    let (reason, hint) = match (locations.count(), has_calls) {
        _ if has_partners || has_links => (
            "one location communicates, and no other one that it could wait for",
            "",
        ),
        (0, _) => ("no events are recorded", ""),
        (1, _) => (
            "one location has events, and no other one that it could wait for",
            "",
        ),
        (_, false) => (
            "no messages, collectives, barriers of threads or launches of accelerators are recorded, so that waiting cannot be told \
             from other time",
            compare,
        ),
        _ => (NO_PARTNERS, compare),
    };
    let reason = reason.to_owned();
    Some(Analysed::Nothing { reason, hint })
}
