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
    feature = "anomaly"
))]
#![allow(
    clippy::unwrap_used,
    reason = "a test that unwraps fails where it should"
)]

#[path = "common/work.rs"]
mod work;

use perf_testdata::cosmo;
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
