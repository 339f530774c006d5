//! Provenance: recording of abnormal calls with their context, storage and queries of the records,
//! their second judgement and removal, and comparison of two runs.
//!
//! A [`Recorder`] keeps a [`Record`] of each anomaly that passes its filters. The record contains
//! the stack of the call, the calls before and after it, its messages and counter values, the state
//! of the node, and the launch of accelerator work. The recorder also keeps a normal execution of
//! the same function on the same stream for comparison, and the properties of the run. Everything
//! else is dropped; [`Reduction`] reports the savings. Models are stored separately, and records
//! refer to them by number.
//!
//! A [`Store`] holds the records: [`Lines`] as JSON Lines, `Sqlite` (feature `sqlite`) as a
//! database with indices, [`Memory`] only while the program runs. [`merge`] combines the stores of
//! several ranks, [`prune`] judges records again with the final model, and [`Comparison`] compares
//! two runs.
//!
//! ```
//! use perf_anomaly::provenance::{Lines, Query, Recorder, Store};
//! use perf_anomaly::{Monitor, Watch};
//! use perf_core::Nanos;
//! let file = std::env::temp_dir().join(format!("perf-anomaly-doc-{}.jsonl", std::process::id()));
//! let recorder = Recorder::new(Default::default(), Box::new(Lines::create(&file)?));
//! let monitor = Monitor::default().record(recorder);
//! let mut watch = Watch::new(monitor, 0, 0);
//! let solve = watch.region("solve");
//! for at in 0..1000 {
//!     watch.enter(0, solve, Nanos(1_000_000 * at));
//!     let slow = if at == 700 { 9 } else { 1 };
//!     watch.exit(0, solve, Nanos(1_000_000 * at + slow * (50_000 + at * 37 % 1000)));
//! }
//! watch.end_step();
//! watch.into_sink().finish()?;
//! let mut store = Lines::open(&file)?;
//! let found = store.query(&Query { rank: Some(0), severity: Some(Nanos(100_000)), ..Query::default() })?;
//! assert_eq!((found.len(), found[0].call.number, found[0].before.len()), (1, 700, 5));
//! # std::fs::remove_file(&file).ok();
//! # Ok::<(), perf_anomaly::Error>(())
//! ```

mod compare;
mod context;
mod json;
mod params;
mod prune;
mod record;
mod recorder;
mod reduction;
mod store;
mod table;
mod worst;

pub use compare::{Comparison, Difference, Side};
pub use params::{CheckedRecorderParams, RecorderParams};
pub(crate) use prune::prune_with;
pub use prune::{Pruned, prune, prune_within};
pub use record::{
    CallRecord, CounterRecord, Entry, Kind, LaunchRecord, LeftOut, MessageRecord, ModelRecord,
    Record, RunRecord, StreamRecord,
};
pub use recorder::Recorder;
pub use reduction::Reduction;
#[cfg(feature = "sqlite")]
pub use store::Sqlite;
pub use store::{Lines, Memory, Order, Query, Revision, Store, merge, open};
