//! Tests of TAU profiles: the facts of the corpus, metrics in folders, and unusual or damaged
//! files.

#![cfg(feature = "tau")]
mod synthetic;

use flate2::read::GzDecoder;
use perf_core::{CallPathId, Diagnostics, Job, MetricId, Profile, Scope, Value as Number};
use perf_formats::tau::{Tau, Thread, rules};
use perf_formats::{Error, OpenOptions};
use perf_testdata::corpus::corpus;
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::io::Read;
use std::path::PathBuf;

fn open(path: &std::path::Path) -> Tau {
    Tau::open(path, &OpenOptions::new(), &Job::default()).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns the sum of the exclusive and the maximum of the inclusive values of functions, and the
/// sum of calls of all lines.
fn totals(tau: &Tau, thread: &Thread, metric: usize) -> (f64, f64, f64) {
    let (mut exclusive, mut inclusive, mut calls) = (0.0, 0.0f64, 0.0);
    for (at, entry) in thread.entries.iter().enumerate() {
        calls += entry.calls;
        let values = thread.values[at * tau.metrics().len() + metric];
        if !tau.functions()[entry.function as usize].is_call_path() {
            exclusive += values.0;
        }
        inclusive = inclusive.max(values.1);
    }
    (exclusive, inclusive, calls)
}

/// Returns the sum of a metric over all call paths and threads.
fn whole(profile: &Profile, metric: MetricId) -> f64 {
    let paths = profile.paths(metric).into_iter();
    let totals = paths.map(|path| profile.total(metric, path).unwrap().as_f64());
    totals.sum()
}

/// Compares both scopes of every call path and thread with the lines of the file. Flat lines of
/// functions with call paths repeat these and are checked by their totals.
fn agree(tau: &Tau, exclusive: MetricId, inclusive: MetricId) {
    let profile = tau.profile();
    let (calls, regions) = (profile.calls(), profile.regions());
    // Overloaded functions have the same name, so their paths cannot be distinguished.
    let mut ids: HashMap<String, Option<CallPathId>> = HashMap::new();
    for at in (0..calls.paths().len()).filter_map(CallPathId::from_index) {
        let known = ids.entry(calls.name(at, regions));
        known.and_modify(|id| *id = None).or_insert(Some(at));
    }
    let plain = |name: &str| match name.rsplit_once(" [{") {
        Some((name, source)) if source.contains('}') => name.trim().to_string(),
        _ => name.trim().to_string(),
    };
    let metrics = tau.metrics().len();
    let metric = inclusive.index() / 2;
    for (location, thread) in tau.threads().iter().enumerate() {
        let mut expected: HashMap<CallPathId, (f64, f64)> = HashMap::new();
        let names = thread.entries.iter();
        let names = names.map(|entry| tau.functions()[entry.function as usize].name.as_str());
        let last = |name: &'_ str| {
            name.rsplit_once(" => ")
                .map(|(_, last)| last.trim().to_string())
        };
        let covered: HashSet<String> = names.clone().filter_map(last).collect();
        for (at, name) in names.enumerate() {
            if covered.contains(name.trim()) {
                continue;
            }
            let path: Vec<String> = name.split(" => ").map(plain).collect();
            if let Some(path) = ids[&path.join(" > ")] {
                let sum = expected.entry(path).or_default();
                let values = thread.values[at * metrics + metric];
                *sum = (sum.0 + values.0, sum.1 + values.1);
            }
        }
        for (path, (own, all)) in expected {
            let at = |metric, scope| {
                let row = profile.scoped(metric, path, scope).unwrap();
                row.map_or(0.0, |row| row.to_f64()[location])
            };
            for stored in [exclusive, inclusive] {
                assert_eq!(at(stored, Scope::Exclusive), own);
                assert_eq!(at(stored, Scope::Inclusive), all);
            }
        }
    }
}

fn close(got: f64, expected: &Value) -> bool {
    let expected = expected.as_f64().unwrap();
    (got - expected).abs() <= 1e-9 * expected.abs()
}

