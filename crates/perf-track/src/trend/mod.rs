//! Trends of tracked regions across experiments: summaries of metrics, scaling models, causes of
//! changes, degradations, and changes between versions.
//!
//! [`Trends`] holds a [`Summary`] of every metric for each tracked region and experiment, and computes
//! [scaling models](crate::scaling) with a prediction for twice the scale, the exact factors of a change
//! of time ([`TimeChange`]), degradations ([`Flag`]), and regions that became slower between two versions of a
//! program ([`VersionChange`]). All results can be converted to tables.
//!
//! ```
//! use perf_core::Job;
//! use perf_track::tracking::{Observation, Tracking};
//! use perf_track::trend::{Counters, Expect, Measured, Trends};
//! use perf_track::{ClusterId, Points};
//!
//! // One phase on 4 and 8 tasks: half the instructions, a little more than half the time.
//! let id = [ClusterId(1); 2];
//! let runs = [(4, 8e9, 4.0), (8, 4e9, 2.2)];
//! let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * 4.0, run.1 * 4.0]).collect();
//! let (mut experiments, mut measured) = (Vec::new(), Vec::new());
//! for ((tasks, instructions, seconds), points) in runs.into_iter().zip(&points) {
//!     let time = [seconds; 2];
//!     let name = format!("{tasks} tasks");
//!     experiments.push(Observation::new(name, tasks, Points::new(points, 1)?, &id, &time)?);
//!     let experiment = Measured::new(&id)
//!         .column("duration", "s", time.to_vec())?
//!         .column("instructions", "", vec![instructions; 2])?
//!         .column("IPC", "", vec![instructions / (2.5e9 * seconds); 2])?;
//!     measured.push(experiment);
//! }
//! let params = Tracking::params().check()?;
//! let tracking = Tracking::of(&experiments, &params, &Job::default())?;
//! let trends = Trends::of(&tracking, measured)?;
//!
//! let region = tracking.regions[0].id;
//! let model = trends.fit(region, "instructions", 0.95, &Job::default())?.expect("two experiments");
//! assert!((model.exponent(0) + 1.0).abs() < 1e-12);
//! assert!((model.predict(&[16.0])?.value - 2e9).abs() < 1.0);
//! let counters = Counters::with_ipc("duration", "instructions", "IPC");
//! let change = trends.change(region, 0, 1, &counters)?.expect("both have counters");
//! assert!((change.time - (change.instructions - change.ipc - change.frequency)).abs() < 1e-12);
//! assert!((change.ipc.exp() - 1.0 / 1.1).abs() < 1e-12);
//! let flags = trends.flags(&[Expect::higher("IPC"), Expect::divided("duration")], 0.05)?;
//! assert_eq!(flags.len(), 2);
//! # Ok::<(), perf_track::Error>(())
//! ```

mod burst_counts;
mod change;
mod degradations;
mod experiment_metrics;
mod summary;
mod table;
mod trends;
mod versions;

pub use change::{Counters, TimeChange};
pub use degradations::{Expect, Flag};
pub use experiment_metrics::Measured;
pub use summary::Summary;
pub use trends::{Metric, Trends};
pub use versions::{Sample, VersionChange, VersionParams};
