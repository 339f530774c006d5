//! Records that are judged again by the final model.

use super::*;

#[test]
fn the_final_model_has_the_last_word() {
    for store in stores("pruned") {
        let params = Recorder::params().normals(true);
        let mut monitor = monitor(Calls::params(), params, store);
        let stream = monitor.stream(key(0, 0));
        let mut program = Program { stream, at: 0 };
        // At first all take 100 us. Then 300 us: abnormal, until it is known to be usual. One is slow
        // by any measure.
        for at in 0..4000_i64 {
            let usual = if at < 400 { 100_000 } else { 300_000 };
            let slow = if at == 3000 { 40 } else { 1 };
            program.call(&mut monitor, "solve", slow * (usual + at * 37 % 3000));
            if at % 100 == 99 {
                monitor.end_step(at as u64 / 100);
            }
        }
        let report = monitor.finish().expect("nothing fails");
        let (mut store, reduction) = report.store.expect("it has a recorder");
        assert!(reduction.recorded > 10, "{reduction:?}");
        let pruned =
            prune(&mut *store, &report.calls, &*report.detector, 1000).expect("it is sound");
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
        // Of a function, only the worst are left where one wants so.
        let again = prune(&mut *store, &report.calls, &*report.detector, 1).expect("it is sound");
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
        let pruned = prune(&mut *store, &report.calls, &*report.detector, 9).expect("it is sound");
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
                let usual = if at < 400 { 100_000 } else { 300_000 };
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
        let pruned = report.prune().expect("it is sound").expect("a recorder");
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
