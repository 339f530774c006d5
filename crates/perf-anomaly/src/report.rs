//! [`Report`]: all results of a monitor after the end of the stream, and their revision by the
//! final model; [`Unfinished`]: error at the end, with the report that is available.

use crate::calls::Calls;
use crate::counters::{CounterSummary, Counters};
use crate::detect::{Losses, Place, Relabelled};
use crate::lost_time::{Cause, Lasting, LostTime};
use crate::provenance::{Pruned, Record, Reduction, Store, prune_with};
use crate::server::{FunctionName, Ranks};
use crate::{Detector, Drift, Error, FunctionId, Judgement, Result, Sample, Unjudged};
use perf_core::{CallPathId, Job, MetricId, Nanos, StreamKey};
use std::collections::HashMap;

/// Results of a finished stream.
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
    /// Call converter with the health of the stream.
    pub calls: Calls,
    /// Detector with its final model.
    pub detector: Box<dyn Detector>,
    /// Time lost by function, path, rank and step.
    pub losses: Losses,
    /// New modes, slow ranks and slow phases.
    pub lasting: Lasting,
    /// Anomalies per step of each rank.
    pub ranks: Ranks,
    /// Longest call of each function that was not judged.
    pub unjudged: Unjudged,
    /// Anomalies that were found at the end of the stream, with the times of their enters.
    pub(crate) found_at_end: Vec<(StreamKey, Nanos)>,
    /// Number of steps from the first to the last step that ended, on any rank.
    pub steps: u64,
    /// Functions that became slower or faster; `None` unless it was
    /// [enabled](crate::Monitor::watch_drift).
    pub drift: Option<Drift>,
    /// Store and data reduction; `None` without a recorder.
    pub store: Option<(Box<dyn Store>, Reduction)>,
    /// Number of events that the source [dropped](crate::Monitor::add_left_out). Events dropped by
    /// the sink are in the health of [`calls`](Self::calls).
    pub left_out: u64,
    /// Statistics of counters.
    pub(crate) counters: Counters,
    /// Largest number of anomalies for each function and of bytes, from the recorder.
    pub(crate) limits: (usize, u64),
}

/// Error of a finished stream, with the report that is available in spite of it.
#[derive(thiserror::Error)]
#[error("{error}")]
#[non_exhaustive]
pub struct Unfinished {
    /// First error of the store or the server.
    pub error: Error,
    /// Results; the content of the store may be incomplete. `None` if the thread that owned the
    /// results has panicked.
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
    /// Returns the number of anomalies that were found at the end of the stream, by calls after them. They are part of the
    /// losses.
    pub fn found_at_end(&self) -> usize {
        self.found_at_end.len()
    }

    /// Returns the time lost by single calls, new modes, slow ranks and slow phases.
    pub fn lost_time(&self) -> LostTime {
        self.lasting.lost_time(&self.losses, &self.calls)
    }

    /// Returns all causes of lost time in the order of their importance. `longest` returns the program, rank and step of
    /// the longest slow call of a function, if known.
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::Nanos;
    /// let mut watch = Watch::new(Monitor::default(), 0, 0);
    /// let solve = watch.region("solve");
    /// for at in 0..1000 {
    ///     watch.enter(0, solve, Nanos(10_000_000 * at));
    ///     let length = if at == 900 { 5_000_000 } else { 50_000 + at * 37 % 1000 };
    ///     watch.exit(0, solve, Nanos(10_000_000 * at + length));
    /// }
    /// let report = watch.into_sink().finish()?;
    /// let causes = report.causes(|_| Some((0, 0, 0)));
    /// assert_eq!((causes[0].kind, causes[0].longest), ("single calls", Some((0, 0, 0))));
    /// assert_eq!(causes[0].lost, report.lost_time().total());
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn causes(&self, longest: impl Fn(FunctionId) -> Option<(u32, u32, u64)>) -> Vec<Cause> {
        let larger = |program, ranks: &[u32], slow: &[u32]| {
            let larger = self.counters.larger_on(program, ranks, slow).into_iter();
            let named = larger.filter_map(|(counter, ratio)| {
                Some((self.calls.counter_label(MetricId(counter))?, ratio))
            });
            named.collect()
        };
        let of = (&self.calls, &self.ranks);
        self.lasting.with_counters(of, &larger, |found| {
            found.all(&self.losses.worst_functions(), longest)
        })
    }

    /// Returns the counters of each program over all ranks, without those that only match events, such as
    /// `Correlation ID`. Those of which ranks [differ](CounterSummary::difference) most are first, then those whose values
    /// vary most.
    pub fn counters(&self) -> Vec<CounterSummary> {
        let name = |program, counter| {
            let name = self.calls.counter_label(MetricId(counter))?.into();
            Some(FunctionName { program, name })
        };
        self.counters.summaries(name)
    }

    /// Returns the number of counter values that are in no statistics, because they are invalid (no numbers, negative
    /// numbers of PAPI events, or the values of failed counters, which are all bits or the sign bit), or because there are
    /// more than 4,096 counters.
    pub fn dropped_counter_values(&self) -> u64 {
        self.counters.dropped()
    }

    /// [Judges again](crate::provenance::prune) the recorded calls with the final model, and
    /// updates losses, ranks and the reduction. Anomalies that were not recorded keep their
    /// judgements. The budget of the recorder applies to the remaining records. Returns `None`
    /// without a recorder.
    ///
    /// # Errors
    ///
    /// Returns the errors of the store, and [`Error::Cancelled`] if the job is cancelled. In both
    /// cases nothing changes.
    pub fn prune(&mut self, job: &Job) -> Result<Option<Pruned>> {
        let Some((store, reduction)) = &mut self.store else {
            return Ok(None);
        };
        let paths = paths(&self.calls, &self.losses);
        let mut told = Vec::new();
        let mut late = self.found_at_end.clone();
        let mut tell = |record: &Record, function: FunctionId, judgement: &Judgement| {
            if !judgement.label.is_anomaly() {
                let key = StreamKey {
                    program: record.program,
                    rank: record.rank,
                    thread: record.thread,
                };
                late.retain(|one| *one != (key, record.call.entry));
            }
            let sample = Sample {
                function,
                runtime: record.runtime,
                first: record.first,
            };
            let change = Relabelled {
                waits: self.calls.waits(function),
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
        self.found_at_end = late;
        reduction.kept_bytes = pruned.bytes;
        reduction.recorded = pruned.recorded;
        reduction.normals = pruned.normals;
        reduction.anomalies = self.losses.total().anomalies();
        reduction.not_among_worst += pruned.not_among_worst;
        reduction.over_budget += pruned.over_budget;
        Ok(Some(pruned))
    }
}

/// Returns call paths by program and the text of [`Record::path`].
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
