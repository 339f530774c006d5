//! Counters, formulas and filters of bursts, on constructed traces.

use crate::constructed;

use constructed::*;
use perf_core::{Job, Nanos, Trace};
use perf_track::{
    ClusterId, Delimiter, Error, Extract, Formula, Kind, Labels, ZeroDivision, drop_small_clusters,
};

#[test]
fn samples_belong_to_the_burst_that_ends_there() {
    // At 10 one burst ends and the next begins; the order of events at one instant is arbitrary.
    let order_a = events(&[
        (0, In(RUNNING)),
        (4, Count(RELATIVE, 1)),
        (10, Out(RUNNING)),
        (10, In(RUNNING)),
        (10, Count(RELATIVE, 2)),
        (30, Count(RELATIVE, 4)),
        (30, Out(RUNNING)),
    ]);
    let order_b = events(&[
        (0, Count(RELATIVE, 100)),
        (0, In(RUNNING)),
        (4, Count(RELATIVE, 1)),
        (10, Count(RELATIVE, 2)),
        (10, Out(RUNNING)),
        (10, In(RUNNING)),
        (30, Out(RUNNING)),
        (30, Count(RELATIVE, 4)),
        (31, Count(RELATIVE, 8)),
    ]);
    let trace = trace(vec![order_a, order_b]);
    let (bursts, dropped) = extract(calls("Run").metric("PAPI_TOT_INS"), &trace);
    assert_eq!(times(&bursts), [(0, 10), (10, 30), (0, 10), (10, 30)]);
    assert_eq!(bursts.columns()[0].values, [3.0, 4.0, 3.0, 4.0]);
    assert_eq!(bursts.columns()[0].unit, "#");
    assert_eq!(dropped.complete, dropped.found);
    assert_eq!(dropped.found.time, Nanos(60));
}

#[test]
fn accumulated_counters_are_differences_and_absolute_ones_are_levels() {
    let list = events(&[
        (0, In(RUNNING)),
        (5, Count(ACCUMULATED, 100)),
        (5, Count(ABSOLUTE, 7)),
        (10, Out(RUNNING)),
        (20, In(RUNNING)),
        (20, Count(ACCUMULATED, 150)),
        (25, Count(ACCUMULATED, 180)),
        (25, Count(ABSOLUTE, 20)),
        (28, Count(ABSOLUTE, 30)),
        (30, Out(RUNNING)),
        (40, In(RUNNING)),
        (45, Count(ACCUMULATED, 20)),
        (50, Out(RUNNING)),
        (60, In(RUNNING)),
        (70, Out(RUNNING)),
    ]);
    let params = calls("Run")
        .metric("sum")
        .also("level")
        .also("mean = mean(level)");
    let (bursts, dropped) = extract(params, &trace(vec![list]));
    let column = |name: &str| {
        let values = bursts.column(name).unwrap().values.iter();
        values
            .map(|v| (!v.is_nan()).then_some(*v))
            .collect::<Vec<_>>()
    };
    // The first begin is unknown; the third decreases; the fourth has no sample.
    assert_eq!(column("sum"), [None, Some(30.0), None, None]);
    assert_eq!(
        column("level"),
        [Some(7.0), Some(30.0), Some(30.0), Some(30.0)]
    );
    assert_eq!(column("mean"), [Some(7.0), Some(25.0), None, None]);
    assert_eq!(dropped.resets, 1);
    assert_eq!(dropped.missing[&vec!["sum".to_string()]].bursts, 3);
    assert_eq!(bursts.kinds()[1], Kind::Complete);
    assert_eq!(bursts.complete(), [1]);
}

