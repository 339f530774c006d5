//! Races of the detection of abnormal calls, of its records, of merging models, of the steps of a
//! server, and of `tracing` spans. perfkit runs alone, because no other detector is packaged.

use crate::compare::race::{Race, Runner};
use crate::compare::target::Target;
use crate::compare::{Options, target_folder};
use crate::{cargo, execute};

/// Program of `perfkit-benches` that generates streams and runs perfkit.
const OURS: &str = "perfkit-bench-anomaly";

/// Builds the program and lists the races.
pub(crate) fn races(_: &Options) -> Result<Vec<Race>, String> {
    let arguments = ["build", "--quiet", "--release"];
    execute(cargo(&arguments).args(["--package", "perfkit-benches", "--bin", OURS]))?;
    let ours = target_folder()?.join("release").join(OURS);
    let race = |title: &str, by, work: &'static str, asked: Vec<Target>, words: &[&str]| {
        let program = ours.to_string_lossy().into_owned();
        let words = words.iter().map(|word| (*word).to_string());
        Race {
            title: title.into(),
            by,
            work,
            asked,
            runners: vec![Runner::new(
                "perfkit",
                Ok(std::iter::once(program).chain(words).collect()),
            )],
        }
    };
    let provenance = vec![Target::Rate(5.0), Target::Answer("reduction", 148.0)];
    let second = || vec![Target::Seconds(1.0)];
    Ok(vec![
        race(
            "events to labels, 2 million events",
            "cpu_s",
            "events",
            vec![Target::Rate(10.0)],
            &["labels", "2000000"],
        ),
        race(
            "events to labels, 20 million events: memory stays",
            "cpu_s",
            "events",
            vec![Target::Rate(10.0)],
            &["labels", "20000000"],
        ),
        race(
            "events to labels and records, one call in 10,000 slow",
            "cpu_s",
            "events",
            provenance,
            &["provenance", "2000000"],
        ),
        race(
            "merging models of 1,000 functions, moments",
            "cpu_s",
            "functions",
            vec![Target::Seconds(50e-6)],
            &["merge", "1000", "moments"],
        ),
        race(
            "merging models of 1,000 functions, tails",
            "cpu_s",
            "functions",
            Vec::new(),
            &["merge", "1000", "tail"],
        ),
        race(
            "a step of 10,240 ranks on one core, 100 of 1,000 functions called on each, moments",
            "cpu_s",
            "ranks",
            second(),
            &["server", "10240", "1000", "moments", "100"],
        ),
        race(
            "a step of 10,240 ranks on one core, all of 1,000 functions called on each, moments",
            "cpu_s",
            "ranks",
            second(),
            &["server", "10240", "1000", "moments", "1000"],
        ),
        race(
            "a step of 10,240 ranks on one core, 100 of 1,000 functions called on each, tails",
            "cpu_s",
            "ranks",
            Vec::new(),
            &["server", "10240", "1000", "tail", "100"],
        ),
        race(
            "a step of 10,240 ranks on one core, all of 100 functions called on each, moments",
            "cpu_s",
            "ranks",
            Vec::new(),
            &["server", "10240", "100", "moments"],
        ),
        race(
            "a step of 10,240 ranks on one core, all of 100 functions called on each, tails",
            "cpu_s",
            "ranks",
            Vec::new(),
            &["server", "10240", "100", "tail"],
        ),
        race(
            "a span of `tracing` that is watched, beyond what any layer costs",
            "wall_s",
            "spans",
            vec![Target::Seconds(200e-9)],
            &["spans"],
        ),
    ])
}
