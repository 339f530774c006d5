//! Finds performance problems of parallel programs in their recordings: re-exports the other crates as modules, and adds
//! [`open`], [`open_trace`], [`open_profile`] and the [`prelude`].
//!
//! The [`prelude`] holds the names that a first program needs. A tool that embeds one analysis depends on the crate
//! of that analysis alone. A program that explores recordings depends on this crate.
//!
//! ```
//! use perfkit::core::samples::{cosmo, device};
//! use perfkit::prelude::*;
//!
//! // `open_trace(path)` reads a recording of any format. These two are generated, with known answers.
//! let (trace, accelerated) = (cosmo::trace(), device::trace());
//!
//! // How busy are the devices?
//! let devices = Devices::new(accelerated.view(), &DeviceParams::new(), &Job::default())?;
//! assert_eq!(devices.utilisation(), 0.7);
//!
//! // Where does the time go?
//! let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
//! assert!(profile.metric("exclusive time").is_some());
//!
//! // Which calls are abnormal?
//! let mut monitor = Monitor::default();
//! let mut replay = Replay::in_steps(trace.view(), 10);
//! while replay.next_step(&mut monitor, &Job::default())? {}
//! assert!(monitor.finish()?.losses.total().calls > 9_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every analysis takes a [`Trace`](core::Trace) or a [`Profile`](core::Profile) and does not
//! depend on the file format. In the project's `docs`, `cookbook` shows the short programs of
//! `examples`, and `methods` explains the choice of methods.
//!
//! | module | crate | content |
//! |---|---|---|
//! | [`core`] | `perf-core` | times, locations, regions, traces, profiles |
//! | [`formats`] | `perf-formats` | reading and writing of trace and profile formats |
//! | [`fold`] | `perf-fold` | folded timelines |
//! | [`topology`] | `perf-topology` | mapping of locations to grids |
//! | [`spectral`] | `perf-spectral` | correlation of severity views in the frequency domain |
//! | [`track`] | `perf-track` | clusters of CPU bursts, and their tracking across experiments |
//! | [`anomaly`] | `perf-anomaly` | detection of abnormal calls, during the run or in a trace |
//! | [`wait`] | `perf-wait` | wait states, their causes, critical path, efficiencies, what-if replay, clocks |
//! | [`view`] | `perf-view` | results as pictures and pages |
//!
//! # Method
//!
//! A reader turns bytes into a trace or a profile. An analysis turns it into a result, and a view
//! or writer turns the result into a picture, a page or another file. Each step is a function of
//! core types; long-running functions take a [`Job`](core::Job). The methods with their equations
//! are described in the documentation of each crate.
//!
//! # Cost
//!
//! This crate has no cost at run time, and compiles only the crates that its features enable. The
//! number of packages and the time and memory that recordings take are listed in the project's
//! `docs`: `architecture`, `cost`, `benchmarks`.
//!
//! # Pitfalls
//!
//! * The pitfalls of each analysis are described in the documentation of its crate.
//! * The features `nsys`, `perfetto`, `sqlite`, `tracing` and `serde` are not enabled by default.
//! * Parallel results equal serial ones bit by bit, so the feature `parallel` never explains a
//!   difference.
#![doc(html_root_url = "../")]

#[cfg(feature = "anomaly")]
pub use perf_anomaly as anomaly;
pub use perf_core as core;
#[cfg(feature = "fold")]
pub use perf_fold as fold;
pub use perf_formats as formats;
#[cfg(feature = "spectral")]
pub use perf_spectral as spectral;
#[cfg(feature = "topology")]
pub use perf_topology as topology;
#[cfg(feature = "track")]
pub use perf_track as track;
#[cfg(feature = "view")]
pub use perf_view as view;
#[cfg(feature = "wait")]
pub use perf_wait as wait;

pub mod prelude;

use std::path::Path;

/// Opens a recording in any format that [`formats`] supports, tolerating damage, on all cores.
///
/// ```no_run
/// let recording = perfkit::open("run/traces.otf2")?;
/// println!("{} repairs", recording.diagnostics.repairs());
/// if let Some(trace) = recording.into_trace() {
///     println!("{} events", trace.len());
/// }
/// # Ok::<(), perfkit::formats::Error>(())
/// ```
/// # Errors
///
/// Returns the errors of [`formats::open`], which also accepts options: strict reading, a time
/// window, selected locations, limits, progress.
pub fn open(path: impl AsRef<Path>) -> formats::Result<formats::Recording> {
    formats::open(path, &formats::OpenOptions::new(), &core::Job::default())
}

/// Opens a trace: a recording with events.
///
/// ```
/// let trace = perfkit::open_trace("../../data/recordings/jacobi-4")?;
/// assert_eq!(trace.definitions().system.locations().len(), 4);
/// # Ok::<(), perfkit::formats::Error>(())
/// ```
/// # Errors
///
/// - Returns the errors of [`open`].
/// - Returns [`Error::Content`](formats::Error::Content) if the recording is a profile.
pub fn open_trace(path: impl AsRef<Path>) -> formats::Result<core::Trace> {
    let path = path.as_ref();
    open(path)?
        .into_trace()
        .ok_or_else(|| formats::Error::Content {
            place: core::Place::file(path.to_string_lossy()),
            expected: "trace",
            got: "profile",
            remedy: "a profile has no events: record a trace",
        })
}

/// Opens a profile: a recording of sums, such as those of Cube and TAU.
///
/// ```
/// let error = perfkit::open_profile("../../data/recordings/jacobi-4").expect_err("it is a trace");
/// assert!(error.to_string().contains("holds a trace, expected a profile"));
/// ```
/// # Errors
///
/// - Returns the errors of [`open`].
/// - Returns [`Error::Content`](formats::Error::Content) if the recording is a trace.
pub fn open_profile(path: impl AsRef<Path>) -> formats::Result<core::Profile> {
    let path = path.as_ref();
    open(path)?
        .into_profile()
        .ok_or_else(|| formats::Error::Content {
            place: core::Place::file(path.to_string_lossy()),
            expected: "profile",
            got: "trace",
            remedy: "`Profile::from_trace` sums up a trace",
        })
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
