//! Work that is cancelled when it first reports stops.

#![cfg(all(
    feature = "otf2",
    feature = "paraver",
    feature = "cube",
    feature = "tau",
    feature = "adios",
    feature = "fold",
    feature = "spectral",
    feature = "track",
    feature = "anomaly",
    feature = "chrome",
    feature = "streams"
))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

#[path = "common/work.rs"]
mod work;

use perf_testdata::{cosmo, wide};
use perfkit::core::{CancelToken, Profile, Progress};
use std::sync::atomic::{AtomicU64, Ordering};
use work::Work;

/// Cancels when something is reported, and counts how often that is.
#[derive(Default)]
struct Stop {
    token: CancelToken,
    reports: AtomicU64,
}

impl Progress for Stop {
    fn advance(&self, _phase: &'static str, _amount: u64, _total: u64) {
        self.reports.fetch_add(1, Ordering::Relaxed);
        self.token.cancel();
    }
}

/// One thread: with more, others may report before they see that the work is cancelled.
fn stops(name: &str, work: &Work<'_>) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let stop = Stop::default();
    let given = pool
        .build()
        .unwrap()
        .install(|| work(&stop, &stop.token, 1).map_err(|error| error.to_string()));
    assert_eq!(given, Err("cancelled".to_string()), "{name}");
    assert_eq!(stop.reports.load(Ordering::Relaxed), 1, "{name}");
    // Who cancels before the work begins gets nothing done.
    let token = CancelToken::new();
    token.cancel();
    let given = work(&(), &token, 1).map_err(|error| error.to_string());
    assert_eq!(
        given,
        Err("cancelled".to_string()),
        "{name}, before it began"
    );
}

/// What work gives on one thread, with a token that is cancelled after so many looks; and the looks.
fn after(looks: u64, work: &Work<'_>) -> (Result<String, String>, u64) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let token = CancelToken::after(looks);
    let run = || work(&(), &token, 1).map_err(|error| error.to_string());
    let given = pool.build().unwrap().install(run);
    (given, token.looks().unwrap())
}

/// Work looks at its token `least` times or more, and stops at whichever look it is told to.
fn looks(name: &str, work: &Work<'_>, least: u64) {
    let (whole, all) = after(u64::MAX, work);
    assert!(whole.is_ok(), "{name}: {whole:?}");
    assert!(all >= least, "{name}: {all} looks, not {least}");
    for place in 0..8 {
        let most = all * place / 8;
        let (given, seen) = after(most, work);
        assert_eq!(
            given,
            Err("cancelled".to_string()),
            "{name}, {most} of {all}"
        );
        assert!(seen > most, "{name}: {seen}, {most} of {all}");
    }
    let (last, _) = after(all.saturating_sub(1), work);
    assert_eq!(
        last,
        Err("cancelled".to_string()),
        "{name}, the last of {all}"
    );
}

/// One location has no end at which to look: work has to look within it.
#[test]
fn long_locations_are_looked_at_often() {
    const EVENTS: usize = 400_000;
    let trace = wide::trace(1, EVENTS);
    for (name, work) in work::of_trace(&trace) {
        // A fold does not look at events but at cells.
        let least = if name.starts_with("fold") {
            1
        } else {
            EVENTS / (1 << 16)
        };
        looks(name, &work, least as u64);
    }
}

#[test]
fn many_points_are_looked_at_often() {
    let planted = work::Planted::new(6000).unwrap();
    for (name, work) in work::of_points(&planted) {
        looks(name, &work, 2);
    }
}

#[test]
fn profiles_are_looked_at_often() {
    let trace = cosmo::trace();
    let (profile, _) = Profile::from_trace(trace.view(), &(), &CancelToken::new()).unwrap();
    for (name, work) in work::of_profile(&profile).unwrap() {
        looks(name, &work, 2);
    }
}

#[test]
fn readers_look_often() {
    let (_made, recordings) = work::recordings("looks").unwrap();
    for path in &recordings {
        looks(&path.display().to_string(), &work::read(path), 1);
    }
    for (name, work) in work::of_archive(&recordings[0]) {
        looks(name, &work, 1);
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
    let (profile, _) = Profile::from_trace(trace.view(), &(), &CancelToken::new()).unwrap();
    for (name, work) in work::of_profile(&profile).unwrap() {
        stops(name, &work);
    }
}

#[test]
fn clusterers_stop() {
    let planted = work::Planted::new(6000).unwrap();
    for (name, work) in work::of_points(&planted) {
        stops(name, &work);
    }
}
