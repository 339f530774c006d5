//! Calls that transfer messages of different sizes.

use crate::common::{Random, call};
use perf_anomaly::calls::Calls;
use perf_anomaly::{
    Detector, FunctionId, Judgement, Label, Model, Monitor, Replay, Sample, Sstd, Tail, Watch,
};
use perf_core::{EventSource, Job, Nanos, Peer};
use perf_testdata::corpus::corpus;

/// Number of calls in a step.
const STEP: usize = 500;
/// Number of calls of a function.
const CALLS: usize = 20_000;
/// Model of all sizes; those of the size classes follow.
const SEND: FunctionId = FunctionId(0);

/// Function that sends messages from 64 B to 4 MiB.
struct Sends {
    random: Random,
    /// Sizes of the messages in bytes.
    sizes: Vec<f64>,
    /// Time of an empty message in nanoseconds, and bytes sent in a nanosecond.
    speed: (f64, f64),
}

/// Speed at which times depend on the size.
const DEPENDENT: (f64, f64) = (2_000.0, 5.0);
/// Speed at which they do not.
const INDEPENDENT: (f64, f64) = (20_000.0, 1e9);

impl Sends {
    fn new(seed: u64, sizes: u32, speed: (f64, f64)) -> Self {
        let size = |at: u32| 64.0 * 65_536_f64.powf(f64::from(at) / f64::from(sizes - 1));
        Sends {
            random: Random::new(1 + seed),
            sizes: (0..sizes).map(size).collect(),
            speed,
        }
    }

    /// Returns a call that takes `times` as long as usual.
    fn next(&mut self, times: f64) -> Sample {
        let size = self.sizes[self.random.below(self.sizes.len() as u64 - 1) as usize];
        let usual = self.speed.0 + size / self.speed.1;
        let time = times * usual * (0.1 * self.random.normal()).exp();
        call(1 + size.log2() as u32 / 2, time)
    }

    fn step(&mut self) -> Vec<Sample> {
        (0..STEP).map(|_| self.next(1.0)).collect()
    }
}

/// Returns a detector that knows the size classes.
fn detector() -> Tail {
    let mut detector = Tail::default();
    for class in 1..=32 {
        detector.add_size_class(FunctionId(class), SEND, 1 << (2 * class - 2));
    }
    detector
}

/// Returns the calls with a single model.
fn without_sizes(calls: &[Sample]) -> Vec<Sample> {
    let calls = calls.iter().map(|one| Sample {
        function: SEND,
        ..*one
    });
    calls.collect()
}

fn judge(detector: &mut Tail, calls: &[Sample]) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    detector
        .detect(calls, &mut judgements, &Job::default())
        .expect("not cancelled");
    judgements
}

fn alarms(detector: &mut Tail, calls: &[Sample]) -> usize {
    let judgements = judge(detector, calls);
    let alarms = judgements.iter().filter(|one| one.label.is_anomaly());
    alarms.count()
}

/// Shares of planted calls that are found with and without size classes, and the numbers of false alarms
/// in a million calls.
#[derive(Debug, Default)]
struct Power {
    recall: [f64; 2],
    false_alarms: [f64; 2],
}

/// Measures calls that take `times` as long as usual, after `calls` calls.
fn power(sizes: u32, speed: (f64, f64), calls: usize, times: f64) -> Power {
    const SEEDS: u64 = 10;
    const PLANTED: usize = 50;
    let (mut found, mut wrong) = ([0; 2], [0; 2]);
    for seed in 0..SEEDS {
        let mut sends = Sends::new(seed, sizes, speed);
        let (mut with, mut without) = (detector(), Tail::default());
        for _ in 0..calls / STEP {
            let step = sends.step();
            wrong[0] += alarms(&mut with, &step);
            wrong[1] += alarms(&mut without, &without_sizes(&step));
        }
        for _ in 0..PLANTED {
            let slow = [sends.next(times)];
            found[0] += alarms(&mut with.clone(), &slow);
            found[1] += alarms(&mut without.clone(), &without_sizes(&slow));
        }
    }
    let planted = SEEDS as f64 * PLANTED as f64;
    let million = SEEDS as f64 * calls as f64 / 1e6;
    Power {
        recall: found.map(|found| found as f64 / planted),
        false_alarms: wrong.map(|wrong| wrong as f64 / million),
    }
}

