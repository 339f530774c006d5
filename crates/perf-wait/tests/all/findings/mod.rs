//! Findings of runs with planted problems, and of healthy ones.

pub(crate) mod planted;
mod programs;
mod shared;
mod stragglers;

use crate::common::trace;
use perf_core::{Event, Job, LocationId, Trace};
use perf_wait::activity::Activities;
use perf_wait::delay::DelayCosts;
use perf_wait::findings::{Finding, FindingKind, Findings, FindingsPlan};
use perf_wait::waits::WaitStates;
use planted::{FAULTS, Fault, Planted};

pub(crate) fn find(trace: &Trace) -> (Activities, Findings) {
    let job = Job::default();
    let activities = Activities::of(trace.view(), &job).expect("it can be read");
    let waits = WaitStates::of_activities(&activities, &job).expect("likewise");
    let delays = DelayCosts::of(trace.view(), &activities, &waits, &job).expect("likewise");
    let plan = FindingsPlan::default();
    let found = plan
        .find(trace.view(), &activities, &waits, &delays, &job)
        .expect("it can be replayed");
    (activities, found)
}

/// Returns `true` if a finding is about the planted fault.
fn is_right(planted: &Planted, activities: &Activities, found: &Finding) -> bool {
    let definitions = planted.trace.definitions();
    let is_path = |path: Option<perf_core::CallPathId>, name: &str| {
        path.is_some_and(|path| activities.paths().name(path, &definitions.regions) == name)
    };
    match (planted.fault, found.kind) {
        (Fault::SlowRank, FindingKind::Delay { location, path }) => {
            location.index() == planted.rank && is_path(path, "solve")
        }
        (Fault::LateSender, FindingKind::Delay { location, path }) => {
            location.index() == planted.rank && is_path(path, "pack")
        }
        (Fault::SlowStep, FindingKind::SlowStep { step, function }) => {
            step as usize == planted.step && definitions.region_name(function) == "solve"
        }
        (Fault::Serial, FindingKind::Serial { location, path }) => {
            location == LocationId(0) && is_path(path, "write")
        }
        (Fault::SlowNetwork, FindingKind::Transfers) => true,
        (Fault::LongCall, FindingKind::BadCalls { .. }) => is_long_call(planted, found),
        _ => false,
    }
}

/// Returns `true` if the window of a finding is that of the planted call, and nothing else.
fn is_long_call(planted: &Planted, found: &Finding) -> bool {
    let (events, definitions) = (planted.trace.events(), planted.trace.definitions());
    let mut times = Vec::new();
    for index in 0..events[planted.rank].len() {
        let event = events[planted.rank].event(index);
        if let Some(Event::Enter { region } | Event::Leave { region }) = event
            && definitions.region_name(region) == "solve"
        {
            times.extend(events[planted.rank].time(index));
        }
    }
    let (enter, leave) = (times[2 * planted.step], times[2 * planted.step + 1]);
    let count = matches!(found.kind, FindingKind::BadCalls { count: 1, .. });
    let is_time = found
        .own
        .is_some_and(|own| own.0.abs_diff((leave.0 - enter.0) as i64) < 100);
    let window = found.window.map(|it| (it.start, it.end.0));
    count && is_time && window == Some((enter, leave.0 + 1))
}

/// Number of runs of each fault and strength.
const SEEDS: u64 = 20;

/// Returns the number of runs in which the first finding is right.
fn power(fault: Fault, strength: f64) -> u64 {
    let is_found = |seed: u64| {
        let planted = planted::run(seed, fault, strength);
        let (activities, found) = find(&planted.trace);
        let first = found.findings.first();
        let is_found = first.is_some_and(|it| is_right(&planted, &activities, it));
        if !is_found {
            let definitions = planted.trace.definitions();
            let text = first.map(|it| it.text(definitions, &activities));
            println!("{}: {text:?}", planted.text);
        }
        u64::from(is_found)
    };
    (0..SEEDS).map(is_found).sum()
}

#[test]
fn planted_faults_come_first() {
    println!("share of the run, {FAULTS:?}");
    for &strength in perf_testdata::repeats(&[0.02, 0.05, 0.1, 0.2, 0.4][..], &[0.1]) {
        let found = FAULTS.map(|fault| power(fault, strength));
        let cells = found.map(|it| format!(" {it} |")).concat();
        println!("| {} % |{cells}", strength * 100.0);
        let sum: u64 = found.iter().sum();
        // The weakest are within the noise of some runs.
        let enough = if strength < 0.1 { 50 } else { 114 };
        assert!(sum >= enough, "{sum} of 120 at {strength}");
    }
}

#[test]
fn healthy_runs_have_no_findings_above_two_per_cent() {
    let mut bad = Vec::new();
    for seed in 1_000..1_020 {
        let planted = planted::run(seed, Fault::Nothing, 0.0);
        let (activities, found) = find(&planted.trace);
        for it in found.findings.iter().filter(|it| it.share > 0.02) {
            let text = it.text(planted.trace.definitions(), &activities);
            bad.push(format!("{}: {text}", planted.text));
        }
    }
    assert!(bad.is_empty(), "{}", bad.join("\n"));
}

#[test]
fn a_cause_that_no_other_waits_for_directly_is_not_said_to_make_zero_others_wait() {
    let mut kinds = std::collections::BTreeSet::new();
    for (fault, seed) in FAULTS.into_iter().zip(0..) {
        let planted = planted::run(seed, fault, 0.5);
        let definitions = planted.trace.definitions();
        let (activities, found) = find(&planted.trace);
        for it in &found.findings {
            let is_plain = |text: &str| !text.contains("0 other");
            let text = it.text(definitions, &activities);
            assert!(!text.contains(" 0 other"), "{text}");
            let mut alone = it.clone();
            (alone.held_up, alone.longest) = (0, None);
            let indirect = alone.text(definitions, &activities);
            assert!(is_plain(&indirect), "{indirect}");
            if indirect != text {
                assert!(indirect.contains("of waiting through others"), "{indirect}");
                kinds.insert(format!("{:?}", std::mem::discriminant(&it.kind)));
            }
            alone.longest = it.longest.map(|mut longest| {
                longest.call.location = it.locations[0];
                longest
            });
            if it.longest.is_some() && indirect != text {
                let own = alone.text(definitions, &activities);
                let is_own = own.contains("holds up itself") || own.contains("waits itself");
                assert!(is_own && is_plain(&own), "{own}");
            }
        }
    }
    assert!(kinds.len() >= 2, "{kinds:?}");
}

#[test]
fn findings_of_recordings_name_calls_and_windows() {
    let trace = trace(&perf_testdata::bundled::recording("jacobi-4"));
    let estimate =
        perf_wait::clocks::ClockEstimate::of(trace.view(), Default::default(), &Job::default());
    let estimate = estimate.expect("clocks can be estimated");
    let corrected = estimate
        .correct(&trace, Default::default(), &Job::default())
        .expect("it can");
    let trace = corrected.trace;
    let (activities, found) = find(&trace);
    assert!(!found.findings.is_empty() && found.findings.len() <= 10);
    for it in &found.findings {
        println!(
            "{} {:?}",
            it.text(trace.definitions(), &activities),
            it.window
        );
    }
    assert_eq!(
        found.table(trace.definitions(), &activities).rows(),
        found.findings.len()
    );
    let bad = Findings::params().min_share(2.0).check();
    assert!(bad.is_err());
}
