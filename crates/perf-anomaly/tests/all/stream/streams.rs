//! Recorded streams: calls of the oracle, and damage.

use perf_anomaly::calls::{Call, Calls, Repair};
use perf_core::{EventSource, Job, Nanos};
use perf_formats::OpenOptions;
use perf_formats::streams::Streams;
use perf_testdata::corpus::corpus;
use proptest::prelude::*;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Thread, entry, exit and exclusive time in us, by event id.
type ById = HashMap<String, (u32, i64, i64, i64)>;

struct Run {
    /// Call converter after the run.
    calls: Calls,
    /// Calls completed in each step.
    steps: Vec<Vec<Call>>,
    /// Number of calls closed at the end.
    at_end: usize,
}

fn run(mut streams: Streams, repair: Repair) -> Run {
    let mut calls = Calls::new(
        Calls::params()
            .repair(repair)
            .check()
            .expect("values in range"),
    );
    let mut steps = Vec::new();
    while streams
        .next_step(&mut calls, &Job::default())
        .expect("it can be read")
    {
        steps.push(calls.batch().calls().to_vec());
    }
    let at_end = calls.finish().len();
    Run {
        calls,
        steps,
        at_end,
    }
}

fn file(path: &Path, repair: Repair) -> Run {
    run(
        Streams::open(&[path], &OpenOptions::new().strict(true)).expect("it is there"),
        repair,
    )
}

fn chimbuko(name: &str) -> Option<PathBuf> {
    corpus(&format!("chimbuko/{name}"))
}

fn unpacked(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    let packed = std::fs::File::open(path).expect("it is there");
    flate2::read::GzDecoder::new(packed)
        .read_to_end(&mut bytes)
        .expect("it is there");
    bytes
}

/// Events and calls of each step are those that Chimbuko analysed.
#[test]
fn steps_have_the_calls_of_the_oracle() {
    let Some(summary) = chimbuko("oracle-summary.json") else {
        return;
    };
    let summary: Value =
        serde_json::from_slice(&std::fs::read(summary).expect("it is there")).expect("it is there");
    let mut compared = 0;
    for entry in summary
        .as_array()
        .expect("it is there")
        .iter()
        .filter(|entry| entry["alg"] == "hbos")
    {
        let steps = entry["steps"].as_array().expect("it is there");
        let name = format!(
            "{}-{}.tsv.gz",
            entry["dataset"].as_str().expect("it is there"),
            entry["rank"]
        );
        let Some(path) = corpus(&format!("chimbuko/{name}")) else {
            continue;
        };
        if steps.is_empty() {
            continue;
        }
        let run = file(&path, Repair::Strict);
        let execs: Vec<_> = steps
            .iter()
            .map(|step| step["execs"].as_u64().expect("it is there"))
            .collect();
        let ours: Vec<_> = run.steps.iter().map(|calls| calls.len() as u64).collect();
        assert_eq!(ours, execs, "{name}");
        let health = run.calls.health();
        let sum = |kind: usize| {
            steps
                .iter()
                .map(|step| step["events"][kind].as_u64().expect("it is there"))
                .sum::<u64>()
        };
        assert_eq!(health.functions, sum(0), "{name}");
        assert_eq!(health.messages, sum(1), "{name}");
        assert_eq!(health.counters, sum(2), "{name}");
        compared += 1;
    }
    assert!(compared >= 2, "lammps and heat2d have steps in the summary");
}

/// Every call that Chimbuko labels, by any method, has the same event id, thread, times and
/// exclusive time.
#[test]
fn labelled_calls_are_found_by_their_event_id() {
    let Some(oracle) = chimbuko("oracle-anomalies.json.gz") else {
        return;
    };
    let oracle: Value = serde_json::from_slice(&unpacked(&oracle)).expect("it is there");
    let mut compared = 0;
    let mut runs: HashMap<String, ById> = HashMap::new();
    for (key, rows) in oracle.as_object().expect("it is there") {
        let (stream, _) = key.rsplit_once('.').expect("it is there");
        let name = format!("chimbuko/{}.tsv.gz", stream.replace('.', "-"));
        let calls = runs.entry(name).or_insert_with_key(|name| {
            let run = file(&corpus(name).expect("it is there"), Repair::Strict);
            let plain = |call: &Call| {
                let thread = run
                    .calls
                    .stream_key(call.stream)
                    .expect("it is there")
                    .thread;
                let times = (
                    call.entry.0 / 1000,
                    call.exit.0 / 1000,
                    call.exclusive.0 / 1000,
                );
                (
                    run.calls.event_id(call),
                    (thread, times.0, times.1, times.2),
                )
            };
            run.steps.iter().flatten().map(plain).collect()
        });
        for row in rows.as_array().expect("it is there") {
            let number = |at: usize| row[at].as_i64().expect("it is there");
            let expected = (number(1) as u32, number(3), number(4), number(5));
            let id = row[0].as_str().expect("it is there");
            assert_eq!(calls.get(id), Some(&expected), "{key} {id}");
            compared += 1;
        }
    }
    assert!(compared > 2_500, "{compared}");
}

