//! Trends of tracked regions with known laws.

use perf_core::{Cell, Job, Nanos};
use perf_testdata::xorshift::Xorshift;
use perf_track::scaling::Form;
use perf_track::tracking::{Observation, TrackedRegionId, Tracking, Windows, windows};
use perf_track::trend::{Counters, Expect, Measured, Summary, Trends};
use perf_track::{Burst, Bursts, ClusterId, Column, Points, Thread};
use proptest::prelude::*;

/// Returns two phases on 2, 4, 8, 16 tasks: the first divides its instructions and loses IPC, the
/// second replicates them.
fn series() -> (Tracking, Trends) {
    let mut random = Xorshift::new(3);
    let mut jitter = || 1.0 + 0.001 * (random.below(2001) as f64 - 1000.0) / 1000.0;
    let tasks = [2u32, 4, 8, 16];
    let labels: Vec<ClusterId> = (0..60).map(|at| ClusterId(1 + at % 2)).collect();
    let mut measured = Vec::new();
    let mut points = Vec::new();
    let mut times = Vec::new();
    for (experiment, &tasks) in tasks.iter().enumerate() {
        let (mut time, mut instructions, mut cycles) = (Vec::new(), Vec::new(), Vec::new());
        for label in &labels {
            let (i, ipc) = match label.0 {
                1 => (
                    1e9 / f64::from(tasks) * jitter(),
                    2.0 * 0.9f64.powi(experiment as i32),
                ),
                _ => (3e7 * jitter(), 0.5),
            };
            instructions.push(i);
            cycles.push(i / ipc);
            // The clock frequency decreases slightly too.
            time.push(i / ipc / (2.5 - 0.1 * experiment as f64) * jitter());
        }
        // One counter is missing.
        cycles[7] = f64::NAN;
        points.push(labels.iter().map(|id| f64::from(id.0)).collect::<Vec<_>>());
        let experiment = Measured::new(&labels)
            .column("duration", "ns", time.clone())
            .and_then(|experiment| experiment.column("instructions", "", instructions))
            .and_then(|experiment| experiment.column("cycles", "", cycles));
        measured.push(experiment.expect("one each"));
        times.push(time);
    }
    let experiments: Vec<_> = points
        .iter()
        .zip(tasks)
        .zip(&times)
        .map(|((points, tasks), time)| {
            let points = Points::new(points, 1).expect("points");
            Observation::new(format!("{tasks} tasks"), tasks, points, &labels, time).expect("seen")
        })
        .collect();
    let params = Tracking::params().check().expect("defaults");
    let tracking = Tracking::of(&experiments, &params, &Job::default()).expect("it tracks");
    let trends = Trends::of(&tracking, measured).expect("an experiment each");
    (tracking, trends)
}

const FIRST: TrackedRegionId = TrackedRegionId(1);
const SECOND: TrackedRegionId = TrackedRegionId(2);

#[test]
fn laws_and_predictions() {
    let (tracking, trends) = series();
    assert_eq!(tracking.regions[0].members, [[ClusterId(1)]; 4]);
    let law = trends
        .fit(FIRST, "instructions", 0.95, &Job::default())
        .expect("known")
        .expect("a law");
    let (low, high) = law.exponent_interval(0).expect("four points");
    let exponent = law.exponent(0);
    assert!((exponent + 1.0).abs() < 1e-3 && low < exponent && exponent < high);
    assert!(low > -1.01 && high < -0.99 && law.r_squared > 0.999_99);
    assert_eq!(trends.next_scale(), Some(vec![32.0]));
    let next = law.predict(&[32.0]).expect("one parameter");
    let (low, high) = next.interval.expect("four points");
    assert!(low < 1e9 / 32.0 && 1e9 / 32.0 < high && high / low < 1.01);
    let flat = trends
        .fit(SECOND, "instructions", 0.95, &Job::default())
        .expect("known")
        .expect("a law");
    assert_eq!(flat.form, Form::Constant);
    // The product with the tasks increases: replicated.
    let by_tasks = trends
        .series_by_tasks(SECOND, "instructions")
        .expect("known");
    let means: Vec<f64> = by_tasks
        .iter()
        .flatten()
        .map(|summary| summary.mean)
        .collect();
    assert!((means[3] / means[0] - 8.0).abs() < 0.01);
}

#[test]
fn factors_of_time_are_exact() {
    let (_, trends) = series();
    let counters = Counters::with_cycles("duration", "instructions", "cycles");
    for region in [FIRST, SECOND] {
        for (from, to) in [(0, 1), (1, 2), (0, 3), (3, 0)] {
            let change = trends.change(region, from, to, &counters).expect("known");
            let change = change.expect("both have counters");
            let parts = change.instructions - change.ipc - change.frequency;
            assert!((change.time - parts).abs() < 1e-12, "{change:?}");
            let product: f64 = change.factors().iter().product();
            assert!((product / change.time.exp() - 1.0).abs() < 1e-12);
        }
    }
    let change = trends
        .change(FIRST, 0, 1, &counters)
        .expect("known")
        .expect("counters");
    let [instructions, ipc, frequency] = change.factors();
    assert!((instructions - 0.5).abs() < 1e-3);
    assert!((ipc - 1.0 / 0.9).abs() < 1e-3);
    assert!((frequency - 2.5 / 2.4).abs() < 1e-3);
    assert_eq!((change.counted, change.missing), (60, 0));
    let change = trends
        .change(SECOND, 0, 1, &counters)
        .expect("known")
        .expect("counters");
    assert_eq!((change.counted, change.missing), (58, 2));
    assert!(
        trends
            .change(FIRST, 0, 9, &counters)
            .expect("known")
            .is_none()
    );
    assert!(trends.change(TrackedRegionId(9), 0, 1, &counters).is_err());
    let unknown = Counters::with_ipc("duration", "instructions", "IPC");
    assert!(trends.change(FIRST, 0, 1, &unknown).is_err());
}

