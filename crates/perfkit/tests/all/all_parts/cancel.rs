//! Tests that work stops if it is cancelled at its first progress report.

use super::work;

use perf_core::samples::{cosmo, device};
use perf_testdata::{cancel, many_ranks};
use perfkit::anomaly::calls::Calls;
use perfkit::anomaly::{Copod, Detector, Hbos, Monitor, Replay, Sstd, Tail};
use perfkit::core::{EventSource, Job, Profile, Progress};
use perfkit::fold::{WorkRules, device_copies};
use perfkit::spectral::{AxisFilter, NullParams, RankParams, Spectra};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use work::Work;

/// Cancels the job at the first progress report, and counts the reports.
#[derive(Default)]
struct Stop {
    job: Job,
    reports: AtomicU64,
}

impl Progress for Stop {
    fn advance(&self, _phase: &'static str, _amount: u64, _total: u64) {
        self.reports.fetch_add(1, Ordering::Relaxed);
        self.job.cancel();
    }
}

/// Asserts that work stops. It runs on one thread, because other threads may report before they
/// notice the cancellation.
fn stops(name: &str, work: &Work<'_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let stop = Arc::new(Stop::default());
    let job = stop.job.reporting_to(stop.clone());
    let given = pool
        .build()
        .unwrap()
        .install(|| work(&job, 1).map_err(|error| error.to_string()));
    assert_eq!(given, Err("cancelled".to_string()), "{name}");
    assert_eq!(stop.reports.load(Ordering::Relaxed), 1, "{name}");
    // A job that is cancelled before the work begins does nothing.
    let job = Job::default();
    job.cancel();
    let given = work(&job, 1).map_err(|error| error.to_string());
    assert_eq!(
        given,
        Err("cancelled".to_string()),
        "{name}, before it began"
    );
}

/// Verifies that work makes at least `least` cancellation checks, and stops at whichever of them fails.
fn checks(name: &str, work: &Work<'_>, least: u64) {
    let (_, all) = cancel::checks(name, |job| work(job, 1).map_err(|error| error.to_string()));
    assert!(all >= least, "{name}: {all} checks, not {least}");
}

/// Tests cancellation checks within a single long location, where no end of a location interrupts
/// the work.
#[test]
fn long_locations_are_looked_at_often() {
    const EVENTS: usize = 200_000;
    let trace = many_ranks::trace(1, EVENTS);
    for (name, work) in work::of_trace(&trace) {
        // A fold works on cells instead of events.
        let least = if name.starts_with("fold") {
            1
        } else {
            EVENTS / (1 << 16)
        };
        checks(name, &work, least as u64);
    }
}

#[test]
fn calls_of_call_paths_of_their_own_are_looked_at_often() {
    const CALLS: u32 = 300_000;
    let trace = many_ranks::paths(CALLS);
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    // MPI calls, and a caller around every sixteen of them.
    assert!(profile.calls().paths().len() as u32 > CALLS + CALLS / 16);
    for (name, work) in work::of_trace(&trace) {
        if ["profile", "bursts"].contains(&name) {
            checks(name, &work, u64::from(CALLS >> 14));
        }
    }
}

