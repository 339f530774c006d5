//! The strict detectors label exactly the same calls as Chimbuko v7.0.
//!
//! Every label of LAMMPS rank 0 and of heat2d ranks 0 to 5 is compared by thread, entry and exit,
//! and every score within 1e-9, without any difference. For the small streams only the number of
//! the original's labels is known. The labelled calls are computed here once more from the
//! published rules, without code of the crate. If their number is the known one, so are the calls,
//! which are then compared one by one.
//!
//! One behaviour differs without changing a label: a function with a single call has no SSTD model,
//! so the original judges and learns it again in the next step. This crate labels it
//! [`NotEnoughData`](perf_anomaly::Label::NotEnoughData) permanently, and learns it once.

use crate::common;

use common::{Call, read, steps};
use perf_anomaly::{Copod, Detector, Hbos, Judgement, Sstd};
use perf_core::Job;
use std::collections::BTreeMap;

fn detector(method: &str) -> Box<dyn Detector> {
    match method {
        "sstd" => Box::new(Sstd::default()),
        "hbos" => Box::new(Hbos::default()),
        _ => Box::new(Copod::default()),
    }
}

/// Returns the abnormal calls of each step.
fn anomalies(file: &str, method: &str) -> Option<Vec<Vec<(Call, Judgement)>>> {
    let mut detector = detector(method);
    let detect = |step: common::Step| {
        let mut judgements = Vec::new();
        detector
            .detect(&step.samples, &mut judgements, &Job::default())
            .expect("not cancelled");
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

/// Checks that scores agree within 1e-9.
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
        return;
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
            return;
        };
        let ours: Vec<_> = steps.iter().map(Vec::len).collect();
        assert_eq!(ours, counts, "{method}");
    }
}

/// Returns for each call of one function in one step `true` if it is abnormal by the published
/// rules of the original; `times` are exclusive, in microseconds.
fn published(method: &str, times: &[f64]) -> Vec<bool> {
    let n = times.len() as f64;
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let squares = |values: &[f64]| {
        let mean = mean(values);
        values.iter().map(|x| (x - mean).powi(2)).sum::<f64>()
    };
    let min = times.iter().copied().fold(f64::INFINITY, f64::min);
    let max = times.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if method == "sstd" {
        // The first call is normal, and not in the model.
        let learned = &times[1..];
        let deviation = (squares(learned) / (learned.len() as f64 - 1.0)).sqrt();
        let is_far = |x: &f64| learned.len() > 1 && (x - mean(learned)).abs() > 6.0 * deviation;
        return [false]
            .into_iter()
            .chain(learned.iter().map(is_far))
            .collect();
    }
    if min == max {
        return vec![false; times.len()];
    }
    let rarity = |p: f64| -(p + 78.88e-32).log2();
    let width = match method {
        "hbos" => (max - min) / (200.0 - 1e-6 - 0.001),
        _ => 3.5 * (squares(times) / n).sqrt() / n.powf(1.0 / 3.0),
    };
    let start = min - 1e-6 * width;
    let bins = ((max - start) / width).ceil();
    let width = (max - start) / bins;
    // Lower edges are exclusive, upper ones inclusive.
    let bin = |x: f64| {
        let is_in = |bin: &usize| x <= start + (bin + 1) as f64 * width;
        (0..bins as usize - 1)
            .find(is_in)
            .unwrap_or(bins as usize - 1)
    };
    let mut counts = vec![0.0; bins as usize];
    times.iter().for_each(|x| counts[bin(*x)] += 1.0);
    let range = |scores: &mut dyn Iterator<Item = f64>| {
        let (least, most) = scores.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| {
            (a.min(x), b.max(x))
        });
        least + 0.99 * (most - least)
    };
    if method == "hbos" {
        let scores: Vec<f64> = counts.iter().map(|count| rarity(count / n)).collect();
        let mut filled = scores
            .iter()
            .zip(&counts)
            .filter(|(_, count)| **count > 0.0)
            .map(|(score, _)| *score);
        let threshold = range(&mut filled).max(1.00001_f64.log2());
        return times.iter().map(|x| scores[bin(*x)] >= threshold).collect();
    }
    // Fractions at or below a value, with a bin distributed evenly, and one call more from the
    // smallest on.
    let share = |counts: &[f64], low: f64, start: f64, end: f64, x: f64| {
        if x <= start {
            return 0.0;
        }
        let place = ((x.min(end) - start) / width).min(counts.len() as f64);
        let whole = (place.ceil() as usize - 1).min(counts.len() - 1);
        let sum = counts[..whole].iter().sum::<f64>() + (place - whole as f64) * counts[whole];
        if x >= low {
            (sum / n + 1.0 / n).min(1.0)
        } else {
            sum / n
        }
    };
    let mirrored: Vec<f64> = counts.iter().rev().copied().collect();
    let middle = |bin: usize| start + (bin as f64 + 0.5) * width;
    let moment = |power: i32| {
        let all = counts.iter().enumerate();
        all.map(|(bin, count)| count * middle(bin).powi(power))
            .sum::<f64>()
            / n
    };
    let (x, x2, x3) = (moment(1), moment(2), moment(3));
    let skewness = n / (n - 1.0) * (x3 - 3.0 * x2 * x + 2.0 * x.powi(3)) / (x2 - x * x).powf(1.5);
    let score = |x: f64| {
        let left = rarity(share(&counts, min, start, max, x));
        let right = rarity(share(&mirrored, -max, -max - 1e-6 * width, -min, -x));
        let signed = right * (skewness + 1.0).signum() - left * (skewness - 1.0).signum();
        ((left + right) / 2.0).max(signed)
    };
    let threshold = range(&mut (0..counts.len()).map(|bin| score(middle(bin))));
    times.iter().map(|x| score(*x) >= threshold).collect()
}

#[test]
fn the_small_streams_have_the_very_same_labels() {
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
        let file = format!("chimbuko/edge-{stream}-0.tsv.gz");
        let Some(all) = steps(&file) else {
            return;
        };
        let [all] = &all[..] else {
            panic!("{stream} has one step")
        };
        let times: Vec<f64> = all.calls.iter().map(|call| call.exclusive as f64).collect();
        for (method, count) in ["sstd", "hbos", "copod"].into_iter().zip(counts) {
            let labels = published(method, &times);
            let labelled = all.calls.iter().zip(labels).filter(|(_, label)| *label);
            let expected: Vec<Call> = labelled.map(|(call, _)| *call).collect();
            assert_eq!(
                expected.len(),
                count,
                "{stream} {method}: the rules as published"
            );
            let found = anomalies(&file, method).expect("it was just read").concat();
            let mut found: Vec<Call> = found.into_iter().map(|(call, _)| call).collect();
            found.sort_unstable();
            let mut sorted = expected.clone();
            sorted.sort_unstable();
            assert_eq!(found, sorted, "{stream} {method}");
            // The planted calls are exactly those found.
            if stream.starts_with("mask") || stream == "normal_out" {
                let longest = all.calls.iter().max_by_key(|call| call.exclusive);
                assert!(
                    expected.iter().all(|call| Some(call) == longest),
                    "{stream} {method}"
                );
            }
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
            return;
        };
        let analysed: usize = steps.iter().map(|step| step.calls.len()).sum();
        assert_eq!(analysed, calls, "{stream}");
        for method in ["sstd", "hbos", "copod"] {
            let found = anomalies(&file, method).expect("it was just read");
            assert!(found.concat().is_empty(), "{stream} {method}");
        }
    }
}
