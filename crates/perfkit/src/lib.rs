//! Finds what is wrong with a parallel program from its recordings.
//!
//! This crate re-exports the others under nouns and adds nothing but [`open`]. Who embeds one
//! analysis depends on its crate alone; who explores depends on this one.
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
//! | [`view`] | `perf-view` | results as pictures and pages |

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
    formats::open(path, &formats::OpenOptions::new())
}

#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/cookbook.md")]
struct Cookbook;
