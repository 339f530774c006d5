//! Calls that are judged again at the end of a stream by all other calls.

use super::power::most;
use crate::common;

use common::{Random, call, steps};
use perf_anomaly::provenance::{Query, Recorder};
use perf_anomaly::{Detector, FunctionId, Judgement, Label, Monitor, Report, Sample, Tail, Watch};
use perf_core::{Job, Nanos};
use perf_testdata::run_times::{Planted, SHAPES, Shape, Source};
use std::collections::BTreeMap;

/// Judges batches, then the undecided calls again. Returns the calls that are alarms at once, and those that are alarms
/// at the end.
fn judge(batches: &[Vec<Sample>]) -> [Vec<usize>; 2] {
    let mut tail = Tail::default();
    let (mut found, mut undecided, mut start) = ([Vec::new(), Vec::new()], Vec::new(), 0);
    for batch in batches {
        let mut judgements: Vec<Judgement> = Vec::new();
        tail.detect(batch, &mut judgements, &Job::default())
            .expect("not cancelled");
        let open = tail.undecided().iter();
        undecided.extend(open.map(|at| (start + at, batch[*at])));
        let all = judgements.iter().enumerate();
        let alarms = all.filter(|(_, one)| one.label.is_anomaly());
        found[0].extend(alarms.map(|(at, _)| start + at));
        start += batch.len();
    }
    let samples: Vec<Sample> = undecided.iter().map(|(_, sample)| *sample).collect();
    let mut judgements = Vec::new();
    tail.judge_again(&samples, &mut judgements);
    let again = undecided.iter().zip(judgements);
    let again = again.filter(|(_, judgement)| judgement.label.is_anomaly());
    found[1].extend(again.map(|((at, _), _)| *at));
    found
}

/// Returns ten batches of calls of one function.
fn batches(shape: &Shape, seed: u64, calls: usize) -> Vec<Vec<Sample>> {
    let mut source = Source::new(seed, calls);
    let batch = |_| {
        (0..calls / 10)
            .map(|_| call(0, source.next(shape)))
            .collect()
    };
    (0..10).map(batch).collect()
}

#[test]
fn both_judgements_together_have_the_stated_rate() {
    for shape in SHAPES
        .iter()
        .filter(|one| !matches!(one.planted, Planted::Nothing))
    {
        let (mut alarms, mut all) = ([0, 0], 0);
        for (calls, seeds) in [(200, 300), (2_000, 60), (20_000, 6)] {
            for seed in 0..seeds {
                let found = judge(&batches(shape, 1 + seed + 7 * calls as u64, calls));
                alarms[0] += found[0].len();
                alarms[1] += found[1].len();
                all += calls;
            }
        }
        let sum = alarms[0] + alarms[1];
        println!(
            "{}: {} + {} in {all} calls",
            shape.name, alarms[0], alarms[1]
        );
        // Rare calls of a second mode are alarms until there are enough of them.
        let rate = match shape.name {
            "two modes, 1 in 20" => 15e-5,
            _ => 1e-5,
        };
        assert!(sum as f64 <= most(rate * all as f64), "{}", shape.name);
    }
}

/// A call that takes 10 deviations longer, or is as unlikely, is found wherever it is after the first 100 calls.
#[test]
fn early_calls_are_found_by_later_ones() {
    const SEEDS: u64 = 100;
    for (name, calls, least) in [
        ("0 or 1 us", 200, [0, 99]),
        ("0 or 1 us", 2_000, [90, 100]),
        ("two modes", 200, [95, 99]),
        ("lognormal, 0.3", 2_000, [85, 98]),
        ("lognormal, 1", 200, [25, 50]),
        ("lognormal, 1", 2_000, [80, 96]),
        ("Pareto, 1.5", 2_000, [90, 98]),
    ] {
        let shape = SHAPES.iter().find(|one| one.name == name);
        let shape = shape.expect("a known shape");
        let planted = call(0, shape.runtime(shape.usual(calls)));
        let mut found = [0, 0];
        for seed in 0..SEEDS {
            let mut all = batches(shape, 1 + seed, calls);
            let at = 100 + Random::new(5 + seed).below(calls as u64 - 100) as usize;
            all[at / (calls / 10)][at % (calls / 10)] = planted;
            let [at_once, at_end] = judge(&all);
            let is_found = at_once.contains(&at);
            found[0] += usize::from(is_found);
            found[1] += usize::from(is_found || at_end.contains(&at));
        }
        println!(
            "{name}, {calls} calls: {} at once, {} in all",
            found[0], found[1]
        );
        assert!(
            found[0] >= least[0] && found[1] >= least[1],
            "{name}: {found:?}"
        );
    }
}

