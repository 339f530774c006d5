//! Finds what is wrong with a parallel program from its recordings.
//!
//! This crate re-exports the others under nouns, and adds [`open`] and the [`prelude`], the names of a first
//! program. A tool that embeds one analysis depends on the crate of that analysis alone; a program that
//! explores recordings depends on this one.
//!
//! ```
//! use perfkit::prelude::*;
//!
//! // Any recording: here six GPUs whose load is known.
//! let trace = open_trace("../../data/gpu/planted-6x14.json.gz")?;
//!
//! // How busy are its devices?
//! let devices = Devices::new(trace.view(), &DeviceParams::new(), &Job::default())?;
//! assert_eq!(devices.utilisation(), 0.525);
//!
//! // Where does the time go?
//! let (profile, _) = Profile::from_trace(trace.view(), &Job::default())?;
//! assert!(profile.metric("exclusive time").is_some());
//!
//! // Which calls are abnormal?
//! let mut monitor = Monitor::default();
//! let mut replay = Replay::in_steps(trace.view(), 10);
//! while replay.next_step(&mut monitor, &Job::default())? {}
//! assert!(monitor.finish()?.losses.total().calls > 2_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Every analysis takes a [`Trace`](core::Trace) or a [`Profile`](core::Profile) and none knows where it came from. The
//! cookbook in the project's `docs` shows the short programs of `examples`, its `methods` the decisions and their reasons.
//!
//! | here | crate | what |
//! |---|---|---|
//! | [`core`] | `perf-core` | time, places, code, traces, profiles |
//! | [`formats`] | `perf-formats` | recordings in, core types out, and back |
//! | [`fold`] | `perf-fold` | folded timelines |
//! | [`topology`] | `perf-topology` | where on a grid each location lies |
//! | [`spectral`] | `perf-spectral` | correlation of severity views in the frequency domain |
//! | [`track`] | `perf-track` | clusters of CPU bursts, and their tracking across experiments |
//! | [`anomaly`] | `perf-anomaly` | which calls are abnormal, as they happen |
//! | [`wait`] | `perf-wait` | wait states, their causes, critical path, efficiencies, what-if replay, clocks |
//! | [`view`] | `perf-view` | results as pictures and pages |
//!
//! # How
//! Bytes become a trace or a profile, that becomes the result of an analysis, and that a picture, a page or another
//! file. Each step is a function of core types; long work takes a [`Job`](core::Job). What each computes,
//! with its equations, is in the documentation of its crate.
//!
//! # Cost
//! The umbrella adds nothing at run time, and compiles what its features ask for. How many packages that are, and what
//! recordings cost in time and memory, is in the project's `docs`: `architecture`, `cost`, `benchmarks`.
//!
//! # What to mind
//! * Each crate's documentation has its method with equations, what it costs, and its pitfalls.
//! * Features leave out formats and analyses; `nsys`, `perfetto`, `sqlite`, `tracing` and `serde` are not defaults.
//! * Parallel results equal serial ones bit by bit.
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

/// Opens a recording in any format that [`formats`] knows, tolerantly and on all cores.
///
/// ```no_run
/// let recording = perfkit::open("run/traces.otf2")?;
/// println!("{} repairs", recording.diagnostics.repairs());
/// if let Some(trace) = recording.into_trace() {
///     println!("{} events", trace.len());
/// }
/// # Ok::<(), perfkit::formats::Error>(())
/// ```
///
/// # Errors
/// Those of [`formats::open`], which also takes options: strict reading, a window of time, some
/// locations, limits, progress.
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
///
/// # Errors
/// Those of [`open`], and [`Error::Content`](formats::Error::Content) if the recording is a profile.
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

/// Opens a profile: a recording of sums, such as Cube's and TAU's.
///
/// ```
/// let error = perfkit::open_profile("../../data/recordings/jacobi-4").expect_err("it is a trace");
/// assert!(error.to_string().contains("holds a trace, expected a profile"));
/// ```
///
/// # Errors
/// Those of [`open`], and [`Error::Content`](formats::Error::Content) if the recording is a trace.
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