#[test]
fn a_change_of_counters_leaves_bursts_without_them() {
    // Cycles stop, instructions continue, then neither.
    let list = events(&[
        (0, In(RUNNING)),
        (10, Count(RELATIVE, 8)),
        (10, Count(CYCLES, 4)),
        (10, Out(RUNNING)),
        (20, In(RUNNING)),
        (35, Count(RELATIVE, 8)),
        (35, Out(RUNNING)),
        (40, In(RUNNING)),
        (47, Out(RUNNING)),
        (50, In(RUNNING)),
        (60, Count(RELATIVE, 8)),
        (60, Count(CYCLES, 0)),
        (60, Out(RUNNING)),
    ]);
    let trace = trace(vec![list]);
    let params = || {
        calls("Run")
            .metric("IPC = PAPI_TOT_INS / PAPI_TOT_CYC")
            .metric("ipc")
    };
    let (bursts, dropped) = extract(params(), &trace);
    assert_eq!(bursts.columns()[0].values[0], 2.0);
    assert_eq!(bursts.columns()[1].values[0], 2.0);
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| name.to_string())
            .collect::<Vec<_>>()
    };
    let missing: Vec<_> = dropped
        .missing
        .iter()
        .map(|(k, v)| (k.clone(), v.time.0))
        .collect();
    // The alias lists its counters under their names in the recording.
    assert_eq!(
        missing,
        [
            (names(&["IPC", "ipc"]), 10),
            (names(&["PAPI_TOT_CYC"]), 15),
            (names(&["PAPI_TOT_CYC", "PAPI_TOT_INS"]), 7),
        ]
    );
    assert_eq!(dropped.divisions_by_zero, 1);
    // As in the established tools.
    let (bursts, dropped) = extract(params().zero_division(ZeroDivision::Zero), &trace);
    assert_eq!(bursts.columns()[0].values[3], 0.0);
    assert_eq!(bursts.columns()[1].values[3], 0.0);
    assert_eq!(dropped.complete.bursts, 2);
}

#[test]
fn filters_count_dropped_bursts() {
    let mut list = Vec::new();
    for (at, duration, count) in [(0, 5, 1), (10, 20, 50), (40, 20, 500), (70, 30, 60)] {
        list.push((at, In(RUNNING)));
        list.push((at + duration, Count(RELATIVE, count)));
        list.push((at + duration, Out(RUNNING)));
    }
    let trace = trace(vec![events(&list)]);
    let params = calls("Run")
        .metric("x = PAPI_TOT_INS")
        .min_duration(Nanos(6));
    let params = params.max_duration(Nanos(25)).range("x", 10.0, 100.0);
    let (mut bursts, dropped) = extract(params, &trace);
    use Kind::{Complete, Duration, Range};
    assert_eq!(bursts.kinds(), [Duration, Complete, Range, Duration]);
    assert_eq!(
        (dropped.duration.bursts, dropped.duration.time),
        (2, Nanos(35))
    );
    assert_eq!(dropped.ranges["x"].time, Nanos(20));
    assert_eq!(
        (dropped.complete.time, dropped.found.time),
        (Nanos(20), Nanos(75))
    );

    // Of 75 ns cluster 1 has 50, cluster 2 has 25.
    let labels = Labels::new([2, 1, 2, 1].map(ClusterId).to_vec());
    let (kept, amount) = drop_small_clusters(&mut bursts, &labels, 0.4).unwrap();
    assert_eq!(kept, Labels::new([0, 1, 0, 1].map(ClusterId).to_vec()));
    assert_eq!((amount.bursts, amount.time), (2, Nanos(25)));
    assert_eq!(bursts.kinds()[2], Kind::Share);
    let few = Labels::new(vec![ClusterId(1)]);
    assert!(drop_small_clusters(&mut bursts, &few, 0.4).is_err());
    assert!(drop_small_clusters(&mut bursts, &labels, 1.5).is_err());
}

