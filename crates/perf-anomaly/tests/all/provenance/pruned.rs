//! Second judgement of records by the final model.

use super::*;
use perf_core::Job;

#[test]
fn the_final_model_has_the_last_word() {
    for store in stores("pruned") {
        let params = Recorder::params().normals(true);
        let mut monitor = monitor(Calls::params(), params, store);
        let stream = monitor.stream(key(0, 0));
        let mut program = Program { stream, at: 0 };
        // At first all take 100 us. Then 300 us: abnormal, until it is known to be usual. One is
        // slow by any measure.
        for at in 0..4000_i64 {
            let usual = if at < 1900 || at % 3 != 0 {
                100_000
            } else {
                300_000
            };
            let slow = if at == 3000 { 40 } else { 1 };
            program.call(&mut monitor, "solve", slow * (usual + at * 37 % 3000));
            if at % 100 == 99 {
                monitor.end_step(at as u64 / 100);
            }
        }
        let report = monitor.finish().expect("nothing fails");
        let (mut store, reduction) = report.store.expect("it has a recorder");
        assert!(reduction.recorded > 10, "{reduction:?}");
        let pruned = prune(
            &mut *store,
            &report.calls,
            &*report.detector,
            1000,
            &Job::default(),
        )
        .expect("it is sound");
        assert_eq!(pruned.normal_after_all, reduction.recorded - 1);
        assert_eq!(pruned.unknown, 0);
        let left = records(&mut *store, Kind::Anomaly);
        let [one] = &left[..] else {
            panic!("one is left, not {}", left.len())
        };
        assert!(one.severity > Nanos(11_000_000));
        let mut model = None;
        store
            .each(&mut |entry| {
                if let Entry::Model(found) = entry
                    && found.id == one.model
                {
                    model = Some(found);
                }
                Ok(())
            })
            .expect("it was just written");
        let model = model.expect("records refer to models that are there");
        assert_eq!(model.step, one.step.max(30));
        let modes = model
            .facts
            .iter()
            .filter(|(name, _)| name.ends_with("median"));
        assert_eq!(modes.count(), 2);
        // On request only the worst of a function are kept.
        let again = prune(
            &mut *store,
            &report.calls,
            &*report.detector,
            1,
            &Job::default(),
        )
        .expect("it is sound");
        assert_eq!(
            (again.kept, again.not_among_worst),
            (1 + pruned.kept - 1, 0)
        );
    }
}

#[test]
fn a_model_that_started_over_takes_nothing_back() {
    for store in stores("forgotten") {
        let mut monitor = monitor(Calls::params(), Recorder::params(), store);
        let stream = monitor.stream(key(0, 0));
        let mut program = Program { stream, at: 0 };
        for at in 0..2000_i64 {
            let slow = if at == 1500 { 40 } else { 1 };
            program.call(&mut monitor, "solve", slow * (100_000 + at * 37 % 3000));
            if at % 100 == 99 {
                monitor.end_step(at as u64 / 100);
            }
        }
        let mut report = monitor.finish().expect("nothing fails");
        let (mut store, reduction) = report.store.take().expect("it has a recorder");
        assert_eq!(reduction.recorded, 1);
        for at in 0..report.calls.function_count() {
            report.detector.forget(FunctionId(at as u32));
        }
        let pruned = prune(
            &mut *store,
            &report.calls,
            &*report.detector,
            9,
            &Job::default(),
        )
        .expect("it is sound");
        assert_eq!((pruned.recorded, pruned.normal_after_all), (1, 0));
        assert_eq!(records(&mut *store, Kind::Anomaly).len(), 1);
    }
}