#[test]
fn flags_report_degradations() {
    let (_, trends) = series();
    let expected = [Expect::divided("instructions"), Expect::divided("duration")];
    let flags = trends.flags(&expected, 0.05).expect("known");
    let replicated: Vec<_> = flags
        .iter()
        .filter(|flag| flag.metric == "instructions")
        .collect();
    assert_eq!(replicated.len(), 3);
    assert!(
        replicated
            .iter()
            .all(|flag| flag.region == SECOND && flag.by_tasks)
    );
    assert!(
        replicated
            .iter()
            .all(|flag| (flag.factor - 2.0).abs() < 0.01)
    );
    // The time of the first one increases too: it loses IPC and clock frequency.
    let slower = flags.iter().filter(|flag| flag.region == FIRST);
    assert_eq!(slower.count(), 3);
    assert!(trends.flags(&expected, 3.0).expect("known").is_empty());
    assert!(trends.flags(&expected, -1.0).is_err());
    assert!(trends.flags(&[Expect::lower("heat")], 0.05).is_err());
}

#[test]
fn tables_have_every_summary() {
    let (_, trends) = series();
    let table = trends.table();
    assert_eq!(table.rows(), 2 * 4 * 3);
    let names = [
        "experiment",
        "tasks",
        "clusters",
        "metric",
        "unit",
        "bursts",
        "missing",
    ];
    let cells = names.map(|name| table.text_of(0, name));
    assert_eq!(cells, ["2 tasks", "2", "1", "duration", "ns", "30", "0"]);
    let first = trends.series(FIRST, "duration").expect("known")[0].expect("seen");
    assert_eq!(table.cell(0, "q3"), Some(Cell::Float(first.q3)));
    assert_eq!(
        table.cell(0, "mean times tasks"),
        Some(Cell::Float(2.0 * first.mean))
    );
}

#[test]
fn values_that_are_not_numbers_have_no_summary() {
    assert_eq!(Summary::of(&[f64::NAN]), None);
}

proptest! {
    #[test]
    fn summaries_do_not_depend_on_order(mut values in prop::collection::vec(-1e6f64..1e6, 1..50)) {
        let once = Summary::of(&values);
        values.reverse();
        prop_assert_eq!(once, Summary::of(&values));
        let all = once.expect("some");
        prop_assert!(all.min <= all.low && all.low <= all.median && all.median <= all.high);
        prop_assert!(all.high <= all.max && all.q1 <= all.q3);
    }
}

#[test]
fn windows_lose_no_burst() {
    let mut bursts = Bursts::new([]);
    let thread = bursts.add_thread(Thread::default()).expect("one");
    let solve = bursts.add_chain(&["solve"]).expect("one");
    for at in 0..100i64 {
        let (begin, end) = (Nanos(10 * at - 300), Nanos(10 * at - 292));
        let burst = Burst {
            thread,
            begin,
            end,
            before: Some(solve),
            after: None,
            ..Burst::default()
        };
        bursts.push(burst, &[]).expect("fine");
    }
    let values = (0..100).map(f64::from).collect();
    let column = Column {
        name: "n".into(),
        unit: "1".into(),
        values,
    };
    bursts.add_column(column).expect("one each");
    for how in [
        Windows::Count(7),
        Windows::Width(Nanos(130)),
        Windows::Count(1),
    ] {
        let cut = windows(&bursts, how).expect("it cuts");
        let all: Vec<u32> = cut.iter().flat_map(|(_, rows)| rows.clone()).collect();
        assert_eq!(all, (0..100).collect::<Vec<u32>>(), "{how:?}");
        for (part, rows) in &cut {
            let values: Vec<f64> = rows.iter().map(|&row| f64::from(row)).collect();
            let column = part.column("n").expect("it is there");
            assert_eq!((&column.values, column.unit.as_str()), (&values, "1"));
            assert!(
                part.rows()
                    .iter()
                    .all(|burst| part.chain(solve).eq(["solve"]) && burst.before == Some(solve))
            );
        }
    }
    assert!(windows(&bursts, Windows::Count(0)).is_err());
    assert!(windows(&bursts, Windows::Width(Nanos(-1))).is_err());
    assert!(windows(&bursts, Windows::Count(usize::MAX)).is_err());
    assert!(
        windows(&Bursts::new([]), Windows::Count(3))
            .expect("nothing")
            .is_empty()
    );
}