#[test]
fn slow_sends_among_sends_of_many_sizes_are_found() {
    // Sizes, calls, times as long as usual, least recall and largest recall with one model.
    let cases = [
        (5, CALLS, 4.0, 0.75, 0.6),
        (40, CALLS, 3.0, 0.6, 0.2),
        (40, CALLS, 4.0, 0.75, 0.2),
        (40, CALLS, 8.0, 0.9, 0.3),
        (40, 2000, 8.0, 0.65, 0.3),
    ];
    for (sizes, calls, times, least, most) in cases {
        let power = power(sizes, DEPENDENT, calls, times);
        println!("{sizes} sizes, {calls} calls, {times} times as long: {power:.3?}");
        assert!(power.recall[0] >= least && power.recall[1] <= most);
        assert!(power.false_alarms[0] <= 15.0);
    }
}

#[test]
fn sizes_that_do_not_matter_cost_no_recall() {
    for calls in [500, 2000, CALLS] {
        let power = power(40, INDEPENDENT, calls, 2.0);
        println!("{calls} calls: {power:.3?}");
        assert!(power.recall[0] >= power.recall[1] - 0.01);
        assert!(power.false_alarms[0] <= power.false_alarms[1]);
    }
    let (mut detector, mut sends) = (detector(), Sends::new(1, 40, INDEPENDENT));
    judge(&mut detector, &sends.step());
    assert_eq!(detector.judged_by(FunctionId(5)), SEND);
    assert_eq!(
        detector.sketch(FunctionId(5)).map(|all| all.count()),
        Some(500)
    );
}

#[test]
fn the_first_large_messages_are_not_slow() {
    let mut random = Random::new(5);
    let mut send = |class, usual: f64| call(class, usual * (0.1 * random.normal()).exp());
    let small: Vec<_> = (0..2000).map(|_| send(2, 2_000.0)).collect();
    let large: Vec<_> = (0..300).map(|_| send(11, 400_000.0)).collect();
    let (mut with, mut without) = (detector(), Tail::default());
    judge(&mut with, &small);
    judge(&mut without, &without_sizes(&small));
    // Far more than in proportion to the size.
    let endless = call(11, 1e12);
    let label = judge(&mut with.clone(), &[endless])[0].label;
    assert_eq!(label, Label::BeyondExperience);
    assert!(alarms(&mut without, &without_sizes(&large)) >= 8);
    assert_eq!(alarms(&mut with, &large), 0);
    assert_eq!(with.judged_by(FunctionId(11)), FunctionId(11));
    // A small message that takes as long as a large one.
    let slow = call(2, 400_000.0);
    assert_eq!(judge(&mut with, &[slow])[0].label, Label::BeyondExperience);
    assert!(with.normal(FunctionId(2))[0].end() < &Nanos(5_000));
}

/// The model of all sizes is the sum of its classes, for calls of one process and of several.
#[test]
fn views_of_several_processes_equal_a_single_pass() {
    for speed in [DEPENDENT, INDEPENDENT] {
        let mut sends = Sends::new(3, 40, speed);
        let steps: Vec<_> = (0..12).map(|_| sends.step()).collect();
        let mut single = detector();
        let mut parts = [detector(), detector(), detector()];
        let mut view = Model::Tail(Default::default());
        for (at, step) in steps.iter().enumerate() {
            single.learn(step);
            parts[at % 3].learn(step);
        }
        for part in &mut parts {
            view.merge(&part.take_delta()).expect("the same kind");
        }
        for part in &mut parts {
            part.adopt(&view).expect("the same kind");
            assert_eq!(part.snapshot(), single.snapshot());
        }
        for class in 0..=32 {
            let class = FunctionId(class);
            let judged_by = parts.each_ref().map(|part| part.judged_by(class));
            assert_eq!(judged_by, [single.judged_by(class); 3]);
        }
        // Names of classes may also be known after their calls.
        let mut late = Tail::default();
        late.restore(&view).expect("the same kind");
        for class in 1..=32 {
            late.add_size_class(FunctionId(class), SEND, 1 << (2 * class - 2));
        }
        let count = |tail: &Tail| tail.sketch(FunctionId(9)).map(|calls| calls.count());
        late.learn(&sends.step());
        single.learn(&sends.step());
        assert_eq!(
            late.judged_by(FunctionId(9)),
            single.judged_by(FunctionId(9))
        );
        assert!(count(&late) > Some(0));
    }
}

