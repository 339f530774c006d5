//! Statistics of counters: those of a naive sum of the same stream, on one detector and merged from many; after restarts
//! of the detector and the server; their limits, and messages of earlier versions without them.

use super::Kept;
use crate::common::Random;
use perf_anomaly::server::{Client, Delta, Local, Server, Sum};
use perf_anomaly::{CounterSummary, Counters, Functions, Moments, Monitor};
use perf_core::{
    EventSink, EventSource, Job, MetricId, MetricMode, Nanos, StreamEvent, StreamKey, Value,
};
use perf_formats::OpenOptions;
use perf_formats::adios::Adios;
use perf_testdata::corpus::corpus;
use std::collections::{BTreeMap, BTreeSet};

const CLIENT: u64 = 7;
const STEPS: u64 = 20;
const NAMES: [&str; 5] = [
    "Message size",
    "Correlation ID",
    "PAPI_TOT_CYC",
    "monitoring: load",
    "Temperature",
];

/// Values by counter and rank, and by thread, in order.
type Values = BTreeMap<(&'static str, u32), [Vec<f64>; 2]>;

/// Counter that is declared to accumulate.
const ACCUMULATED: &str = NAMES[2];

/// Pushes counter values and calls of a rank in a step, and adds the values to `values`. In some steps a rank has values
/// but completes no call.
fn step(monitor: &mut Monitor, rank: u32, number: u64, values: &mut Values) {
    let mut random = Random::new(1 + number * 31 + u64::from(rank));
    let solve = monitor.region(0, "solve");
    let has_calls = number % 5 != 3 || rank == 0;
    let mut at = number as i64 * 1_000_000_000 + i64::from(rank);
    for thread in 0..2 {
        let program = 0;
        let key = StreamKey {
            program,
            rank,
            thread,
        };
        let stream = monitor.stream(key);
        for call in 0..12 {
            if has_calls {
                monitor.push(stream, Nanos(at), StreamEvent::Enter(solve));
            }
            let name = NAMES[(call + random.below(2)) as usize % NAMES.len()];
            let counter = monitor.counter(name);
            if name == ACCUMULATED {
                monitor.describe_counter(counter, "#", MetricMode::Accumulated);
            }
            let value = match name {
                ACCUMULATED => Value::U64(
                    (number * 12 + call) * 1000 + u64::from(rank * 40_000 * (thread + 1)),
                ),
                "Temperature" => Value::F64(300.0 + random.below(1000) as f64 / 64.0),
                _ => Value::I64(random.below(100_000) as i64 - 20_000),
            };
            monitor.push(stream, Nanos(at + 1), StreamEvent::Counter(counter, value));
            let own = values.entry((name, rank)).or_default();
            own[thread as usize].push(value.as_f64());
            if has_calls {
                let length = 50_000 + random.below(2000) as i64;
                monitor.push(stream, Nanos(at + length), StreamEvent::Exit(solve));
            }
            at += 60_000;
        }
    }
}

/// Runs a detector of some ranks, up to a step without an end, or to the end.
fn run(local: &Local, client: u64, ranks: &[u32], stop: Option<u64>) -> Values {
    let known = |server: &mut Server| (server.sequence(client), server.positions(client).to_vec());
    let (sequence, positions) = local.server(known).expect("no panic");
    let client = Client::new(client, local.clone()).resume(sequence, &positions);
    let mut monitor = Monitor::default().share(client);
    let mut values = Values::new();
    for number in 0..stop.unwrap_or(STEPS) {
        let each = ranks.iter();
        each.for_each(|rank| step(&mut monitor, *rank, number, &mut values));
        monitor.end_step(number);
    }
    assert!(monitor.error().is_none());
    if stop.is_none() {
        monitor.finish().expect("nothing fails");
    }
    values
}

fn close(one: f64, other: f64) -> bool {
    (one - other).abs() <= 1e-9 * other.abs().max(1.0)
}

fn assert_moments(found: &Moments, values: &[f64], name: &str) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let power = |p| {
        values
            .iter()
            .map(|value| (value - mean).powi(p))
            .sum::<f64>()
            / n
    };
    let deviation = (power(2) * n / (n - 1.0)).sqrt();
    assert_eq!(found.count(), values.len() as u64, "{name}");
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    assert_eq!((found.min(), found.max()), (Some(least), Some(most)));
    for (found, naive) in [
        (found.sum(), mean * n),
        (found.mean(), mean),
        (found.std_dev(), deviation),
        (found.skewness(), power(3) / power(2).powf(1.5)),
        (found.kurtosis(), power(4) / power(2).powi(2) - 3.0),
    ] {
        assert!(close(found, naive), "{name}: {found} and {naive}");
    }
}