#[test]
fn all_figures_are_those_after() {
    for store in stores("figures") {
        let mut monitor = monitor(Calls::params(), Recorder::params(), store);
        let streams = [monitor.stream(key(0, 0)), monitor.stream(key(1, 0))];
        let mut programs = streams.map(|stream| Program { stream, at: 0 });
        for at in 0..4000_i64 {
            for (rank, program) in programs.iter_mut().enumerate() {
                let usual = if at < 1900 || at % 3 != 0 {
                    100_000
                } else {
                    300_000
                };
                let slow = if at == 3000 && rank == 1 { 40 } else { 1 };
                program.enter(&mut monitor, "main");
                program.call(&mut monitor, "solve", slow * (usual + at * 37 % 3000));
                program.exit(&mut monitor, "main");
            }
            if at % 20 == 19 {
                monitor.end_step(at as u64 / 20);
            }
        }
        let mut report = monitor.finish().expect("nothing fails");
        let before = report.store.as_ref().expect("it has a recorder").1;
        assert!(before.recorded > 10 && report.losses.total().too_slow > 10);
        let pruned = report
            .prune(&Job::default())
            .expect("it is sound")
            .expect("a recorder");
        assert!(pruned.normal_after_all > 10, "{pruned:?}");
        let total = report.losses.total();
        assert_eq!((total.too_slow, total.anomalies()), (1, 1));
        assert_eq!(total.calls, 16_000);
        let solve = report.losses.worst_functions()[0].1;
        assert_eq!((solve.too_slow, solve.time), (1, total.time));
        assert_eq!(report.losses.worst_paths()[0].1.time, total.time);
        let ranks = report.ranks.ranked(Ranking::Total);
        let sums: Vec<f64> = ranks.iter().map(|rank| rank.anomalies.sum()).collect();
        assert_eq!(sums, [1.0, 0.0]);
        assert_eq!((ranks[0].rank, ranks[0].loss.anomalies()), (1, 1));
        assert_eq!(ranks[0].anomalies.count(), 200);
        let (mut store, after) = report.store.expect("it has a recorder");
        assert_eq!((after.anomalies, after.recorded), (1, 1));
        let mut bytes = 0;
        let mut kept = Memory::new();
        let mut count = |entry: Entry| {
            bytes += kept.put(&entry)?;
            Ok(())
        };
        store.each(&mut count).expect("it was just written");
        assert_eq!(after.kept_bytes, bytes);
        assert!(after.kept_bytes < before.kept_bytes);
        let normals = records(&mut *store, Kind::Normal).len() as u64;
        assert_eq!(after.normals, normals);
    }
}

/// Calls of 100 us and then of 300 us, which are abnormal until they are known to be usual; one of
/// the first of these is slow by any measure.
fn shifted(store: Box<dyn Store>, recorder: RecorderParams) -> perf_anomaly::Report {
    let mut monitor = monitor(Calls::params(), recorder, store);
    let stream = monitor.stream(key(0, 0));
    let mut program = Program { stream, at: 0 };
    for at in 0..4000_i64 {
        let usual = if at < 1900 || at % 3 != 0 {
            100_000
        } else {
            300_000
        };
        let slow = if at == 1905 { 40 } else { 1 };
        program.call(&mut monitor, "solve", slow * (usual + at * 37 % 3000));
        if at % 100 == 99 {
            monitor.end_step(at as u64 / 100);
        }
    }
    monitor.finish().expect("nothing fails")
}

#[test]
fn surrounding_calls_are_marked_by_their_new_judgements() {
    for store in stores("marked") {
        let mut report = shifted(store, Recorder::params());
        let marked = |store: &mut dyn Store| {
            let all = records(store, Kind::Anomaly);
            let one = all.into_iter().find(|one| one.call.number == 1905);
            let one = one.expect("it is slow");
            let around = one.before.iter().chain(&one.after);
            (
                one.call.is_anomaly,
                around.filter(|one| one.is_anomaly).count(),
            )
        };
        let (store, _) = report.store.as_mut().expect("it has a recorder");
        assert_eq!(marked(&mut **store), (true, 2));
        report.prune(&Job::default()).expect("it is sound");
        let (store, _) = report.store.as_mut().expect("it has a recorder");
        assert_eq!(marked(&mut **store), (true, 0));
    }
}

