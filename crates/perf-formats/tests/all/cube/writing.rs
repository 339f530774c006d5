//! Tests of written profiles.

use super::*;

#[test]
fn results_go_back_as_metrics_dense_or_sparse() {
    let cube = with(&plain(), &[]);
    let about = ProfileMetric {
        metric: Metric {
            name: "r".into(),
            value_type: ValueType::F64,
            parent: Some(MetricId(0)),
            ..Default::default()
        },
        combine: Combine::Never(1),
        ..Default::default()
    };
    let rows = [(CallPathId(1), Severities::F64(vec![0.5, -1.0]))];
    let profile = cube.profile().clone();
    let (profile, id) = profile.with_metric(about, rows).unwrap();
    for layout in [Layout::Sparse, Layout::Dense] {
        for compress in [false, true] {
            let options = WriteOptions::new().layout(layout).compress(compress);
            let mut bytes = Vec::new();
            assert!(
                write(&profile, &mut bytes, &options, &Job::default())
                    .unwrap()
                    .is_empty()
            );
            let back = read(bytes).unwrap();
            assert_eq!(row(&back, id.0, 1), Some(vec![0.5, -1.0]));
            assert_eq!(row(&back, 0, 2), Some(vec![1.0, 2.0]));
            let count = back.profile().paths(id).len();
            assert_eq!(count, if layout == Layout::Dense { 3 } else { 1 });
        }
    }
    let short = Severities::F64(vec![0.0]);
    let mut store = Rows::default();
    store.insert(MetricId(0), CallPathId(0), short);
    let broken = cube.profile().clone().with_rows(Arc::new(store));
    let error = write(&broken, Vec::new(), &WriteOptions::new(), &Job::default()).unwrap_err();
    assert!(matches!(error, Error::Usage { .. }), "{error}");
}

/// The memory of rows is reused after they were released. Here several threads keep rows, and types
/// change from metric to metric.
#[test]
fn rows_that_are_kept_stay_as_they_are() {
    // Rows that are read ahead, rows that are read together, rows of which few are read together, and
    // compressed rows.
    for (locations, is_packed) in [(4, false), (1500, false), (40_000, false), (1500, true)] {
        keep_rows(locations, is_packed);
    }
}

fn keep_rows(locations: u64, is_packed: bool) {
    let about = |name: &str, kind| ProfileMetric {
        metric: Metric {
            name: name.into(),
            value_type: kind,
            ..Metric::default()
        },
        ..ProfileMetric::default()
    };
    let kinds = [ValueType::F64, ValueType::U64, ValueType::I64];
    let mut rows = Rows::default();
    let mut calls = CallTree::default();
    for path in 0..20 {
        let region = RegionId(0);
        let parent = None;
        calls.push(CallPath { region, parent }).unwrap();
        let value = |at: u64| u64::from(path) * 10_000 + at;
        let values = || (0..locations).map(value);
        let all = [
            Severities::F64(values().map(|value| value as f64).collect()),
            Severities::U64(values().collect()),
            Severities::I64(values().map(|value| -value.cast_signed()).collect()),
        ];
        for (row, metric) in all.into_iter().zip(0..) {
            rows.insert(MetricId(metric), CallPathId(path), row);
        }
    }
    let threads = (0..locations).map(|key| Location {
        key,
        ..Location::default()
    });
    let system = SystemTree::new(vec![], vec![], threads.collect(), &Limits::default()).unwrap();
    let metrics = kinds.map(|kind| about(&format!("{kind:?}"), kind)).to_vec();
    let regions = vec![Region::named("f")];
    let made = Profile::new(system, regions, calls, metrics, Arc::new(rows)).unwrap();
    let mut bytes = Vec::new();
    let options = WriteOptions::new().compress(is_packed);
    write(&made, &mut bytes, &options, &Job::default()).unwrap();
    let name = format!(
        "perfkit-rows-{locations}-{is_packed}-{}",
        std::process::id()
    );
    let file = std::env::temp_dir().join(name);
    std::fs::write(&file, &bytes).unwrap();
    let from_file = Cube::open(&file, &OpenOptions::new(), &Job::default()).unwrap();
    let ids =
        || (0..3).flat_map(|metric| (0..20).map(move |path| (MetricId(metric), CallPathId(path))));
    let look = |cube: &Cube, keep: usize| {
        let mut kept = Vec::new();
        // In the order of the file, and with jumps that leave rows that were read together.
        let jumps = ids().enumerate().filter(|(at, _)| at % 7 < keep % 7);
        for (at, (metric, path)) in ids().enumerate().chain(jumps) {
            let expected = made.row(metric, path).unwrap().unwrap();
            let row = cube.profile().row(metric, path).unwrap().unwrap();
            assert_eq!(row, expected);
            if at % keep == 0 {
                kept.push((row, expected));
            }
        }
        kept.iter()
            .for_each(|(row, expected)| assert_eq!(row, expected));
    };
    for cube in [read(bytes).unwrap(), from_file] {
        let (cube, look) = (&cube, &look);
        look(cube, 5);
        std::thread::scope(|scope| {
            for keep in [1, 2, 3, 1000] {
                scope.spawn(move || look(cube, keep));
            }
        });
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_profile_of_a_trace_can_be_written() {
    let trace = perf_testdata::many_ranks::trace(4, 500);
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    let mut bytes = Vec::new();
    write(&profile, &mut bytes, &WriteOptions::new(), &Job::default()).unwrap();
    let back = read(bytes).unwrap();
    for at in (0..5).map(MetricId) {
        assert_eq!(back.profile().paths(at), profile.paths(at));
        for path in profile.paths(at) {
            let row = |profile: &Profile| profile.row(at, path).unwrap();
            assert_eq!(row(back.profile()), row(&profile));
        }
    }
}