/// Compares counters with the values of a stream.
fn assert_naive(found: &[CounterSummary], values: &Values) {
    assert!(found.is_sorted_by(|one, next| one.difference >= next.difference));
    let mut names: Vec<&str> = found.iter().map(|one| &*one.name.name).collect();
    names.sort_unstable();
    // Numbers that match events are no measurements.
    assert_eq!(names, [NAMES[0], NAMES[2], NAMES[4], NAMES[3]]);
    for one in found {
        let name = &*one.name.name;
        let own: Vec<_> = values.iter().filter(|((of, _), _)| *of == name).collect();
        let threads = || own.iter().flat_map(|(_, threads)| threads.iter());
        let all: Vec<f64> = threads().flatten().copied().collect();
        assert_moments(&one.stats.values, &all, name);
        let pairs = || threads().flat_map(|thread| thread.windows(2));
        let rises = pairs().filter(|pair| pair[1] > pair[0]).count() as u64;
        let falls = pairs().filter(|pair| pair[1] < pair[0]).count() as u64;
        assert_eq!((one.stats.rises, one.stats.falls), (rises, falls), "{name}");
        let growth: f64 = pairs().map(|pair| pair[1] - pair[0]).sum();
        assert!(close(one.stats.growth, growth), "{name}");
        assert_eq!(one.stats.accumulates(), name == ACCUMULATED);
        assert_eq!(one.stats.declared, (name == ACCUMULATED).then_some(true));
        assert_eq!((one.ranks, one.has_more_ranks), (own.len(), false));
        let of_rank = |((_, rank), threads): &(&(&str, u32), &[Vec<f64>; 2])| {
            let all: Vec<f64> = threads.iter().flatten().copied().collect();
            let mean = all.iter().sum::<f64>() / all.len() as f64;
            let growth = threads.iter().map(|one| one[one.len() - 1] - one[0]).sum();
            let compared: f64 = if name == "PAPI_TOT_CYC" { growth } else { mean };
            (compared, std::cmp::Reverse(*rank))
        };
        let most = own
            .iter()
            .map(of_rank)
            .max_by(|a, b| a.partial_cmp(b).unwrap());
        let (mean, rank) = most.expect("there are ranks");
        match &one.highest {
            Some((highest, stats)) => {
                assert_eq!(*highest, rank.0, "{name}");
                assert!(close(one.compared(stats), mean), "{name}");
            }
            None => {
                let least = own.iter().map(|of| of_rank(of).0);
                let least = least.fold(f64::INFINITY, f64::min);
                assert!(mean - least <= 0.01 * mean.abs().max(least.abs()), "{name}");
            }
        }
    }
}

fn counters(local: &Local) -> Vec<CounterSummary> {
    local.server(|server| server.counters()).expect("no panic")
}

/// Returns the counters without rounding errors.
fn state(local: &Local) -> String {
    let all = counters(local).into_iter().map(|one| {
        let stats = [one.stats, one.highest.map_or(one.stats, |it| it.1)];
        let stats = stats.map(|it| {
            let values = it.values;
            let counts = (
                values.count(),
                it.rises,
                it.falls,
                values.min(),
                values.max(),
            );
            let round = |value: f64| format!("{value:.9e}");
            let sums = [
                values.sum(),
                values.mean(),
                values.std_dev(),
                values.skewness(),
                it.growth,
            ];
            (counts, sums.map(round), round(values.kurtosis()))
        });
        let rank = one.highest.map(|(rank, _)| rank);
        format!("{:?} {} {rank:?} {stats:?}\n", one.name, one.ranks)
    });
    all.collect()
}

