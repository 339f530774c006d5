//! The complete monitor as one sink.

use perf_anomaly::calls::{Calls, CallsParams, ModelBy};
use perf_anomaly::provenance::{Entry, Memory, Query, Record, Recorder, Revision, Store};
use perf_anomaly::server::{Client, Local, Ranking, Schedule, Server};
use perf_anomaly::{Drift, Error, FunctionId, Label, Monitor, Report, Result, Sstd, Tail, Watch};
use perf_core::Nanos;

fn monitor(params: CallsParams) -> Monitor {
    let calls = Calls::new(params.check().expect("values in range"));
    let tail = Tail::params().learn_first(true).check();
    Monitor::new(calls, Box::new(Tail::new(tail.expect("values in range"))))
}

/// Runs a rank that calls `solve` and `dot` in it, in steps of 100 calls; each 150th `dot` is slow.
fn run(monitor: Monitor, rank: u32, steps: i64) -> Watch<Monitor> {
    let mut watch = Watch::new(monitor, 0, rank).period(Nanos(0));
    let (solve, dot) = (watch.region("solve"), watch.region("MPI_dot"));
    for at in 0..steps * 100 {
        let start = at * 1_000_000;
        let slow = if at % 150 == 149 { 400_000 } else { 0 };
        let jitter = at * 37 % 1000;
        watch.enter(0, solve, Nanos(start));
        watch.enter(0, dot, Nanos(start + 10_000));
        watch.exit(0, dot, Nanos(start + 60_000 + jitter + slow));
        watch.exit(0, solve, Nanos(start + 70_000 + 2 * jitter + slow));
        if at % 100 == 99 {
            watch.end_step();
        }
    }
    watch
}

fn too_slow(monitor: &Monitor, function: u32) -> (u64, u64) {
    let loss = monitor.losses().function(FunctionId(function));
    (loss.too_slow, loss.calls)
}

#[test]
fn losses_and_ranks_are_counted_as_steps_come() {
    let watch = run(monitor(Calls::params()), 3, 6);
    let monitor = watch.into_sink();
    assert_eq!(too_slow(&monitor, 0), (0, 600));
    assert_eq!(too_slow(&monitor, 1), (4, 600));
    assert_eq!(monitor.judgements().len(), monitor.batch().len());
    let report = monitor.finish().expect("nothing can fail");
    let [rank] = report.ranks.ranked(Ranking::Total)[..] else {
        panic!("one rank")
    };
    assert_eq!((rank.rank, rank.loss.calls), (3, 1200));
    // The end of a stream is a step of its own only if calls were open.
    let anomalies = rank.anomalies;
    assert_eq!(
        (anomalies.count(), anomalies.sum(), anomalies.max()),
        (6, 4.0, Some(1.0))
    );
    // A function with the name of an MPI function waits for others.
    let total = report.losses.total();
    assert_eq!(total.time, Nanos(0));
    assert!(total.waiting > Nanos(4 * 390_000));
    assert!(report.lost_time().waiting == total.waiting);
    assert!(report.store.is_none());
}

#[test]
fn rules_are_given_by_name() {
    let ignored = run(monitor(Calls::params()).ignore("MPI_*"), 0, 6).into_sink();
    assert_eq!(too_slow(&ignored, 1), (0, 600));
    let labels = ignored.judgements().iter().zip(ignored.batch().samples());
    for (judgement, sample) in labels {
        let is_ignored = judgement.label == Label::Ignored;
        assert_eq!(is_ignored, sample.function == FunctionId(1));
    }
    // By path: either the last function or the whole name.
    for pattern in ["MPI_*", "solve / MPI_dot"] {
        let by_path = monitor(Calls::params().model_by(ModelBy::CallPath)).ignore(pattern);
        let by_path = run(by_path, 0, 6).into_sink();
        assert_eq!(by_path.losses().total().anomalies(), 0, "{pattern}");
    }
    // A later rule overrides an earlier one.
    let again = monitor(Calls::params())
        .ignore("*")
        .threshold("MPI_dot", 10.0);
    let again = run(again.expect("in range"), 0, 6).into_sink();
    assert_eq!(
        (too_slow(&again, 1).0, again.losses().total().calls),
        (4, 1200)
    );
    // In standard deviations for one detector, as alarms in a million for the other.
    let sstd = |sigma| {
        let calls = Calls::default();
        let sstd = Sstd::default();
        let monitor = Monitor::new(calls, Box::new(sstd)).threshold("MPI_dot", sigma);
        Ok::<_, Error>(too_slow(&run(monitor?, 0, 6).into_sink(), 1).0)
    };
    assert_eq!(sstd(1000.0).ok(), Some(0));
    assert!(sstd(3.0).ok() > Some(1));
    assert!(matches!(sstd(-1.0), Err(Error::Parameter { .. })));
}

