//! [`Recorder`]: selects anomalies, and writes their records, normal calls for comparison and the
//! models that judged them to a store within a budget.

use super::context::{launch, record, short};
use super::json;
use super::params::{CheckedRecorderParams, RecorderParams};
use super::record::{Entry, Kind, ModelRecord, Record, RunRecord, StreamRecord};
use super::reduction::Reduction;
use super::store::{Memory, Store};
use super::worst::Worst;
use crate::calls::{Call, CallKey, Calls, StreamHealth};
use crate::detect::Functions;
use crate::{Detector, Error, FunctionId, Judgement, Label, Result, Sample};
use perf_core::{Nanos, StreamId};
use std::collections::{HashMap, HashSet, VecDeque};

/// Writes records of anomalies, of normal executions for comparison, and of the run to a [`Store`].
///
/// A record waits until enough calls after its call have been completed, possibly in a later step.
/// See [`provenance`](crate::provenance) for an example.
#[derive(Debug)]
pub struct Recorder {
    /// Parameters.
    params: RecorderParams,
    /// Store of the records.
    store: Box<dyn Store>,
    /// Counts of kept and dropped data.
    counts: Reduction,
    /// `true` once the properties of the run were stored.
    is_begun: bool,
    /// `true` if the last commit failed; the next step first commits the pending entries of the
    /// store.
    is_behind: bool,
    /// Worst anomalies of each function.
    worst: Functions<Worst>,
    /// Waiting records.
    waiting: VecDeque<Waiting>,
    /// Anomalies of this step, which are marked in the surroundings of other calls.
    anomalies: HashSet<CallKey>,
    /// Anomalies of the previous steps.
    before: HashSet<CallKey>,
    /// Number of the last stored model of each function, and the number of calls of that model.
    models: Functions<(u64, f64)>,
    /// Number of the next model.
    next_model: u64,
    /// Streams and functions that had an anomaly, each with `true` if a normal execution was
    /// recorded.
    normals: HashMap<(StreamId, FunctionId), bool>,
    /// Number of normal executions that are still missing.
    wanted: usize,
    /// Number of stored properties of each stream; `usize::MAX` if none were stored.
    facts: Vec<usize>,
    /// Step of the last calls.
    step: Option<u64>,
    /// Number of anomalies and normal executions that the store accepted since its last commit.
    uncommitted: [u64; 2],
    /// Number of bytes that the store committed.
    committed_bytes: u64,
    /// Buffer for an entry as text, to determine its length.
    text: String,
}

#[derive(Debug)]
struct Waiting {
    /// Step in which the record began to wait.
    since: u64,
    /// Identity of the call.
    key: CallKey,
    /// `true` if the launch of the call is still missing.
    needs_launch: bool,
    /// Record, as far as it is complete.
    record: Record,
}

impl Default for Recorder {
    /// Returns a recorder with the default parameters that keeps its records in [`Memory`].
    fn default() -> Self {
        Recorder::new(CheckedRecorderParams::default(), Box::new(Memory::new()))
    }
}

impl Recorder {
    /// Returns the default parameters.
    pub fn params() -> RecorderParams {
        RecorderParams::default()
    }

    /// Creates a recorder with a store.
    pub fn new(params: CheckedRecorderParams, store: Box<dyn Store>) -> Self {
        Recorder {
            params: params.0,
            store,
            counts: Reduction::default(),
            is_begun: false,
            is_behind: false,
            worst: Functions::default(),
            waiting: VecDeque::new(),
            anomalies: HashSet::new(),
            before: HashSet::new(),
            models: Functions::default(),
            next_model: 1,
            normals: HashMap::new(),
            wanted: 0,
            facts: Vec::new(),
            step: None,
            uncommitted: [0; 2],
            committed_bytes: 0,
            text: String::new(),
        }
    }

    /// Records the anomalies of a step, or of a part of a step, after its calls were judged.
    /// `judgements` holds one judgement for each call of [`Calls::batch`].
    ///
    /// # Errors
    /// Returns the first error of the store; the rest of the step is recorded nevertheless. Records
    /// that the store could not accept are [counted](Reduction::lost).
    pub fn step(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        detector: &dyn Detector,
    ) -> Result<()> {
        // Pending entries may leave no space for more.
        let before = if self.is_behind {
            self.commit()
        } else {
            Ok(())
        };
        let kept = self.judged(calls, judgements, detector);
        match before {
            Ok(()) => kept.and(self.commit()),
            // The commit has just failed, possibly after a long time.
            Err(error) => Err(error),
        }
    }

    fn commit(&mut self) -> Result<()> {
        let committed = self.store.commit();
        self.is_behind = committed.is_err();
        if committed.is_ok() {
            self.uncommitted = [0; 2];
            self.committed_bytes = self.counts.kept_bytes;
        }
        committed
    }