#[test]
fn every_profile_gives_its_facts() {
    let Some(path) = corpus("cube/facts.json") else {
        return;
    };
    let facts = std::fs::read_to_string(path)
        .unwrap()
        .replace("NaN", "null");
    let facts: Value = serde_json::from_str(&facts).unwrap();
    for fact in facts["tau"].as_array().unwrap() {
        let file = fact["file"].as_str().unwrap();
        let Some(path) = corpus(file.trim_end_matches("/profile.*")) else {
            continue;
        };
        let tau = open(&path);
        let count = |name: &str| fact[name].as_u64().unwrap() as usize;
        let paths = tau
            .functions()
            .iter()
            .filter(|function| function.is_call_path());
        assert_eq!(paths.count(), count("callpath_functions"), "{file}");
        assert_eq!(tau.events().len(), count("user_events"), "{file}");
        let lines: usize = tau
            .threads()
            .iter()
            .map(|thread| thread.entries.len())
            .sum();
        let events: usize = tau.threads().iter().map(|thread| thread.events.len()).sum();
        let mut exclusive = vec![0.0; tau.metrics().len()];
        if fact["kind"] == "tau text" {
            assert_eq!(tau.metrics(), [fact["metric"].as_str().unwrap()], "{file}");
            assert_eq!(tau.functions().len(), count("distinct_functions"), "{file}");
            assert_eq!(tau.threads().len(), count("files"), "{file}");
            let metadata = tau.threads()[0].metadata.len();
            assert_eq!(metadata, count("metadata_attributes"), "{file}");
            for (thread, fact) in tau
                .threads()
                .iter()
                .zip(fact["per_file"].as_array().unwrap())
            {
                let (own, inclusive, calls) = totals(&tau, thread, 0);
                assert_eq!(
                    thread.entries.len() as u64,
                    fact["functions"].as_u64().unwrap()
                );
                assert_eq!(thread.events.len() as u64, fact["events"].as_u64().unwrap());
                assert!(close(own, &fact["sum_exclusive"]), "{file}: {own}");
                assert!(
                    close(inclusive, &fact["max_inclusive"]),
                    "{file}: {inclusive}"
                );
                assert!(close(calls, &fact["sum_calls"]), "{file}: {calls}");
                exclusive[0] += own;
            }
            let first = &fact["first_line"];
            let entry = tau.threads()[0].entries[0];
            let function = &tau.functions()[entry.function as usize];
            assert_eq!(function.name, first[0].as_str().unwrap(), "{file}");
            assert_eq!(entry.calls, first[1].as_f64().unwrap(), "{file}");
            assert_eq!(entry.subroutines, first[2].as_f64().unwrap(), "{file}");
            let values = tau.threads()[0].values[0];
            assert_eq!(values.0, first[3].as_f64().unwrap(), "{file}");
            assert_eq!(values.1, first[4].as_f64().unwrap(), "{file}");
        } else {
            assert_eq!(tau.functions().len(), count("functions"), "{file}");
            assert_eq!(tau.threads().len(), count("threads"), "{file}");
            assert_eq!(lines, count("function_profiles"), "{file}");
            assert_eq!(events, count("event_profiles"), "{file}");
            let metrics = fact["metrics"].as_array().unwrap();
            assert_eq!(tau.metrics().len(), metrics.len(), "{file}");
            for (metric, name) in metrics.iter().enumerate() {
                assert_eq!(tau.metrics()[metric], name.as_str().unwrap(), "{file}");
                let all = tau
                    .threads()
                    .iter()
                    .map(|thread| totals(&tau, thread, metric));
                let (own, most, calls) = all.fold((0.0, 0.0f64, 0.0), |sum, one| {
                    (sum.0 + one.0, sum.1.max(one.1), sum.2 + one.2)
                });
                let expected = &fact["sum_exclusive_non_callpath"][metric];
                assert!(close(own, expected), "{file}: {own}");
                assert!(
                    close(most, &fact["max_inclusive"][metric]),
                    "{file}: {most}"
                );
                assert!(close(calls, &fact["sum_calls"]), "{file}: {calls}");
                exclusive[metric] = own;
            }
            let trailing = tau.diagnostics().count(rules::TRAILING);
            assert_eq!(trailing, fact["trailing_bytes"].as_u64().unwrap(), "{file}");
        }
        // Call paths and their functions are not counted twice.
        for (name, expected) in tau.metrics().iter().zip(exclusive) {
            let id = tau.profile().metric(&format!("exclusive {name}")).unwrap();
            let sum = whole(tau.profile(), id);
            let is_same = (sum - expected).abs() <= 1e-6 * expected;
            assert!(is_same, "{file}, {name}: {sum}, not {expected}");
            let inclusive = tau.profile().metric(name).unwrap();
            for metric in [id, inclusive] {
                let total: f64 = tau.profile().over_paths(metric).unwrap().iter().sum();
                assert!(
                    (total - expected).abs() <= 1e-6 * expected,
                    "{file}: {total}"
                );
            }
            agree(&tau, id, inclusive);
        }
    }
}