#[test]
fn ranks_share_their_models() {
    let local = Local::new(Server::default());
    let share = |rank: u32, steps| {
        let monitor = monitor(Calls::params()).share(Client::new(rank.into(), local.clone()));
        let mut monitor = run(monitor, rank, steps).into_sink();
        assert!(monitor.take_error().is_none());
        let few = monitor.losses().total().not_enough_data;
        monitor.finish().expect("the server is there");
        few
    };
    // From its second step on, the second rank has the knowledge of the first.
    assert_eq!(share(0, 3), 2 * 32);
    assert_eq!(share(1, 1), 2 * 32);
    let ranks = local.server(|server| server.ranking(Ranking::TimeLost));
    let ranks = ranks.expect("nobody panicked");
    assert_eq!(
        ranks.iter().map(|one| one.loss.calls).collect::<Vec<_>>(),
        [600, 200]
    );
}

/// Store that fails like a full disk.
#[derive(Debug, Default)]
struct Full(Memory);

impl Store for Full {
    fn put(&mut self, entry: &Entry) -> Result<u64> {
        match entry {
            Entry::Call(_) => Err(Error::Store {
                file: "full".into(),
                what: "no space is left".into(),
            }),
            entry => self.0.put(entry),
        }
    }

    fn commit(&mut self) -> Result<()> {
        self.0.commit()
    }

    fn each(&mut self, take: &mut dyn FnMut(Entry) -> Result<()>) -> Result<()> {
        self.0.each(take)
    }

    fn revise(&mut self, judge: &mut dyn FnMut(&Record) -> Revision) -> Result<u64> {
        self.0.revise(judge)
    }
}

#[test]
fn detection_goes_on_when_the_store_fails() {
    let recorder = |store| {
        let params = Recorder::params().check().expect("defaults");
        Recorder::new(params, store)
    };
    let failing = monitor(Calls::params()).record(recorder(Box::<Full>::default()));
    let mut failing = run(failing, 0, 6).into_sink();
    assert_eq!(too_slow(&failing, 1).0, 4);
    let error = failing.take_error().expect("it failed").to_string();
    assert_eq!(error, "full: no space is left");
    let sound = monitor(Calls::params()).record(recorder(Box::new(Memory::new())));
    let sound = run(sound, 0, 6).into_sink();
    assert!(sound.reduction().expect("it has a recorder").recorded > 0);
    let report = sound.finish().expect("nothing fails");
    let (mut store, reduction) = report.store.expect("it has a recorder");
    assert_eq!((reduction.anomalies, reduction.recorded), (4, 4));
    let found = store.query(&Query::default()).expect("it is in memory");
    assert_eq!(found.len() as u64, reduction.recorded + reduction.normals);
}