#[test]
fn counters_are_asked_for_by_name_or_all() {
    let list = events(&[(0, In(RUNNING)), (9, Count(CYCLES, 3)), (9, Out(RUNNING))]);
    let trace = trace(vec![list]);
    let params = calls("Run")
        .metric("cycles")
        .all_counters(true)
        .range("sum", 0.0, 1.0);
    let (bursts, dropped) = extract(params, &trace);
    let names: Vec<&str> = bursts
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    assert_eq!(
        names,
        [
            "cycles",
            "PAPI_TOT_INS [Instr completed]",
            "PAPI_TOT_CYC",
            "sum",
            "level"
        ]
    );
    assert_eq!(
        dropped.complete.bursts, 1,
        "what may be missing has no range"
    );
    let unknown = Extract::params().metric("TLB").check().unwrap();
    match unknown.extract(trace.view(), &Job::default()) {
        Err(Error::UnknownMetric { name, known }) => {
            assert_eq!(name, "TLB");
            assert!(
                known.contains("PAPI_TOT_CYC, sum, level, duration"),
                "{known}"
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn wrong_parameters_are_errors() {
    let params = Extract::params;
    for wrong in [
        params().min_duration(Nanos(-1)),
        params().min_duration(Nanos(5)).max_duration(Nanos(4)),
        params().metric("x").metric("x"),
        params().metric("x").range("x", 2.0, 1.0),
        params().metric("x").range("x", f64::NAN, 1.0),
        params().delimiter(Delimiter::Calls(vec![])),
    ] {
        assert!(matches!(wrong.check(), Err(Error::Parameter { .. })));
    }
    let unknown = params().metric("x").range("y", 0.0, 1.0).check();
    assert!(matches!(unknown, Err(Error::UnknownMetric { .. })));
    let trace = trace(vec![events(&[])]);
    let nowhere = calls("nowhere").check().unwrap();
    let nowhere = nowhere.extract(trace.view(), &Job::default());
    assert!(matches!(nowhere, Err(Error::NoRegion { .. })));
    let job = Job::default();
    job.cancel();
    let list = events(&[(0, In(SOLVE)), (9, Out(SOLVE))]);
    let cancelled = talk()
        .check()
        .unwrap()
        .extract(self::trace(vec![list]).view(), &job);
    assert!(matches!(cancelled, Err(Error::Cancelled(_))));
}

#[test]
fn formulas_that_are_none_have_a_place() {
    for (text, at) in [
        ("", 0),
        ("x =", 3),
        ("a +", 3),
        ("a b", 2),
        ("(a", 2),
        ("a)", 1),
        ("1 / * 2", 4),
        ("\"a", 1),
        ("mean(a + b)", 7),
        ("mean(-a)", 5),
    ] {
        match Formula::parse(text) {
            Err(Error::Formula { at: found, .. }) => assert_eq!(found, at, "{text:?}"),
            other => panic!("{text:?}: {other:?}"),
        }
    }
    assert!(Formula::parse(&"(".repeat(100_000)).is_err());
    assert!(Formula::parse(&"-".repeat(100_000)).is_err());
}

#[test]
fn counters_of_something_else_are_no_part_of_a_burst() {
    let run = || {
        events(&[
            (0, In(RUNNING)),
            (10, Count(RELATIVE, 8)),
            (10, Count(CYCLES, 4)),
            (10, Out(RUNNING)),
        ])
    };
    let about = |scope, is_shared| {
        let mut definitions = definitions(2);
        let set = &mut definitions.metric_sets[RELATIVE];
        (set.scope, set.is_shared) = (scope, is_shared);
        let trace = Trace::new(definitions, vec![run(), run()]).expect("it is valid");
        let (bursts, dropped) = extract(calls("Run").metric("instructions"), &trace);
        let values = bursts.columns()[0].values.iter();
        let there: Vec<bool> = values.map(|value| *value == 8.0).collect();
        (there, dropped.foreign, dropped.complete.bursts)
    };
    assert_eq!(about(None, false), (vec![true, true], 0, 2));
    // A counter of thread 0 recorded by thread 1 belongs to neither of them.
    let of_first = Some(perf_core::LocationId(0));
    assert_eq!(about(of_first, false), (vec![true, false], 1, 1));
    // Counters of a process or a device.
    assert_eq!(about(None, true), (vec![false, false], 2, 0));
}
