//! The strict detectors label the very same calls as Chimbuko v7.0 did.
//!
//! Every label of LAMMPS rank 0 and of heat2d ranks 0 to 5 is compared by thread, entry and exit, and
//! every score within 1e-9: there is no difference to explain. Of the small streams only counts are
//! known.
//!
//! One behaviour differs and changes no label: a function with a single call has no SSTD model, which
//! the original judges again, and learns again, in the next step. Here it is
//! [`NotEnoughData`](perf_anomaly::Label::NotEnoughData) for good, and learned once.

mod common;

use common::{Call, read, steps};
use perf_anomaly::{Copod, Detector, Hbos, Judgement, Sstd};
use std::collections::BTreeMap;

fn detector(method: &str) -> Box<dyn Detector> {
    match method {
        "sstd" => Box::new(Sstd::new(Sstd::params().check().expect("defaults"))),
        "hbos" => Box::new(Hbos::new(Hbos::params().check().expect("defaults"))),
        _ => Box::new(Copod::new(Copod::params().check().expect("defaults"))),
    }
}

/// The abnormal calls of each step.
fn anomalies(file: &str, method: &str) -> Option<Vec<Vec<(Call, Judgement)>>> {
    let mut detector = detector(method);
    let detect = |step: common::Step| {
        let mut judgements = Vec::new();
        detector.detect(&step.samples, &mut judgements);
        let judged = step.calls.into_iter().zip(judgements);
        judged
            .filter(|(_, judgement)| judgement.label.is_anomaly())
            .collect()
    };
    Some(steps(file)?.into_iter().map(detect).collect())
}

fn oracle() -> Option<BTreeMap<String, Vec<(Call, f64)>>> {
    let text = read("chimbuko/oracle-anomalies.json.gz")?;
    let json: serde_json::Value = serde_json::from_str(&text).expect("it is JSON");
    let object = json.as_object().expect("an object of data sets");
    let number = |row: &serde_json::Value, at: usize| row[at].as_u64().expect("a whole number");
    let row = |row: &serde_json::Value| {
        let call = Call {
            thread: number(row, 1) as u32,
            entry: number(row, 3),
            exit: number(row, 4),
            exclusive: number(row, 5),
        };
        (call, row[6].as_f64().expect("a score"))
    };
    let sets = object.iter().map(|(key, rows)| {
        let mut rows: Vec<_> = rows.as_array().expect("rows").iter().map(row).collect();
        rows.sort_by_key(|row| row.0);
        (key.clone(), rows)
    });
    Some(sets.collect())
}

/// Scores agree within 1e-9.
fn scores(set: &str, ours: &[(Call, Judgement)], theirs: &[(Call, f64)]) {
    for ((call, judgement), (_, score)) in ours.iter().zip(theirs) {
        let difference = (judgement.score - score).abs();
        assert!(
            difference < 1e-9,
            "{set}: {call:?} {} {score}",
            judgement.score
        );
    }
}

#[test]
fn every_label_of_the_real_streams_agrees() {
    let Some(oracle) = oracle() else {
        return println!("skipped: corpus absent");
    };
    assert_eq!(oracle.len(), 21);
    for (set, theirs) in &oracle {
        let parts: Vec<_> = set.split('.').collect();
        let file = format!("chimbuko/{}-{}.tsv.gz", parts[0], parts[1]);
        let ours = anomalies(&file, parts[2]);
        let mut ours = ours.expect("the oracle has its stream").concat();
        ours.sort_by_key(|anomaly| anomaly.0);
        let calls = |call: &(Call, _)| call.0;
        let mine: Vec<_> = ours.iter().map(|anomaly| anomaly.0).collect();
        assert_eq!(mine, theirs.iter().map(calls).collect::<Vec<_>>(), "{set}");
        scores(set, &ours, theirs);
        println!("{set}: {} labels", ours.len());
    }
}

#[test]
fn the_steps_of_the_lammps_stream_have_the_known_counts() {
    let known = [
        ("sstd", [32, 10, 7, 106, 153, 21, 0, 8, 9, 9]),
        ("hbos", [78, 23, 23, 23, 21, 9, 1, 7, 7, 11]),
        ("copod", [473, 38, 39, 102, 157, 150, 141, 166, 147, 147]),
    ];
    for (method, counts) in known {
        let Some(steps) = anomalies("chimbuko/lammps-0.tsv.gz", method) else {
            return println!("skipped: corpus absent");
        };
        let ours: Vec<_> = steps.iter().map(Vec::len).collect();
        assert_eq!(ours, counts, "{method}");
    }
}

#[test]
fn the_small_streams_have_the_known_counts() {
    let known = [
        ("normal", [0, 28, 3]),
        ("normal_out", [1, 1, 1]),
        ("twomodes", [0, 100, 100]),
        ("uniform", [0, 200, 34]),
        ("two", [0, 2, 2]),
        ("same", [0, 0, 0]),
        ("mask36", [0, 1, 1]),
        ("mask37", [0, 1, 1]),
        ("mask38", [1, 1, 1]),
        ("mask39", [1, 1, 1]),
        ("mask40", [1, 1, 1]),
    ];
    for (stream, counts) in known {
        for (method, count) in ["sstd", "hbos", "copod"].into_iter().zip(counts) {
            let Some(steps) = anomalies(&format!("chimbuko/edge-{stream}-0.tsv.gz"), method) else {
                return println!("skipped: corpus absent");
            };
            assert_eq!(steps.concat().len(), count, "{stream} {method}");
        }
    }
}

#[test]
fn damaged_streams_of_equal_calls_have_no_anomalies() {
    for (stream, calls) in [
        ("unmatched", 20),
        ("mismatch", 20),
        ("wrongexit", 19),
        ("missing_exit", 19),
    ] {
        let file = format!("chimbuko/edge-{stream}-0.tsv.gz");
        let Some(steps) = steps(&file) else {
            return println!("skipped: corpus absent");
        };
        let analysed: usize = steps.iter().map(|step| step.calls.len()).sum();
        assert_eq!(analysed, calls, "{stream}");
        for method in ["sstd", "hbos", "copod"] {
            let found = anomalies(&file, method).expect("it was just read");
            assert!(found.concat().is_empty(), "{stream} {method}");
        }
    }
}