fn local() -> Local {
    Local::new(Server::default())
}

#[test]
fn statistics_are_those_of_a_naive_sum() {
    let mut monitor = Monitor::default();
    let mut values = Values::new();
    for number in 0..STEPS {
        for rank in 0..3 {
            step(&mut monitor, rank, number, &mut values);
            // Parts of a step.
            monitor.flush();
        }
        monitor.end_step(number);
    }
    let report = monitor.finish().expect("nothing fails");
    assert_naive(&report.counters(), &values);
    assert_eq!(report.dropped_counter_values(), 0);
    // A client of all ranks, and one for each rank.
    let (one, many) = (local(), local());
    assert_eq!(run(&one, CLIENT, &[0, 1, 2], None), values);
    for rank in 0..3 {
        run(&many, rank.into(), &[rank], None);
    }
    for server in [&one, &many] {
        assert_naive(&counters(server), &values);
        assert_eq!(state(server), state(&one));
    }
}

#[test]
fn a_detector_that_is_killed_and_started_again_counts_values_once() {
    let whole = local();
    run(&whole, CLIENT, &[0, 1], None);
    let expected = state(&whole);
    for seed in 0..20 {
        let (killed, mut random) = (local(), Random::new(seed + 1));
        for _ in 0..=random.below(3) {
            run(&killed, CLIENT, &[0, 1], Some(1 + random.below(STEPS)));
        }
        let bytes = killed.server(|server| server.encode()).expect("no panic");
        let params = Server::params().check().expect("defaults");
        let before = counters(&killed);
        let killed = Local::new(Server::decode(params, &bytes).expect("it was just written"));
        // The values are equal to the bit after a restart of the server.
        assert_eq!(counters(&killed), before);
        run(&killed, CLIENT, &[0, 1], None);
        assert_eq!(state(&killed), expected, "{seed}");
        run(&killed, CLIENT, &[0, 1], None);
        assert_eq!(state(&killed), expected, "{seed}");
    }
}

/// Returns a delta of a rank with counters, and one without.
fn deltas(rank: u32) -> [Delta; 2] {
    let mut calls = perf_anomaly::Watch::new(perf_anomaly::calls::Calls::default(), 0, rank);
    let (solve, bytes) = (calls.region("solve"), calls.counter("Message size"));
    let mut client = Client::new(rank.into(), Kept::default());
    for step in 0..2 {
        for call in 10 * step..10 * (step + 1) {
            calls.enter(0, solve, Nanos(1_000_000 * call));
            if step == 0 {
                calls.count(
                    0,
                    bytes,
                    Value::I64(call * 100),
                    Nanos(1_000_000 * call + 1),
                );
            }
            calls.exit(0, solve, Nanos(1_000_000 * call + 50_000));
        }
        calls.end_step();
        let judgements = [perf_anomaly::Judgement::default(); 10];
        let mut detector = perf_anomaly::Tail::default();
        let sent = client.step(calls.sink(), &judgements, &mut detector);
        assert!(sent.expect("nothing fails").sent);
    }
    let [with, without] = &client.exchange_mut().0[..] else {
        panic!("two deltas")
    };
    [with.clone(), without.clone()]
}

