//! [`prune`]: judges recorded calls again with the final model, removes those that it does not
//! confirm, and keeps the worst of each function; [`prune_within`]: the same within a budget of
//! bytes.

mod plan;

use super::record::{Entry, Kind, Record};
use super::store::{Revision, Store};
use crate::calls::Calls;
use crate::{Detector, FunctionId, Judgement, Result};
use perf_core::Job;
use plan::{Fate, Plan, length};

/// Result of pruning.
///
/// The counts of remaining records have the same meaning as in [`Reduction`](super::Reduction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Pruned {
    /// Number of records of known functions that were kept. They have new scores, unless the model
    /// has not enough data to judge them.
    pub kept: u64,
    /// Number of anomalies that are normal by the final model.
    pub normal_after_all: u64,
    /// Number of normal executions that are abnormal by the final model.
    pub abnormal_after_all: u64,
    /// Number of anomalies that are not among the worst of their function.
    pub not_among_worst: u64,
    /// Number of records and final models that were dropped to stay within the budget.
    pub over_budget: u64,
    /// Number of kept records of functions that are unknown to the sink; they have no new
    /// judgement.
    pub unknown: u64,
    /// Number of remaining anomalies.
    pub recorded: u64,
    /// Number of remaining normal executions.
    pub normals: u64,
    /// Size of the remaining text in bytes.
    pub bytes: u64,
}

/// Judges each record again with the current model of the detector. The model is most accurate at
/// the end of a run, and with a parameter server it may include the knowledge of all ranks.
///
/// Anomalies that are now normal are removed, and so are normal executions that are now abnormal.
/// The remaining records get new scores, severities and labels, and refer to the final models. At
/// most `per_function` anomalies of each function are kept, the worst ones. A record also lists
/// calls around it: those with a record of their own get its new judgement. Records that the model
/// cannot judge, because their function is unknown or there is not enough data, keep their
/// judgements.
///
/// ```
/// use perf_anomaly::provenance::{Lines, open, prune};
/// # use perf_anomaly::{Monitor, Watch, calls::Calls};
/// # use perf_anomaly::provenance::Recorder;
/// # use perf_core::{Job, Nanos};
/// # let file = |name: &str| std::env::temp_dir().join(format!("perf-anomaly-prune-{name}-{}.jsonl", std::process::id()));
/// # let run = |rank: u32, store: Lines| {
/// #     let recorder = Recorder::new(Default::default(), Box::new(store));
/// #     let mut watch = Watch::new(Monitor::default().record(recorder), 0, rank);
/// #     let solve = watch.region("solve");
/// #     for at in 0..1000 {
/// #         watch.enter(0, solve, Nanos(1_000_000 * at));
/// #         let slow = if at == 700 { 9 } else { 1 };
/// #         watch.exit(0, solve, Nanos(1_000_000 * at + slow * (50_000 + at * 37 % 1000)));
/// #     }
/// #     Ok::<_, perf_anomaly::Error>(watch.into_sink().finish()?)
/// # };
/// use perf_anomaly::Sstd;
/// let path = file("run");
/// let report = run(0, Lines::create(&path)?)?;
/// # let calls = Calls::default();
/// // These calls have no functions, so the function of each record is unknown.
/// let nothing = Sstd::default();
/// let pruned = prune(&mut *open(&path)?, &calls, &nothing, 1000, &Job::default())?;
/// assert_eq!((pruned.unknown, pruned.normal_after_all), (2, 0));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of the store, and [`Error::Cancelled`](crate::Error::Cancelled) if the job is
/// cancelled. All records are then unchanged. Once records are rewritten, the final count is not
/// interrupted.
pub fn prune(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
    job: &Job,
) -> Result<Pruned> {
    prune_within(store, calls, detector, per_function, u64::MAX, job)
}

/// Prunes like [`prune`], to at most `budget` bytes of text. Entries beyond the budget are dropped
/// and [counted](Pruned::over_budget). First the final models of the functions with the least time
/// lost are dropped; their records refer to their earlier models. Then the records with the least
/// time lost are dropped. Other entries, such as properties of the run and earlier models, are
/// kept.
///
/// # Errors
///
/// Returns the errors of the store, and [`Error::Cancelled`](crate::Error::Cancelled) if the job is
/// cancelled. All records are then unchanged. Once records are rewritten, the final count is not
/// interrupted.
pub fn prune_within(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
    budget: u64,
    job: &Job,
) -> Result<Pruned> {
    let limits = (per_function, budget);
    prune_with(store, calls, detector, limits, job, &mut |_, _, _| {})
}

/// Prunes like [`prune_within`], and calls `tell` with each record that has a new judgement, its
/// function and the new judgement.
pub(crate) fn prune_with(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    (per_function, budget): (usize, u64),
    job: &Job,
    tell: &mut dyn FnMut(&Record, FunctionId, &Judgement),
) -> Result<Pruned> {
    let mut plan = Plan::of(store, calls, detector, job)?;
    plan.keep_worst(per_function);
    plan.number_models(calls, detector);
    plan.size(store, job)?;
    job.check()?;
    let mut pruned = Pruned {
        over_budget: plan.fit(budget),
        ..Pruned::default()
    };
    let mut row = 0;
    store.revise(&mut |record| {
        if job.is_cancelled() {
            return Revision::Stop;
        }
        let own = row;
        row += 1;
        let Some(planned) = plan.rows.get(own) else {
            return Revision::Keep;
        };
        if let (Some(id), Some(judgement), true) = (
            planned.function,
            &planned.judgement,
            planned.fate != Fate::AsItIs,
        ) {
            tell(record, id, judgement);
        }
        match planned.fate {
            Fate::Removed(why) => {
                *why.count(&mut pruned) += 1;
                return Revision::Remove;
            }
            Fate::AsItIs if planned.function.is_none() => pruned.unknown += 1,
            Fate::AsItIs | Fate::Revised => pruned.kept += 1,
        }
        match plan.revised(record, planned) {
            revised if revised == *record => Revision::Keep,
            revised => Revision::Replace(Box::new(revised)),
        }
    })?;
    for final_model in plan.models.iter().filter(|one| one.is_kept) {
        store.put(&Entry::Model(final_model.record.clone()))?;
    }
    store.commit()?;
    count(store, &mut pruned)?;
    Ok(pruned)
}

/// Counts the remaining entries.
fn count(store: &mut dyn Store, pruned: &mut Pruned) -> Result<()> {
    let mut text = String::new();
    store.each(&mut |entry| {
        pruned.bytes += length(&entry, &mut text);
        if let Entry::Call(record) = entry {
            match record.kind {
                Kind::Anomaly => pruned.recorded += 1,
                Kind::Normal => pruned.normals += 1,
            }
        }
        Ok(())
    })
}
