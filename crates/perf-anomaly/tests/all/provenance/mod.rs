//! Recording of anomalies, its size, and retrieval.

use crate::common;

mod bounds;
mod pruned;
mod stores;
mod text;

use common::Random;
use perf_anomaly::calls::{Calls, CallsParams};
use perf_anomaly::provenance::{
    Comparison, Entry, Kind, Lines, Memory, Order, Query, Record, Recorder, RecorderParams,
    Reduction, Revision, RunRecord, Store, merge, open, prune, prune_within,
};
use perf_anomaly::server::Ranking;
use perf_anomaly::{Error, FunctionId, Label, Monitor, Tail};
use perf_core::{EventSink, Job, MetricId, Nanos, Peer, StreamEvent, StreamId, StreamKey, Value};
use std::path::PathBuf;

fn scratch(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Returns an empty store of each kind.
fn stores(name: &str) -> Vec<Box<dyn Store>> {
    let lines = Lines::create(scratch(&format!("{name}.jsonl"))).expect("tests may write here");
    #[allow(unused_mut, reason = "no more kinds without the feature")]
    let mut all: Vec<Box<dyn Store>> = vec![Box::new(lines), Box::new(Memory::new())];
    #[cfg(feature = "sqlite")]
    {
        let path = scratch(&format!("{name}.sqlite"));
        let sqlite = perf_anomaly::provenance::Sqlite::create(path);
        all.push(Box::new(sqlite.expect("tests may write here")));
    }
    all
}

fn monitor(params: CallsParams, recorder: RecorderParams, store: Box<dyn Store>) -> Monitor {
    let calls = Calls::new(params.check().expect("values in range"));
    let tail = Tail::default();
    let recorder = Recorder::new(recorder.check().expect("values in range"), store);
    Monitor::new(calls, Box::new(tail)).record(recorder)
}

fn key(rank: u32, thread: u32) -> StreamKey {
    StreamKey {
        program: 0,
        rank,
        thread,
    }
}

/// Program of one thread that pushes calls.
struct Program {
    /// Stream of the thread.
    stream: StreamId,
    /// Current time.
    at: i64,
}

impl Program {
    fn enter(&mut self, sink: &mut dyn EventSink, name: &str) {
        let region = sink.region(0, name);
        sink.push(self.stream, Nanos(self.at), StreamEvent::Enter(region));
    }

    fn exit(&mut self, sink: &mut dyn EventSink, name: &str) {
        let region = sink.region(0, name);
        sink.push(self.stream, Nanos(self.at), StreamEvent::Exit(region));
        self.at += 1_000;
    }

    fn call(&mut self, sink: &mut dyn EventSink, name: &str, runtime: i64) {
        self.enter(sink, name);
        self.at += runtime;
        self.exit(sink, name);
    }

    fn count(&mut self, sink: &mut dyn EventSink, name: &str, value: Value) {
        let counter: MetricId = sink.counter(name);
        let event = StreamEvent::Counter(counter, value);
        sink.push(self.stream, Nanos(self.at), event);
    }
}

/// Runs one rank with a CPU thread and an accelerator stream, on which a kernel and a phase are
/// slow.
fn accelerated(mut monitor: Monitor) -> (Box<dyn Store>, Reduction) {
    let cpu = monitor.stream(key(3, 0));
    let gpu = monitor.stream(key(3, 1));
    monitor.metadata(cpu, "Hostname", "node\"7\"");
    monitor.metadata(gpu, "Hostname", "node\"7\"");
    monitor.metadata(gpu, "CUDA Device", "1");
    monitor.metadata(gpu, "CUDA Stream", "9");
    let (mut host, mut device) = (
        Program { stream: cpu, at: 0 },
        Program { stream: gpu, at: 0 },
    );
    for step in 0..6_i64 {
        for at in 0..40 {
            let is_slow = step == 4 && at == 38;
            let jitter = (at * 37) % 11 * 1_000;
            host.count(
                &mut monitor,
                "monitoring: load",
                Value::F64(0.5 + step as f64),
            );
            host.enter(&mut monitor, "main");
            host.enter(&mut monitor, "phase");
            let id = Value::U64((step * 40 + at) as u64);
            host.enter(&mut monitor, "launch");
            host.count(&mut monitor, "Correlation ID", id);
            host.exit(&mut monitor, "launch");
            let peer = Peer {
                rank: 4,
                tag: 17,
                bytes: 4096,
            };
            monitor.push(cpu, Nanos(host.at), StreamEvent::Send(peer));
            host.count(&mut monitor, "heap", Value::I64(-step));
            host.at += 100_000 + jitter + if is_slow { 3_000_000 } else { 0 };
            host.exit(&mut monitor, "phase");
            host.exit(&mut monitor, "main");
            device.at = device.at.max(host.at);
            device.enter(&mut monitor, "kernel");
            // The launch of the slow kernel arrives a step later.
            if !is_slow {
                device.count(&mut monitor, "Correlation ID", id);
            }
            device.at += 50_000 + jitter + if is_slow { 2_000_000 } else { 0 };
            if is_slow {
                device.count(&mut monitor, "Correlation ID", Value::U64(100_000));
            }
            device.exit(&mut monitor, "kernel");
        }
        if step == 5 {
            host.enter(&mut monitor, "launch");
            host.count(&mut monitor, "Correlation ID", Value::U64(100_000));
            host.exit(&mut monitor, "launch");
        }
        monitor.end_step(step as u64);
    }
    let report = monitor.finish().expect("nothing fails");
    report.store.expect("it has a recorder")
}

fn records(store: &mut dyn Store, kind: Kind) -> Vec<Record> {
    let query = Query {
        kind: Some(kind),
        order: Order::Entry,
        ..Query::default()
    };
    store.query(&query).expect("it was just written")
}

#[test]
fn a_record_has_all_there_is() {
    for store in stores("whole") {
        let recorder = Recorder::params().fact("job", "77").fact("job", "78");
        let monitor = monitor(Calls::params(), recorder, store);
        let monitor = monitor.ignore("never*").ignore("no?").threshold("k*", 5.0);
        let (mut store, reduction) = accelerated(monitor.expect("a rate in range"));
        let found = records(&mut *store, Kind::Anomaly);
        let names: Vec<_> = found.iter().map(|one| one.call.function.as_str()).collect();
        assert_eq!(names, ["phase", "kernel"]);
        let [phase, kernel] = &found[..] else {
            panic!("two records")
        };
        assert_eq!((phase.program, phase.rank, phase.thread), (0, 3, 0));
        assert_eq!(phase.host.as_deref(), Some("node\"7\""));
        assert_eq!((phase.step, phase.label), (4, Label::BeyondExperience));
        assert_eq!(phase.call.id, format!("3:4:{}", 38 * 8 + 1));
        assert_eq!(phase.path(), "main / phase");
        assert!(phase.severity > Nanos(2_900_000) && phase.score > 5.0);
        let expected = phase.expected.expect("it has a model").0;
        assert_eq!(phase.severity.0, phase.runtime.0 - expected);
        assert_eq!((phase.before.len(), phase.after.len()), (5, 5));
        // Two later calls are in this step, the others in the next one.
        let own = phase.call.number;
        let after: Vec<_> = phase.after.iter().map(|one| one.number - own).collect();
        assert_eq!(after, [1, 2, 3, 4, 5]);
        assert!(phase.after.iter().all(|one| one.exit.is_some()));
        let [message] = phase.messages[..] else {
            panic!("one message")
        };
        assert_eq!((message.is_sent, message.rank, message.tag), (true, 4, 17));
        let counters: Vec<_> = phase
            .counters
            .iter()
            .map(|one| (&*one.name, one.value))
            .collect();
        assert_eq!(counters, [("heap", Value::I64(-4))]);
        let node: Vec<_> = phase
            .node
            .iter()
            .map(|one| (&*one.name, one.value))
            .collect();
        assert_eq!(node, [("load", Value::F64(4.5))]);
        assert!(phase.launch.is_none() && phase.accelerator.is_empty());

        let launch = kernel.launch.as_ref().expect("it came later");
        assert_eq!(launch.path, ["launch"]);
        assert_eq!((launch.thread, launch.correlation), (0, 100_000));
        let place = [("CUDA Device", "1"), ("CUDA Stream", "9")];
        let place = place.map(|(name, value)| (name.to_string(), value.to_string()));
        assert_eq!(kernel.accelerator, place);

        // For comparison, a typical call of each on the same stream.
        let usual = records(&mut *store, Kind::Normal);
        let of: Vec<_> = usual
            .iter()
            .map(|one| (one.thread, &*one.call.function))
            .collect();
        assert_eq!(of, [(0, "phase"), (1, "kernel")]);
        assert!(
            usual
                .iter()
                .all(|one| one.label == Label::Normal && one.score < 2.0)
        );
        assert!(usual[1].launch.is_some());

        let (mut models, mut hosts, mut runs) = (Vec::new(), 0, Vec::new());
        store
            .each(&mut |entry| {
                match entry {
                    Entry::Model(model) => models.push(model),
                    Entry::Stream(one) => hosts += usize::from(!one.facts.is_empty()),
                    Entry::Run(run) => runs.push(run),
                    _ => {}
                }
                Ok(())
            })
            .expect("it was just written");
        assert_eq!(hosts, 2);
        assert_eq!((runs.len(), runs[0].detector.as_str()), (1, "tail"));
        let fact = |name: &str| {
            let mut facts = runs[0].facts.iter();
            facts
                .find(|(one, _)| one == name)
                .map(|(_, value)| value.as_str())
        };
        assert_eq!((fact("job"), fact("job 2")), (Some("77"), Some("78")));
        // The options of the detector and the monitor are stored too.
        assert_eq!(fact("false positives per million"), Some("10"));
        assert_eq!(
            (fact("ignored"), fact("ignored 2")),
            (Some("never*"), Some("no?"))
        );
        assert_eq!(
            (fact("threshold of k*"), fact("budget")),
            (Some("5"), Some("1073741824"))
        );
        let model = models.iter().find(|one| one.id == kernel.model);
        let model = model.expect("records refer to models that are there");
        assert_eq!(model.function, "kernel");
        let fact = |name: &str| {
            let found = model.facts.iter().find(|(fact, _)| fact == name);
            found.expect("a mode").1
        };
        assert!(fact("mode 1 to") < kernel.runtime.0 as f64);
        assert_eq!(
            fact("mode 1 median"),
            kernel.expected.expect("it has a model").0 as f64
        );
        assert_eq!(
            (reduction.anomalies, reduction.recorded, reduction.normals),
            (2, 2, 2)
        );
        assert_eq!(store.unreadable(), None);
    }
}

/// Returns `true` if a call of a phase is slow: one in 9,970 calls, over all functions.
fn is_planted(phase: usize, inner: usize) -> bool {
    phase % 997 == 990 && inner == phase / 997 % 9
}

/// Runs 30 functions below `main` and a phase, depth 3, with a message in each phase and planted
/// slow calls.
fn synthetic(
    mut monitor: Monitor,
    calls: usize,
    rank: u32,
) -> (Box<dyn Store>, Reduction, Monitor) {
    let mut random = Random::new(9);
    let stream = monitor.stream(key(rank, 0));
    monitor.metadata(stream, "Hostname", "node0042");
    let mut program = Program { stream, at: 0 };
    program.enter(&mut monitor, "main(int, char**)");
    for at in 0..calls / 10 {
        if at > 0 && at % 1000 == 0 {
            monitor.end_step(at as u64 / 1000);
        }
        let phase = format!("Integrate::run(phase {})", at % 10);
        program.enter(&mut monitor, &phase);
        let peer = Peer {
            rank: rank + 1,
            tag: 3,
            bytes: 8192,
        };
        let event = StreamEvent::Send(peer);
        monitor.push(stream, Nanos(program.at), event);
        for inner in 0..9 {
            let function = (at * 9 + inner) % 30;
            let usual = 20_000.0 + 1500.0 * function as f64;
            let slow = if is_planted(at, inner) { 20.0 } else { 1.0 };
            let runtime = usual * (0.05 * random.normal()).exp() * slow;
            program.call(
                &mut monitor,
                &format!("Pair::compute(kernel {function})"),
                runtime as i64,
            );
        }
        program.exit(&mut monitor, &phase);
    }
    program.exit(&mut monitor, "main(int, char**)");
    let empty = Monitor::default();
    let report = std::mem::replace(&mut monitor, empty).finish();
    let (store, reduction) = report
        .expect("nothing fails")
        .store
        .expect("it has a recorder");
    (store, reduction, monitor)
}

#[test]
fn data_are_reduced_148_times_with_context_complete() {
    for store in stores("reduced") {
        let name = if format!("{store:?}").starts_with("Lines") {
            "JSON Lines"
        } else {
            "SQLite"
        };
        let monitor = monitor(Calls::params(), Recorder::params(), store);
        let (mut store, reduction, _) = synthetic(monitor, 500_000, 0);
        let found = records(&mut *store, Kind::Anomaly);
        let planted = found
            .iter()
            .filter(|one| one.severity > Nanos(300_000))
            .count();
        let factor = reduction.factor().expect("something is kept");
        println!(
            "{name}: {} raw bytes, {} kept, {factor:.0} times; {} anomalies, {} of 50 planted, {} normal executions",
            reduction.raw_bytes,
            reduction.kept_bytes,
            reduction.anomalies,
            planted,
            reduction.normals
        );
        assert_eq!(planted, 50);
        // An enter and an exit for each call, and a message in each phase.
        assert_eq!(reduction.raw_bytes, 48 * 2 * 500_001 + 64 * 50_000);
        for record in &found {
            assert_eq!((record.stack.len(), record.before.len()), (2, 5));
            assert!(record.after.len() == 5 || record.call.number > 499_990);
            assert_eq!(record.host.as_deref(), Some("node0042"));
            assert!(record.model > 0);
        }
        assert!(reduction.normals > 0);
        assert!(factor >= 148.0, "{factor}");
    }
}

#[test]
fn queries_equal_a_scan_of_all_records() {
    for store in stores("queries") {
        let recorder = Recorder::params();
        let monitor = monitor(Calls::params(), recorder, store);
        let (mut store, _, _) = synthetic(monitor, 100_000, 5);
        let all = store.query(&Query::default()).expect("it was just written");
        let one = all[all.len() / 2].clone();
        let query = Query::default;
        let queries = [
            Query {
                kind: Some(Kind::Normal),
                ..query()
            },
            Query {
                label: Some(Label::TooFast),
                ..query()
            },
            Query {
                program: Some(0),
                rank: Some(5),
                thread: Some(0),
                ..query()
            },
            Query {
                rank: Some(6),
                ..query()
            },
            Query {
                function: Some(one.function.clone()),
                ..query()
            },
            Query {
                steps: Some(2..=4),
                ..query()
            },
            Query {
                score: Some(one.score),
                order: Order::Score,
                ..query()
            },
            Query {
                severity: Some(one.severity),
                order: Order::Severity,
                limit: Some(3),
                ..query()
            },
            Query {
                order: Order::Entry,
                limit: Some(2),
                ..query()
            },
        ];
        for query in queries {
            let found = store.query(&query).expect("it was just written");
            let mut naive: Vec<_> = all.iter().filter(|one| query.wants(one)).cloned().collect();
            match query.order {
                Order::Severity => naive.sort_by(|a, b| {
                    let first = b.severity.cmp(&a.severity);
                    first.then(b.score.total_cmp(&a.score))
                }),
                Order::Score => naive.sort_by(|a, b| {
                    let first = b.score.total_cmp(&a.score);
                    first.then(b.severity.cmp(&a.severity))
                }),
                Order::Entry => naive.sort_by_key(|one| one.call.entry),
                _ => {}
            }
            naive.truncate(query.limit.unwrap_or(usize::MAX));
            assert_eq!(found, naive, "{query:?}");
        }
    }
}

#[test]
fn ranks_are_merged_and_runs_compared() {
    let run = |name: &str, rank: u32| {
        let store = stores(name).remove(0);
        synthetic(
            monitor(Calls::params(), Recorder::params(), store),
            100_000,
            rank,
        )
        .0
    };
    for mut merged in stores("merged") {
        let mut parts = [run("rank0", 0), run("rank1", 1)];
        let expected: Vec<usize> = parts
            .iter_mut()
            .map(|part| records(&mut **part, Kind::Anomaly).len())
            .collect();
        let count = merge(&mut parts, &mut *merged, &Job::default()).expect("all are sound");
        let mut models = std::collections::HashMap::new();
        let (mut runs, mut entries) = (0, 0);
        merged
            .each(&mut |entry| {
                entries += 1;
                match entry {
                    Entry::Model(model) => {
                        let known = models.insert(model.id, model.function);
                        assert!(known.is_none(), "numbers are unique");
                    }
                    Entry::Call(one) => assert_eq!(models.get(&one.model), Some(&one.function)),
                    Entry::Run(_) => runs += 1,
                    _ => {}
                }
                Ok(())
            })
            .expect("it was just written");
        assert_eq!((runs, entries), (1, count));
        let of_rank = |merged: &mut dyn Store, rank| {
            let query = Query {
                rank: Some(rank),
                kind: Some(Kind::Anomaly),
                ..Query::default()
            };
            merged.query(&query).expect("it was just written").len()
        };
        assert_eq!(
            [of_rank(&mut *merged, 0), of_rank(&mut *merged, 1)],
            expected[..]
        );

        // Runs that differ are all stored, once each, in any order.
        let told = |version: &str| {
            let mut memory: Box<dyn Store> = Box::new(Memory::new());
            let mut run = RunRecord::default();
            run.version = version.into();
            memory.put(&Entry::Run(run)).expect("memory takes it");
            memory
        };
        let mut parts = ["a", "b", "a", "b", "a"].map(told);
        let count = merge(&mut parts, &mut Memory::new(), &Job::default()).expect("all are sound");
        assert_eq!(count, 2);

        // Two ranks lost twice as much time as one.
        let mut one = run("alone", 0);
        let same = Comparison::of(&mut *one, &mut *run("again", 0)).expect("both are sound");
        assert!(same.functions.iter().all(|one| one.one == one.other));
        let compared = Comparison::of(&mut *one, &mut *merged).expect("both are sound");
        let first = &compared.functions[0];
        assert_eq!(first.other.time_lost.0, 2 * first.one.time_lost.0);
        assert_eq!(first.more_time_lost(), first.one.time_lost);
        assert!(
            compared.paths[0]
                .name
                .starts_with("main(int, char**) / Integrate")
        );
        let sum = |of: fn(&perf_anomaly::provenance::Difference) -> u64| {
            (
                compared.functions.iter().map(of).sum::<u64>(),
                compared.paths.iter().map(of).sum::<u64>(),
            )
        };
        let anomalies = expected[0] as u64;
        assert_eq!(sum(|one| one.one.anomalies), (anomalies, anomalies));
        assert_eq!(
            sum(|one| one.other.anomalies),
            (2 * anomalies, 2 * anomalies)
        );
    }
}
