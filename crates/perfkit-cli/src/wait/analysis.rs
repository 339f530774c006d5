//! [`Analysis`]: all results about one trace.

use crate::failure::{Failure, input};
use crate::progress::Bar;
use perfkit::core::{LocationId, LocationKind, Nanos, TraceView};
use perfkit::wait::activity::Activities;
use perfkit::wait::critical::{CriticalPath, Extent};
use perfkit::wait::delay::DelayCosts;
use perfkit::wait::efficiency::{Efficiencies, IdealNetwork};
use perfkit::wait::findings::Findings;
use perfkit::wait::training::{Slowdowns, TrainingJob};
use perfkit::wait::waits::WaitStates;
use perfkit::wait::whatif::Change;

/// Wait states of a trace and what follows from them.
#[derive(Debug)]
pub(crate) struct Analysis {
    pub(crate) activities: Activities,
    pub(crate) waits: WaitStates,
    pub(crate) delays: DelayCosts,
    pub(crate) path: CriticalPath,
    pub(crate) findings: Findings,
    pub(crate) efficiencies: Efficiencies,
    /// Locations with MPI calls.
    pub(crate) ranks: Vec<LocationId>,
    /// Name of each location.
    pub(crate) labels: Vec<String>,
}

/// Slowdowns of a training job and what follows from them.
#[derive(Debug)]
pub(crate) struct Training {
    pub(crate) activities: Activities,
    pub(crate) findings: Findings,
    pub(crate) slowdowns: Slowdowns,
    /// Number of operations.
    pub(crate) operations: usize,
}

/// Result of the analysis of a trace.
#[derive(Debug)]
pub(crate) enum Analysed {
    /// The trace has waiting or could have.
    Found(Box<Analysis>),
    /// The trace is that of a training job with pipeline stages and data-parallel ranks.
    Training(Box<Training>),
    /// Nothing is recorded that a location could wait for.
    Nothing {
        /// The reason.
        reason: String,
        /// Subcommand that answers more.
        hint: &'static str,
    },
}

impl Analysis {
    /// Analyses a trace, with at most `top` findings.
    ///
    /// # Errors
    /// [`Failure::Input`] for a trace that cannot be replayed.
    pub(crate) fn of(view: TraceView<'_>, top: usize) -> Result<Analysed, Failure> {
        let job = Bar::job();
        let activities = Activities::of(view, &job).map_err(input)?;
        let training = TrainingJob::of_trace(view, &job).map_err(input)?;
        if let Some(training) = training {
            let waits = WaitStates::of_activities(&activities, &job).map_err(input)?;
            let plan = Findings::params()
                .max_findings(top)
                .check()
                .map_err(input)?;
            return Ok(Analysed::Training(Box::new(Training {
                findings: plan.find(view, &activities, &waits, &job).map_err(input)?,
                slowdowns: training.slowdowns(&job).map_err(input)?,
                operations: training.operations().len(),
                activities,
            })));
        }
        if let Some(nothing) = nothing(view, &activities) {
            return Ok(nothing);
        }
        let waits = WaitStates::of_activities(&activities, &job).map_err(input)?;
        let plan = Findings::params()
            .max_findings(top)
            .check()
            .map_err(input)?;
        let findings = plan.find(view, &activities, &waits, &job).map_err(input)?;
        let network = IdealNetwork::default();
        Ok(Analysed::Found(Box::new(Analysis {
            delays: DelayCosts::of(view, &activities, &waits, &job).map_err(input)?,
            path: CriticalPath::of(view, &activities, &waits, Extent::Run, &job).map_err(input)?,
            efficiencies: Efficiencies::of_activities(view, &activities, &network, &job)
                .map_err(input)?,
            ranks: Change::ranks(&activities),
            labels: activities.labels(),
            findings,
            waits,
            activities,
        })))
    }

    /// Returns the name of a location.
    pub(crate) fn label(&self, location: LocationId) -> &str {
        self.labels.get(location.index()).map_or("", String::as_str)
    }

    /// Returns a number of ticks as a time.
    pub(crate) fn time(&self, ticks: u64) -> Nanos {
        self.activities.clock().total(u128::from(ticks))
    }

    /// Returns the waiting time of all ranks as a share of their time.
    pub(crate) fn waiting_share(&self) -> f64 {
        let waiting = self
            .waits
            .states()
            .iter()
            .filter(|it| it.pattern.is_waiting());
        let ticks = waiting.map(|it| it.ticks).sum();
        self.time(ticks).0 as f64 / self.rank_time().max(1.0)
    }

    /// Returns the time of all ranks together.
    pub(crate) fn rank_time(&self) -> f64 {
        self.findings.runtime.0 as f64 * self.ranks.len() as f64
    }
}

/// Returns the reason why no location of a trace can wait for another one; `None` if one can.
fn nothing(view: TraceView<'_>, activities: &Activities) -> Option<Analysed> {
    let has_partners = !activities.messages().is_empty() || !activities.collectives().is_empty();
    let ranks = Change::ranks(activities).len();
    if has_partners && ranks > 1 {
        return None;
    }
    let locations = view.locations().filter(|location| !location.is_empty());
    let locations: Vec<LocationId> = locations.map(|location| location.id()).collect();
    let calls = activities.calls().count();
    let system = &view.definitions().system;
    let is_stream = |id: &LocationId| {
        let location = system.location(*id);
        location.is_some_and(|it| it.kind == LocationKind::AcceleratorStream)
    };
    let compare = "`perfkit report` compares the locations";
    let (reason, hint) = match (locations.len(), calls) {
        _ if has_partners => (
            "one rank calls MPI, and no other one that it could wait for",
            "",
        ),
        (0, _) => ("no events are recorded", ""),
        (1, _) => (
            "one location has events, and no other one that it could wait for",
            "",
        ),
        (_, 0) if locations.iter().any(is_stream) => (
            "no messages or collectives between ranks are recorded",
            "`perfkit utilisation` finds the idle time of devices and its causes",
        ),
        (_, 0) => (
            "no messages or collectives between ranks are recorded, so that waiting cannot be told from other time",
            compare,
        ),
        _ => (
            "calls of MPI are recorded, but neither messages nor collectives, so that waiting cannot be told from other time in \
             them",
            compare,
        ),
    };
    let reason = reason.to_owned();
    Some(Analysed::Nothing { reason, hint })
}