#[test]
fn messages_contain_counters_and_those_of_earlier_versions_none() {
    let [[mut with, mut without], [other, _]] = [deltas(0), deltas(1)];
    let bytes = with.encode();
    assert_eq!(
        (bytes[4], Delta::decode(&bytes).expect("written")),
        (10, with.clone())
    );
    let names: Vec<&str> = with.names.iter().map(|name| &*name.name).collect();
    assert_eq!(names, ["solve", "Message size"]);
    let mut server = Server::default();
    let mut sum = server.sum(&with).expect("sound");
    sum.merge(&server.sum(&other).expect("sound"))
        .expect("one detector");
    let ranks = sum.take_ranks();
    for part in [sum, ranks] {
        server
            .add(&Sum::decode(&part.encode()).expect("written"))
            .expect("sound");
    }
    let mut taken = Server::default();
    for delta in [&with, &other] {
        taken.take(delta).expect("sound");
        taken.take(delta).expect("a repeated delta counts once");
    }
    let [one] = &server.counters()[..] else {
        panic!("one counter")
    };
    assert_eq!(taken.counters(), std::slice::from_ref(one));
    assert_eq!(
        (one.ranks, one.stats.values.count(), one.stats.growth),
        (2, 20, 1800.0)
    );
    assert!(!one.stats.accumulates(), "20 values are too few");
    assert_eq!(one.highest, None);
    // A counter without a name is refused.
    with.names.pop();
    assert!(Server::default().take(&with).is_err());
    // Version 8 of a delta and version 6 of a sum end before the counters and slow calls; without any they are one byte
    // each.
    without.functions = Functions::default();
    let mut bytes = without.encode();
    assert_eq!(bytes.pop(), Some(0));
    bytes[4] = 9;
    assert_eq!(Delta::decode(&bytes).expect("of version 9"), without);
    assert_eq!(bytes.pop(), Some(0));
    bytes[4] = 8;
    assert_eq!(Delta::decode(&bytes).expect("of version 8"), without);
    let sum = Server::default().sum(&without).expect("sound");
    let mut bytes = sum.encode();
    // There are no slow calls of clients without modes.
    assert_eq!((bytes[4], bytes.pop()), (8, Some(0)));
    bytes[4] = 6;
    assert_eq!(Sum::decode(&bytes).expect("of version 6"), sum);
    // A truncated or damaged message is refused and never panics.
    let bytes = other.encode();
    for end in 0..bytes.len() {
        assert!(Delta::decode(&bytes[..end]).is_err());
    }
    for at in bytes.len() - 60..bytes.len() {
        for bits in [1, 0x80, 0xff] {
            let mut damaged = bytes.clone();
            damaged[at] ^= bits;
            if let Ok(delta) = Delta::decode(&damaged) {
                let mut server = Server::default();
                let _ = server.take(&delta);
                let params = Server::params().check().expect("defaults");
                Server::decode(params, &server.encode()).expect("it can be read again");
            }
        }
    }
}

/// Numbers of counters, and values that are no numbers, are limited and counted.
#[test]
fn counters_are_limited() {
    let mut monitor = Monitor::default().share(Client::new(CLIENT, local()));
    let stream = monitor.stream(StreamKey::default());
    let all: Vec<MetricId> = (0..5000)
        .map(|at| monitor.counter(&format!("counter {at:04}")))
        .collect();
    for (at, counter) in all.iter().enumerate() {
        let value = match at {
            7 => f64::NAN,
            8 => f64::INFINITY,
            9 => -1e70,
            _ => at as f64,
        };
        let event = StreamEvent::Counter(*counter, Value::F64(value));
        monitor.push(stream, Nanos(at as i64), event);
    }
    monitor.end_step(0);
    let report = monitor.finish().expect("nothing fails");
    assert_eq!(report.counters().len(), 4096 - 3);
    assert_eq!(report.dropped_counter_values(), 5000 - 4096 + 3);
}

