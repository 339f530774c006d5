//! Online detection of calls with abnormal run times, on every rank of a parallel program.
//!
//! A program calls the same functions millions of times. Most calls of a function take about as
//! long as earlier calls. The other calls lose time, often on one rank of many, and do not show in
//! a profile. This crate examines each call once, when it ends. It keeps the context of the few
//! abnormal calls, and drops the rest. Memory does not grow with the length of the run.
//!
//! ```
//! use perf_anomaly::{Drift, Label, Monitor, Watch};
//! use perf_core::Nanos;
//! let monitor = Monitor::default().watch_drift(Drift::default());
//! let mut watch = Watch::new(monitor, 0, 3);
//! let solve = watch.region("solve");
//! for k in 0..2000 {
//!     let slow = if k == 1500 { 900_000 } else { 0 };
//!     watch.enter(0, solve, Nanos(1_000_000 * k));
//!     watch.exit(0, solve, Nanos(1_000_000 * k + 50_000 + k * 37 % 1000 + slow));
//! }
//! let report = watch.into_sink().finish()?;
//! let (_, loss) = report.losses.worst_functions()[0];
//! assert_eq!((loss.calls, loss.too_slow, loss.too_fast), (2000, 1, 0));
//! assert!((loss.time.0 - 900_000).abs() < 2_000);
//! # Ok::<(), perf_anomaly::Error>(())
//! ```
//!
//! # From events to labels
//! 1. Events come from an [`EventSource`](perf_core::EventSource), such as a trace that is
//!    [replayed](Replay) or a growing file. A program may also push its own events through a
//!    [`Watch`] or as spans of `tracing`. Events are grouped in *steps*, which are time intervals
//!    of about a second. At the end of each step, the calls that were completed in it are judged.
//! 2. [`calls`] converts events to completed calls. The exclusive time of a call is its inclusive
//!    time minus that of its callees, `x = (exit - entry) - sum(children)`. Messages and counter
//!    values belong to the innermost call. Work on an accelerator is connected to the call that
//!    launched it. Defects of a stream are repaired and counted.
//! 3. A [`Detector`] returns a [`Judgement`] for each [`Sample`]. The default detector, [`Tail`],
//!    scores a call before it learns the call. A function may have several *modes*, which are run
//!    times around which its calls cluster, such as for messages of two sizes. Of the `n` calls of
//!    a mode so far, the `k` outermost calls exceed the next call `u` by factors. The mean `b` of
//!    their logarithms is estimated from `r` of them. A further call exceeds `u exp(b y)` with
//!    probability
//!
//!    ```text
//!    p = k / n (1 + y / r)^-r
//!    ```
//!
//!    The bound for a given `p`, by default 5 in a million on either side, is therefore known for
//!    any number of calls, for tails up to Pareto's.
//! 4. The severity of a slow call is the time lost: its run time minus the median of its mode.
//!    [`Losses`] sums the time lost by function, call path, rank and step.
//! 5. A [`Drift`] detects permanent changes of the run time of a function. It compares the last
//!    calls with all calls since the last change by their rank sum, which must be significant twice
//!    in a row.
//! 6. [`lost_time`] finds the time that is lost although no call is abnormal: slow run times that
//!    repeat, ranks that are slower than their peers, and slow phases of functions.
//!
//! A [`Monitor`] combines all of this in one sink. [`provenance`] records the context of anomalies.
//! Through [`server`] ranks share their models. All models merge, exactly or within a documented
//! bound, and have a versioned byte encoding.
//!
//! # Cost
//! One core at 2.6 GHz converts 29 to 34 million events per second to calls and labels; the
//! detector takes at most 400 instructions per call. A span of a self-instrumented program takes 86
//! ns. A model takes 3 KB per function. A server processes a step of 10,240 ranks that use 100 of
//! 1,000 functions in 0.26 s, or in 0.10 s with models of moments. If each rank uses all functions,
//! it takes 0.85 s. `docs/benchmarks.md` lists the commands.
//!
//! # Pitfalls
//! * With fewer than 32 calls of a function, the label is [`Label::NotEnoughData`] and not
//!   "normal", unless the call is [beyond experience](Label::BeyondExperience).
//! * A mode is known after 16 calls. The first of them is an alarm. Calls near it are
//!   [`Label::NotEnoughData`] while the mode may hold 1 % of the calls. Calls that occur less than
//!   once in 2,000 calls, or take a different time each time, keep being reported. The calls of a
//!   mode that appears during the run still count as lost time in [`lost_time::NewModes`].
//! * A rank or phase that is slow in all its calls has no abnormal call. [`lost_time::Peers`] finds
//!   it.
//! * [`Report::unjudged`] lists the longest calls that were not judged.
//! * A long tail is not an anomaly. In the heat2d recordings of Chimbuko, with six ranks of about
//!   1,300 calls each in one step, the default detector reports 2 calls, and SSTD 4 to 6 calls per
//!   rank. Receives usually take 3 us, but some took 0.5 and 1.6 ms. With such a tail, receives of
//!   7.5 ms are expected more often than 10 times in a million, except before the first of them was
//!   known. The other labelled calls take 5 to 25 us, a few ticks of a clock of 1 us. To report
//!   them, allow more false alarms.
//! * The stated rates hold for independent calls of functions without rare slow calls. A program with
//!   phases has runs of slow calls: use a model for each call path, or examine the [changes](Drift).
//!   Interrupts of one call in 1,000 are alarms, as faults of that share are. After 200 calls a heavy
//!   tail is not known yet. `docs/power.md` has the false alarms of such functions.
//! * Labels use the model at the time of the call. [`Report::prune`] judges the recorded calls
//!   again with the final model.
//! * The strict detectors reproduce the labels of Chimbuko, including their peculiarities, for
//!   comparison.
//!
//! # Results as data
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
//!
//! # Features
//! * `serde`: `Serialize` for results and ids. Labels and records of [`provenance`] implement it
//!   without the feature.
//! * `sqlite`: the store `provenance::Sqlite`, a database with indices.
//! * `tracing`: the module `spans`, with which a program instrumented with `tracing` monitors
//!   itself.
#![doc(html_root_url = "../")]

pub mod calls;
mod counters;
mod detect;
mod error;
mod format_version;
pub mod lost_time;
mod moments;
mod monitor;
pub mod provenance;
mod replay;
mod report;
mod sample;
#[cfg(feature = "serde")]
mod serialize;
pub mod server;
#[cfg(feature = "tracing")]
pub mod spans;
mod table;
mod unjudged;
mod watch;

pub use counters::{CounterStats, CounterSummary, Counters};
pub use detect::{
    Bin, Change, Copod, Detector, Drift, DriftChecked, DriftParams, Functions, Hbos, Histogram,
    Loss, Losses, Model, Place, ScoredHistogram, Sketch, Sstd, StrictChecked, StrictParams, Tail,
    TailChecked, TailParams, describe_changes, facts_text,
};
pub use error::{Error, Result};
pub use moments::Moments;
pub use monitor::Monitor;
pub use replay::{Iterations, Replay};
pub use report::{Report, Unfinished};
pub use sample::{FunctionId, Judgement, Label, Sample};
pub use table::facts_table;
pub use unjudged::{LongCall, Unjudged, UnjudgedCall, UnjudgedReason, UnjudgedTime};
pub use watch::Watch;
