//! Shared knowledge of ranks: messages, order, loss, restarts, and labels of many ranks.

use crate::common;

mod changes;
mod counters;
mod encoding;
mod lost_time;
mod many;
mod resume;
mod shared_modes;
mod slow;
mod sums;

use common::Random;
use perf_anomaly::calls::Calls;
use perf_anomaly::server::{
    Client, Delta, Exchange, FunctionName, Local, Ranking, Schedule, Server, ServerParams, View,
};
use perf_anomaly::{
    Detector, Error, FunctionId, Judgement, Label, Model, Result, Sstd, Tail, Watch,
};
use perf_core::{EventSink, Job, Nanos, StreamEvent, StreamKey};
use proptest::prelude::*;
use std::collections::{HashMap, VecDeque};

fn server(params: ServerParams) -> Server {
    Server::new(params.check().expect("values in range"))
}

fn sink() -> Calls {
    Calls::default()
}

fn tail() -> Tail {
    let params = Tail::params().learn_first(true).check();
    Tail::new(params.expect("values in range"))
}

/// Pushes calls of `functions` on one rank: run times in nanoseconds, one after the other.
fn push(calls: &mut Calls, rank: u32, functions: &[(&str, i64)], at: &mut i64) {
    let stream = calls.stream(StreamKey {
        program: 0,
        rank,
        thread: 0,
    });
    for (name, runtime) in functions {
        let region = calls.region(0, name);
        calls.push(stream, Nanos(*at), StreamEvent::Enter(region));
        *at += runtime;
        calls.push(stream, Nanos(*at), StreamEvent::Exit(region));
        *at += 100;
    }
}

/// Exchange that keeps the deltas.
#[derive(Debug, Default)]
struct Kept(Vec<Delta>);

impl Exchange for Kept {
    fn send(&mut self, delta: &Delta) -> perf_anomaly::Result<()> {
        self.0.push(delta.clone());
        Ok(())
    }

    fn receive(&mut self) -> perf_anomaly::Result<Option<View>> {
        Ok(None)
    }
}

/// Exchange that encodes messages, and simulates network faults.
#[derive(Debug, Default)]
struct Wire {
    /// Server.
    server: Option<Local>,
    /// Answers in flight.
    answers: VecDeque<Vec<u8>>,
    /// Number of calls of `receive` that an answer takes.
    delay: usize,
    /// Number of calls of `receive` so far.
    waited: usize,
    /// Faults of the next sends: the delta is lost, the answer is lost, or the delta is delivered
    /// twice.
    faults: VecDeque<Fault>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Fault {
    None,
    Lost,
    AnswerLost,
    Twice,
}

impl Exchange for Wire {
    fn send(&mut self, delta: &Delta) -> Result<()> {
        let fault = self.faults.pop_front().unwrap_or(Fault::None);
        if fault == Fault::Lost {
            return Err(Error::Exchange("the line is dead".into()));
        }
        let delta = Delta::decode(&delta.encode())?;
        let mut local = self.server.clone().expect("it has a server");
        local.send(&delta)?;
        if fault == Fault::Twice {
            local.send(&delta)?;
        }
        if fault == Fault::AnswerLost {
            return Err(Error::Exchange("no answer".into()));
        }
        let view = local.receive()?.expect("a local server answers");
        self.answers.push_back(view.encode());
        Ok(())
    }

