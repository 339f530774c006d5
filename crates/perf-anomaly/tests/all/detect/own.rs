//! A user-defined detector: required methods, and defaults of the others.

use perf_anomaly::provenance::Recorder;
use perf_anomaly::server::{Client, Local, Server};
use perf_anomaly::{
    Detector, Error, FunctionId, Judgement, Label, Model, Monitor, Sample, Tail, Watch,
    calls::Calls,
};
use perf_core::{Cancelled, Job, Nanos};
use std::collections::BTreeSet;

/// Detector of calls that take longer than a fixed time.
#[derive(Debug)]
struct Longest {
    /// Largest normal run time.
    time: Nanos,
    /// Ignored functions.
    ignored: BTreeSet<FunctionId>,
}

impl Longest {
    fn new(time: Nanos) -> Self {
        Longest {
            time,
            ignored: BTreeSet::new(),
        }
    }
}

impl Detector for Longest {
    fn name(&self) -> &'static str {
        "longest"
    }

    fn detect(
        &mut self,
        samples: &[Sample],
        judgements: &mut Vec<Judgement>,
        job: &Job,
    ) -> Result<(), Cancelled> {
        self.rejudge(samples, judgements);
        job.check()
    }

    fn rejudge(&self, samples: &[Sample], judgements: &mut Vec<Judgement>) {
        judgements.extend(samples.iter().map(|sample| Judgement {
            label: match sample.runtime > self.time {
                _ if self.ignored.contains(&sample.function) => Label::Ignored,
                true => Label::TooSlow,
                false => Label::Normal,
            },
            score: sample.runtime.0 as f64 / self.time.0 as f64,
            expected: Some(self.time),
        }));
    }

    fn ignore(&mut self, function: FunctionId, ignored: bool) {
        if ignored {
            self.ignored.insert(function)
        } else {
            self.ignored.remove(&function)
        };
    }
}

fn monitor() -> Monitor {
    let calls = Calls::default();
    Monitor::new(calls, Box::new(Longest::new(Nanos(1_000))))
}

fn push(watch: &mut Watch<Monitor>) {
    let (solve, idle) = (watch.region("solve"), watch.region("idle"));
    for k in 0..100_i64 {
        let length = if k == 70 { 1_500 } else { 500 };
        watch.enter(0, solve, Nanos(10_000 * k));
        watch.exit(0, solve, Nanos(10_000 * k + length));
        watch.enter(0, idle, Nanos(10_000 * k + 2_000));
        watch.exit(0, idle, Nanos(10_000 * k + 9_000));
    }
    watch.end_step();
}

#[test]
fn four_methods_are_enough_for_a_monitor() {
    let recorder = Recorder::default();
    let mut watch = Watch::new(monitor().ignore("idle").record(recorder), 0, 0);
    push(&mut watch);
    let mut report = watch.into_sink().finish().expect("a report");
    let total = report.losses.total();
    assert_eq!(
        (total.calls, total.too_slow, total.time),
        (200, 1, Nanos(500))
    );
    let pruned = report
        .prune(&Job::default())
        .expect("the store works")
        .expect("a recorder");
    assert_eq!(pruned.recorded, 1, "what was abnormal stays so");
    assert_eq!(report.losses.total().too_slow, 1);
}

#[test]
fn its_model_cannot_be_merged() {
    let mut own = Longest::new(Nanos(1));
    let model = own.take_delta();
    assert_eq!((model.name(), model.len()), ("own", 0));
    assert_eq!(Model::decode(&model.encode()).expect("a model"), model);
    assert!(Model::decode(&[&model.encode()[..], &[0]].concat()).is_err());
    let mut sum = own.snapshot();
    sum.merge(&model).expect("of one kind");
    assert_eq!(sum, Model::Own);
    assert!(own.adopt(&sum).is_ok() && own.restore(&sum).is_ok());

    let other = Tail::default().snapshot();
    let wrong = own.adopt(&other).expect_err("of another detector");
    assert_eq!(
        wrong.to_string(),
        "expected a model of longest, but got one of tail"
    );
    assert!(matches!(sum.merge(&other), Err(Error::OtherModel { .. })));
    assert!(own.set_threshold(FunctionId(0), None).is_ok());
    assert!(own.set_threshold(FunctionId(0), Some(1.0)).is_err());
    assert!(own.describe(FunctionId(0)).is_empty());
}

#[test]
fn ranks_with_one_share_their_counts_and_judge_alone() {
    let server = Server::default();
    let local = Local::new(server);
    let client = Client::new(0, local.clone());
    let mut watch = Watch::new(monitor().share(client), 0, 0);
    push(&mut watch);
    let report = watch.into_sink().finish().expect("a report");
    assert_eq!(report.losses.total().too_slow, 101);
}