#[test]
fn alarms_name_the_size_and_strict_detectors_ignore_it() {
    let run = |monitor: Monitor| {
        let mut watch = Watch::new(monitor, 0, 0).period(Nanos(0));
        let (main, send) = (watch.region("main"), watch.region("MPI_Send"));
        let mut random = Random::new(7);
        watch.enter(0, main, Nanos(0));
        let mut at = 0;
        for call in 0..2000 {
            let bytes = [100, 100_000][call % 2];
            let times = if call == 1990 { 40.0 } else { 1.0 };
            let time = times * (2_000.0 + bytes as f64) * (0.05 * random.normal()).exp();
            watch.enter(0, send, Nanos(at));
            let peer = Peer {
                bytes,
                ..Peer::default()
            };
            watch.send(0, peer, Nanos(at));
            at += time as i64;
            watch.exit(0, send, Nanos(at));
            at += 500;
            if call % 100 == 99 {
                watch.end_step();
            }
        }
        watch
    };
    let watch = run(Monitor::default());
    let monitor = watch.sink();
    let alarms: Vec<_> = monitor.anomalies().collect();
    let [(call, sample, _)] = alarms[..] else {
        panic!("one call is slow: {alarms:?}");
    };
    let calls = monitor.calls();
    let name = calls.function_name(sample.function);
    assert_eq!(name, "MPI_Send of 64 B to 256 B");
    assert_eq!(calls.function_region(sample.function), Some(call.region));
    let strict = perf_anomaly::StrictParams::default().check();
    let strict = Sstd::new(strict.expect("defaults"));
    let watch = run(Monitor::new(Calls::default(), Box::new(strict)));
    let monitor = watch.sink();
    assert_eq!(monitor.calls().function_count(), 2);
}

/// High-performance LINPACK sends rows of 2 MB among messages of a few bytes.
#[test]
fn large_messages_of_a_recording_are_no_anomalies() {
    let Some(path) = corpus("otf2/eztrace-hpcc4/eztrace_log.otf2") else {
        return;
    };
    let options = perf_formats::OpenOptions::new();
    let opened = perf_formats::open(&path, &options, &Job::default()).expect("it is an archive");
    let trace = opened.into_trace().expect("it is a trace");
    let mut monitor = Monitor::default();
    let mut replay = Replay::in_steps(trace.view(), 100);
    while replay
        .next_step(&mut monitor, &Job::default())
        .expect("not cancelled")
    {}
    let report = monitor.finish().expect("nothing fails");
    let functions = report.losses.worst_functions().into_iter();
    let sends = functions.filter(|(id, _)| report.calls.function_name(*id).starts_with("MPI_Send"));
    let mut sends: Vec<_> = sends
        .map(|(id, loss)| (report.calls.function_name(id), loss))
        .filter(|(name, _)| !name.contains("Sendrecv"))
        .collect();
    sends.sort_by_key(|(_, loss)| std::cmp::Reverse(loss.calls));
    assert!(sends.len() >= 3, "{sends:?}");
    assert_eq!(sends.iter().map(|(_, loss)| loss.calls).sum::<u64>(), 2014);
    assert_eq!(sends.iter().map(|(_, loss)| loss.too_slow).sum::<u64>(), 0);
}
