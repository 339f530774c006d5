//! [`Monitor`]: event sink that converts events to calls and judges them; records anomalies, shares
//! models and detects changes if configured; ends with a [`Report`].

mod any_client;
mod new_functions;
mod options;
mod undecided;

use crate::calls::{Batch, Call, Calls};
use crate::counters::Counters;
use crate::detect::CALLS_PER_CHECK;
use crate::detect::{Losses, Place};
use crate::lost_time::Lasting;
use crate::provenance::{Recorder, Reduction};
use crate::server::{Client, Exchange, Ranks, StepStats};
use crate::{
    Change, Detector, Drift, Error, Judgement, Label, Report, Sample, Tail, Unfinished, Unjudged,
};
use any_client::Shared;
use perf_core::{
    Cancelled, EventSink, Job, MetricId, MetricMode, Nanos, Region, RegionId, StreamEvent,
    StreamId, StreamKey,
};
use std::borrow::Cow;
use undecided::Undecided;

/// Sink that judges the calls of each step. It combines [`Calls`] and a [`Detector`], and
/// optionally a [`Recorder`] and a [`Client`] of a parameter server.
///
/// ```
/// use perf_anomaly::{Monitor, Replay};
/// use perf_core::{EventSource, Job, Nanos};
/// let trace = perf_core::samples::cosmo::trace();
/// let mut monitor = Monitor::default();
/// let mut replay = Replay::new(trace.view(), Nanos(10_000_000));
/// while replay.next_step(&mut monitor, &Job::default())? {
///     assert_eq!(monitor.batch().len(), monitor.judgements().len());
/// }
/// let report = monitor.finish()?;
/// assert_eq!(report.losses.total().calls, trace.len() as u64 / 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Monitor {
    /// Conversion of events to calls.
    calls: Calls,
    /// Detector.
    detector: Box<dyn Detector>,
    /// Judgements of the last step.
    judgements: Vec<Judgement>,
    /// Time lost by anomalies.
    losses: Losses,
    /// New modes, slow ranks and slow phases.
    lasting: Lasting,
    /// Anomalies per step of each rank.
    ranks: Ranks,
    /// Longest calls that were not judged.
    unjudged: Unjudged,
    /// Calls that are judged again at the end.
    undecided: Vec<Undecided>,
    /// Those of them that were abnormal, with the times of their enters.
    found_at_end: Vec<(StreamKey, Nanos)>,
    /// Statistics of counters.
    counters: Counters,
    /// First and last step that ended.
    steps: Option<(u64, u64)>,
    /// Thresholds of functions whose name matches a pattern; `None` ignores the functions.
    rules: Vec<(String, Option<f64>)>,
    /// Number of functions that the detector knows with their rules.
    functions: usize,
    /// Number of rules that the recorder has stored.
    told: usize,
    /// Recorder of anomalies.
    recorder: Option<Recorder>,
    /// Client of a parameter server.
    client: Option<Box<dyn Shared>>,
    /// Change points.
    drift: Option<Drift>,
    /// `true` if the detector drops the model of a function that changed.
    starts_over: bool,
    /// Changes that were detected in the last step.
    changes: Vec<Change>,
    /// Number of events that the source dropped.
    left_out: u64,
    /// `true` once the stream has ended.
    is_closed: bool,
    /// Job, for cancellation checks.
    job: Job,
    /// First error of the store or server.
    error: Option<Error>,
}

/// Number of steps for which statistics are kept for each rank.
const HISTORY: usize = 128;

impl Default for Monitor {
    /// Returns a monitor of [`Calls::default`] and [`Tail::default`], the detector with a stated
    /// rate of false alarms.
    fn default() -> Self {
        Monitor::new(Calls::default(), Box::new(Tail::default()))
    }
}

impl Monitor {
    /// Creates a monitor from a call converter and a detector.
    pub fn new(mut calls: Calls, detector: Box<dyn Detector>) -> Self {
        if detector.separates_sizes() {
            calls.separate_sizes();
        }
        Monitor {
            calls,
            detector,
            judgements: Vec::new(),
            losses: Losses::default(),
            lasting: Lasting::default(),
            ranks: Ranks::default(),
            unjudged: Unjudged::default(),
            undecided: Vec::new(),
            found_at_end: Vec::new(),
            counters: Counters::default(),
            steps: None,
            rules: Vec::new(),
            functions: 0,
            told: 0,
            recorder: None,
            client: None,
            drift: None,
            starts_over: false,
            changes: Vec::new(),
            left_out: 0,
            is_closed: false,
            job: Job::default(),
            error: None,
        }
    }