#[test]
fn call_paths_become_a_tree() {
    let Some(path) = corpus("tau/cubelib_tau2cube/profile2") else {
        return;
    };
    let tau = open(&path);
    let profile = tau.profile();
    let (calls, regions) = (profile.calls(), profile.regions());
    let names = (0..calls.paths().len() as u32).map(|at| calls.name(CallPathId(at), regions));
    let names: Vec<_> = names.collect();
    let deepest = "main() (calls f1, f5) > f1() (sleeps 1 sec, calls f2, f4) > \
                   f4() (sleeps 4 sec, calls f2) > f2() (sleeps 2 sec, calls f3) > \
                   f3() (sleeps 3 sec)";
    let at = names.iter().position(|name| name == deepest).unwrap();
    let time = profile.metric("TIME").unwrap();
    let total = profile.total(time, CallPathId(at as u32)).unwrap();
    assert_eq!(total, Number::F64(3_001_059.0));
    // Functions with call paths are not roots as well.
    let main = profile.paths(time).into_iter();
    let roots: Vec<_> = main
        .filter(|id| calls.get(*id).unwrap().parent.is_none())
        .collect();
    assert_eq!(roots.len(), 1);
    // The exclusive time from the tree equals that of TAU.
    let own = profile
        .scoped(time, roots[0], Scope::Exclusive)
        .unwrap()
        .unwrap();
    assert_eq!(own.to_f64(), [98.0]);
}

fn text(metric: &str, functions: &[(&str, f64, f64)]) -> String {
    let mut text = format!(
        "{} templated_functions_MULTI_{metric}\n\
         # Name Calls Subrs Excl Incl ProfileCalls #\n",
        functions.len()
    );
    for (name, exclusive, inclusive) in functions {
        text += &format!("\"{name}\" 1 0 {exclusive} {inclusive} 0 GROUP=\"TAU_USER\" \n");
    }
    text + "0 aggregates\n"
}

