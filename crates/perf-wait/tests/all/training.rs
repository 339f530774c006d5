//! What-if replay of training jobs against the published results.

use crate::common::facts;
use flate2::read::MultiGzDecoder;
use perf_core::{Job, Nanos};
use perf_wait::Error;
use perf_wait::training::{Group, Operation, OperationKind, TrainingJob};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::File;

/// Reads the operations of a timeline of the corpus.
fn operations(name: &str) -> Option<Vec<Operation>> {
    let path = perf_testdata::corpus::corpus(&format!("stragglers/timeline-{name}.json.gz"))?;
    let file = File::open(path).expect("it can be opened");
    let events: Value = serde_json::from_reader(MultiGzDecoder::new(file)).expect("it is JSON");
    let events = events
        .as_array()
        .or_else(|| events["traceEvents"].as_array());
    let events = events.expect("a list of events");
    let thread = |event: &Value| (event["pid"].as_u64(), event["tid"].as_u64());
    let mut stages = BTreeMap::new();
    for event in events.iter().filter(|event| event["name"] == "thread_name") {
        let name = event["args"]["name"].as_str().expect("a name");
        let stage = name
            .strip_prefix("PP rank ")
            .and_then(|rest| rest.split(',').next());
        let stage: u32 = stage.and_then(|stage| stage.parse().ok()).expect("a stage");
        stages.insert(thread(event), stage);
    }
    let nanos = |value: &Value| Nanos((value.as_f64().expect("a time") * 1e3).round() as i64);
    let operation = |event: &Value| {
        let args = &event["args"];
        let number = |name: &str| u32::try_from(args[name].as_i64()?).ok();
        Operation {
            kind: OperationKind::of(event["name"].as_str().expect("a name")).expect("a known one"),
            step: args["step"].as_u64().expect("a step"),
            data_rank: event["pid"].as_u64().expect("a process") as u32,
            stage: stages[&thread(event)],
            sequence: number("seq_id").expect("a number"),
            chunk: number("model_chunk"),
            start: nanos(&event["ts"]),
            duration: nanos(&event["dur"]),
        }
    };
    let calls = events.iter().filter(|event| event["ph"] == "X");
    Some(calls.map(operation).collect())
}

/// Checks that a number is within a share of the published one, and returns by how much it is off.
fn check(what: &str, value: f64, published: &Value, share: f64) -> f64 {
    let published = published.as_f64().expect("a number");
    let off = (value - published).abs() / published.abs().max(1.0);
    assert!(off <= share, "{what}: {value}, published {published}");
    off
}

#[test]
fn slowdowns_are_the_published_ones() {
    let Some(facts) = facts("stragglers/facts.json") else {
        return;
    };
    for name in ["AR", "ST"] {
        let Some(operations) = operations(name) else {
            return;
        };
        let facts = &facts["traces"][name];
        let job = Job::default();
        let training = TrainingJob::of(operations, &job).expect("it can be replayed");
        assert_eq!(training.unmatched(), 0);
        let found = training.slowdowns(&job).expect("it can be replayed");
        let mut most: f64 = 0.0;
        let mut near = |what: String, value: f64, published: &Value| {
            most = most.max(check(&what, value, published, 2e-5));
        };
        assert_eq!(found.steps.len() as u64, facts["steps"].as_u64().unwrap());
        for step in &found.steps {
            let key = step.step.to_string();
            let seconds = |time: Nanos| time.0 as f64 / 1e9;
            near(
                format!("replayed {key}"),
                seconds(step.replayed),
                &facts["seconds_replayed"][&key],
            );
            near(
                format!("ideal {key}"),
                seconds(step.ideal),
                &facts["seconds_ideal"][&key],
            );
            near(
                format!("step {key}"),
                step.slowdown(),
                &facts["by_step"][&key],
            );
        }
        near("S".into(), found.total, &facts["slowdown"]);
        for (stage, slowdown) in &found.stages {
            near(
                format!("stage {stage}"),
                *slowdown,
                &facts["by_stage"][stage.to_string()],
            );
        }
        for (rank, slowdown) in &found.data_ranks {
            near(
                format!("rank {rank}"),
                *slowdown,
                &facts["by_dp_rank"][rank.to_string()],
            );
        }
        for (kind, slowdown) in &found.operations {
            near(kind.clone(), *slowdown, &facts["by_operation"][kind]);
        }
        near("Mw".into(), found.worker_share.unwrap(), &facts["Mw"]);
        near("Ms".into(), found.last_stage_share.unwrap(), &facts["Ms"]);
        println!("{name}: largest relative deviation {most:e}");
        assert_eq!(
            found.stages.len(),
            facts["by_stage"].as_object().unwrap().len()
        );
        assert_eq!(
            found.operations.len(),
            facts["by_operation"].as_object().unwrap().len()
        );
    }
}

#[test]
fn the_culprit_comes_first() {
    for (name, culprit) in [
        (
            "AR",
            Group::Worker {
                data_rank: 0,
                stage: 0,
            },
        ),
        ("ST", Group::Stage(3)),
    ] {
        let Some(operations) = operations(name) else {
            return;
        };
        let training = TrainingJob::of(operations, &Job::default()).expect("it can be replayed");
        let found = training
            .culprits(&Job::default())
            .expect("it can be replayed");
        for it in found.iter().take(5) {
            println!("{name} {} {} {}", it.group, it.slowdown, it.lost);
        }
        assert_eq!(found[0].group, culprit);
    }
}

#[test]
fn operations_that_occur_twice_are_errors() {
    let operation = Operation {
        kind: OperationKind::ForwardCompute,
        step: 7,
        data_rank: 0,
        stage: 0,
        sequence: 3,
        chunk: None,
        start: Nanos(0),
        duration: Nanos(4),
    };
    let found = TrainingJob::of(vec![operation, operation], &Job::default());
    assert!(matches!(
        found,
        Err(Error::Operation {
            operation: 1,
            step: 7,
            ..
        })
    ));
    assert!(matches!(
        TrainingJob::of(vec![], &Job::default()),
        Err(Error::Nothing { .. })
    ));
}