#[test]
fn parts_of_a_step_are_one_step() {
    let local = || {
        let server = Server::default();
        Local::new(server)
    };
    // The same calls, once with a flush after each call.
    let run = |flushes: bool, local: &Local| {
        let every = Schedule::every(3).expect("not 0");
        let client = Client::new(0, local.clone()).schedule(every);
        let recorder = Recorder::params().check().expect("defaults");
        let recorder = Recorder::new(recorder, Box::new(Memory::new()));
        let monitor = monitor(Calls::params()).share(client).record(recorder);
        let mut watch = Watch::new(monitor, 0, 0).period(Nanos(0));
        let solve = watch.region("solve");
        for at in 0..600_i64 {
            let slow = if at % 150 == 149 { 400_000 } else { 0 };
            watch.enter(0, solve, Nanos(at * 1_000_000));
            watch.exit(
                0,
                solve,
                Nanos(at * 1_000_000 + 50_000 + at * 37 % 1000 + slow),
            );
            if flushes && at % 7 == 3 {
                watch.sink_mut().flush();
            }
            if at % 100 == 99 {
                watch.end_step();
            }
        }
        watch.into_sink().finish().expect("nothing fails")
    };
    let (whole, parts) = (local(), local());
    let (one, other) = (run(false, &whole), run(true, &parts));
    let summary = |report: &Report| {
        let [rank] = report.ranks.ranked(Ranking::Total)[..] else {
            panic!("one rank")
        };
        (
            rank.anomalies.count(),
            rank.anomalies.sum(),
            rank.anomalies.max(),
        )
    };
    assert_eq!(summary(&one), (6, 4.0, Some(1.0)));
    assert_eq!(summary(&other), summary(&one));
    assert_eq!(other.losses, one.losses);
    let steps = |report: &Report| report.ranks.steps(0, 0).copied().collect::<Vec<_>>();
    assert_eq!(steps(&other).len(), 6);
    let spans = |report: &Report| {
        let steps = steps(report).into_iter();
        steps
            .map(|one| (one.step, one.start, one.end, one.loss))
            .collect::<Vec<_>>()
    };
    assert_eq!(spans(&other), spans(&one));
    // The server was contacted as often, and has the same knowledge.
    let ranks = |local: &Local| {
        let all = local.server(|server| {
            let rank = server.ranking(Ranking::Total)[0];
            (rank.anomalies.count(), rank.anomalies.sum(), rank.loss)
        });
        all.expect("nobody panicked")
    };
    assert_eq!(ranks(&parts), ranks(&whole));
    // Neighbours that were abnormal in an earlier part of the step are marked.
    let kept = |report: Report| {
        let (mut store, _) = report.store.expect("it has a recorder");
        store.query(&Query::default()).expect("it is in memory")
    };
    let (one, other) = (kept(one), kept(other));
    assert_eq!(one.len(), other.len());
}

#[test]
fn the_report_is_there_although_the_store_fails() {
    let params = Recorder::params().check().expect("defaults");
    let recorder = Recorder::new(params, Box::<Full>::default());
    let mut monitor = run(monitor(Calls::params()).record(recorder), 0, 6).into_sink();
    assert!(monitor.take_error().is_some());
    // Every waiting record fails again.
    let unfinished = monitor.finish().expect_err("no space is left");
    assert_eq!(unfinished.to_string(), "full: no space is left");
    let report = unfinished.report.expect("the monitor is there");
    assert_eq!(report.losses.function(FunctionId(1)).too_slow, 4);
    let (mut store, reduction) = report.store.expect("it is given back");
    assert_eq!((reduction.anomalies, reduction.recorded), (4, 0));
    assert!(
        store
            .query(&Query::default())
            .expect("in memory")
            .is_empty()
    );
}

#[test]
fn calls_that_are_open_at_the_end_are_of_the_last_step() {
    let mut watch = Watch::new(monitor(Calls::params()), 0, 0);
    let (main, solve) = (watch.region("main"), watch.region("solve"));
    watch.enter(0, main, Nanos(0));
    watch.enter(0, solve, Nanos(10));
    watch.exit(0, solve, Nanos(20));
    watch.end_step();
    let report = watch.into_sink().finish().expect("nothing fails");
    let steps: Vec<_> = report
        .losses
        .steps()
        .map(|(step, loss)| (step, loss.calls))
        .collect();
    assert_eq!(steps, [(0, 2)]);
    assert_eq!(report.ranks.ranked(Ranking::Total)[0].anomalies.count(), 1);
    // Events after the step belong to the next one.
    let mut watch = Watch::new(monitor(Calls::params()), 0, 0);
    let main = watch.region("main");
    watch.end_step();
    watch.enter(0, main, Nanos(0));
    let report = watch.into_sink().finish().expect("nothing fails");
    assert_eq!(
        report
            .losses
            .steps()
            .map(|(step, _)| step)
            .collect::<Vec<_>>(),
        [1]
    );
}

