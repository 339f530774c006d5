//! [`Plan`]: decisions of pruning, which records and final models a store keeps, revises or removes.

use super::super::record::{CallRecord, Entry, Kind, ModelRecord, Record};
use super::super::store::Store;
use super::super::{json, worst::Worst};
use super::Pruned;
use crate::calls::Calls;
use crate::{Detector, FunctionId, Judgement, Label, Result, Sample};
use perf_core::Job;
use std::cmp::Reverse;
use std::collections::HashMap;

/// Reason for removing a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// The anomaly is normal by the final model.
    NormalAfterAll,
    /// The normal execution is abnormal by the final model.
    AbnormalAfterAll,
    /// The anomaly is not among the worst of its function.
    NotAmongWorst,
    /// The record exceeds the budget.
    OverBudget,
}

impl Why {
    /// Returns the counter of the reason.
    pub(super) fn count(self, pruned: &mut Pruned) -> &mut u64 {
        match self {
            Why::NormalAfterAll => &mut pruned.normal_after_all,
            Why::AbnormalAfterAll => &mut pruned.abnormal_after_all,
            Why::NotAmongWorst => &mut pruned.not_among_worst,
            Why::OverBudget => &mut pruned.over_budget,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The record has no new judgement, and keeps its old one.
    AsItIs,
    /// The record gets a new judgement.
    Revised,
    /// The record is removed.
    Removed(Why),
}

/// Decision about a record.
#[derive(Debug)]
pub(super) struct Row {
    /// Function of the record; `None` if the sink does not know it.
    pub(super) function: Option<FunctionId>,
    /// New judgement; `None` if the function is unknown or its model has not enough data.
    pub(super) judgement: Option<Judgement>,
    /// Anomaly or normal execution.
    kind: Kind,
    /// Severity in nanoseconds and score, by the new judgement if there is one.
    rank: (i64, f64),
    /// Decision.
    pub(super) fate: Fate,
    /// Size in bytes if the record refers to the final model, and if it refers to its earlier
    /// model.
    bytes: (u64, u64),
}

/// Final model of a function.
#[derive(Debug)]
pub(super) struct Final {
    /// Function.
    function: FunctionId,
    /// Record of the model.
    pub(super) record: ModelRecord,
    /// Size in bytes.
    bytes: u64,
    /// Time lost in nanoseconds by the records that refer to the model.
    severity: i64,
    /// `true` if the model fits the budget.
    pub(super) is_kept: bool,
}

/// Identity of a call: program, rank, thread, and number in the order of entry.
type Key = (u32, u32, u32, u64);

/// Decisions about all records, in storage order.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Decision about each record.
    pub(super) rows: Vec<Row>,
    /// New judgements of recorded calls: `true` for abnormal.
    known: HashMap<Key, bool>,
    /// Final models.
    pub(super) models: Vec<Final>,
    /// Index in `models` of the final model of each function.
    places: HashMap<FunctionId, usize>,
    /// Largest number of a model in the store.
    last_model: u64,
    /// Last step of a record.
    last_step: u64,
    /// Size in bytes of all entries other than records.
    fixed: u64,
}

impl Plan {
    /// Judges all records of a store with the current model of the detector.
    pub(super) fn of(
        store: &mut dyn Store,
        calls: &Calls,
        detector: &dyn Detector,
        job: &Job,
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
            job.check()?;
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
        // A model without enough data, such as one that was reset shortly before, does not
        // contradict earlier judgements.
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

    /// Removes all but the `per_function` worst anomalies of each function, by severity and score,
    /// then in storage order. Only anomalies with a new judgement are considered.
    pub(super) fn keep_worst(&mut self, per_function: usize) {
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

    /// Assigns numbers to the final models of the functions that have revised records.
    pub(super) fn number_models(&mut self, calls: &Calls, detector: &dyn Detector) {
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

    /// Returns the revised version of a record, with new marks of abnormal calls in its
    /// surroundings.
    pub(super) fn revised(&self, record: &Record, row: &Row) -> Record {
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

    /// Computes the sizes of each record after its revision.
    pub(super) fn size(&mut self, store: &mut dyn Store, job: &Job) -> Result<()> {
        let mut text = String::new();
        let mut sizes = Vec::with_capacity(self.rows.len());
        store.each(&mut |entry| {
            job.check()?;
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

    /// Drops final models, and then records, until all entries fit the budget. Returns the number
    /// of dropped models.
    pub(super) fn fit(&mut self, budget: u64) -> u64 {
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
        // Models with the least time lost are dropped first; if it is equal, the model that
        // occurred last.
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

/// Returns the length in bytes of an entry as a line.
pub(super) fn length(entry: &Entry, text: &mut String) -> u64 {
    text.clear();
    json::write(entry, text);
    text.len() as u64 + 1
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
    detector.judge_again(&[sample(record, function)], &mut judgements);
    judgements.pop()
}