/// Plants one call at a random place in each function of a real run.
#[test]
fn delays_are_found_anywhere_in_a_real_run() {
    const RUNS: u64 = 20;
    let Some(steps) = steps("chimbuko/lammps-0.tsv.gz") else {
        return;
    };
    let steps: Vec<Vec<Sample>> = steps.into_iter().map(|step| step.samples).collect();
    let mut functions: BTreeMap<FunctionId, Vec<i64>> = BTreeMap::new();
    for sample in steps.iter().flatten() {
        let runtimes = functions.entry(sample.function).or_default();
        runtimes.push(sample.runtime.0);
    }
    functions.retain(|_, runtimes| {
        runtimes.sort_unstable();
        runtimes.len() > 350 && runtimes[runtimes.len() * 99 / 100] < 100_000
    });
    assert_eq!(functions.len(), 11);
    // Means over the runs, of 11 functions.
    for (delay, least) in [
        (100_000, [6.5, 9.5]),
        (300_000, [9.0, 10.9]),
        (5_000_000, [11.0, 11.0]),
    ] {
        let mut found = [0, 0];
        for seed in 0..RUNS {
            let mut random = Random::new(seed + 1);
            let place = |runtimes: &Vec<i64>| 100 + random.below(runtimes.len() as u64 - 100);
            let places: Vec<u64> = functions.values().map(place).collect();
            let mut left: BTreeMap<_, _> = functions.keys().zip(places).collect();
            let (mut changed, mut planted, mut at) = (steps.clone(), Vec::new(), 0);
            for sample in changed.iter_mut().flatten() {
                match left.get_mut(&sample.function) {
                    Some(0) => {
                        sample.runtime += Nanos(delay);
                        planted.push(at);
                        left.remove(&sample.function);
                    }
                    Some(calls) => *calls -= 1,
                    None => {}
                }
                at += 1;
            }
            let [at_once, at_end] = judge(&changed);
            for at in planted {
                let is_found = at_once.contains(&at);
                found[0] += usize::from(is_found);
                found[1] += usize::from(is_found || at_end.contains(&at));
            }
        }
        let found = found.map(|found| found as f64 / RUNS as f64);
        println!(
            "+{}: {} at once, {} in all, of 11",
            Nanos(delay),
            found[0],
            found[1]
        );
        assert!(found[0] >= least[0] && found[1] >= least[1], "{found:?}");
    }
}

/// Returns a run of 2,000 calls, of which call 40 takes 300 us instead of 40 to 100 us.
fn run(monitor: Monitor) -> Report {
    let mut watch = Watch::new(monitor, 0, 3);
    let solve = watch.region("solve");
    for at in 0..2_000 {
        let length = if at == 40 {
            300
        } else {
            (at * 37 % 100).max(40)
        };
        watch.enter(0, solve, Nanos(1_000_000 * at));
        watch.exit(0, solve, Nanos(1_000_000 * at + 1_000 * length));
        if at % 100 == 99 {
            watch.end_step();
        }
    }
    watch.into_sink().finish().expect("no store")
}

#[test]
fn a_call_that_is_found_at_the_end_counts_in_its_step() {
    let report = run(Monitor::default().record(Recorder::default()));
    let loss = report.losses.total();
    assert_eq!((report.found_at_end(), loss.too_slow), (1, 1));
    assert!((200_000..265_000).contains(&loss.time.0), "{loss:?}");
    assert_eq!(report.lost_time().total(), loss.time);
    let in_steps: Vec<_> = report
        .losses
        .steps()
        .filter(|(_, one)| one.too_slow > 0)
        .collect();
    assert_eq!(
        in_steps,
        [(0, report.losses.steps().next().expect("steps").1)]
    );
    let paths = report.losses.worst_paths();
    assert_eq!(
        (paths[0].1.time, report.losses.worst_ranks()[0].1.time),
        (loss.time, loss.time)
    );
    let ranks = report.ranks.steps(0, 3);
    let of_ranks: Vec<_> = ranks
        .filter(|one| one.loss.too_slow > 0)
        .map(|one| one.step)
        .collect();
    assert_eq!(of_ranks, [0]);
    assert!(report.unjudged.long_calls().is_empty());
    let (mut store, reduction) = report.store.expect("a recorder");
    assert_eq!((reduction.recorded, reduction.anomalies), (1, 1));
    let records = store.query(&Query::default()).expect("in memory");
    let record = records
        .iter()
        .find(|one| one.label == Label::TooSlow)
        .expect("the call");
    assert_eq!(
        (record.step, record.rank, record.call.entry),
        (0, 3, Nanos(40_000_000))
    );
    assert!(record.model > 0 && record.severity == loss.time && record.call.is_anomaly);
}
