//! Folds and utilisation of real recordings, compared with the results of two independent programs.
//!
//! Times are ticks and states are the names of innermost regions.

use perf_core::{Job, Ticks, TimeRange};
use perf_fold::{FoldRow, Folder, GroupBy, Groups, Op, RegionMap, Timelines, Usage};
use perf_formats::OpenOptions;
use perf_testdata::corpus::corpus;
use serde_json::Value;
use std::collections::BTreeMap;

fn facts(truth: &str, archive: &str) -> Option<(Value, Timelines)> {
    let (Some(facts), Some(path)) = (corpus("otf2/facts.json"), corpus("otf2")) else {
        return None;
    };
    let facts: Value = serde_json::from_str(&std::fs::read_to_string(facts).unwrap()).unwrap();
    let recording =
        perf_formats::open(path.join(archive), &OpenOptions::new(), &Job::default()).unwrap();
    let trace = recording.into_trace().unwrap();
    let map = RegionMap::by_name(trace.definitions()).unwrap();
    let timelines = Timelines::new(trace.view(), &map, &Job::default()).unwrap();
    Some((facts[truth][archive].clone(), timelines))
}

fn window(facts: &Value) -> TimeRange {
    let tick = |name: &str| Ticks(facts[name].as_u64().unwrap());
    TimeRange::new(tick("t0"), tick("t1")).unwrap()
}

fn painted(timelines: &Timelines, row: FoldRow<'_>) -> BTreeMap<String, u64> {
    let name = |class| timelines.classes().name(class).to_owned();
    let counts = row.painted().into_iter();
    let mut counts: BTreeMap<_, _> = counts.map(|(class, n)| (name(class), n as u64)).collect();
    if row.idle_cells() > 0 {
        counts.insert("None".into(), row.idle_cells() as u64);
    }
    counts
}

fn number(facts: &Value, name: &str) -> u64 {
    facts[name].as_u64().unwrap()
}

fn table(facts: &Value) -> BTreeMap<String, u64> {
    let counts = facts.as_object().unwrap().iter();
    counts
        .map(|(name, count)| (name.clone(), count.as_u64().unwrap()))
        .collect()
}

fn paints(archive: &str, window: TimeRange, columns: usize, ops: &Value, timelines: &Timelines) {
    for (name, op) in [
        ("max", Op::Max),
        ("min", Op::Min),
        ("diff", Op::Diff),
        ("idle", Op::Idle),
    ] {
        if ops[name].is_null() {
            continue;
        }
        let params = Folder::params().columns(columns).op(op).check().unwrap();
        let groups = Groups::by(timelines, GroupBy::All);
        let folder = Folder::new(timelines, groups, params).unwrap();
        let fold = folder.fold(window, &Job::default()).unwrap();
        assert_eq!(fold.rows().count(), 1, "only CPU threads");
        let found = painted(timelines, fold.row(0).unwrap());
        assert_eq!(found, table(&ops[name]), "{archive}, {name}");
    }
}

#[test]
fn folds_of_threads_that_come_and_go() {
    let archive = "eztrace-heat4-ompt";
    if let Some((facts, timelines)) = facts("folding_truth", archive) {
        let columns = number(&facts, "W") as usize;
        paints(archive, window(&facts), columns, &facts["ops"], &timelines);
    }
}

#[test]
fn folds_of_the_synthetic_case_as_an_archive() {
    let archive = "syn-cosmo";
    if let Some((facts, timelines)) = facts("folding_truth", archive) {
        assert_eq!(timelines.len(), 40);
        paints(
            archive,
            perf_core::samples::cosmo::SPAN,
            6000,
            &facts,
            &timelines,
        );
    }
}

#[test]
fn devices_in_the_group_of_their_process() {
    for archive in ["casita-2_jacobi_blame_gpu_005", "casita-2_cuda_simple"] {
        let Some((facts, timelines)) = facts("device_utilisation_truth", archive) else {
            return;
        };
        let (window, columns) = (window(&facts), number(&facts, "W") as usize);
        let groups = Groups::by(&timelines, GroupBy::Process);
        let folder = |op| {
            let params = Folder::params().columns(columns).op(op).check().unwrap();
            Folder::new(&timelines, groups.clone(), params).unwrap()
        };
        let (idle, max) = (folder(Op::Idle), folder(Op::Max));
        let folds = (
            idle.fold(window, &Job::default()).unwrap(),
            max.fold(window, &Job::default()).unwrap(),
        );
        for (device, facts) in facts["devices"].as_object().unwrap() {
            let label = format!("{device}, streams");
            let row = folds.0.rows().position(|row| row.label() == label).unwrap();
            let streams = &folds.0.row(row).unwrap().group().streams;
            let name = |stream: &u32| {
                let id = timelines.location(*stream).unwrap();
                timelines.system().location(id).unwrap().name.clone()
            };
            let names: Vec<_> = streams.iter().map(name).collect();
            assert_eq!(serde_json::to_value(names).unwrap(), facts["streams"]);

            let usage = Usage::of(&timelines, streams, window, &Job::default()).unwrap();
            assert_eq!(usage, idle.usage(window, &Job::default()).unwrap()[row]);
            let found = usage.utilisation;
            assert_eq!(found.busy, number(facts, "busy_ticks"));
            assert_eq!(found.overlap, number(facts, "overlap_ticks"));
            assert_eq!(found.span, number(facts, "span"));
            let exact = facts["utilisation"].as_f64().unwrap();
            assert!((found.utilisation() - exact).abs() < 1e-12);

            let (by_idle, by_max) = (folds.0.row(row).unwrap(), folds.1.row(row).unwrap());
            let pixels = |name| number(facts, name) as usize;
            assert_eq!(by_idle.idle_cells(), pixels("idle_pixels_select_idle"));
            assert_eq!(by_max.idle_cells(), pixels("idle_pixels_select_max"));
            let error = (by_idle.painted_share() - exact).abs();
            assert!(error <= found.sampled_error(columns));
        }
    }
}
