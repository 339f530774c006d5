//! All of it as one sink.

use perf_anomaly::calls::{Calls, CallsParams, ModelBy};
use perf_anomaly::provenance::{Entry, Memory, Query, Record, Recorder, Revision, Store};
use perf_anomaly::server::{Client, Local, Ranking, Server};
use perf_anomaly::{Error, FunctionId, Label, Monitor, Result, Sstd, Tail, Watch};
use perf_core::Nanos;

fn monitor(params: CallsParams) -> Monitor {
    let calls = Calls::new(params.check().expect("values in range"));
    let tail = Tail::params().learn_first(true).check();
    Monitor::new(calls, Box::new(Tail::new(tail.expect("values in range"))))
}

/// A rank that calls `solve` and `dot` in it, in steps of 100 calls, and each 150th `dot` is slow.
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
    // The end of a stream is a step of its own only where calls were open.
    let anomalies = rank.anomalies;
    assert_eq!(
        (anomalies.count(), anomalies.sum(), anomalies.max()),
        (6, 4.0, Some(1.0))
    );
    assert!(report.losses.total().time > Nanos(4 * 390_000));
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
    // In deviations for one detector, as alarms in a million for the other.
    let sstd = |sigma| {
        let calls = Calls::new(Calls::params().check().expect("defaults"));
        let sstd = Sstd::new(Sstd::params().check().expect("defaults"));
        let monitor = Monitor::new(calls, Box::new(sstd)).threshold("MPI_dot", sigma);
        Ok::<_, Error>(too_slow(&run(monitor?, 0, 6).into_sink(), 1).0)
    };
    assert_eq!(sstd(1000.0).ok(), Some(0));
    assert!(sstd(3.0).ok() > Some(1));
    assert!(matches!(sstd(-1.0), Err(Error::Parameter { .. })));
}

#[test]
fn ranks_share_what_they_learn() {
    let local = Local::new(Server::new(Server::params().check().expect("defaults")));
    let share = |rank: u32, steps| {
        let monitor = monitor(Calls::params()).share(Client::new(rank.into(), local.clone()));
        let mut monitor = run(monitor, rank, steps).into_sink();
        assert!(monitor.take_error().is_none());
        let few = monitor.losses().total().not_enough_data;
        monitor.finish().expect("the server is there");
        few
    };
    // The second rank knows from its second step on what the first has seen.
    assert_eq!(share(0, 3), 2 * 32);
    assert_eq!(share(1, 1), 2 * 32);
    let ranks = local.server(|server| server.ranking(Ranking::TimeLost));
    let ranks = ranks.expect("nobody panicked");
    assert_eq!(
        ranks.iter().map(|one| one.loss.calls).collect::<Vec<_>>(),
        [600, 200]
    );
}

/// A disk that is full.
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