    fn receive(&mut self) -> Result<Option<View>> {
        self.waited += 1;
        if self.waited <= self.delay {
            return Ok(None);
        }
        self.waited = 0;
        let latest = self.answers.pop_front();
        latest.map(|bytes| View::decode(&bytes)).transpose()
    }
}

#[test]
fn synchronised_every_third_step_on_calls_1_and_4() {
    let local = Local::new(server(Server::params()));
    let schedule = Schedule::every(3).expect("3 steps");
    let mut client = Client::new(0, local.clone()).schedule(schedule);
    let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
    let mut met = Vec::new();
    for step in 1..=6 {
        push(&mut calls, 0, &[("solve", 1000); 5], &mut at);
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .unwrap();
        let synced = client.step(&calls, &judgements, &mut detector);
        if synced.expect("a local server answers").sent {
            met.push(step);
            // The delta was taken: no unsent knowledge remains.
            assert!(detector.take_delta().is_empty());
        }
    }
    assert_eq!(met, [1, 4]);
    let known = local.server(|server| server.model().map(Model::len));
    assert_eq!(known.expect("nobody panicked"), Some(1));
    let stats = local.server(|server| server.function(FunctionId(0)).copied());
    let stats = stats.expect("nobody panicked").expect("it was called");
    assert_eq!((stats.loss.calls, stats.exclusive.mean()), (20, 1000.0));
}

#[test]
fn the_last_delta_goes_out_whatever_is_on_its_way() {
    let local = Local::new(server(Server::params()));
    let wire = Wire {
        server: Some(local.clone()),
        delay: usize::MAX,
        ..Wire::default()
    };
    let mut client = Client::new(0, wire).in_flight(2);
    let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
    for step in 0..5 {
        push(&mut calls, 0, &[("solve", 1000); 10], &mut at);
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .unwrap();
        let synced = client.step(&calls, &judgements, &mut detector);
        assert!(!synced.expect("it is taken").adopted);
    }
    let known = || {
        let calls = local.server(|server| server.functions().first().map(|f| f.1.loss.calls));
        calls.expect("nobody panicked")
    };
    assert_eq!(
        known(),
        Some(20),
        "two are on their way, and no answer comes"
    );
    client.finish(&calls, &mut detector).expect("it is taken");
    assert_eq!(known(), Some(50));
    assert!(detector.take_delta().is_empty());
}

#[test]
fn ranks_are_ranked_by_their_anomalies_a_step() {
    let local = Local::new(server(Server::params().history(2)));
    // Anomalies of each rank in three steps.
    let planted = [[0, 3, 0], [1, 1, 1], [2, 0, 0]];
    for (rank, planted) in planted.into_iter().enumerate() {
        let rank = rank as u32;
        let mut client = Client::new(rank.into(), local.clone());
        let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
        for (step, slow) in planted.into_iter().enumerate() {
            push(&mut calls, rank, &[("f", 1000); 10], &mut at);
            calls.end_step(step as u64);
            let slow_call = Judgement {
                label: Label::TooSlow,
                score: 7.0,
                expected: Some(Nanos(400)),
            };
            let mut judgements = vec![Judgement::default(); 10];
            judgements[..slow].fill(slow_call);
            let synced = client.step(&calls, &judgements, &mut detector);
            assert!(synced.expect("a local server answers").adopted);
        }
    }
    let order = |by| {
        let all = local.server(|server| server.ranking(by));
        let all = all.expect("nobody panicked");
        all.iter().map(|one| one.rank).collect::<Vec<_>>()
    };
    assert_eq!(order(Ranking::Total), [0, 1, 2]);
    assert_eq!(order(Ranking::Minimum), [1, 0, 2]);
    assert_eq!(order(Ranking::Deviation), [0, 2, 1]);
    assert_eq!(order(Ranking::Maximum), [0, 2, 1]);
    local
        .server(|server| {
            let first = server.ranking(Ranking::TimeLost)[0];
            assert_eq!((first.rank, first.loss.time), (0, Nanos(3 * 600)));
            let anomalies = first.anomalies;
            assert_eq!((anomalies.count(), anomalies.sum()), (3, 3.0));
            assert_eq!((anomalies.mean(), anomalies.max()), (1.0, Some(3.0)));
            assert_eq!(anomalies.std_dev(), 3.0_f64.sqrt());
            let kept: Vec<_> = server.steps(0, 1).map(|step| step.step).collect();
            assert_eq!(kept, [1, 2], "as many as were asked for");
            assert!((server.across_ranks(1).mean() - 4.0 / 3.0).abs() < 1e-12);
            let (_, stats) = server.functions()[0];
            assert_eq!(stats.steps, Some((0, 2)));
            assert_eq!((stats.scores.count(), stats.severities.mean()), (8, 600.0));
        })
        .expect("nobody panicked");
    assert_eq!(
        "deviation".parse::<Ranking>().ok(),
        Some(Ranking::Deviation)
    );
    assert!("size".parse::<Ranking>().is_err());
}

/// Ranks number functions in order of first occurrence; the server matches them by name.
#[test]
fn functions_are_known_by_their_names() {
    let local = Local::new(server(Server::params()));
    let names = [["a", "b", "c"], ["c", "a", "b"]];
    let mut ranks: Vec<_> = (0..2)
        .map(|rank| (Client::new(rank, local.clone()), sink(), tail(), 0))
        .collect();
    for step in 0..3 {
        for (rank, (client, calls, detector, at)) in ranks.iter_mut().enumerate() {
            let time = |name: &str| match name {
                "a" => 10_000,
                "b" => 20_000,
                _ => 30_000,
            };
            // Rank 1 calls `b` in the last step only.
            let met = if rank == 1 && step < 2 { 2 } else { 3 };
            let functions: Vec<_> = names[rank][..met]
                .iter()
                .map(|one| (*one, time(one)))
                .collect();
            push(calls, rank as u32, &functions, at);
            calls.end_step(step);
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .unwrap();
            let synced = client.step(calls, &judgements, detector);
            assert!(synced.expect("a local server answers").adopted);
        }
    }
    let (_, calls, detector, _) = &ranks[1];
    let known = (0..3).map(|at| {
        let function = FunctionId(at);
        let sketch = detector.sketch(function).expect("it was called");
        let median = sketch.quantile(0.5).expect("it was called");
        let name = calls.function_name(function);
        (name, sketch.count(), (median.0 as f64 / 1e4).round() as i64)
    });
    let expected = [("c", 6, 3), ("a", 6, 1), ("b", 4, 2)];
    let expected = expected.map(|(name, count, time)| (name.to_string(), count, time));
    assert_eq!(known.collect::<Vec<_>>(), expected);
}

/// Returns a delta with non-empty fields.
fn delta() -> Delta {
    #[derive(Debug)]
    struct Keep(Option<Delta>);
    impl Exchange for &mut Keep {
        fn send(&mut self, delta: &Delta) -> Result<()> {
            self.0 = Some(delta.clone());
            Ok(())
        }
        fn receive(&mut self) -> Result<Option<View>> {
            Ok(None)
        }
    }
    let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
    for step in 0..2 {
        push(&mut calls, 3, &[("f", 5000); 40], &mut at);
        push(&mut calls, 3, &[("g", 7000), ("f", 90_000)], &mut at);
        calls.end_step(step);
    }
    let mut judgements = Vec::new();
    let [usual @ .., _] = calls.batch().samples() else {
        panic!("a batch has calls")
    };
    detector.learn(&[usual, usual].concat());
    detector
        .detect(calls.batch().samples(), &mut judgements, &Job::default())
        .expect("not cancelled");
    assert!(judgements.iter().any(|one| one.label.is_anomaly()));
    let mut keep = Keep(None);
    let sent = Client::new(7, &mut keep).step(&calls, &judgements, &mut detector);
    assert!(sent.expect("it is kept").sent);
    keep.0.expect("it was sent")
}

fn fault() -> impl Strategy<Value = Fault> {
    prop_oneof![
        3 => Just(Fault::None),
        1 => Just(Fault::Lost),
        1 => Just(Fault::AnswerLost),
        1 => Just(Fault::Twice),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// With any network faults, the server counts each call once in the end, and a client always
    /// has at least its own knowledge.
    #[test]
    fn every_call_counts_once(
        faults in prop::collection::vec(prop::collection::vec(fault(), 12), 3),
        delay in 0_usize..4,
        publish in 1_u64..5,
        restart in 0_u64..12,
    ) {
        let local = Local::new(server(Server::params().publish(publish)));
        let mut ranks: Vec<_> = faults.iter().enumerate().map(|(rank, faults)| {
            let wire = Wire {
                server: Some(local.clone()),
                delay,
                faults: faults.iter().copied().collect(),
                ..Wire::default()
            };
            (Client::new(rank as u64, wire).in_flight(3), sink(), tail(), 0)
        }).collect();
        for step in 0..12 {
            if step == restart {
                local.server(|server| {
                    let params = Server::params().publish(publish).check().expect("values in range");
                    *server = Server::decode(params, &server.encode()).expect("it was just written");
                }).expect("nobody panicked");
            }
            for (rank, (client, calls, detector, at)) in ranks.iter_mut().enumerate() {
                push(calls, rank as u32, &[("f", 5000), ("g", 7000)], at);
                calls.end_step(step);
                let mut judgements = Vec::new();
                detector.detect(calls.batch().samples(), &mut judgements, &Job::default()).unwrap();
                // After an error it is sent again.
                let _ = client.step(calls, &judgements, detector);
                let own = detector.sketch(FunctionId(0)).map(|sketch| sketch.count());
                prop_assert!(own >= Some(step + 1), "{own:?} calls after {step}");
            }
        }
        for _ in 0..40 {
            for (client, calls, detector, _) in &mut ranks {
                // The last faults are still to come.
                let _ = client.sync(calls, detector);
            }
        }
        let known = local.server(|server| {
            let Some(Model::Tail(sketches)) = server.model() else { panic!("a model of tails") };
            let counts: Vec<_> = sketches.iter().map(|(_, sketch)| sketch.count()).collect();
            let steps: Vec<_> = server.ranking(Ranking::Total).iter().map(|one| one.anomalies.count()).collect();
            let calls: Vec<_> = server.functions().iter().map(|(_, stats)| stats.loss.calls).collect();
            (counts, steps, calls)
        }).expect("nobody panicked");
        prop_assert_eq!(known, (vec![36, 36], vec![12; 3], vec![36, 36]));
        for (_, _, detector, _) in &ranks {
            prop_assert_eq!(detector.sketch(FunctionId(1)).map(|sketch| sketch.count()), Some(36));
        }
    }
}

#[test]
fn too_many_functions_and_ranks_are_left_out_and_counted() {
    let mut server = server(Server::params().names(1).ranks(1));
    let first = delta();
    server.take(&first).expect("it is sound");
    assert_eq!((server.names().len(), server.refused()), (1, 1));
    let mut other = first.clone();
    other.client = 8;
    server.take(&other).expect("it is sound");
    assert_eq!((server.clients(), server.refused()), (1, 2));
}

#[test]
fn a_new_server_hears_names_again_and_a_frozen_one_learns_nothing() {
    let local = Local::new(server(Server::params()));
    let mut client = Client::new(0, local.clone());
    let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
    let mut round = |client: &mut Client<Local>, step| {
        push(&mut calls, 0, &[("f", 5000); 40], &mut at);
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .unwrap();
        client
            .step(&calls, &judgements, &mut detector)
            .expect("it answers");
    };
    round(&mut client, 0);
    let (names, model) = local
        .server(|server| {
            let known = (server.names().to_vec(), server.model().cloned());
            *server = self::server(Server::params().session(2));
            known
        })
        .expect("nobody panicked");
    round(&mut client, 1);
    let count = |local: &Local| {
        let count = local.server(|server| match server.model() {
            Some(Model::Tail(sketches)) => sketches.get(FunctionId(0)).map(|one| one.count()),
            _ => None,
        });
        count.expect("nobody panicked")
    };
    assert_eq!(count(&local), Some(40), "what came after the restart");
    let mut frozen = server(Server::params().frozen(true).session(3));
    let model = model.expect("it had learned");
    frozen.learn(&names, &model).expect("it had no model");
    local
        .server(|server| *server = frozen)
        .expect("nobody panicked");
    round(&mut client, 2);
    assert_eq!(count(&local), Some(40), "what it was given");
    let number = local.server(|server| {
        server.number(&FunctionName {
            program: 0,
            name: "f".into(),
        })
    });
    assert_eq!(number.expect("nobody panicked"), Some(FunctionId(0)));
}

/// A self-monitored program may share its knowledge too.
#[test]
fn watches_share() {
    let local = Local::new(server(Server::params()));
    let mut watch = Watch::new(sink(), 0, 1);
    let solve = watch.region("solve");
    for at in 0..50 {
        watch.enter(0, solve, Nanos(at * 1000));
        watch.exit(0, solve, Nanos(at * 1000 + 500));
    }
    watch.end_step();
    let mut detector = tail();
    let mut judgements = Vec::new();
    detector
        .detect(
            watch.sink().batch().samples(),
            &mut judgements,
            &Job::default(),
        )
        .unwrap();
    let mut client = Client::new(1, local.clone());
    let synced = client.step(watch.sink(), &judgements, &mut detector);
    assert!(synced.expect("a local server answers").adopted);
    assert_eq!(
        client.exchange().server(|server| server.clients()).ok(),
        Some(1)
    );
}

#[test]
fn views_contain_the_changes_since_the_last_one() {
    let local = Local::new(server(Server::params().publish(1)));
    let mut ranks: Vec<_> = (0..2)
        .map(|rank| {
            let wire = Wire {
                server: Some(local.clone()),
                ..Wire::default()
            };
            (Client::new(rank, wire), sink(), tail(), 0)
        })
        .collect();
    let names = ["a", "b", "c", "d", "e", "f"];
    for step in 0..40 {
        for (rank, (client, calls, detector, at)) in ranks.iter_mut().enumerate() {
            // All functions at first, then a single one.
            let count = if step == 0 { names.len() } else { 1 };
            let own: Vec<_> = (0..count)
                .map(|one| {
                    (
                        names[(one + step + rank) % names.len()],
                        1000 + 37 * step as i64,
                    )
                })
                .collect();
            push(calls, rank as u32, &own, at);
            calls.end_step(step as u64);
            let mut judgements = Vec::new();
            detector
                .detect(calls.batch().samples(), &mut judgements, &Job::default())
                .unwrap();
            let synced = client.step(calls, &judgements, detector);
            assert!(synced.expect("the wire is sound").adopted);
            // Its knowledge equals that of the server, even if messages were lost.
            let all = local.server(|server| (server.names().to_vec(), server.model().cloned()));
            let (known, all) = all.expect("nobody panicked");
            let by_name = |model: &Model, name: &dyn Fn(FunctionId) -> String| {
                let Model::Tail(sketches) = model else {
                    panic!("sketches")
                };
                let named = sketches
                    .iter()
                    .map(|(id, sketch)| (name(id), sketch.clone()));
                named.collect::<HashMap<_, _>>()
            };
            let all = by_name(&all.expect("it has learned"), &|id| {
                known[id.0 as usize].name.to_string()
            });
            let own = by_name(&detector.snapshot(), &|id| calls.function_name(id));
            assert_eq!(own, all, "{step} {rank}");
        }
    }
    // A frozen server sends its model once.
    let frozen = Server::params().frozen(true);
    let mut again = server(frozen);
    let (names, model) = local
        .server(|server| (server.names().to_vec(), server.model().cloned()))
        .expect("nobody panicked");
    let taught = again.learn(&names, &model.expect("it has learned"));
    taught.expect("it had none");
    let local = Local::new(again);
    let mut client = Client::new(0, local.clone());
    let (mut calls, mut detector, mut at) = (sink(), tail(), 0);
    let mut told = Vec::new();
    for step in 0..3 {
        push(&mut calls, 0, &[("a", 1000)], &mut at);
        calls.end_step(step);
        let mut judgements = Vec::new();
        detector
            .detect(calls.batch().samples(), &mut judgements, &Job::default())
            .unwrap();
        let synced = client.step(&calls, &judgements, &mut detector);
        assert!(synced.expect("a local server answers").adopted);
        told.push(detector.snapshot().len());
    }
    assert_eq!(
        told,
        [1, 1, 1],
        "of a frozen model, too, all functions that are called are known"
    );
}
