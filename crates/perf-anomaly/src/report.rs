//! [`Report`]: what is left when a stream has ended.

use crate::calls::Calls;
use crate::detect::{Losses, Place, Relabelled};
use crate::provenance::{Pruned, Record, Reduction, Store, prune_with};
use crate::server::Ranks;
use crate::{Detector, Drift, Error, FunctionId, Judgement, Result, Sample, Unjudged};
use perf_core::{CallPathId, Job};
use std::collections::HashMap;

/// What is left when a stream has ended.
///
/// ```
/// use perf_anomaly::{Monitor, Tail, Watch, calls::Calls};
/// use perf_core::Nanos;
/// let calls = Calls::default();
/// let mut watch = Watch::new(Monitor::new(calls, Box::new(Tail::default())), 0, 0);
/// let solve = watch.region("solve");
/// for at in 0..1000 {
///     watch.enter(0, solve, Nanos(1_000_000 * at));
///     watch.exit(0, solve, Nanos(1_000_000 * at + 50_000 + at * 37 % 1000));
/// }
/// let report = watch.into_sink().finish()?;
/// assert_eq!((report.losses.total().calls, report.losses.total().anomalies()), (1000, 0));
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub struct Report {
    /// The calls and their health.
    pub calls: Calls,
    /// The detector with all that it learned.
    pub detector: Box<dyn Detector>,
    /// Time lost by function, path, rank and step.
    pub losses: Losses,
    /// Anomalies a step of each rank.
    pub ranks: Ranks,
    /// Longest calls that were not judged.
    pub unjudged: Unjudged,
    /// Steps from the first to the last one that ended, on any rank.
    pub steps: u64,
    /// Functions that became slower or faster, where somebody
    /// [watched](crate::Monitor::watch_drift) for them.
    pub drift: Option<Drift>,
    /// The store, where there was a recorder, and how much was kept.
    pub store: Option<(Box<dyn Store>, Reduction)>,
    /// Events that whoever pushes [had to leave out](crate::Monitor::add_left_out). What the sink left
    /// out is in the health of [`calls`](Self::calls).
    pub left_out: u64,
    /// Most anomalies a function that the recorder kept, and most bytes.
    pub(crate) limits: (usize, u64),
}

/// A report that is there although something failed.
#[derive(thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct Unfinished {
    /// The first error of the store or the server.
    pub error: Error,
    /// All that was found all the same; what the store has of it may be incomplete. `None` where the
    /// thread that had it is gone.
    pub report: Option<Box<Report>>,
}

/// Writes the message and its causes, not the report.
impl std::fmt::Debug for Unfinished {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        perf_core::write_chain(self, out)
    }
}

impl From<Unfinished> for Error {
    fn from(unfinished: Unfinished) -> Self {
        unfinished.error
    }
}

impl Report {
    /// [Judges again](crate::provenance::prune) what was recorded, by what the detector knows now, and counts
    /// it anew: losses, ranks and the reduction are those after. Anomalies that were not recorded stay as
    /// they were judged. The budget of the recorder holds for what is there afterwards. `None` without a
    /// recorder.
    ///
    /// # Errors
    ///
    /// Returns the errors of the store, and [`Error::Cancelled`] if the job is cancelled; everything then stays as it
    /// was.
    pub fn prune(&mut self, job: &Job) -> Result<Option<Pruned>> {
        let Some((store, reduction)) = &mut self.store else {
            return Ok(None);
        };
        let paths = paths(&self.calls, &self.losses);
        let mut told = Vec::new();
        let mut tell = |record: &Record, function: FunctionId, judgement: &Judgement| {
            let sample = Sample {
                function,
                runtime: record.runtime,
                first: record.first,
            };
            let change = Relabelled {
                was: (record.label, record.severity),
                is: (judgement.label, judgement.severity(&sample)),
            };
            let path = paths.get(&(record.program, record.path())).copied();
            let place = Place {
                program: record.program,
                rank: record.rank,
                step: record.step,
            };
            told.push((place, (function, path), change));
        };
        let (calls, detector) = (&self.calls, &*self.detector);
        let (per_function, budget) = self.limits;
        let limits = (per_function.max(1), budget);
        let pruned = prune_with(&mut **store, calls, detector, limits, job, &mut tell)?;
        for (place, of, change) in told {
            self.losses.relabel(place, of, &change);
            let step = (place.program, place.rank, place.step);
            self.ranks.relabel(step, &change);
        }
        reduction.kept_bytes = pruned.bytes;
        reduction.recorded = pruned.recorded;
        reduction.normals = pruned.normals;
        reduction.anomalies = self.losses.total().anomalies();
        reduction.not_among_worst += pruned.not_among_worst;
        reduction.over_budget += pruned.over_budget;
        Ok(Some(pruned))
    }
}

/// Call paths by program and the text that [`Record::path`] gives.
fn paths(calls: &Calls, losses: &Losses) -> HashMap<(u32, String), CallPathId> {
    let all = losses.worst_paths().into_iter();
    let named = all.filter_map(|(path, _)| {
        let regions = calls.path(path);
        let mut program = None;
        let names = regions.iter().map(|region| {
            let (own, name) = calls.region_name(*region)?;
            program = Some(own);
            Some(name)
        });
        let names: Vec<&str> = names.collect::<Option<_>>()?;
        Some(((program?, names.join(" / ")), path))
    });
    named.collect()
}
