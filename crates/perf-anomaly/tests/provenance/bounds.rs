//! What a record and all of them may cost.

use super::*;

#[test]
fn budgets_and_filters_count_what_they_leave_out() {
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
    assert!(found.iter().all(|one| one.label == Label::TooSlow) && slow.normals == 0);
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

/// A run of one call that has `notes` messages and counter values, `depth` calls deep, and is slow.
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
    // Where everything has room nothing is left out.
    let (record, _) = crowded(5, 3, Recorder::params());
    assert_eq!(record.left_out, Default::default());
}

/// What a record leaves out is stored with it, of any kind of store.
#[test]
fn what_is_left_out_is_read_back() {
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
