//! Tables agree with the results that they are built from.

use perf_anomaly::provenance::{Comparison, Entry, Memory, ModelRecord, Query, Record, Recorder};
use perf_anomaly::server::{RankSummary, Ranking};
use perf_anomaly::{Change, Drift, Judgement, Monitor, Report, Watch};
use perf_core::{Cell, Nanos, Table};

/// Rank 3 runs `main` and `solve` in it; one call of `solve` in the third step is slow, and from
/// the thirtieth step on all are.
fn report() -> Report {
    let recorder = Recorder::params().check().expect("defaults");
    let monitor = Monitor::default()
        .record(Recorder::new(recorder, Box::new(Memory::new())))
        .watch_drift(Drift::default());
    let mut watch = Watch::new(monitor, 0, 3);
    let (main, solve) = (watch.region("main"), watch.region("solve"));
    for step in 0..60_i64 {
        for call in 0..100 {
            let at = 10_000_000 * (100 * step + call);
            let usual = if step < 30 { 50_000 } else { 80_000 };
            let length = match (step, call) {
                (20, 7) => 5_000_000,
                _ => usual + call * 37 % 1000,
            };
            watch.enter(0, main, Nanos(at));
            watch.enter(0, solve, Nanos(at + 1_000));
            watch.exit(0, solve, Nanos(at + 1_000 + length));
            watch.exit(0, main, Nanos(at + 2_000 + length));
        }
        watch.end_step();
        if step == 20 {
            let monitor = watch.sink();
            let table = Judgement::table(monitor.judgements(), monitor.calls());
            slow_call(&table, monitor);
        }
    }
    watch.into_sink().finish().expect("defaults")
}

fn slow_call(table: &Table, monitor: &Monitor) {
    assert_eq!(table.rows(), monitor.batch().len());
    let (call, sample, judgement) = monitor.anomalies().next().expect("one call is slow");
    let worst = table.sorted_by("time lost", true).head(1);
    assert_eq!(worst.cell(0, "rank"), Some(Cell::Unsigned(3)));
    assert_eq!(worst.text_of(0, "call path"), "main > solve");
    assert_eq!(worst.cell(0, "entry"), Some(Cell::Time(call.entry)));
    assert_eq!(worst.cell(0, "run time"), Some(Cell::Time(sample.runtime)));
    let lost = judgement.severity(sample);
    assert_eq!(worst.cell(0, "time lost"), Some(Cell::Time(lost)));
    assert_eq!(worst.text_of(0, "label"), judgement.label.name());
}

#[test]
fn results_of_a_run() {
    let mut report = report();
    let tables = report.tables();
    let of = |name: &str| {
        tables
            .iter()
            .find(|table| table.name() == name)
            .expect(name)
    };
    let (worst, loss) = report.losses.worst_functions()[0];
    let functions = of("functions");
    assert_eq!(functions.text_of(0, "function"), "solve");
    assert_eq!(report.calls.function_name(worst), "solve");
    assert_eq!(functions.cell(0, "calls"), Some(Cell::Unsigned(loss.calls)));
    assert_eq!(
        functions.cell(0, "in slow calls"),
        Some(Cell::Time(loss.time))
    );
    assert_eq!(of("call paths").text_of(0, "call path"), "main > solve");
    assert_eq!(of("steps").rows(), 60);
    let ranks = report.ranks.ranked(Ranking::Total);
    assert_eq!(*of("ranks by anomalies"), RankSummary::table(&ranks));
    let mean = Some(Cell::Float(ranks[0].anomalies.mean()));
    assert_eq!(
        of("ranks by anomalies").cell(0, "anomalies per step mean"),
        mean
    );
    let facts = report.detector.describe(worst);
    let models = of("models");
    for (row, (name, value)) in facts.iter().enumerate() {
        assert_eq!(models.text_of(row, "fact"), *name);
        if *value < 1e18 {
            assert_eq!(models.cell(row, "value"), Some(Cell::Float(*value)));
        }
    }
    let drift = report.drift.as_ref().expect("it was watched");
    let changes = Change::table(drift.changes(), &report.calls);
    assert_eq!(&changes, of("changes"));
    let first = drift.changes().first().expect("solve became slower");
    assert_eq!(changes.cell(0, "step"), Some(Cell::Unsigned(first.step)));
    assert_eq!(
        changes.cell(0, "run time after"),
        Some(Cell::Time(first.to))
    );
    assert_eq!(of("health").cell(0, "count"), Some(Cell::Unsigned(24_000)));

    let (store, reduction) = report.store.as_mut().expect("there is a recorder");
    let recorded = Some(Cell::Unsigned(reduction.recorded));
    assert_eq!(reduction.table().cell(3, "count"), recorded);
    let records = store.query(&Query::default()).unwrap();
    let table = Record::table(&records);
    assert_eq!(table.rows(), records.len());
    for (row, record) in records.iter().enumerate() {
        assert_eq!(table.text_of(row, "label"), record.label.name());
        assert_eq!(table.text_of(row, "event"), record.call.id);
        assert_eq!(
            table.cell(row, "time lost"),
            Some(Cell::Time(record.severity))
        );
        let path = record.path().replace(" / ", " > ");
        assert_eq!(table.text_of(row, "call path"), path);
    }
    let mut models: Vec<ModelRecord> = Vec::new();
    let mut take = |entry| {
        if let Entry::Model(model) = entry {
            models.push(model);
        }
        Ok(())
    };
    store.each(&mut take).unwrap();
    let table = ModelRecord::table(&models);
    let facts: usize = models.iter().map(|model| model.facts.len()).sum();
    assert_eq!((table.rows(), facts > 0), (facts, true));
    let comparison = Comparison::of(&mut Memory::new(), &mut **store).unwrap();
    let [functions, paths] = comparison.tables();
    let first = &comparison.functions[0];
    assert_eq!(functions.text_of(0, "function"), first.name);
    let more = Some(Cell::Time(first.more_time_lost()));
    assert_eq!(functions.cell(0, "more time lost"), more);
    assert_eq!(paths.rows(), comparison.paths.len());
}

#[cfg(feature = "serde")]
#[test]
fn results_are_json() {
    let report = report();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["detector"], "tail");
    assert_eq!(json["losses"]["ranks"][0]["rank"], 3);
    let calls = report.losses.total().calls;
    assert_eq!(json["losses"]["total"]["calls"], calls);
    assert_eq!(json["ranks"][0]["loss"]["calls"], calls);
    assert!(
        json["changes"]
            .as_array()
            .is_some_and(|all| !all.is_empty())
    );
    let call = report.calls.batch().calls().first().copied();
    let json = serde_json::to_value(call).unwrap();
    assert!(json.is_null() || json["flags"]["is_open"] == false);
    let judgement = serde_json::to_value(Judgement::default()).unwrap();
    assert_eq!(judgement["label"], "normal");
}
