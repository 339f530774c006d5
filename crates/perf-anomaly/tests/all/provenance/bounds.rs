//! Limits of a record and of all records.

use super::*;
use std::sync::{Arc, Mutex, MutexGuard};

#[test]
fn budgets_and_filters_count_dropped_anomalies() {
    let run = |name: &str, recorder: RecorderParams| {
        let store = stores(name).remove(0);
        let (mut store, reduction, _) =
            synthetic(monitor(Calls::params(), recorder, store), 200_000, 0);
        let counted = reduction.recorded + reduction.filtered + reduction.not_among_worst;
        let found = records(&mut *store, Kind::Anomaly);
        assert_eq!(found.len() as u64, reduction.recorded);
        (reduction, counted, found)
    };
    let (all, counted, _) = run("all", Recorder::params());
    assert_eq!((counted, all.recorded), (all.anomalies, all.anomalies));
    let (worst, counted, found) = run("worst", Recorder::params().per_function(1));
    assert_eq!((counted, worst.anomalies), (all.anomalies, all.anomalies));
    assert!(worst.not_among_worst > 0 && worst.recorded < all.recorded);
    assert!(found.iter().any(|one| one.severity > Nanos(300_000)));
    let (slow, counted, found) = run(
        "slow",
        Recorder::params().severity(Nanos(300_000)).normals(false),
    );
    assert_eq!((counted, slow.recorded), (all.anomalies, 20));
    assert!(found.iter().all(|one| one.label.is_slow()) && slow.normals == 0);
    let (steps, _, found) = run("steps", Recorder::params().steps(3..=5).too_fast(false));
    assert!(steps.filtered > 0 && found.iter().all(|one| (3..=5).contains(&one.step)));
    for budget in [1024, 5_000, 20_000, 20_001] {
        let (small, counted, _) = run("small", Recorder::params().budget(budget));
        assert!(small.over_budget > 0 && counted < small.anomalies);
        assert!(small.kept_bytes <= budget, "{small:?}");
        let file = std::fs::metadata(scratch("small.jsonl")).expect("it was just written");
        assert_eq!(file.len(), small.kept_bytes);
    }
    assert!(Recorder::params().budget(3).check().is_err());
    assert!(Recorder::params().per_function(0).check().is_err());
}

/// Runs one slow call that has `notes` messages and counter values, `depth` calls deep.
fn crowded(notes: usize, depth: usize, recorder: RecorderParams) -> (Record, Reduction) {
    let params = Calls::params();
    let mut monitor = monitor(params, recorder, Box::new(Memory::new()));
    let stream = monitor.stream(key(0, 0));
    let mut program = Program { stream, at: 0 };
    for at in 0..200 {
        program.call(&mut monitor, "solve", 100_000 + at * 37 % 1000);
    }
    for _ in 0..depth {
        program.enter(&mut monitor, "down");
        program.at += 10;
    }
    program.enter(&mut monitor, "solve");
    for at in 0..notes {
        program.at += 100;
        let peer = Peer {
            rank: 1,
            tag: at as u32,
            bytes: 8,
        };
        monitor.push(stream, Nanos(program.at), StreamEvent::Send(peer));
        program.count(&mut monitor, "heap", Value::U64(at as u64));
        program.count(
            &mut monitor,
            &format!("monitoring: {}", at % 1000),
            Value::U64(at as u64),
        );
    }
    program.at += 100_000_000;
    program.exit(&mut monitor, "solve");
    for _ in 0..depth {
        program.exit(&mut monitor, "down");
    }
    monitor.end_step(0);
    let report = monitor.finish().expect("nothing fails");
    let (mut store, reduction) = report.store.expect("it has a recorder");
    let found = records(&mut *store, Kind::Anomaly);
    let one = found.into_iter().find(|one| one.call.function == "solve");
    (one.expect("it is slow"), reduction)
}

#[test]
fn a_record_has_bounds_of_its_own() {
    let (record, reduction) = crowded(200_000, 1_000, Recorder::params());
    assert_eq!((record.messages.len(), record.counters.len()), (256, 256));
    assert_eq!((record.stack.len(), record.node.len()), (128, 256));
    let left_out = record.left_out;
    assert_eq!(
        (left_out.messages, left_out.counters),
        (200_000 - 256, 200_000 - 256)
    );
    assert_eq!((left_out.frames, left_out.node), (1_000 - 128, 1_000 - 256));
    // The last ones are kept.
    assert_eq!(record.messages.last().map(|one| one.tag), Some(199_999));
    assert!(record.path().starts_with(".. / down / "));
    assert!(reduction.kept_bytes < 200_000, "{reduction:?}");
    let few = Recorder::params().frames(2).notes(3);
    let (record, _) = crowded(5, 3, few);
    assert_eq!((record.stack.len(), record.messages.len()), (2, 3));
    assert_eq!((record.left_out.frames, record.left_out.counters), (1, 2));
    // Within the limits no items are dropped.
    let (record, _) = crowded(5, 3, Recorder::params());
    assert_eq!(record.left_out, Default::default());
}