/// Tests cancellation checks within a single large view, where no end of a view interrupts the
/// work.
#[test]
fn large_views_are_looked_at_often() {
    for dims in [
        [64, 64, 32],
        [61, 63, 33],
        [32, 65_536 / 16, 1],
        [1 << 17, 1, 1],
    ] {
        let points: usize = dims.iter().product();
        let view = |salt: usize| -> Vec<f64> {
            (0..points)
                .map(|at| (at * 7919 % (1013 + salt)) as f64)
                .collect()
        };
        let views = [view(0), view(8)];
        let made = |job: &Job| {
            let mut builder = Spectra::<f64>::builder(&dims)?;
            builder.extend_masked(&views, &[], job)?;
            Ok::<_, perfkit::spectral::Error>(builder.finish())
        };
        let least = 8 * (points >> 16) as u64;
        let spectra: Work<'_> = Box::new(|job, _| Ok(format!("{:?}", made(job)?.views())));
        checks("spectra", &spectra, least);
        let found = made(&Job::default()).unwrap();
        let all = AxisFilter::all(3);
        let rank: Work<'_> = Box::new(|job, _| {
            let params = RankParams::default().check()?;
            let found = found.rank_among(0, &[1], &all, &params, job)?;
            Ok(format!("{found:?}"))
        });
        checks("rank", &rank, least);
        let confidence: Work<'_> = Box::new(|job, _| {
            let params = NullParams::default().count(2).check()?;
            let found = found.confidence(0, &[1], &all, &params, job)?;
            Ok(format!("{found:?}"))
        });
        checks("confidence", &confidence, least);
        let single: Work<'_> = Box::new(|job, _| {
            let reference = found.reference(0, &all, job)?;
            let reference = reference.ok_or("a view that varies")?;
            let correlation = found.correlate(&reference, 1, job)?;
            let bound = found.bound(&reference, 1, job)?;
            Ok(format!("{correlation:?} {bound:?}"))
        });
        checks("one pair", &single, least);
    }
}

/// Tests cancellation checks within one step, whose length the caller determines.
#[test]
fn one_long_step_is_looked_at_often() {
    const EVENTS: usize = 200_000;
    let trace = &many_ranks::trace(1, EVENTS);
    let detectors: [fn() -> Box<dyn Detector>; 4] = [
        || Box::new(Tail::default()),
        || Box::new(Sstd::default()),
        || Box::new(Hbos::default()),
        || Box::new(Copod::default()),
    ];
    for detector in detectors {
        let work: Work<'_> = Box::new(move |job, _| {
            let calls = Calls::default();
            let mut monitor = Monitor::new(calls, detector()).job(job);
            let mut replay = Replay::in_steps(trace.view(), 1);
            while replay.next_step(&mut monitor, job)? {}
            Ok(format!("{:?}", monitor.finish()?.losses.total()))
        });
        checks(detector().name(), &work, (EVENTS >> 14) as u64);
    }
}

#[test]
fn copies_of_devices_are_looked_at() {
    let trace = device::trace();
    let work: Work<'_> = Box::new(|job, _| {
        let copies = device_copies(trace.view(), &WorkRules::default(), job)?;
        Ok(format!("{copies:?}"))
    });
    checks("copies", &work, 2);
}

#[test]
fn many_points_are_looked_at_often() {
    let planted = work::Planted::new(4000).unwrap();
    for (name, work) in work::of_points(&planted) {
        checks(name, &work, 2);
    }
}

#[test]
fn profiles_are_looked_at_often() {
    let trace = cosmo::trace();
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    for (name, work) in work::of_profile(&profile).unwrap() {
        checks(name, &work, 2);
    }
}

#[test]
fn readers_look_often() {
    let (_made, recordings) = work::recordings("checks").unwrap();
    for path in &recordings {
        checks(&path.display().to_string(), &work::read(path), 1);
    }
    for (name, work) in work::of_archive(&recordings[0]) {
        checks(name, &work, 1);
    }
}

#[test]
fn readers_stop() {
    let (_made, recordings) = work::recordings("cancel").unwrap();
    for path in &recordings {
        stops(&path.display().to_string(), &work::read(path));
    }
    for (name, work) in work::of_archive(&recordings[0]) {
        stops(name, &work);
    }
}

#[test]
fn analyses_of_traces_stop() {
    let trace = cosmo::trace();
    for (name, work) in work::of_trace(&trace) {
        stops(name, &work);
    }
    let (profile, _) = Profile::from_trace(trace.view(), &Job::default()).unwrap();
    for (name, work) in work::of_profile(&profile).unwrap() {
        stops(name, &work);
    }
}

#[test]
fn clusterers_stop() {
    let planted = work::Planted::new(4000).unwrap();
    for (name, work) in work::of_points(&planted) {
        stops(name, &work);
    }
}
