//! [`prune`]: what was judged too early is judged again.

use super::json;
use super::record::{CallRecord, Entry, Kind, ModelRecord, Record};
use super::store::{Revision, Store};
use super::worst::Worst;
use crate::calls::Calls;
use crate::{Detector, FunctionId, Judgement, Label, Result, Sample};
use perf_core::CancelToken;
use std::cmp::Reverse;
use std::collections::HashMap;

/// What became of the records.
///
/// What is kept after it is counted as what is kept before: see
/// [`Reduction`](super::Reduction).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
/// # use perf_anomaly::{Monitor, Tail, Watch, calls::Calls};
/// # use perf_anomaly::provenance::Recorder;
/// # use perf_core::Nanos;
/// # let file = |name: &str| std::env::temp_dir().join(format!("perf-anomaly-prune-{name}-{}.jsonl", std::process::id()));
/// # let run = |rank: u32, store: Lines| {
/// #     let tail = Tail::new(Tail::params().check()?);
/// #     let recorder = Recorder::new(Recorder::params().check()?, Box::new(store));
/// #     let calls = Calls::new(Calls::params().check()?);
/// #     let mut watch = Watch::new(Monitor::new(calls, Box::new(tail)).record(recorder), 0, rank);
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
/// # let calls = Calls::new(Calls::params().check()?);
/// // By a detector that has learned nothing, no record is abnormal, nor is its function known.
/// let nothing = Sstd::new(Sstd::params().check()?);
/// let pruned = prune(&mut *open(&path)?, &calls, &nothing, 1000)?;
/// assert_eq!((pruned.unknown, pruned.normal_after_all), (2, 0));
/// # std::fs::remove_file(&path).ok();
/// # Ok::<(), perf_anomaly::Error>(())
/// ```
///
/// # Errors
/// Those of the store.
pub fn prune(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
) -> Result<Pruned> {
    prune_within(store, calls, detector, per_function, u64::MAX)
}

/// As [`prune`], and no more than `budget` bytes are there afterwards, as text. What does not fit is left
/// out and [counted](Pruned::over_budget): first the final models of the functions that lost least time,
/// whose records refer to the models they had, then the records that lost least time. What else is in
/// the store, such as facts of the run and earlier models, stays.
///
/// # Errors
/// Those of the store.
pub fn prune_within(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
    budget: u64,
) -> Result<Pruned> {
    let never = CancelToken::new();
    prune_until(store, calls, detector, (per_function, budget), &never)
}

/// As [`prune_within`] with so many anomalies a function and bytes in all, and stops soon after somebody
/// cancelled.
///
/// # Errors
/// Those of the store, and [`Error::Cancelled`](crate::Error::Cancelled); then all records stay as they were. Once they are
/// written anew, their count is done as a whole.
pub fn prune_until(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    limits: (usize, u64),
    cancel: &CancelToken,
) -> Result<Pruned> {
    prune_with(store, calls, detector, limits, cancel, &mut |_, _, _| {})
}