#[test]
fn the_budget_applies_to_the_remaining_records() {
    let run = |name: &str, budget: u64| {
        let store = stores(name).remove(0);
        let params = Recorder::params().budget(budget);
        let mut monitor = monitor(Calls::params(), params, store);
        let mut random = Random::new(3);
        let stream = monitor.stream(key(0, 0));
        let mut program = Program { stream, at: 0 };
        for at in 0..20_000 {
            let slow = if at % 500 == 499 { 30.0 } else { 1.0 };
            let runtime = 1e5 * (0.1 * random.normal()).exp() * slow * (1.0 + random.unit());
            program.call(&mut monitor, ["f", "g", "h"][at % 3], runtime as i64);
            if at % 1000 == 999 {
                monitor.end_step(at as u64 / 1000);
            }
        }
        monitor.finish().expect("nothing fails")
    };
    let mut free = run("free", 1 << 20);
    let (_, before) = free.store.as_ref().expect("it has a recorder");
    let kept = before.kept_bytes;
    let all = free
        .prune(&Job::default())
        .expect("it is sound")
        .expect("a recorder");
    assert!(all.bytes > kept, "final models take room: {all:?}");
    assert_eq!(all.over_budget, 0);
    // No budget, budget for some models, for some of the records, and for all.
    for (name, budget) in [
        ("full", kept),
        ("models", kept + (all.bytes - kept) / 2),
        ("whole", all.bytes),
    ] {
        let mut report = run(name, budget);
        let pruned = report
            .prune(&Job::default())
            .expect("it is sound")
            .expect("a recorder");
        let (store, reduction) = report.store.as_mut().expect("it has a recorder");
        assert!(reduction.kept_bytes <= budget, "{name}: {reduction:?}");
        assert_eq!(
            pruned.over_budget > 0,
            name != "whole",
            "{name}: {pruned:?}"
        );
        assert_eq!(reduction.over_budget, pruned.over_budget);
        // Every reference is valid.
        let (mut models, mut used) = (Vec::new(), Vec::new());
        let mut look = |entry: Entry| {
            match entry {
                Entry::Model(model) => models.push(model.id),
                Entry::Call(record) => used.push(record.model),
                _ => {}
            }
            Ok(())
        };
        store.each(&mut look).expect("it was just written");
        assert!(used.iter().all(|model| models.contains(model)), "{name}");
        let size = std::fs::metadata(scratch(&format!("{name}.jsonl")));
        assert_eq!(size.expect("it is there").len(), reduction.kept_bytes);
    }
    // A smaller budget: the worst are kept.
    let mut report = run("less", kept);
    let worst = |store: &mut dyn Store| {
        let query = Query {
            kind: Some(Kind::Anomaly),
            order: Order::Severity,
            ..Query::default()
        };
        let all = store.query(&query).expect("it can be read").into_iter();
        all.map(|one| one.severity).collect::<Vec<_>>()
    };
    let (mut store, _) = report.store.take().expect("it has a recorder");
    let (calls, detector) = (&report.calls, &*report.detector);
    let pruned = prune_within(
        &mut *store,
        calls,
        detector,
        1000,
        kept / 2,
        &Job::default(),
    )
    .expect("it is sound");
    assert!(
        pruned.bytes <= kept / 2 && pruned.over_budget > 3,
        "{pruned:?}"
    );
    let left = worst(&mut *store);
    assert_eq!(left.len() as u64, pruned.recorded);
    let (mut free, _) = free.store.take().expect("it has a recorder");
    assert_eq!(left, worst(&mut *free)[..left.len()]);
}

#[test]
fn judging_again_stops_and_leaves_all_as_it_was() {
    let kinds = stores("stopped").len();
    for kind in 0..kinds {
        let run = |name: &str| shifted(stores(name).remove(kind), Recorder::params());
        let told = |report: &mut perf_anomaly::Report| {
            let (store, _) = report.store.as_mut().expect("it has a recorder");
            let mut all = Vec::new();
            let mut take = |entry: Entry| {
                all.push(entry);
                Ok(())
            };
            store.each(&mut take).expect("it was just written");
            format!("{all:?} {:?} {:?}", report.losses.total(), report.ranks)
        };
        let counting = Job::stopping_after(u64::MAX);
        let whole = run("counted").prune(&counting);
        assert!(whole.expect("it is sound").is_some());
        let all = counting.checks_made().expect("it counts");
        assert!(all > 30, "{all}");
        let mut report = run("stopped");
        let before = told(&mut report);
        for place in 0..9 {
            let job = Job::stopping_after(all * place / 9);
            let stopped = report.prune(&job);
            assert!(matches!(stopped, Err(Error::Cancelled(_))), "{place}");
            assert_eq!(told(&mut report), before, "{place}");
        }
        report.prune(&Job::default()).expect("it is sound");
        assert!(told(&mut report) != before);
    }
}