    /// Records the anomalies of a step.
    fn judged(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        detector: &dyn Detector,
    ) -> Result<()> {
        let mut outcome = self.begin(detector);
        outcome = outcome.and(self.describe_streams(calls));
        let batch = calls.batch();
        let is_anomaly = |judgement: &Judgement| judgement.label.is_anomaly();
        let found: Vec<usize> = judgements
            .iter()
            .enumerate()
            .filter_map(|(row, judgement)| is_anomaly(judgement).then_some(row))
            .collect();
        if self.step.replace(batch.step()) != Some(batch.step()) {
            self.before = std::mem::take(&mut self.anomalies);
        }
        for row in &found {
            let call = batch.calls().get(*row);
            self.anomalies.extend(call.map(|call| call.key()));
        }
        // All anomalies of a step are collected before the surroundings of any call are described.
        let known: HashSet<CallKey> = self.anomalies.union(&self.before).copied().collect();
        outcome = outcome.and(self.complete(calls, &known));
        for row in found {
            outcome = outcome.and(self.anomaly(calls, row, judgements, &known, detector));
        }
        if self.wanted > 0 {
            outcome = outcome.and(self.find_normals(calls, judgements, &known, detector));
        }
        outcome
    }

    /// Writes waiting records after the last step, and returns the store.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub fn finish(self) -> Result<(Box<dyn Store>, Reduction)> {
        let (store, counts, error) = self.close();
        match error {
            Some(error) => Err(error),
            None => Ok((store, counts)),
        }
    }

    /// Writes all waiting records like [`finish`](Self::finish), but returns the store and the
    /// counts even if the store fails.
    pub(crate) fn close(mut self) -> (Box<dyn Store>, Reduction, Option<Error>) {
        let mut first = None;
        if self.is_behind {
            first = self.commit().err();
        }
        while let Some(waiting) = self.waiting.pop_front() {
            first = first.or(self.write(waiting.record).err());
        }
        first = first.or(self.commit().err());
        // Entries that the store accepted but could not commit are lost.
        let [recorded, normals] = std::mem::take(&mut self.uncommitted);
        self.counts.recorded -= recorded;
        self.counts.normals -= normals;
        self.counts.lost += recorded + normals;
        self.counts.kept_bytes = self.committed_bytes;
        (self.store, self.counts, first)
    }

    /// Returns the largest number of anomalies for each function, and the budget in bytes.
    pub(crate) fn limits(&self) -> (usize, u64) {
        (self.params.per_function, self.params.budget)
    }

    /// Adds a property of the run; must be called before the first step.
    pub(crate) fn fact(&mut self, name: &str, value: String) {
        self.params.add_fact(name, value);
    }

    /// Returns the data reduction so far, relative to the events that a sink has accepted.
    pub fn reduction(&self, events: &StreamHealth) -> Reduction {
        Reduction {
            raw_bytes: Reduction::raw_bytes(events),
            ..self.counts
        }
    }

    fn put(&mut self, entry: &Entry) -> Result<bool> {
        self.text.clear();
        json::write(entry, &mut self.text);
        let bytes = self.text.len() as u64 + 1;
        if bytes > self.params.budget.saturating_sub(self.counts.kept_bytes) {
            self.counts.over_budget += 1;
            return Ok(false);
        }
        self.counts.kept_bytes += self.store.put(entry)?;
        Ok(true)
    }

    fn begin(&mut self, detector: &dyn Detector) -> Result<()> {
        if self.is_begun {
            return Ok(());
        }
        let given = self.params.facts.clone();
        let params = self.params.clone();
        for (name, value) in detector.options() {
            self.fact(&name, value);
        }
        for (name, value) in [
            ("per function", params.per_function.to_string()),
            ("budget", params.budget.to_string()),
            ("least severity", params.severity.0.to_string()),
            ("least run time", params.runtime.0.to_string()),
            ("first step", params.steps.start().to_string()),
            ("last step", params.steps.end().to_string()),
            ("too fast", params.too_fast.to_string()),
            ("normal executions", params.normals.to_string()),
            ("patience", params.patience.to_string()),
            ("frames", params.frames.to_string()),
            ("notes", params.notes.to_string()),
        ] {
            self.fact(name, value);
        }
        let facts = std::mem::replace(&mut self.params.facts, given);
        self.put(&Entry::Run(RunRecord {
            version: env!("CARGO_PKG_VERSION").into(),
            detector: detector.name().into(),
            facts,
        }))?;
        // After an error this line is not reached, and the next step tries again.
        self.is_begun = true;
        Ok(())
    }

    /// Stores the properties of streams that are new or have new properties.
    fn describe_streams(&mut self, calls: &Calls) -> Result<()> {
        for stream in calls.streams() {
            let facts = calls.stream_metadata(*stream);
            if self.facts.len() <= stream.index() {
                self.facts.resize(stream.index() + 1, usize::MAX);
            }
            if self.facts.get(stream.index()) == Some(&facts.len()) {
                continue;
            }
            let key = calls.stream_key(*stream).unwrap_or_default();
            self.put(&Entry::Stream(StreamRecord {
                program: key.program,
                rank: key.rank,
                thread: key.thread,
                facts: facts.to_vec(),
            }))?;
            if let Some(known) = self.facts.get_mut(stream.index()) {
                *known = facts.len();
            }
        }
        Ok(())
    }

    /// Returns the current number of anomalies allowed for each function, which depends on the
    /// remaining budget.
    fn most(&self) -> usize {
        let (half, kept) = (self.params.budget / 2, self.counts.kept_bytes);
        if kept <= half {
            self.params.per_function
        } else {
            let left = self.params.budget.saturating_sub(kept) as f64 / half.max(1) as f64;
            ((self.params.per_function as f64 * left) as usize).max(1)
        }
    }

    /// Counts an anomaly, and returns `true` if it is recorded.
    fn admit(
        &mut self,
        (function, runtime, step): (FunctionId, Nanos, u64),
        (label, score, severity): (Label, f64, Nanos),
    ) -> bool {
        self.counts.anomalies += 1;
        let params = &self.params;
        if severity < params.severity
            || runtime < params.runtime
            || !params.steps.contains(&step)
            || (label == Label::TooFast && !params.too_fast)
        {
            self.counts.filtered += 1;
            return false;
        }
        let most = self.most();
        let worst = self.worst.entry(function, Worst::default);
        let is_among_worst = worst.admit(severity, score, most);
        self.counts.not_among_worst += u64::from(!is_among_worst);
        is_among_worst
    }

    /// Returns the record of a call of the last batch that may prove to be abnormal.
    pub(crate) fn prepare(&self, calls: &Calls, judged: (&Call, &Sample, &Judgement)) -> Record {
        let most = (self.params.frames, self.params.notes);
        let mut record = record(calls, judged, Kind::Anomaly, &self.anomalies, most);
        record.call.is_anomaly = true;
        record
    }

    /// Records a call that was found to be abnormal after its step, given its [prepared](Self::prepare) record.
    ///
    /// # Errors
    /// Returns the errors of the store.
    pub(crate) fn late(
        &mut self,
        calls: &Calls,
        function: FunctionId,
        mut record: Record,
        detector: &dyn Detector,
    ) -> Result<()> {
        let place = (function, record.runtime, record.step);
        if !self.admit(place, (record.label, record.score, record.severity)) {
            return Ok(());
        }
        let model = self.model(calls, function, detector);
        record.model = model.inspect_err(|_| self.counts.lost += 1)?;
        self.write(record)
    }

    fn anomaly(
        &mut self,
        calls: &Calls,
        row: usize,
        judgements: &[Judgement],
        known: &HashSet<CallKey>,
        detector: &dyn Detector,
    ) -> Result<()> {
        let batch = calls.batch();
        let (Some(call), Some(sample), Some(judgement)) = (
            batch.calls().get(row),
            batch.samples().get(row),
            judgements.get(row),
        ) else {
            return Ok(());
        };
        let place = (sample.function, sample.runtime, batch.step());
        let severity = judgement.severity(sample);
        if !self.admit(place, (judgement.label, judgement.score, severity)) {
            return Ok(());
        }
        let most = (self.params.frames, self.params.notes);
        let mut record = record(calls, (call, sample, judgement), Kind::Anomaly, known, most);
        let model = self.model(calls, sample.function, detector);
        record.model = model.inspect_err(|_| self.counts.lost += 1)?;
        // Work without a correlation id has no launch to wait for.
        let needs_launch =
            calls.is_gpu(call.stream) && call.flags.is_correlated() && record.launch.is_none();
        self.keep(calls, call.key(), record, needs_launch)?;
        if self.params.normals {
            let normal = self.normals.entry((call.stream, sample.function));
            normal.or_insert_with(|| {
                self.wanted += 1;
                false
            });
        }
        Ok(())
    }

    /// Writes a record if it is complete; otherwise the record waits for the calls after its call
    /// or for its launch.
    fn keep(
        &mut self,
        calls: &Calls,
        key: CallKey,
        record: Record,
        needs_launch: bool,
    ) -> Result<()> {
        if record.after.len() >= calls.context_calls() && !needs_launch {
            return self.write(record);
        }
        self.waiting.push_back(Waiting {
            since: calls.batch().step(),
            key,
            needs_launch,
            record,
        });
        Ok(())
    }

    fn write(&mut self, record: Record) -> Result<()> {
        let kind = record.kind;
        let put = self.put(&Entry::Call(Box::new(record)));
        if put.inspect_err(|_| self.counts.lost += 1)? {
            let (count, uncommitted) = match kind {
                Kind::Anomaly => (&mut self.counts.recorded, &mut self.uncommitted[0]),
                Kind::Normal => (&mut self.counts.normals, &mut self.uncommitted[1]),
            };
            *count += 1;
            *uncommitted += 1;
        }
        Ok(())
    }

    /// Completes waiting records with the data of this step.
    fn complete(&mut self, calls: &Calls, known: &HashSet<CallKey>) -> Result<()> {
        let (step, mut outcome) = (calls.batch().step(), Ok(()));
        let links: HashMap<CallKey, _> = calls
            .batch()
            .links()
            .iter()
            .map(|link| (link.work, link.launch))
            .collect();
        for _ in 0..self.waiting.len() {
            let Some(mut one) = self.waiting.pop_front() else {
                break;
            };
            let after = calls.after(one.key);
            if after.len() >= one.record.after.len() {
                let after = after.iter().map(|call| short(calls, call, known));
                one.record.after = after.collect();
            }
            if one.needs_launch
                && let Some(found) = links.get(&one.key)
            {
                one.record.launch = Some(launch(calls, found, self.params.frames));
                one.needs_launch = false;
            }
            let is_complete = one.record.after.len() >= calls.context_calls() && !one.needs_launch;
            if is_complete || step.saturating_sub(one.since) >= self.params.patience {
                outcome = outcome.and(self.write(one.record));
            } else {
                self.waiting.push_back(one);
            }
        }
        outcome
    }

    /// Returns the number of the stored model of a function; 0 for none. The model is stored when
    /// it is new, and whenever it has at least twice or less than half as many calls as the stored
    /// one.
    fn model(
        &mut self,
        calls: &Calls,
        function: FunctionId,
        detector: &dyn Detector,
    ) -> Result<u64> {
        let facts = detector.describe(function);
        let Some(count) = facts.first().map(|(_, count)| *count) else {
            return Ok(0);
        };
        let known = self.models.get(function).copied();
        if let Some((id, before)) = known
            && count < 2.0 * before
            && count >= before / 2.0
        {
            return Ok(id);
        }
        let id = self.next_model;
        let is_kept = self.put(&Entry::Model(ModelRecord {
            id,
            program: calls.function_program(function).unwrap_or_default(),
            function: calls.function_name(function),
            step: calls.batch().step(),
            detector: detector.name().into(),
            facts,
        }))?;
        if !is_kept {
            // A reference to an older model, or none, is better than a reference to a missing
            // model.
            return Ok(known.map_or(0, |(id, _)| id));
        }
        self.next_model += 1;
        *self.models.entry(function, || (id, count)) = (id, count);
        Ok(id)
    }

    /// Records a normal execution for each stream and function that had an anomaly: the normal call
    /// of this step with the lowest score.
    fn find_normals(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        known: &HashSet<CallKey>,
        detector: &dyn Detector,
    ) -> Result<()> {
        let batch = calls.batch();
        let mut usual: HashMap<(StreamId, FunctionId), usize> = HashMap::new();
        // Most functions need no normal execution and are not searched by stream.
        let mut wanted = Functions::default();
        for ((_, function), is_there) in &self.normals {
            if !is_there {
                wanted.entry(*function, || ());
            }
        }
        let all = batch.calls().iter().zip(batch.samples()).zip(judgements);
        for (row, ((call, sample), judgement)) in all.enumerate() {
            if judgement.label != Label::Normal || wanted.get(sample.function).is_none() {
                continue;
            }
            let key = (call.stream, sample.function);
            if self.normals.get(&key) != Some(&false) {
                continue;
            }
            let best = usual.entry(key).or_insert(row);
            let before = judgements.get(*best).map_or(f64::INFINITY, |one| one.score);
            if judgement.score < before {
                *best = row;
            }
        }
        let mut rows: Vec<_> = usual.into_iter().collect();
        rows.sort_unstable_by_key(|(_, row)| *row);
        for (key, row) in rows {
            let (Some(call), Some(sample), Some(judgement)) = (
                batch.calls().get(row),
                batch.samples().get(row),
                judgements.get(row),
            ) else {
                continue;
            };
            let most = (self.params.frames, self.params.notes);
            let mut record = record(calls, (call, sample, judgement), Kind::Normal, known, most);
            record.model = self.model(calls, sample.function, detector)?;
            self.normals.insert(key, true);
            self.wanted -= 1;
            self.keep(calls, call.key(), record, false)?;
        }
        Ok(())
    }
}