/// With many ranks, further ones are known over all ranks only, and messages and memory are bounded.
#[test]
fn counts_and_extremes_stay_when_ranks_are_many() {
    let mut server = Server::default();
    let names: Vec<_> = (0..40).map(|at| format!("counter {at}")).collect();
    for rank in 0..4096_u32 {
        let mut calls = perf_anomaly::Watch::new(perf_anomaly::calls::Calls::default(), 0, rank);
        let solve = calls.region("solve");
        calls.enter(0, solve, Nanos(1));
        for (at, name) in names.iter().enumerate() {
            let counter = calls.counter(name);
            let value = (1000 * at) as f64 + f64::from(rank);
            calls.count(0, counter, Value::F64(value), Nanos(2 + at as i64));
            calls.count(0, counter, Value::F64(value + 0.5), Nanos(2 + at as i64));
        }
        calls.exit(0, solve, Nanos(100));
        calls.end_step();
        let mut client = Client::new(rank.into(), Kept::default());
        let mut detector = perf_anomaly::Tail::default();
        let judgements = [perf_anomaly::Judgement::default()];
        client
            .step(calls.sink(), &judgements, &mut detector)
            .expect("kept");
        server.take(&client.exchange_mut().0[0]).expect("sound");
    }
    let all = server.counters();
    assert_eq!(all.len(), 40);
    for (at, one) in all.iter().enumerate() {
        let number: f64 = one.name.name[8..].parse().expect("a number");
        let values = &one.stats.values;
        assert_eq!(values.count(), 8192, "{at}");
        assert_eq!(values.min(), Some(1000.0 * number));
        assert_eq!(values.max(), Some(1000.0 * number + 4095.5));
        assert!(close(values.mean(), 1000.0 * number + 2047.75));
        assert!(one.has_more_ranks && one.ranks < 4096);
    }
    let bytes = server.encode();
    assert!(bytes.len() < 9_000_000, "{}", bytes.len());
    assert!(server.memory() < 32_000_000, "{}", server.memory());
    let params = Server::params().check().expect("defaults");
    let again = Server::decode(params, &bytes).expect("it was just written");
    assert_eq!(again.counters(), all);
    assert_eq!(Counters::default().dropped(), 0);
}

/// A stream of TAU that another parser has counted.
#[test]
fn recorded_counters_are_all_counted() {
    for (file, events, names) in [
        ("streams/bp5/brusselator-0.bp", 5002, 8),
        (
            "streams/bp3-real/adios1-heat-coupled/tau-metrics.bp",
            354,
            19,
        ),
    ] {
        let Some(path) = corpus(file) else {
            return;
        };
        let mut source = Adios::open(&[path], &OpenOptions::new()).expect("a stream");
        let mut monitor = Monitor::default();
        while source
            .next_step(&mut monitor, &Job::default())
            .expect("it can be read")
        {}
        let report = monitor.finish().expect("nothing fails");
        let counters = report.counters();
        let counts = counters.iter().map(|one| one.stats.values.count());
        // Several programs have the same counters.
        let known: BTreeSet<_> = counters.iter().map(|one| &one.name.name).collect();
        assert_eq!(
            (counts.sum::<u64>(), known.len()),
            (events, names),
            "{file}"
        );
    }
}

/// A declared mode decides whether values that rise are levels or accumulate.
#[test]
fn declared_modes_of_counters_are_used() {
    let mut monitor = Monitor::default();
    let modes = [
        ("accumulated", MetricMode::Accumulated, 3, true),
        ("absolute", MetricMode::Absolute, 200, false),
        ("relative", MetricMode::Relative, 3, false),
        ("falling", MetricMode::Accumulated, 3, false),
    ];
    let key = StreamKey::default();
    let stream = monitor.stream(key);
    for (name, mode, count, _) in modes {
        let counter = monitor.counter(name);
        monitor.describe_counter(counter, "", mode);
        for at in 0..count {
            let value = if name == "falling" { -at } else { at };
            let event = StreamEvent::Counter(counter, Value::I64(value));
            monitor.push(stream, Nanos(at), event);
        }
    }
    monitor.end_step(0);
    let report = monitor.finish().expect("no store");
    let found = report.counters();
    for (name, mode, _, accumulates) in modes {
        let one = found.iter().find(|one| &*one.name.name == name);
        let stats = one.expect("it has values").stats;
        assert_eq!(stats.accumulates(), accumulates, "{name}");
        let declared = match mode {
            MetricMode::Relative => None,
            mode => Some(mode == MetricMode::Accumulated),
        };
        assert_eq!(stats.declared, declared, "{name}");
    }
}
