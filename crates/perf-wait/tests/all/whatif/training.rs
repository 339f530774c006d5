//! Tests that replayed training jobs agree with the published results.

use crate::common::{corpus, facts};
use flate2::read::MultiGzDecoder;
use perf_core::{Job, Nanos};
use perf_wait::Error;
use perf_wait::activity::Activities;
use perf_wait::delay::DelayCosts;
use perf_wait::findings::{FindingKind, FindingsPlan};
use perf_wait::training::{Group, Operation, OperationKind, StepTimes, TrainingJob};
use perf_wait::waits::WaitStates;
use perf_wait::whatif::Excess;
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
fn jobs_of_traces_are_those_of_the_file() {
    for name in ["AR", "ST"] {
        let (Some(expected), Some(trace)) = (
            operations(name),
            corpus(&format!("stragglers/timeline-{name}.json.gz")),
        ) else {
            return;
        };
        let training = TrainingJob::of_trace(trace.view(), &Job::default());
        let training = training.expect("it can be replayed").expect("there is one");
        let first = expected.iter().map(|it| it.start).min().expect("some");
        let sorted = |operations: &[Operation], origin: Nanos| {
            let mut all: Vec<Operation> = operations.to_vec();
            for it in &mut all {
                it.start = it.start.saturating_sub(origin);
            }
            all.sort_by_key(|it| (it.step, it.data_rank, it.stage, it.kind, it.sequence));
            all
        };
        let (found, expected) = (
            sorted(training.operations(), Nanos(0)),
            sorted(&expected, first),
        );
        assert_eq!(found.len(), expected.len());
        // Times of the file have more than three decimals; the reader and this test round them differently.
        for (found, expected) in found.iter().zip(&expected) {
            let off = found.duration.saturating_sub(expected.duration).abs();
            assert!(off.0 <= 2, "{found:?}, {expected:?}");
            let same = Operation {
                start: expected.start,
                duration: expected.duration,
                ..*found
            };
            assert_eq!(same, *expected);
        }
    }
}

#[test]
fn a_replay_without_all_excess_is_at_most_the_ideal_one() {
    for name in ["AR", "ST"] {
        let Some(trace) = corpus(&format!("stragglers/timeline-{name}.json.gz")) else {
            return;
        };
        let job = Job::default();
        let training = TrainingJob::of_trace(trace.view(), &job);
        let training = training.expect("it can be replayed").expect("there is one");
        let (from, to) = (Nanos(i64::MIN), Nanos(i64::MAX));
        let whole = |location| Excess {
            location,
            from,
            to,
            time: training.excess(location, from, to),
        };
        let all: Vec<Excess> = trace.view().ids().map(whole).collect();
        let without = training.without(&all, &job).expect("it can be replayed");
        let steps = training.slowdowns(&job).expect("likewise").steps;
        let sum = |of: fn(&StepTimes) -> Nanos| steps.iter().map(|it| of(it).0).sum::<i64>();
        assert_eq!(without.answer.recorded.0, sum(|it| it.recorded));
        assert_eq!(without.answer.identity.0, sum(|it| it.replayed));
        let total: i64 = all.iter().map(|it| it.time.0).sum();
        let rounding = training.operations().len() as i64;
        assert!((without.computed.0 - total).abs() <= rounding);
        // Operations that are shorter than the ideal duration stay as they are.
        let ideal = sum(|it| it.ideal);
        assert!(without.answer.runtime.0 <= ideal && without.answer.runtime.0 > ideal / 2);
        // Of half of the excess a part is saved.
        let half = |it: &Excess| Excess {
            time: Nanos(it.time.0 / 2),
            ..*it
        };
        let half: Vec<Excess> = all.iter().map(half).collect();
        let part = training.without(&half, &job).expect("it can be replayed");
        let saved = (part.answer.saved(), without.answer.saved());
        assert!(saved.0 > Nanos(0) && saved.0 < saved.1, "{saved:?}");
    }
}

#[test]
fn findings_name_the_culprit_first() {
    for (name, part, operation) in [
        (
            "AR",
            Group::Worker {
                data_rank: 0,
                stage: 0,
            },
            OperationKind::BackwardCompute,
        ),
        ("ST", Group::Stage(3), OperationKind::ForwardCompute),
    ] {
        let Some(trace) = corpus(&format!("stragglers/timeline-{name}.json.gz")) else {
            return;
        };
        let job = Job::default();
        let activities = Activities::of(trace.view(), &job).expect("it can be read");
        let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
        let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
        let plan = FindingsPlan::default();
        let found = plan.find(trace.view(), &activities, &waits, &delays, &job);
        let found = found.expect("it can be replayed");
        println!("{name} {}", found.runtime);
        for it in &found.findings {
            println!(
                "{} {:?}",
                it.text(trace.definitions(), &activities),
                it.window
            );
        }
        let expected = FindingKind::Training {
            part,
            operation: Some(operation),
        };
        assert_eq!(found.findings[0].kind, expected);
        assert!(found.findings[0].window.is_some() && found.findings.len() <= 10);
    }
}

#[test]
fn negative_durations_of_operations_are_kept() {
    let event = |name: &str, tid: u32, ts: u32, dur: &str| {
        format!(
            r#"{{"ph": "X", "name": "{name}", "pid": 4, "tid": {tid}, "ts": {ts}, "dur": {dur}, "args": {{"step": 7, "seq_id": 2, "mb_id": -1}}}}"#
        )
    };
    let named = r#"{"ph": "M", "name": "thread_name", "pid": 4, "tid": 1, "args": {"name": "PP rank 3, TP rank 0, pp-comm"}}"#;
    let text = format!(
        "[{named}, {}, {}]",
        event("forward-compute", 1, 0, "10"),
        event("forward-send", 1, 20, "-1.5")
    );
    let read = |text: &str| {
        let bytes = std::io::Cursor::new(text.as_bytes().to_vec());
        let options = perf_formats::OpenOptions::new();
        let recording = perf_formats::chrome::read("text", bytes, &options, &Job::default());
        recording
            .expect("it can be read")
            .into_trace()
            .expect("it is a trace")
    };
    let trace = read(&text);
    // The writer numbers processes from 1.
    let check = |trace: &perf_core::Trace, data_rank: u32| {
        let training = TrainingJob::of_trace(trace.view(), &Job::default());
        let training = training.expect("it can be replayed").expect("there is one");
        let send = training
            .operations()
            .iter()
            .find(|it| it.kind == OperationKind::ForwardSend);
        let expected = Operation {
            kind: OperationKind::ForwardSend,
            step: 7,
            data_rank,
            stage: 3,
            sequence: 2,
            chunk: None,
            start: Nanos(20_000),
            duration: Nanos(-1_500),
        };
        assert_eq!(send, Some(&expected));
    };
    check(&trace, 4);
    let mut file = Vec::new();
    perf_formats::chrome::write(trace.view(), &mut file, &Job::default())
        .expect("it can be written");
    check(&read(std::str::from_utf8(&file).expect("it is text")), 1);
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
