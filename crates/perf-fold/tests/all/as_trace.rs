//! Conversion of folds to traces: the trace contains what each row shows.

use perf_core::{Event, Job, Trace, Value};
use perf_fold::{Fold, Folder, GroupBy, Groups, Op, RegionMap, Timelines};
use perf_formats::{OpenOptions, chrome};
use perf_testdata::planted;

fn fold(trace: &Trace, by: GroupBy, op: Op, columns: usize) -> Fold {
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    let params = Folder::params().columns(columns).op(op).check().unwrap();
    let folder = Folder::new(&timelines, Groups::by(&timelines, by), params).unwrap();
    folder.fold(timelines.range(), &Job::default()).unwrap()
}

/// Returns name, begin and end of each call of a row of the trace.
fn calls(trace: &Trace, row: usize) -> Vec<(String, u64, u64)> {
    let (mut found, mut open) = (Vec::new(), None);
    let events = &trace.events()[row];
    for index in 0..events.len() {
        match events.event(index).unwrap() {
            Event::Enter { region } => open = Some((region, events.time(index).unwrap().0)),
            Event::Leave { region } => {
                let (entered, start) = open.take().unwrap();
                assert_eq!(entered, region);
                let name = trace.definitions().region_name(region).into_owned();
                found.push((name, start, events.time(index).unwrap().0));
            }
            _ => {}
        }
    }
    assert_eq!(open, None);
    found
}

/// Returns the same calls, derived from the cells.
fn expected(fold: &Fold, row: usize) -> Vec<(String, u64, u64)> {
    let mut found: Vec<(String, u64, u64)> = Vec::new();
    let edges = fold.edges();
    for (column, cell) in fold.row(row).unwrap().cells().iter().enumerate() {
        let Some(class) = cell.picture() else {
            continue;
        };
        let (name, start) = (fold.classes().name(class).to_owned(), edges[column].0);
        let end = edges[column + 1].0;
        match found
            .last_mut()
            .filter(|last| last.0 == name && last.2 == start)
        {
            Some(last) => last.2 = end,
            None => found.push((name, start, end)),
        }
    }
    found
}

fn back(trace: &Trace) -> Trace {
    let mut file = Vec::new();
    let written = chrome::write(trace.view(), &mut file, &Job::default()).unwrap();
    assert_eq!(written.left_out, 0);
    let file = std::io::Cursor::new(file);
    let recording = chrome::read("fold", file, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(
        recording.diagnostics.repairs(),
        0,
        "{}",
        recording.diagnostics
    );
    recording.into_trace().unwrap()
}

#[test]
fn a_folded_device_becomes_a_process_with_calls() {
    let trace = planted::trace();
    let fold = fold(&trace, GroupBy::Device, Op::Idle, 700);
    let folded = fold.to_trace().unwrap();
    let groups = folded.definitions().system.groups();
    let labels: Vec<_> = fold.rows().map(|row| row.label().to_owned()).collect();
    let names: Vec<_> = groups.iter().map(|it| it.name.clone()).collect();
    assert_eq!(names, labels);
    for (row, group) in groups.iter().enumerate() {
        assert_eq!(calls(&folded, row), expected(&fold, row), "{}", group.name);
        let streams = fold.row(row).unwrap().streams().to_string();
        assert_eq!(group.properties.get("streams"), Some(streams.as_str()));
    }
    // Round trip through a file. Its time axis begins with the first call of any row.
    let again = back(&folded);
    let first = folded.range().unwrap().start.0;
    let mut found: Vec<_> = (0..again.events().len())
        .map(|row| calls(&again, row))
        .collect();
    let mut wanted: Vec<_> = (0..groups.len()).map(|row| calls(&folded, row)).collect();
    for (_, start, end) in wanted.iter_mut().flatten() {
        (*start, *end) = (*start - first, *end - first);
    }
    found.retain(|calls| !calls.is_empty());
    wanted.retain(|calls| !calls.is_empty());
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn differences_become_calls_and_agreement_becomes_a_metric() {
    let trace = perf_core::samples::cosmo::trace();
    let folded = fold(&trace, GroupBy::All, Op::Diff, 6000)
        .to_trace()
        .unwrap();
    let names: Vec<_> = calls(&folded, 0).into_iter().map(|call| call.0).collect();
    assert!(names.iter().any(|name| name == "all equal"));
    assert!(names.iter().any(|name| name == "SPECS"));
    assert_eq!(
        names.len() % 2,
        1,
        "they take turns, and all begin and end alike"
    );
    assert!(names.windows(2).all(|pair| pair[0] != pair[1]));

    let values = |folded: &Trace| {
        let events = &folded.events()[0];
        let all = (0..events.len()).filter_map(|index| match events.event(index)? {
            Event::Metric { set, values } => {
                let metric = folded.definitions().metric_sets[set.index()].members[0];
                let metric = &folded.definitions().metrics[metric.index()];
                let value = Value::from_bits(metric.value_type, values[0]).as_f64();
                Some((metric.name.clone(), value))
            }
            _ => None,
        });
        all.collect::<Vec<_>>()
    };
    // Four of forty ranks are in SPECS while the others wait.
    let agreement = values(
        &fold(&trace, GroupBy::All, Op::Max, 6000)
            .to_trace()
            .unwrap(),
    );
    assert!(agreement.contains(&("agreement".into(), 0.9)));
    assert!(agreement.windows(2).all(|pair| pair[0] != pair[1]));
    // Numbers become values of a metric and make no calls.
    let entropy = fold(&trace, GroupBy::All, Op::Entropy, 600);
    let folded = entropy.to_trace().unwrap();
    assert_eq!(calls(&folded, 0), []);
    let found = values(&folded);
    assert!(found.len() > 10 && found.iter().all(|(name, _)| name == "value"));
    let largest = entropy
        .cells()
        .iter()
        .filter_map(|cell| cell.value.number());
    let largest = f64::from(largest.fold(0.0, f32::max));
    assert!(found.contains(&("value".into(), largest)));
}
