//! [`prune`]: what was judged too early is judged again.

mod plan;

use super::record::{Entry, Kind, Record};
use super::store::{Revision, Store};
use crate::calls::Calls;
use crate::{Detector, FunctionId, Judgement, Result};
use perf_core::Job;
use plan::{Fate, Plan, length};

/// What became of the records.
///
/// What is kept after it is counted as what is kept before: see
/// [`Reduction`](super::Reduction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Pruned {
    /// Records that stayed, with new scores.
    pub kept: u64,
    /// Anomalies that are normal by the final model.
    pub normal_after_all: u64,
    /// Normal executions that are abnormal by the final model.
    pub abnormal_after_all: u64,
    /// Anomalies that are not among the worst of their function.
    pub not_among_worst: u64,
    /// Records, and final models, that did not fit into the budget.
    pub over_budget: u64,
    /// Records of functions that the sink never named; they stay as they are.
    pub unknown: u64,
    /// Anomalies that are there now.
    pub recorded: u64,
    /// Normal executions that are there now.
    pub normals: u64,
    /// Bytes of all that is there now, as text.
    pub bytes: u64,
}

/// Judges each record again by what the detector knows now, which at the end of a run is most, and
/// which with a parameter server may be what all ranks know. Anomalies that are normal after all, and
/// normal executions that are not, are removed; others get new scores, severities and labels, and refer
/// to the final models. Of each function, the `per_function` worst anomalies stay. Calls around others
/// are marked as abnormal by what is said of them now, as far as they have a record.
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
/// // By a detector that has learned nothing, no record is abnormal, nor is its function known.
/// let nothing = Sstd::default();
/// let pruned = prune(&mut *open(&path)?, &calls, &nothing, 1000, &Job::default())?;
/// assert_eq!((pruned.unknown, pruned.normal_after_all), (2, 0));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # Errors
///
/// Returns the errors of the store, and [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled. All
/// records then stay as they were. Once records are rewritten, the final count is not interrupted.
pub fn prune(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
    job: &Job,
) -> Result<Pruned> {
    prune_within(store, calls, detector, per_function, u64::MAX, job)
}

/// As [`prune`], and no more than `budget` bytes are there afterwards, as text. What does not fit is left
/// out and [counted](Pruned::over_budget): first the final models of the functions that lost least time,
/// whose records refer to the models they had, then the records that lost least time. What else is in
/// the store, such as facts of the run and earlier models, stays.
///
/// # Errors
///
/// Returns the errors of the store, and [`Error::Cancelled`](crate::Error::Cancelled) if the job is cancelled. All
/// records then stay as they were. Once records are rewritten, the final count is not interrupted.
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

/// As [`prune_within`], and tells of each record that was judged again, by which model and how.
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

/// What is there.
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