#[test]
fn damaged_streams_have_the_calls_that_are_known() {
    // File, number of calls that Chimbuko analyses, number of calls of this crate, and of these at
    // the end.
    let cases = [
        ("edge-unmatched-0", 20, 20, 0),
        ("edge-mismatch-0", 20, 20, 0),
        ("edge-wrongexit-0", 19, 20, 0),
        ("edge-missing_exit-0", 19, 20, 1),
    ];
    for (name, strict, repaired, at_end) in cases {
        let Some(path) = chimbuko(&format!("{name}.tsv.gz")) else {
            return;
        };
        let run = file(&path, Repair::Strict);
        assert_eq!(run.steps[0].len(), strict, "{name}");
        assert_eq!(run.at_end, 0, "{name}");
        let run = file(&path, Repair::Mend);
        assert_eq!(
            (run.steps[0].len() + run.at_end, run.at_end),
            (repaired, at_end),
            "{name}"
        );
        let health = run.calls.health();
        assert!(!health.is_sound(), "{name}");
        assert_eq!(health.calls, 20);
        let depth = run.steps.iter().flatten().map(|call| call.depth).max();
        // A missing exit alone is not detectable: later calls lie inside.
        assert_eq!(depth, Some(u32::from(at_end == 1)), "{name}");
    }
}

#[test]
fn real_streams_are_sound_but_for_their_order() {
    let Some(path) = chimbuko("heat2d-0.tsv.gz") else {
        return;
    };
    let run = file(&path, Repair::Mend);
    let health = run.calls.health();
    assert_eq!(health.faults().collect::<Vec<_>>(), [("out-of-order", 1)]);
    assert_eq!((health.calls, run.at_end), (1436, 0));
    let all: u32 = run.steps.iter().flatten().map(|call| call.messages).sum();
    assert_eq!(u64::from(all) + health.outside, 364 + 28 - counters(&run));
    let sends = run.steps.iter().flatten().filter(|call| call.messages > 0);
    for call in sends {
        let (_, name) = run.calls.region_name(call.region).expect("it is there");
        assert!(name.starts_with("MPI_"), "{name} sends");
    }
}

fn counters(run: &Run) -> u64 {
    run.steps
        .iter()
        .flatten()
        .map(|call| u64::from(call.counters))
        .sum()
}

/// Ranks in separate files form one stream of steps, and share the models.
#[test]
fn ranks_of_many_files_share_steps_and_models() {
    let Some(_) = chimbuko("heat2d-0.tsv.gz") else {
        return;
    };
    let paths: Vec<_> = (0..6)
        .map(|rank| corpus(&format!("chimbuko/heat2d-{rank}.tsv.gz")).expect("it is there"))
        .collect();
    let all = run(
        Streams::open(&paths, &OpenOptions::new()).expect("it is there"),
        Repair::Mend,
    );
    assert_eq!(all.steps.len(), 1);
    let single: usize = paths
        .iter()
        .map(|path| file(path, Repair::Mend).steps[0].len())
        .sum();
    assert_eq!(all.steps[0].len(), single);
    let firsts = all.calls.batch().len()
        + all.steps[0]
            .iter()
            .filter(|call| call.flags.is_first())
            .count();
    assert!(
        firsts > all.calls.function_count(),
        "first calls are counted a stream"
    );
}

/// Checks that exclusive times of the outermost calls and their callees add up to their inclusive
/// times.
fn is_consistent(run: &Run) {
    let all = || run.steps.iter().flatten().chain(run.calls.batch().calls());
    let outer: i64 = all()
        .filter(|call| call.depth == 0)
        .map(|call| call.inclusive().0)
        .sum();
    let own: i64 = all().map(|call| call.exclusive.0).sum();
    assert_eq!(outer, own);
    assert!(all().all(|call| call.exclusive >= Nanos(0)));
}

/// Checks the calls of a prefix of a stream with changed bytes and swapped lines.
fn is_consistent_damaged(cut: usize, damage: &[(usize, u8)], lines: &[(usize, usize)]) {
    let Some(path) = corpus("chimbuko/heat2d-2.tsv.gz") else {
        return;
    };
    let mut bytes = unpacked(&path);
    for (at, byte) in damage {
        if let Some(old) = bytes.get_mut(*at) {
            *old = *byte;
        }
    }
    let mut all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    for (a, b) in lines {
        if a.max(b) < &all.len() {
            all.swap(*a, *b);
        }
    }
    let mut bytes = all.concat();
    bytes.truncate(cut.max(80));
    let streams = Streams::read("damaged", std::io::Cursor::new(bytes), &OpenOptions::new());
    let run = run(streams.expect("it is there"), Repair::Mend);
    is_consistent(&run);
    let health = run.calls.health();
    let known = health.functions + health.open_at_end + health.implicit + health.renamed;
    assert!(health.calls * 2 <= known + health.too_deep);
}

/// A call that begins at a late time contains a call of the next step that ended before it.
#[test]
fn a_call_takes_at_least_as_long_as_its_callees() {
    is_consistent_damaged(44_693, &[(44_304, b'1')], &[(572, 83)]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Any prefix of a damaged stream gives a result.
    #[test]
    fn any_prefix_of_a_damaged_stream_gives_a_result(
        cut in 0usize..60_000,
        damage in prop::collection::vec((100usize..60_000, any::<u8>()), 0..30),
        lines in prop::collection::vec((1usize..600, 1usize..600), 0..6),
    ) {
        is_consistent_damaged(cut, &damage, &lines);
    }
}