/// As [`prune_within`], and tells of each record that was judged again, by which model and how.
pub(crate) fn prune_with(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    (per_function, budget): (usize, u64),
    cancel: &CancelToken,
    tell: &mut dyn FnMut(&Record, FunctionId, &Judgement),
) -> Result<Pruned> {
    let mut plan = Plan::of(store, calls, detector, cancel)?;
    plan.keep_worst(per_function);
    plan.number_models(calls, detector);
    plan.size(store, cancel)?;
    cancel.check()?;
    let mut pruned = Pruned {
        over_budget: plan.fit(budget),
        ..Pruned::default()
    };
    let mut row = 0;
    store.revise(&mut |record| {
        if cancel.is_cancelled() {
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

/// Why a record is not there any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    NormalAfterAll,
    AbnormalAfterAll,
    NotAmongWorst,
    OverBudget,
}

impl Why {
    /// What counts it; those over the budget were counted when that was looked at.
    fn count(self, pruned: &mut Pruned) -> &mut u64 {
        match self {
            Why::NormalAfterAll => &mut pruned.normal_after_all,
            Why::AbnormalAfterAll => &mut pruned.abnormal_after_all,
            Why::NotAmongWorst => &mut pruned.not_among_worst,
            Why::OverBudget => &mut pruned.over_budget,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    /// Nothing new is known of it.
    AsItIs,
    /// It is judged anew.
    Revised,
    Removed(Why),
}

/// What becomes of a record.
#[derive(Debug)]
struct Row {
    function: Option<FunctionId>,
    judgement: Option<Judgement>,
    kind: Kind,
    /// Severity and score as judged now.
    rank: (i64, f64),
    fate: Fate,
    /// Bytes with the final model, and with the model it had.
    bytes: (u64, u64),
}

/// The final model of a function.
#[derive(Debug)]
struct Final {
    function: FunctionId,
    record: ModelRecord,
    bytes: u64,
    /// Time lost by the records that refer to it.
    severity: i64,
    is_kept: bool,
}

/// A call: program, rank, thread, and its place in the order of entry.
type Key = (u32, u32, u32, u64);

/// What becomes of all records, in the order in which they are stored.
#[derive(Debug, Default)]
struct Plan {
    rows: Vec<Row>,
    /// What is said now of calls that have a record.
    known: HashMap<Key, bool>,
    models: Vec<Final>,
    /// Where the final model of a function is.
    places: HashMap<FunctionId, usize>,
    last_model: u64,
    last_step: u64,
    /// Bytes of all that is no record.
    fixed: u64,
}

impl Plan {
    /// Judges all records.
    fn of(
        store: &mut dyn Store,
        calls: &Calls,
        detector: &dyn Detector,
        cancel: &CancelToken,
    ) -> Result<Self> {
        let mut ids: HashMap<(u32, String), FunctionId> = HashMap::new();
        for at in 0..calls.function_count() {
            let function = FunctionId(at as u32);
            let program = calls.function_program(function).unwrap_or_default();
            ids.insert((program, calls.function_name(function)), function);
        }
        let mut plan = Plan::default();
        let mut text = String::new();
        store.each(&mut |entry| {
            cancel.check()?;
            match &entry {
                Entry::Call(record) => {
                    let function = ids.get(&(record.program, record.function.clone()));
                    plan.add(record, function.copied(), detector);
                    return Ok(());
                }
                Entry::Model(model) => plan.last_model = plan.last_model.max(model.id),
                _ => {}
            }
            plan.fixed += length(&entry, &mut text);
            Ok(())
        })?;
        Ok(plan)
    }

    fn add(&mut self, record: &Record, function: Option<FunctionId>, detector: &dyn Detector) {
        self.last_step = self.last_step.max(record.step);
        let judgement = function.and_then(|id| judge(record, id, detector));
        // A model that started over shortly before says nothing against what was found.
        let judgement = judgement.filter(|one| one.label != Label::NotEnoughData);
        let fate = match (&judgement, record.kind) {
            (None, _) => Fate::AsItIs,
            (Some(one), kind) => match (kind, one.label.is_anomaly()) {
                (Kind::Anomaly, false) => Fate::Removed(Why::NormalAfterAll),
                (Kind::Normal, true) => Fate::Removed(Why::AbnormalAfterAll),
                _ => Fate::Revised,
            },
        };
        if let Some(judgement) = &judgement {
            let is_anomaly = judgement.label.is_anomaly();
            self.known.insert(key(record, &record.call), is_anomaly);
        }
        let rank = match (function, &judgement) {
            (Some(id), Some(one)) => (one.severity(&sample(record, id)).0, one.score),
            _ => (record.severity.0, record.score),
        };
        self.rows.push(Row {
            function,
            judgement,
            kind: record.kind,
            rank,
            fate,
            bytes: (0, 0),
        });
    }

    /// Of each function the worst stay: of all, then whatever comes first.
    fn keep_worst(&mut self, per_function: usize) {
        let is_kept = |row: &&mut Row| row.kind == Kind::Anomaly && row.fate == Fate::Revised;
        let mut anomalies: HashMap<Option<FunctionId>, Vec<&mut Row>> = HashMap::new();
        for row in self.rows.iter_mut().filter(is_kept) {
            anomalies.entry(row.function).or_default().push(row);
        }
        for all in anomalies.values_mut() {
            all.sort_by(|one, other| {
                let first = other.rank.0.cmp(&one.rank.0);
                first.then(other.rank.1.total_cmp(&one.rank.1))
            });
            let mut worst = Worst::default();
            for row in all {
                let (severity, score) = row.rank;
                if !worst.admit(perf_core::Nanos(severity), score, per_function) {
                    row.fate = Fate::Removed(Why::NotAmongWorst);
                }
            }
        }
    }

    /// Gives the final model of each function that has records a number.
    fn number_models(&mut self, calls: &Calls, detector: &dyn Detector) {
        let mut text = String::new();
        for row in self.rows.iter().filter(|row| row.fate == Fate::Revised) {
            let Some(function) = row.function else {
                continue;
            };
            let next = self.models.len();
            let place = *self.places.entry(function).or_insert(next);
            if place == next {
                let record = ModelRecord {
                    id: self.last_model.saturating_add(1 + next as u64),
                    program: calls.function_program(function).unwrap_or_default(),
                    function: calls.function_name(function),
                    step: self.last_step,
                    detector: detector.name().into(),
                    facts: detector.describe(function),
                };
                self.models.push(Final {
                    function,
                    bytes: length(&Entry::Model(record.clone()), &mut text),
                    record,
                    severity: 0,
                    is_kept: true,
                });
            }
            if let Some(model) = self.models.get_mut(place) {
                model.severity = model.severity.saturating_add(row.rank.0);
            }
        }
    }

    /// What the record of a row becomes.
    fn revised(&self, record: &Record, row: &Row) -> Record {
        let mut revised = record.clone();
        if let (Some(function), Some(judgement)) = (row.function, &row.judgement) {
            revised.label = judgement.label;
            revised.score = judgement.score;
            revised.severity = judgement.severity(&sample(record, function));
            revised.expected = judgement.expected;
            let place = self.places.get(&function);
            let model = place.and_then(|place| self.models.get(*place));
            if let Some(model) = model.filter(|model| model.is_kept) {
                revised.model = model.record.id;
            }
        }
        let around = revised.stack.iter_mut().chain(&mut revised.before);
        let around = around.chain(&mut revised.after).chain([&mut revised.call]);
        for call in around {
            if let Some(is_anomaly) = self.known.get(&key(record, call)) {
                call.is_anomaly = *is_anomaly;
            }
        }
        revised
    }

    /// How long each record will be.
    fn size(&mut self, store: &mut dyn Store, cancel: &CancelToken) -> Result<()> {
        let mut text = String::new();
        let mut sizes = Vec::with_capacity(self.rows.len());
        store.each(&mut |entry| {
            cancel.check()?;
            let (Entry::Call(record), Some(row)) = (&entry, self.rows.get(sizes.len())) else {
                return Ok(());
            };
            let mut revised = Box::new(self.revised(record, row));
            let own = record.model;
            let with_final = length(&Entry::Call(revised.clone()), &mut text);
            revised.model = own;
            sizes.push((with_final, length(&Entry::Call(revised), &mut text)));
            Ok(())
        })?;
        for (row, bytes) in self.rows.iter_mut().zip(sizes) {
            row.bytes = bytes;
        }
        Ok(())
    }

    /// Leaves out what does not fit, and tells how many models that are.
    fn fit(&mut self, budget: u64) -> u64 {
        let is_kept = |row: &&Row| !matches!(row.fate, Fate::Removed(_));
        let records: u64 = self
            .rows
            .iter()
            .filter(is_kept)
            .map(|row| row.bytes.0)
            .sum();
        let models: u64 = self.models.iter().map(|model| model.bytes).sum();
        let mut all = self.fixed + records + models;
        if all <= budget {
            return 0;
        }
        // The last model first: of those that lost as little, the one that was met last.
        let mut order: Vec<usize> = (0..self.models.len()).rev().collect();
        order.sort_by_key(|at| self.models.get(*at).map(|model| model.severity));
        let mut left_out = 0;
        for at in order {
            let Some(model) = self.models.get_mut(at).filter(|_| all > budget) else {
                break;
            };
            model.is_kept = false;
            all -= model.bytes;
            left_out += 1;
            let function = Some(model.function);
            let own = self.rows.iter_mut().filter(|row| row.function == function);
            for row in own.filter(|row| row.fate == Fate::Revised) {
                all = all - row.bytes.0 + row.bytes.1;
                row.bytes.0 = row.bytes.1;
            }
        }
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by(|one, other| {
            let rank = |at: &usize| self.rows.get(*at).map_or((0, 0.0), |row| row.rank);
            let ((one_lost, one_score), (other_lost, other_score)) = (rank(one), rank(other));
            let first = one_lost.cmp(&other_lost);
            let first = first.then(one_score.total_cmp(&other_score));
            first.then(Reverse(one).cmp(&Reverse(other)))
        });
        for at in order {
            if all <= budget {
                break;
            }
            if let Some(row) = self.rows.get_mut(at)
                && !matches!(row.fate, Fate::Removed(_))
            {
                row.fate = Fate::Removed(Why::OverBudget);
                all -= row.bytes.0;
            }
        }
        left_out
    }
}

fn key(record: &Record, call: &CallRecord) -> Key {
    (record.program, record.rank, record.thread, call.number)
}

/// Bytes of an entry as a line.
fn length(entry: &Entry, text: &mut String) -> u64 {
    text.clear();
    json::write(entry, text);
    text.len() as u64 + 1
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

fn sample(record: &Record, function: FunctionId) -> Sample {
    Sample {
        function,
        runtime: record.runtime,
        first: record.first,
    }
}

fn judge(record: &Record, function: FunctionId, detector: &dyn Detector) -> Option<Judgement> {
    let mut judgements = Vec::new();
    detector.rejudge(&[sample(record, function)], &mut judgements);
    judgements.pop()
}