/// A folder that is removed on drop.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, String)]) -> Self {
        let root = std::env::temp_dir().join(format!("perfkit-{name}-{}", std::process::id()));
        for (file, text) in files {
            let path = root.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        Folder(root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn threads_of_several_metrics_meet_by_key() {
    let main = |own, all| [("main", own, all), ("f", 1.0, 1.0)];
    let files = [
        ("MULTI__TIME/profile.0.0.0", text("TIME", &main(1.0, 2.0))),
        ("MULTI__TIME/profile.2.0.0", text("TIME", &main(3.0, 4.0))),
        ("MULTI__TIME/profile.10.0.0", text("TIME", &main(5.0, 6.0))),
        // One file is missing, and functions are in another order.
        (
            "MULTI__PAPI_TOT_INS/profile.0.0.0",
            text("PAPI_TOT_INS", &main(10.0, 20.0)),
        ),
        (
            "MULTI__PAPI_TOT_INS/profile.10.0.0",
            text("PAPI_TOT_INS", &[("f", 7.0, 7.0), ("main", 50.0, 60.0)]),
        ),
    ];
    let folder = Folder::new("multi", &files);
    let tau = open(&folder.0);
    assert_eq!(tau.metrics(), ["PAPI_TOT_INS", "TIME"]);
    let nodes: Vec<_> = tau.threads().iter().map(|thread| thread.key.node).collect();
    assert_eq!(nodes, [0, 2, 10]);
    assert_eq!(tau.diagnostics().count(rules::MISSING_FILE), 1);
    let profile = tau.profile();
    let row = |metric: &str| {
        let main = profile
            .regions()
            .iter()
            .position(|region| region.name == "main")
            .unwrap();
        let region = perf_core::RegionId(main as u32);
        let path = profile.calls().find(None, region).unwrap();
        let id = profile.metric(metric).unwrap();
        profile.row(id, path).unwrap().unwrap().to_f64()
    };
    assert_eq!(row("PAPI_TOT_INS"), [20.0, 0.0, 60.0]);
    assert_eq!(row("exclusive TIME"), [1.0, 3.0, 5.0]);
    assert_eq!(row("calls"), [1.0; 3]);
    let recording = perf_formats::open(&folder.0, &OpenOptions::new(), &Job::default()).unwrap();
    assert_eq!(recording.format, "tau");
    assert!(recording.profile().is_some());
    let strict = Tau::open(&folder.0, &OpenOptions::new().strict(true), &Job::default());
    assert!(matches!(strict, Err(Error::Strict { .. })));
}

/// In other notations, a folder could contain two files of the same thread and metric.
#[test]
fn numbers_in_names_of_files_have_one_form() {
    let files = ["profile.0.0.0", "profile.00.0.0", "profile.0.+0.0"];
    let files = files.map(|file| (file, text("TIME", &[("main", 1.0, 1.0)])));
    let folder = Folder::new("forms", &files);
    let tau = open(&folder.0);
    assert_eq!(tau.threads().len(), 1);
    assert_eq!(tau.diagnostics().count(rules::MISSING_FILE), 0);
}

#[test]
fn folders_without_files_take_no_memory_for_values() {
    let names: Vec<String> = (0..2_000).map(|at| format!("f{at}")).collect();
    let functions: Vec<_> = names.iter().map(|name| (name.as_str(), 1.0, 1.0)).collect();
    let folder = Folder::new(
        "sparse",
        &[("MULTI__TIME/profile.0.0.0", text("TIME", &functions))],
    );
    assert_eq!(open(&folder.0).metrics(), ["TIME"]);
    for at in 0..600 {
        std::fs::create_dir(folder.0.join(format!("MULTI__{at}"))).unwrap();
    }
    let error = Tau::open(&folder.0, &OpenOptions::new(), &Job::default()).unwrap_err();
    assert!(
        matches!(
            error,
            Error::Limit { got: 1_202_000, .. } | Error::Limit { got: 1_200_000, .. }
        ),
        "{error}"
    );
}

#[test]
fn folders_without_files_take_no_memory_for_values_of_many_threads() {
    let names: Vec<String> = (0..50).map(|at| format!("f{at}")).collect();
    let functions: Vec<_> = names.iter().map(|name| (name.as_str(), 1.0, 1.0)).collect();
    let files: Vec<_> = (0..60)
        .map(|node| format!("MULTI__TIME/profile.{node}.0.0"))
        .collect();
    let files: Vec<_> = files
        .iter()
        .map(|file| (file.as_str(), text("TIME", &functions)))
        .collect();
    let folder = Folder::new("sparse-threads", &files);
    // The limit allows 17,500 values for each thread: one thread has few, and all together have too
    // many.
    for at in 0..349 {
        std::fs::create_dir(folder.0.join(format!("MULTI__{at}"))).unwrap();
    }
    let error = Tau::open(&folder.0, &OpenOptions::new(), &Job::default()).unwrap_err();
    let Error::Limit {
        place, got, limit, ..
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!((got, limit), (60 * 50 * 350, 1 << 20));
    assert!(std::path::Path::new(&*place.file).is_file(), "{place}");
}

#[test]
fn files_name_their_metric_before_folders() {
    let plain = |name: &str| {
        let inside = "1 templated_functions\n# Name Calls Subrs Excl Incl ProfileCalls #";
        let metadata = format!(
            " <metadata><attribute><name>Metric Name</name><value>{name}</value></attribute></metadata>"
        );
        let metadata = if name.is_empty() { "" } else { &metadata };
        format!("{inside}{metadata}\n\"main\" 1 0 2 2 0 GROUP=\"A\"\n0 aggregates\n")
    };
    let main = [("main", 1.0, 1.0)];
    let files = [
        // A name that is invalid for a folder, one that is only in line 1, a missing one, and a
        // duplicate.
        ("MULTI__A_NODE_0/profile.0.0.0", plain("A:::NODE 0")),
        ("MULTI__A_NODE_0/profile.1.0.0", plain("A:::NODE 0")),
        ("MULTI__B/profile.0.0.0", text("B2", &main)),
        ("MULTI__B/profile.1.0.0", text("B3", &main)),
        ("MULTI__C/profile.0.0.0", plain("")),
        ("MULTI__C/profile.1.0.0", plain("")),
        ("MULTI__D/profile.0.0.0", text("D", &main)),
        ("MULTI__D/profile.1.0.0", text("D", &main)),
        ("MULTI__E/profile.0.0.0", text("D", &main)),
        ("MULTI__E/profile.1.0.0", text("D", &main)),
    ];
    let folder = Folder::new("names", &files);
    let tau = open(&folder.0);
    assert_eq!(tau.metrics(), ["A:::NODE 0", "B2", "C", "D", "E"]);
    assert_eq!(tau.diagnostics().count(rules::METRIC_NAME), 6);
    assert_eq!(tau.diagnostics().repairs(), 0);
}

fn parse(text: &str) -> Result<(Profile, Diagnostics), Error> {
    Tau::from_text(text.as_bytes(), "t", &OpenOptions::new(), &Job::default()).map(Tau::into_parts)
}

/// Returns main 10 + a 20 + b 30 below a + b 5 below main, as TAU writes it without call paths,
/// with paths of at most two functions, and with full call paths.
fn shapes() -> [String; 3] {
    let flat = [("main", 10.0, 65.0), ("a", 20.0, 50.0), ("b", 35.0, 35.0)];
    let both = [("main => a", 20.0, 50.0), ("main => b", 5.0, 5.0)];
    let limited = [("a => b", 30.0, 30.0)];
    let whole = [("main => a => b", 30.0, 30.0)];
    [
        text("TIME", &flat),
        text("TIME", &[&flat[..], &both, &limited].concat()),
        text("TIME", &[&flat[..], &both, &whole].concat()),
    ]
}

#[test]
fn stated_values_are_neither_derived_nor_counted_twice() {
    let paths: [&[(&str, f64, f64)]; 3] = [
        &[("main", 10.0, 65.0), ("a", 20.0, 50.0), ("b", 35.0, 35.0)],
        &[
            ("main", 10.0, 65.0),
            ("main > a", 20.0, 50.0),
            ("main > b", 5.0, 5.0),
            ("a > b", 30.0, 30.0),
            ("a", 0.0, 0.0),
        ],
        &[
            ("main", 10.0, 65.0),
            ("main > a", 20.0, 50.0),
            ("main > b", 5.0, 5.0),
            ("main > a > b", 30.0, 30.0),
        ],
    ];
    for ((text, expected), cut) in shapes().iter().zip(paths).zip([0, 1, 0]) {
        let (profile, found) = parse(text).unwrap();
        assert_eq!(found.count(rules::CUT_PATHS), cut);
        assert_eq!(found.count(rules::UNCOVERED), 0);
        // Writing and reading an archive preserves the values.
        #[cfg(feature = "cube")]
        let profiles = {
            use perf_formats::cube::{Cube, WriteOptions, write};
            let mut bytes = Vec::new();
            write(&profile, &mut bytes, &WriteOptions::new(), &Job::default()).unwrap();
            let back = Cube::from_bytes(bytes, "t", &OpenOptions::new(), &Job::default()).unwrap();
            [profile, back.profile().clone()]
        };
        #[cfg(not(feature = "cube"))]
        let profiles = [profile];
        for profile in profiles {
            for metric in ["TIME", "exclusive TIME"].map(|name| profile.metric(name).unwrap()) {
                assert_eq!(profile.over_paths(metric).unwrap(), [65.0]);
                for (name, exclusive, inclusive) in expected {
                    let at = CallPathId(synthetic::path(&profile, name));
                    let value = |scope| {
                        let row = profile.scoped(metric, at, scope).unwrap();
                        row.map_or(0.0, |row| row.to_f64()[0])
                    };
                    assert_eq!(value(Scope::Exclusive), *exclusive, "{name}");
                    assert_eq!(value(Scope::Inclusive), *inclusive, "{name}");
                }
            }
        }
    }
}

#[test]
fn what_is_odd_is_counted() {
    let twice = text("TIME", &[("f", 1.0, 2.0), ("f", 10.0, -5.0)]);
    let (profile, found) = parse(&twice).unwrap();
    assert_eq!(found.count(rules::DUPLICATE), 1);
    assert_eq!(found.count(rules::NEGATIVE), 1);
    assert_eq!(whole(&profile, MetricId(1)), 11.0);
    let events = text("TIME", &[("f", 1.0, 1.0)]) + "3 userevents\n# eventname\n\"e\" 1 2 2 2 4\n";
    let (_, found) = parse(&events).unwrap();
    assert_eq!(found.count(rules::TRUNCATED_EVENTS), 2);
    assert_eq!(found.count(rules::USER_EVENTS), 1);
    // Paths truncated at a depth: a value without a path of its own stays a root.
    let cut = text(
        "TIME",
        &[("f", 5.0, 5.0), ("g => f", 2.0, 2.0), ("g", 1.0, 3.0)],
    );
    let (profile, found) = parse(&cut).unwrap();
    assert_eq!(found.count(rules::UNCOVERED), 1);
    assert_eq!(whole(&profile, MetricId(1)), 6.0);
}

#[test]
fn what_is_broken_says_where() {
    let whole = text("TIME", &[("f", 1.0, 1.0)]);
    for (broken, byte) in [
        (whole.replace("1 templated", "x templated"), 0),
        (whole.replace("1 templated", "2 templated"), 83),
        (whole.replace(" 1 0 1 1 0", " 1 0"), 72),
        (whole.replace("# Name", "Nom"), 31),
    ] {
        let error = parse(&broken).map(|_| ()).unwrap_err();
        let place = error.place().unwrap();
        assert!(place.offset.is_some_and(|at| at >= byte.min(31)), "{error}");
    }
    // The end tag of the metadata precedes the start tag.
    let reversed = whole.replace("# Name", "# Name </metadata> <metadata>");
    let error = parse(&reversed).map(|_| ()).unwrap_err();
    assert!(matches!(error, Error::Truncated { .. }), "{error}");
    let huge = whole.replace("1 templated", "18446744073709551615 templated");
    assert!(parse(&huge).is_err());
}

#[test]
fn damaged_profiles_are_no_panic() {
    for file in ["tau/ppk/DrawGraph-8.ppk", "tau/xmain_0/profile.1.0.0"] {
        let Some(path) = corpus(file) else {
            return;
        };
        let is_packed = file.ends_with("ppk");
        let mut bytes = std::fs::read(path).unwrap();
        if is_packed {
            // Damage inside the compressed data, which gzip cannot detect.
            let mut unpacked = Vec::new();
            GzDecoder::new(bytes.as_slice())
                .read_to_end(&mut unpacked)
                .unwrap();
            bytes = unpacked;
        }
        let options = OpenOptions::new();
        for damaged in perf_testdata::damage::all(&bytes, 600, 7) {
            // Both results are acceptable; a panic or an endless loop is not.
            let _ = if is_packed {
                Tau::from_packed(damaged, "damaged", &options, &Job::default()).is_ok()
            } else {
                Tau::from_text(&damaged, "damaged", &options, &Job::default()).is_ok()
            };
        }
    }
}