#[test]
fn ranks_agree_on_steps_however_long_one_has_nothing_to_tell() {
    let second = 1_000_000_000;
    let origin = 1_559_662_194 * second;
    let steps = |times: &[i64]| {
        let monitor = monitor(Calls::params());
        let mut watch = Watch::new(monitor, 0, 0).origin(Nanos(origin));
        let work = watch.region("work");
        for at in times {
            watch.enter(0, work, Nanos(origin + at * (second / 10)));
            watch.exit(0, work, Nanos(origin + at * (second / 10) + 5));
        }
        watch.end_step();
        let empty = watch.empty_steps();
        let report = watch.into_sink().finish().expect("nothing fails");
        let steps: Vec<_> = report.losses.steps().map(|(step, _)| step).collect();
        let [rank] = report.ranks.ranked(Ranking::Total)[..] else {
            panic!("one rank")
        };
        (steps, empty, rank.anomalies.count())
    };
    // In tenths of a second: one is busy, the other sleeps from 1.5 s to 7.2 s.
    assert_eq!(
        steps(&[1, 12, 25, 31, 44, 55, 61, 72]),
        ((0..8).collect(), 0, 8)
    );
    assert_eq!(steps(&[1, 15, 72]), (vec![0, 1, 7], 5, 8));
    // One begins late, with times before the origin or out of order.
    assert_eq!(steps(&[45, 44, 72]), (vec![4, 7], 2, 4));
    assert_eq!(steps(&[-30, 1, 2]), (vec![0], 0, 1));
    // A broken clock takes no time.
    let (far, empty, _) = steps(&[0, 10 * (i64::MAX / second - 2_000_000_000)]);
    assert_eq!((far[0], far.len(), empty > 7_000_000_000), (0, 2, true));
}

#[test]
fn a_step_ends_without_an_event_where_one_says_the_time() {
    let mut watch = Watch::new(monitor(Calls::params()), 0, 0).period(Nanos(100));
    let work = watch.region("work");
    watch.tick(Nanos(5));
    watch.enter(0, work, Nanos(10));
    watch.exit(0, work, Nanos(20));
    watch.tick(Nanos(99));
    assert_eq!((watch.step(), watch.sink().batch().len()), (0, 0));
    watch.tick(Nanos(100));
    assert_eq!((watch.step(), watch.sink().batch().len()), (1, 1));
}

#[test]
fn a_function_that_slowed_is_told_once_and_the_model_starts_over() {
    let run = |starts_over: bool| {
        let drift = Drift::default();
        let mut monitor = monitor(Calls::params())
            .watch_drift(drift)
            .start_over(starts_over);
        monitor.add_left_out(7);
        let mut watch = Watch::new(monitor, 0, 0).period(Nanos(0));
        let (solve, dot) = (watch.region("solve"), watch.region("dot"));
        let (mut told, mut slow) = (Vec::new(), 0);
        for step in 0..60_i64 {
            for call in 0..100 {
                let at = (step * 100 + call) * 1_000_000;
                let usual = if step < 30 { 50_000 } else { 80_000 };
                let jitter = call * 37 % 1000;
                watch.enter(0, solve, Nanos(at));
                watch.exit(0, solve, Nanos(at + usual + jitter));
                watch.enter(0, dot, Nanos(at + 100_000));
                watch.exit(0, dot, Nanos(at + 120_000 + jitter));
            }
            let number = watch.end_step();
            told.extend(watch.sink().changes().iter().map(|one| (number, *one)));
            let judged = watch.sink().judgements().iter();
            slow += judged.filter(|one| one.label == Label::TooSlow).count();
        }
        let report = watch.into_sink().finish().expect("nothing fails");
        let drift = report.drift.expect("it was watched for");
        assert_eq!((drift.left_out(), report.left_out), (0, 7));
        let [(at, change)] = told[..] else {
            panic!("one change, not {told:?}")
        };
        assert_eq!(drift.changes(), [change]);
        assert!((30..=34).contains(&at), "told in {at}");
        assert_eq!((change.function, change.is_slower()), (FunctionId(0), true));
        assert!((28..=30).contains(&change.step), "{change:?}");
        let about = |time: Nanos, expected: i64| (time.0 - expected).abs() < expected / 50;
        assert!(
            about(change.from, 50_500) && about(change.to, 80_500),
            "{change:?}"
        );
        let known = report.detector.describe(FunctionId(0));
        (slow, known[0].1)
    };
    let ((slow, all), (fewer, since)) = (run(false), run(true));
    assert_eq!(all, 6000.0);
    assert!(
        since < 3000.0,
        "only calls since the change are known: {since}"
    );
    assert!(slow >= fewer, "{slow} and {fewer}");
}