/// The counts of dropped items are stored with the record, in every kind of store.
#[test]
fn counts_of_dropped_items_are_stored() {
    let few = Recorder::params().frames(2).notes(3);
    let (record, _) = crowded(5, 3, few);
    assert!(record.left_out.frames > 0 && record.left_out.node > 0);
    for mut store in stores("left-out") {
        let entry = Entry::Call(Box::new(record.clone()));
        store.put(&entry).expect("there is room");
        store.commit().expect("there is room");
        let found = store.query(&Query::default()).expect("it was just written");
        assert_eq!(found, std::slice::from_ref(&record));
    }
}

/// Remote store: entries wait in a bounded buffer until a commit succeeds.
#[derive(Clone, Debug, Default)]
struct Far(Arc<Mutex<Inner>>);

#[derive(Debug, Default)]
struct Inner {
    /// `true` while the store is unavailable.
    is_gone: bool,
    /// Entries that wait.
    waiting: Vec<Entry>,
    /// Committed entries.
    there: Memory,
    /// Number of commits.
    commits: u64,
}

const ROOM: usize = 8;

impl Far {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().expect("nobody panics")
    }
}

impl Store for Far {
    fn put(&mut self, entry: &Entry) -> perf_anomaly::Result<u64> {
        let mut inner = self.inner();
        if inner.waiting.len() == ROOM {
            return Err(Error::Exchange("too much waits".into()));
        }
        inner.waiting.push(entry.clone());
        Ok(entry.to_string().len() as u64 + 1)
    }

    fn commit(&mut self) -> perf_anomaly::Result<()> {
        let mut inner = self.inner();
        inner.commits += 1;
        if inner.is_gone {
            return Err(Error::Exchange("it is gone".into()));
        }
        for entry in std::mem::take(&mut inner.waiting) {
            inner.there.put(&entry)?;
        }
        Ok(())
    }

    fn each(
        &mut self,
        take: &mut dyn FnMut(Entry) -> perf_anomaly::Result<()>,
    ) -> perf_anomaly::Result<()> {
        self.inner().there.each(take)
    }

    fn revise(&mut self, _: &mut dyn FnMut(&Record) -> Revision) -> perf_anomaly::Result<u64> {
        Ok(0)
    }
}

/// A store that was unavailable for some steps gets all buffered entries, and later ones; the rest
/// is counted.
#[test]
fn after_an_outage_a_store_is_written_again() {
    let far = Far::default();
    let recorder = Recorder::params().normals(false).per_function(1000);
    let mut monitor = monitor(Calls::params(), recorder, Box::new(far.clone()));
    let stream = monitor.stream(key(0, 0));
    let mut program = Program { stream, at: 0 };
    for step in 0..40 {
        far.inner().is_gone = (10..30).contains(&step);
        let before = far.inner().commits;
        for at in 0..200 {
            let slow = if at == 150 {
                40 + (step * step) as i64
            } else {
                1
            };
            program.call(&mut monitor, "solve", slow * (100_000 + at * 37 % 1000));
        }
        monitor.end_step(step);
        // Two commits in the step that first writes the waiting entries.
        let commits = if step == 30 { 2 } else { 1 };
        assert_eq!(far.inner().commits - before, commits, "step {step}");
        let error = monitor.take_error();
        assert_eq!(
            error.is_some(),
            (10..30).contains(&step),
            "{step} {error:?}"
        );
    }
    let report = monitor.finish().expect("it is there again");
    let (mut store, counts) = report.store.expect("it has a recorder");
    assert!(counts.lost > 3 && counts.recorded > 10, "{counts:?}");
    let told = counts.recorded + counts.lost + counts.filtered + counts.not_among_worst;
    assert_eq!(told, counts.anomalies);
    let found = records(&mut *store, Kind::Anomaly);
    assert_eq!(found.len() as u64, counts.recorded);
    let lost = |one: &Record| (10..30).contains(&one.step);
    assert!(found.iter().filter(|one| one.step > 30).count() >= 5);
    assert!(found.iter().any(lost), "what there was room for is there");
}

/// The run is stored later if the store is unavailable at its begin.
#[test]
fn the_run_is_stored_once_the_store_is_available() {
    let far = Far::default();
    far.inner().waiting = vec![Entry::Run(RunRecord::default()); ROOM];
    far.inner().is_gone = true;
    let mut monitor = monitor(Calls::params(), Recorder::params(), Box::new(far.clone()));
    let stream = monitor.stream(key(0, 0));
    monitor.metadata(stream, "Hostname", "node7");
    let mut program = Program { stream, at: 0 };
    for step in 0..4 {
        program.call(&mut monitor, "solve", 1000);
        monitor.end_step(step);
        assert_eq!(monitor.take_error().is_some(), step < 2);
        far.inner().is_gone = step < 1;
    }
    assert!(monitor.finish().is_ok());
    let mut kinds = Vec::new();
    let each = far.clone().each(&mut |entry| {
        match entry {
            Entry::Run(run) if !run.detector.is_empty() => kinds.push(("run", run.facts.len())),
            Entry::Stream(stream) => kinds.push(("stream", stream.facts.len())),
            _ => {}
        }
        Ok(())
    });
    each.expect("memory does not fail");
    assert!(
        matches!(kinds[..], [("run", 11..), ("stream", 1)]),
        "{kinds:?}"
    );
}