    /// Records anomalies with their context. Default: only counts are kept.
    pub fn record(mut self, recorder: Recorder) -> Self {
        self.recorder = Some(recorder);
        self
    }

    /// Shares the knowledge of the detector with other ranks. Default: it is not shared.
    pub fn share<E: Exchange + 'static>(mut self, client: Client<E>) -> Self {
        self.client = Some(Box::new(client));
        self.lasting.share();
        self
    }

    /// Detects functions that become permanently slower or faster. Default: disabled.
    pub fn watch_drift(mut self, drift: Drift) -> Self {
        self.drift = Some(drift);
        self
    }

    /// Makes the detector [drop the model](Detector::forget) of a function that changed, so that
    /// its calls are judged by its new run times. Default: false, so that earlier calls lose weight
    /// at the usual rate of the detector.
    pub fn start_over(mut self, starts_over: bool) -> Self {
        self.starts_over = starts_over;
        self
    }

    /// Sets the job. Once the job is cancelled, judging ends within a step, and
    /// [`error`](Self::error) returns [`Error::Cancelled`]. The interrupted step and later steps
    /// have no judgements, but a part of the interrupted step may be learned. Default: a job that
    /// is never cancelled.
    ///
    /// ```
    /// use perf_anomaly::{Error, Monitor, Replay, Tail, calls::Calls};
    /// use perf_core::{Job, EventSource};
    /// let trace = perf_core::samples::cosmo::trace();
    /// let (calls, job) = (Calls::default(), Job::default());
    /// let detector = Box::new(Tail::default());
    /// let mut monitor = Monitor::new(calls, detector).job(&job);
    /// // All parts belong to one step.
    /// job.cancel();
    /// while Replay::in_steps(trace.view(), 1).next_step(&mut monitor, &Job::default())? && monitor.error().is_none() {}
    /// assert!(monitor.judgements().is_empty());
    /// assert!(matches!(monitor.take_error(), Some(Error::Cancelled(_))));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn job(mut self, job: &Job) -> Self {
        self.calls.job = job.clone();
        self.job = job.clone();
        self
    }

    /// Returns the calls that were completed in the last step.
    pub fn batch(&self) -> &Batch {
        self.calls.batch()
    }

    /// Returns the judgements of the calls in [`batch`](Self::batch), in the same order; empty if
    /// the step was not judged.
    pub fn judgements(&self) -> &[Judgement] {
        &self.judgements
    }

    /// Returns the abnormal calls of the last step with their samples and judgements, in the order
    /// of the batch. Empty if the step was not judged.
    ///
    /// ```
    /// use perf_anomaly::{Monitor, Watch};
    /// use perf_core::Nanos;
    /// let monitor = Monitor::default();
    /// let mut watch = Watch::new(monitor, 0, 0);
    /// let solve = watch.region("solve");
    /// for k in 0..1000 {
    ///     let length = if k == 900 { 5_000_000 } else { 50_000 + k * 37 % 1000 };
    ///     watch.enter(0, solve, Nanos(10_000_000 * k));
    ///     watch.exit(0, solve, Nanos(10_000_000 * k + length));
    /// }
    /// watch.end_step();
    /// let monitor = watch.sink();
    /// let slow: Vec<_> = monitor.anomalies().collect();
    /// let [(call, sample, judgement)] = slow[..] else { panic!("one call was slow") };
    /// assert_eq!(monitor.calls().region_name(call.region), Some((0, "solve")));
    /// assert_eq!(sample.runtime, Nanos(5_000_000));
    /// assert!(judgement.severity(sample) > Nanos(4_900_000));
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn anomalies(&self) -> impl Iterator<Item = (&Call, &Sample, &Judgement)> {
        let batch = self.calls.batch();
        let judged = batch
            .calls()
            .iter()
            .zip(batch.samples())
            .zip(&self.judgements);
        judged
            .filter(|(_, judgement)| judgement.label.is_anomaly())
            .map(|((call, sample), judgement)| (call, sample, judgement))
    }

    /// Returns the call converter, which provides names, stacks and health.
    pub fn calls(&self) -> &Calls {
        &self.calls
    }

    /// Returns the detector.
    pub fn detector(&self) -> &dyn Detector {
        &*self.detector
    }

    /// Returns the time lost so far by function, path, rank and step.
    pub fn losses(&self) -> &Losses {
        &self.losses
    }

    /// Returns the new modes, slow ranks and slow phases so far.
    pub fn lasting(&self) -> &Lasting {
        &self.lasting
    }

    /// Returns the anomalies per step of each rank so far.
    pub fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// Returns the longest calls so far that were not judged.
    pub fn unjudged(&self) -> &Unjudged {
        &self.unjudged
    }

    /// Returns the number of steps from the first to the last step that ended so far, on any rank.
    ///
    /// A step counts once, even if it ends again for a rank whose file is delayed. As for
    /// [ranks](Self::ranks), a step without events between other steps counts too.
    ///
    /// ```
    /// use perf_anomaly::Monitor;
    /// use perf_core::EventSink;
    /// let mut monitor = Monitor::default();
    /// // A second rank is delayed.
    /// for step in [0, 1, 2, 3, 0, 1, 2, 3] {
    ///     monitor.end_step(step);
    /// }
    /// assert_eq!(monitor.steps(), 4);
    /// # Ok::<(), perf_anomaly::Error>(())
    /// ```
    pub fn steps(&self) -> u64 {
        let range = self.steps;
        range.map_or(0, |(first, last)| (last - first).saturating_add(1))
    }

    /// Returns the changes that were detected in the last step.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the change points so far; `None` if [detection](Self::watch_drift) is disabled.
    pub fn drift(&self) -> Option<&Drift> {
        self.drift.as_ref()
    }

    /// Adds a number of events that the source dropped, for the [`Report`].
    pub fn add_left_out(&mut self, events: u64) {
        self.left_out = self.left_out.saturating_add(events);
    }

    /// Returns the data reduction so far; `None` without a recorder.
    pub fn reduction(&self) -> Option<Reduction> {
        let recorder = self.recorder.as_ref()?;
        Some(recorder.reduction(&self.calls.health()))
    }

    /// Returns the first error of the store or the server, if any. [`finish`](Self::finish) returns
    /// it too.
    pub fn error(&self) -> Option<&Error> {
        self.error.as_ref()
    }

    /// Returns and clears the first error of the store or the server, if any. After such an error
    /// detection continues.
    pub fn take_error(&mut self) -> Option<Error> {
        self.error.take()
    }

    /// Converts and judges the pending events within a step, for sources with more events in a step
    /// than fit in memory, see [`Calls::flush`]. The parts of a step are counted as one step, and
    /// the server is contacted at the end of the step.
    pub fn flush(&mut self) {
        self.calls.flush();
        self.judge(false);
    }

    /// Ends the stream: closes and judges open calls, which are then in [`batch`](Self::batch), and judges calls
    /// again that were [undecided](Detector::undecided). A monitor that [shares](Self::share) its knowledge judges each
    /// call once, because the server has counted it. [`finish`](Self::finish) calls this method if it has not been called.
    pub fn close(&mut self) {
        if !std::mem::replace(&mut self.is_closed, true) {
            self.calls.finish();
            self.judge(false);
            self.decide();
        }
    }

    /// Ends the stream: closes and judges open calls, writes waiting records, and sends the
    /// remaining knowledge to the server.
    ///
    /// # Errors
    /// Returns [`Unfinished`] with the first error of the store or the server. It contains the
    /// report too.
    pub fn finish(mut self) -> std::result::Result<Report, Unfinished> {
        self.close();
        self.changes = self.drift.as_mut().map(Drift::end).unwrap_or_default();
        if let Some(client) = &mut self.client {
            client.add_changes(&self.calls, &self.changes);
            let synced = client.finish(&self.calls, &mut *self.detector).map(drop);
            self.error = self.error.take().or(synced.err());
        }
        let mut limits = (0, 0);
        let store = self.recorder.take().map(|recorder| {
            limits = recorder.limits();
            let (store, mut reduction, error) = recorder.close();
            self.error = self.error.take().or(error);
            reduction.raw_bytes = Reduction::raw_bytes(&self.calls.health());
            (store, reduction)
        });
        let report = Report {
            steps: self.steps(),
            unjudged: self.unjudged,
            counters: self.counters,
            calls: self.calls,
            detector: self.detector,
            losses: self.losses,
            lasting: self.lasting,
            ranks: self.ranks,
            found_at_end: self.found_at_end,
            drift: self.drift,
            store,
            left_out: self.left_out,
            limits,
        };
        match self.error {
            None => Ok(report),
            Some(error) => Err(Unfinished {
                error,
                report: Some(Box::new(report)),
            }),
        }
    }

    /// Judges the batch. If the job is cancelled, all judgements are dropped.
    fn judge(&mut self, is_step: bool) {
        if let Err(cancelled) = self.judge_until(is_step) {
            self.judgements.clear();
            self.error.get_or_insert(cancelled.into());
        }
    }

    fn judge_until(&mut self, is_step: bool) -> std::result::Result<(), Cancelled> {
        self.judgements.clear();
        self.job.check()?;
        self.add_functions();
        if let Some(client) = &mut self.client {
            // A view that arrived since the last step improves the judgements of this step.
            let received = client.receive(&self.calls, &mut *self.detector);
            self.error = self.error.take().or(received.err());
        }
        self.detect()?;
        let detector = &*self.detector;
        let samples = self.calls.batch().samples();
        let undecided = detector
            .undecided()
            .iter()
            .filter(|_| self.client.is_none());
        let undecided = undecided.filter_map(|row| Some((*row, samples.get(*row)?.function)));
        let undecided: Vec<_> = undecided.collect();
        self.calls.judged_by(|class| detector.judged_by(class));
        self.withdraw();
        self.lasting.begin();
        let batch = self.calls.batch();
        for (stream, rows) in batch.streams() {
            let key = self.calls.stream_key(*stream).unwrap_or_default();
            let place = Place {
                program: key.program,
                rank: key.rank,
                step: batch.step(),
            };
            for start in rows.clone().step_by(CALLS_PER_CHECK) {
                self.job.check()?;
                let rows = start..rows.end.min(start + CALLS_PER_CHECK);
                let calls = &batch.calls()[rows.clone()];
                let samples = &batch.samples()[rows.clone()];
                // An external detector may return fewer judgements than calls.
                let judgements = self.judgements.get(rows).unwrap_or_default();
                let paths = calls.iter().map(|call| call.path);
                let waits = |function| self.calls.waits(function);
                self.losses.add(place, samples, judgements, paths, waits);
            }
            // An external detector may return fewer judgements than calls.
            let judgements = self.judgements.get(rows.clone()).unwrap_or_default();
            let rank = (key.program, key.rank);
            self.lasting
                .add(&self.calls, rank, rows.clone(), judgements);
        }
        self.lasting.end(&self.calls, is_step);
        self.job.check()?;
        for step in StepStats::of(&self.calls, &self.judgements) {
            self.ranks.add(&step, HISTORY, usize::MAX);
        }
        self.unjudged.add(&self.calls, &self.judgements);
        self.calls.add_counters(&mut self.counters);
        self.job.check()?;
        self.look_for_changes();
        self.job.check()?;
        let mut first = self.error.take();
        if let Some(recorder) = &mut self.recorder {
            // The rules are stored once with the properties of the run.
            for (pattern, threshold) in self.rules.iter().skip(self.told) {
                match threshold {
                    Some(threshold) => {
                        recorder.fact(&format!("threshold of {pattern}"), threshold.to_string());
                    }
                    None => recorder.fact("ignored", pattern.clone()),
                }
            }
            self.told = self.rules.len();
            let kept = recorder.step(&self.calls, &self.judgements, &*self.detector);
            first = first.or(kept.err());
        }
        self.keep_undecided(undecided);
        if let Some(client) = &mut self.client {
            client.count(&self.calls, &self.judgements, &mut self.lasting);
            client.add_changes(&self.calls, &self.changes);
            if is_step {
                let synced = client.sync_if_due(&self.calls, &mut *self.detector);
                first = first.or(synced.err());
            }
        }
        self.error = first;
        Ok(())
    }

    /// Judges and learns the calls of the batch. Calls that a server merged before a restart are
    /// learned separately, so that they are not sent again.
    fn detect(&mut self) -> std::result::Result<(), Cancelled> {
        let (samples, judgements) = (self.calls.batch().samples(), &mut self.judgements);
        let Some(client) = &mut self.client else {
            return self.detector.detect(samples, judgements, &self.job);
        };
        let (mut at, mut outcome) = (0, Ok(()));
        let end = samples.len()..samples.len();
        for merged in client.merged_rows(&self.calls).into_iter().chain([end]) {
            if let Some(new) = samples.get(at..merged.start).filter(|new| !new.is_empty()) {
                outcome = outcome.and(client.catch_up(&self.calls, &mut *self.detector));
                self.detector.detect(new, judgements, &self.job)?;
            }
            at = merged.end;
            if let Some(again) = samples.get(merged).filter(|again| !again.is_empty()) {
                outcome = outcome.and(client.learn_apart(&mut *self.detector, false));
                self.detector.detect(again, judgements, &self.job)?;
                outcome = outcome.and(client.learn_apart(&mut *self.detector, true));
            }
        }
        self.error = self.error.take().or(outcome.err());
        Ok(())
    }

    /// Withdraws the judgements of time in unknown functions, whose calls do different work. Calls beyond experience
    /// remain.
    fn withdraw(&mut self) {
        if !self.calls.has_unknown_functions() {
            return;
        }
        let samples = self.calls.batch().samples();
        for (sample, judgement) in samples.iter().zip(&mut self.judgements) {
            let stays = matches!(judgement.label, Label::Ignored | Label::BeyondExperience);
            if !stays && self.calls.is_unknown(sample.function) {
                *judgement = Judgement {
                    label: Label::NotEnoughData,
                    ..Judgement::default()
                };
            }
        }
    }

    fn look_for_changes(&mut self) {
        let Some(drift) = &mut self.drift else {
            return;
        };
        let batch = self.calls.batch();
        let mut judgements = Cow::Borrowed(&self.judgements);
        if self.calls.has_unknown_functions() {
            for (sample, judgement) in batch.samples().iter().zip(judgements.to_mut()) {
                if self.calls.is_unknown(sample.function) {
                    judgement.label = Label::Ignored;
                }
            }
        }
        let streams = batch.streams();
        let rank = |row: usize| {
            let at = streams.partition_point(|(_, rows)| rows.end <= row);
            let stream = streams.get(at).map(|(stream, _)| *stream);
            let key = stream.and_then(|stream| self.calls.stream_key(stream));
            key.map_or(0, |key| key.rank)
        };
        self.changes = drift.add(batch.step(), batch.samples(), &judgements, rank);
        if self.starts_over {
            for change in &self.changes {
                self.detector.forget(change.function);
            }
        }
    }
}

impl EventSink for Monitor {
    fn region(&mut self, program: u32, name: &str) -> RegionId {
        self.calls.region(program, name)
    }

    fn describe_region(&mut self, region: RegionId, properties: &Region) {
        self.calls.describe_region(region, properties);
    }

    fn counter(&mut self, name: &str) -> MetricId {
        self.calls.counter(name)
    }

    fn describe_counter(&mut self, counter: MetricId, unit: &str, mode: MetricMode) {
        self.calls.describe_counter(counter, unit, mode);
    }

    fn stream(&mut self, key: StreamKey) -> StreamId {
        self.calls.stream(key)
    }

    #[inline]
    fn push(&mut self, stream: StreamId, at: Nanos, event: StreamEvent) {
        self.calls.push(stream, at, event);
    }

    fn metadata(&mut self, stream: StreamId, name: &str, value: &str) {
        self.calls.metadata(stream, name, value);
    }

    fn end_step(&mut self, step: u64) {
        let (first, last) = self.steps.unwrap_or((step, step));
        self.steps = Some((first.min(step), last.max(step)));
        self.calls.end_step(step);
        self.judge(true);
    }
}
