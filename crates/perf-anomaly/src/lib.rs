//! Online detection of abnormal calls, on every rank.
//!
//! A program calls the same functions millions of times. Most calls of a function take about as
//! long as earlier ones. The others lose time, often on one rank of many, and do not show in a
//! profile. This crate examines each call once, when it ends, keeps the information that explains
//! the few unusual ones, and drops the rest. Memory does not grow with the length of the run.
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
//! 1. Events come from an [`EventSource`](perf_core::EventSource), such as a recording that is
//!    [replayed](Replay) or a growing file, or are pushed by the program itself through a [`Watch`]
//!    or as spans of `tracing`. They are grouped in *steps*, time intervals of about a second: at
//!    the end of each step, the calls completed in it are judged.
//! 2. [`calls`] converts events to completed calls. Exclusive time is inclusive time minus that of
//!    the callees, `x = (exit - entry) - sum(children)`. Messages and counters belong to the
//!    innermost call, work on accelerators to the call that launched it. Defects of a stream are
//!    repaired and counted.
//! 3. A [`Detector`] answers each [`Sample`] with a [`Judgement`]. The default, [`Tail`], scores a
//!    call before it learns it. A function may have several *modes*, run times around which its
//!    calls cluster, such as those of messages of two sizes. Of the `n` calls of a mode so far, the
//!    `k` outermost exceed the next one, `u`, by factors whose logarithms have the mean `b`,
//!    estimated from `r` of them. A further call exceeds `u exp(b y)` with probability
//!
//!    ```text
//!    p = k / n (1 + y / r)^-r
//!    ```
//!
//! The bound for a given `p`, by default 5 in a million on either side, is therefore known for any
//! number of calls, for tails up to Pareto's.
//! 4. The severity of a call is its run time beyond the expected one, `x - median` of its mode.
//!    [`Losses`] sums this lost time by function, path, rank and step.
//! 5. A [`Drift`] detects permanent changes of functions: the rank sum of the last calls among all
//!    since the last change, significant twice in a row.
//!
//! A [`Monitor`] combines all of this in one sink. [`provenance`] keeps the context of anomalies,
//! and through [`server`] ranks share what they learn. All models merge, exactly or within a
//! documented bound, and have a versioned byte encoding.
//!
//! # Cost
//! On one core at 2.6 GHz: 29 to 34 million events per second are converted to calls and labels,
//! with at most 400 instructions per call for the detector; a span of a self-instrumented program
//! takes 86 ns; a model takes 3 KB per function. A server processes a step of 10,240 ranks that use
//! 100 of 1,000 functions in 0.26 s. With models of moments it takes 0.10 s, and 0.85 s if each
//! rank uses all functions. `docs/benchmarks.md` lists the commands.
//!
//! # Pitfalls
//! * Below 32 calls of a function the label is [`Label::NotEnoughData`], not "normal".
//! * A mode is known after 16 calls. The first of them is an alarm, and those near it are
//!   [`Label::NotEnoughData`] while the mode may hold 1 % of the calls. Calls that repeat less than
//!   once in 2,000 calls, or take a different time each time, keep being reported.
//! * [`Report::unjudged`] lists the longest calls that were not judged.
//! * A long tail is not an anomaly. In the heat2d recordings of Chimbuko, with six ranks of about
//!   1,300 calls each in one step, the default detector finds no anomaly where SSTD labels 4 to 6
//!   calls per rank. Receives usually take 3 us, but some took 0.5 and 1.6 ms. With such a tail,
//!   the two receives of 7.5 ms on five of the ranks are expected more often than 10 times in a
//!   million. The other labelled calls take 5 to 25 us, a few ticks of a clock of 1 us. To report
//!   them, allow more false alarms.
//! * The stated rates hold for independent calls. A program with phases has runs of slow calls: use
//!   a model for each call path, or examine the [changes](Drift).
//! * Labels use the knowledge at the time of the call. [`Report::prune`] judges the recorded calls
//!   again.
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
//! * `sqlite`: a database of provenance with indices.
//! * `tracing`: `spans`, with which a program instrumented with `tracing` monitors itself.
#![doc(html_root_url = "../")]

pub mod calls;
mod detect;
mod encode;
mod error;
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

pub use detect::{
    Bin, Change, Copod, Detector, Drift, DriftChecked, DriftParams, Functions, Hbos, Histogram,
    Loss, Losses, Model, Place, ScoredHistogram, Sketch, Sstd, StrictChecked, StrictParams, Tail,
    TailChecked, TailParams, facts_text,
};
pub use error::{Error, Result};
pub use moments::Moments;
pub use monitor::Monitor;
pub use replay::Replay;
pub use report::{Report, Unfinished};
pub use sample::{FunctionId, Judgement, Label, Sample};
pub use table::facts_table;
pub use unjudged::{Unjudged, UnjudgedCall};
pub use watch::Watch;
