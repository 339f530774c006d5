//! [`prune`]: what was judged too early is judged again.

use super::record::{Entry, Kind, ModelRecord, Record};
use super::store::{Revision, Store};
use super::worst::Worst;
use crate::calls::Calls;
use crate::{Detector, FunctionId, Judgement, Label, Result, Sample};
use std::collections::{HashMap, HashSet};

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
/// to the final models. Of each function, the `per_function` worst anomalies stay.
///
/// # Errors
/// Those of the store.
pub fn prune(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
) -> Result<Pruned> {
    prune_with(store, calls, detector, per_function, &mut |_, _, _| {})
}

/// As [`prune`], and tells of each record that was judged again, by which model and how.
pub(crate) fn prune_with(
    store: &mut dyn Store,
    calls: &Calls,
    detector: &dyn Detector,
    per_function: usize,
    tell: &mut dyn FnMut(&Record, FunctionId, &Judgement),
) -> Result<Pruned> {
    let mut ids: HashMap<(u32, String), FunctionId> = HashMap::new();
    for at in 0..calls.function_count() {
        let function = FunctionId(at as u32);
        let program = calls.function_program(function).unwrap_or_default();
        ids.insert((program, calls.function_name(function)), function);
    }
    let mut judgements: Vec<Option<Judgement>> = Vec::new();
    let mut last_model = 0;
    let mut anomalies: HashMap<FunctionId, Vec<(usize, Record)>> = HashMap::new();
    let mut last_step = 0;
    store.each(&mut |entry| {
        match entry {
            Entry::Model(model) => last_model = last_model.max(model.id),
            Entry::Call(record) => {
                last_step = last_step.max(record.step);
                let known = ids.get(&(record.program, record.function.clone()));
                let judgement = known.and_then(|id| judge(&record, *id, detector));
                if let (Some(id), Some(judgement), Kind::Anomaly) = (known, &judgement, record.kind)
                {
                    let severity = judgement.severity(&sample(&record, *id));
                    let short = Record {
                        severity,
                        score: judgement.score,
                        ..Record::default()
                    };
                    if judgement.label.is_anomaly() {
                        let all = anomalies.entry(*id).or_default();
                        all.push((judgements.len(), short));
                    }
                }
                judgements.push(judgement);
            }
            _ => {}
        }
        Ok(())
    })?;
    // Which rows are among the worst: first the worst of all, then whatever comes first.
    let mut left_out = HashSet::new();
    for all in anomalies.values_mut() {
        all.sort_by(|(_, one), (_, other)| {
            let first = other.severity.cmp(&one.severity);
            first.then(other.score.total_cmp(&one.score))
        });
        let mut worst = Worst::default();
        for (row, record) in all.iter() {
            if !worst.admit(record.severity, record.score, per_function) {
                left_out.insert(*row);
            }
        }
    }
    let mut used: Vec<FunctionId> = Vec::new();
    let mut places: HashMap<FunctionId, usize> = HashMap::new();
    let mut pruned = Pruned::default();
    let mut row = 0;
    store.revise(&mut |record| {
        let own = row;
        row += 1;
        let key = (record.program, record.function.clone());
        let (Some(id), Some(Some(judgement))) = (ids.get(&key), judgements.get(own)) else {
            pruned.unknown += 1;
            return Revision::Keep;
        };
        if judgement.label == Label::NotEnoughData {
            // A model that started over shortly before says nothing against what was found.
            pruned.kept += 1;
            return Revision::Keep;
        }
        tell(record, *id, judgement);
        match (record.kind, judgement.label.is_anomaly()) {
            (Kind::Anomaly, false) => {
                pruned.normal_after_all += 1;
                return Revision::Remove;
            }
            (Kind::Normal, true) => {
                pruned.abnormal_after_all += 1;
                return Revision::Remove;
            }
            _ => {}
        }
        if left_out.contains(&own) {
            pruned.not_among_worst += 1;
            return Revision::Remove;
        }
        let place = *places.entry(*id).or_insert_with(|| {
            used.push(*id);
            used.len() - 1
        });
        pruned.kept += 1;
        let mut record = record.clone();
        record.label = judgement.label;
        record.score = judgement.score;
        record.severity = judgement.severity(&sample(&record, *id));
        record.expected = judgement.expected;
        record.model = last_model.saturating_add(1 + place as u64);
        Revision::Replace(Box::new(record))
    })?;
    for (place, function) in used.into_iter().enumerate() {
        store.put(&Entry::Model(ModelRecord {
            id: last_model.saturating_add(1 + place as u64),
            program: calls.function_program(function).unwrap_or_default(),
            function: calls.function_name(function),
            step: last_step,
            detector: detector.name().into(),
            facts: detector.describe(function),
        }))?;
    }
    store.commit()?;
    count(store, &mut pruned)?;
    Ok(pruned)
}

/// What is there.
fn count(store: &mut dyn Store, pruned: &mut Pruned) -> Result<()> {
    let mut text = String::new();
    store.each(&mut |entry| {
        text.clear();
        super::json::write(&entry, &mut text);
        pruned.bytes += text.len() as u64 + 1;
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
