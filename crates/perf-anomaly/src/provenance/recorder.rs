//! [`Recorder`]: keeps what is worth it.

use super::context::{launch, record, short};
use super::json;
use super::memory::Memory;
use super::params::{CheckedRecorderParams, RecorderParams};
use super::record::{Entry, Kind, ModelRecord, Record, RunRecord, StreamRecord};
use super::reduction::Reduction;
use super::store::Store;
use super::worst::Worst;
use crate::calls::{CallKey, Calls, StreamHealth};
use crate::detect::Functions;
use crate::{Detector, Error, FunctionId, Judgement, Label, Result};
use perf_core::StreamId;
use std::collections::{HashMap, HashSet, VecDeque};

/// Writes records of anomalies, of normal executions beside them, and of the run into a [`Store`].
///
/// A record waits until the calls after it have come, which may be in a later step. See
/// [`provenance`](crate::provenance) for an example.
#[derive(Debug)]
pub struct Recorder {
    params: RecorderParams,
    store: Box<dyn Store>,
    counts: Reduction,
    is_begun: bool,
    /// The last commit failed: what waits in the store goes before all else.
    is_behind: bool,
    worst: Functions<Worst>,
    /// Records that wait, with the step in which they began to.
    waiting: VecDeque<Waiting>,
    /// Anomalies of the last steps, for the surroundings of others: those of this step, and before.
    anomalies: HashSet<CallKey>,
    before: HashSet<CallKey>,
    models: Functions<(u64, f64)>,
    next_model: u64,
    /// Whether a normal execution is there, by stream and function.
    normals: HashMap<(StreamId, FunctionId), bool>,
    wanted: usize,
    /// How many facts of a stream were written.
    facts: Vec<usize>,
    /// The step of the last calls.
    step: Option<u64>,
    /// Anomalies and normal executions that the store took since it last committed.
    uncommitted: [u64; 2],
    /// Bytes of all that the store committed.
    committed_bytes: u64,
    /// An entry as text, to know its length.
    text: String,
}

#[derive(Debug)]
struct Waiting {
    since: u64,
    key: CallKey,
    needs_launch: bool,
    record: Record,
}

impl Default for Recorder {
    /// Returns a recorder with the default parameters that keeps its records in [`Memory`].
    fn default() -> Self {
        Recorder::new(CheckedRecorderParams::default(), Box::new(Memory::new()))
    }
}

impl Recorder {
    /// Which anomalies are kept, to be set up and checked.
    pub fn params() -> RecorderParams {
        RecorderParams::default()
    }

    /// A recorder that has kept nothing.
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

    /// After the calls of a step, or of a part of one, were judged: keeps what is worth it, one judgement
    /// a call of [`Calls::batch`].
    ///
    /// # Errors
    /// The first of those of the store, of which none keeps the rest of the step from it. Records that it could not take
    /// are [counted](Reduction::lost).
    pub fn step(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        detector: &dyn Detector,
    ) -> Result<()> {
        // What waits may leave no room for more.
        let before = match self.is_behind {
            true => self.commit(),
            false => Ok(()),
        };
        let kept = self.judged(calls, judgements, detector);
        match before {
            Ok(()) => kept.and(self.commit()),
            // It was just tried, and may have taken its time.
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

    /// Keeps what is worth it of a step.
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
        // What is abnormal in a step is known before the surroundings of a call of it are told.
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

    /// After the last step: writes what waits, and gives the store.
    ///
    /// # Errors
    /// Those of the store.
    pub fn finish(self) -> Result<(Box<dyn Store>, Reduction)> {
        let (store, counts, error) = self.close();
        match error {
            Some(error) => Err(error),
            None => Ok((store, counts)),
        }
    }

    /// As [`finish`](Self::finish), but the store is there even if it failed. Each record is tried.
    pub(crate) fn close(mut self) -> (Box<dyn Store>, Reduction, Option<Error>) {
        let mut first = None;
        if self.is_behind {
            first = self.commit().err();
        }
        while let Some(waiting) = self.waiting.pop_front() {
            first = first.or(self.write(waiting.record).err());
        }
        first = first.or(self.commit().err());
        // What the store took and could not commit has nowhere to go any more.
        let [recorded, normals] = std::mem::take(&mut self.uncommitted);
        self.counts.recorded -= recorded;
        self.counts.normals -= normals;
        self.counts.lost += recorded + normals;
        self.counts.kept_bytes = self.committed_bytes;
        (self.store, self.counts, first)
    }

    /// Most anomalies a function, and most bytes.
    pub(crate) fn limits(&self) -> (usize, u64) {
        (self.params.per_function, self.params.budget)
    }

    /// A fact about the run, before its first step.
    pub(crate) fn fact(&mut self, name: &str, value: String) {
        self.params.add_fact(name, value);
    }

    /// How much was kept by now of the events that a sink has taken.
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
        // If it could not be put, it comes with the next step.
        self.is_begun = true;
        Ok(())
    }

    /// Facts of streams that are new.
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

    /// How many anomalies a function may have as the budget is by now.
    fn most(&self) -> usize {
        let (half, kept) = (self.params.budget / 2, self.counts.kept_bytes);
        match kept <= half {
            true => self.params.per_function,
            false => {
                let left = self.params.budget.saturating_sub(kept) as f64 / half.max(1) as f64;
                ((self.params.per_function as f64 * left) as usize).max(1)
            }
        }
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
        self.counts.anomalies += 1;
        let severity = judgement.severity(sample);
        let params = &self.params;
        if severity < params.severity
            || sample.runtime < params.runtime
            || !params.steps.contains(&batch.step())
            || (judgement.label == Label::TooFast && !params.too_fast)
        {
            self.counts.filtered += 1;
            return Ok(());
        }
        let most = self.most();
        let worst = self.worst.entry(sample.function, Worst::default);
        if !worst.admit(severity, judgement.score, most) {
            self.counts.not_among_worst += 1;
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

    /// Writes a record, or lets it wait for what comes after the call.
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

    /// Gives records that wait what this step brought.
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

    /// The number of the model of a function. It is written when it is new, and whenever it is of twice
    /// as many calls as before.
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
            // Better none than one that is not there.
            return Ok(known.map_or(0, |(id, _)| id));
        }
        self.next_model += 1;
        *self.models.entry(function, || (id, count)) = (id, count);
        Ok(id)
    }

    /// Of each function that had an anomaly on a stream, the most usual call of this step.
    fn find_normals(
        &mut self,
        calls: &Calls,
        judgements: &[Judgement],
        known: &HashSet<CallKey>,
        detector: &dyn Detector,
    ) -> Result<()> {
        let batch = calls.batch();
        let mut usual: HashMap<(StreamId, FunctionId), usize> = HashMap::new();
        // Of most functions there is one, or nobody wants any: they are not looked for by stream.
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
