//! Which calls, on which rank, are abnormal, right now?
//!
//! A program calls the same functions millions of times. Most calls of a function take about as long as
//! those before; those that do not cost time, often on one rank of many, and are gone from any profile.
//! This crate looks at each call once, as it ends, keeps what is needed to explain the few that are
//! unusual, and forgets the rest: memory does not grow with the run.
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
//!    [replayed](Replay) or a file that grows, or are pushed by the program itself through a [`Watch`] or
//!    as spans of `tracing`. They come in *steps*, stretches of the run of a second, say: at the end of each,
//!    what was completed in it is judged.
//! 2. [`calls`] makes completed calls of them: exclusive time is inclusive time less that of the calls it
//!    made, `x = (exit - entry) - sum(children)`. Messages and counters belong to the innermost call, work
//!    on accelerators to what launched it; what is wrong with a stream is mended and counted.
//! 3. A [`Detector`] answers each [`Sample`] with a [`Judgement`]. The default, [`Tail`], scores before it
//!    learns. A function may have several *modes*, run times around which its calls gather, such as those of
//!    messages of two sizes. Of the `n` calls of a mode so far, the `k` outermost exceed the next one,
//!    `u`, by factors whose logarithms are on average `b`, estimated from `r` of them; a further call is
//!    beyond `u exp(b y)` with probability
//!
//!    ```text
//!    p = k / n (1 + y / r)^-r
//!    ```
//!
//!    so that the bound for a wanted `p`, by default 5 in a million on either side, is known however few
//!    calls there were, for tails up to Pareto's.
//! 4. What a call took beyond what was expected, `x - median` of its mode, is its severity: time lost, which
//!    [`Losses`] sums by function, path, rank and step.
//! 5. A [`Drift`] tells which functions changed for good: the rank sum of the last calls among all since the
//!    last change, twice in a row beyond chance.
//!
//! A [`Monitor`] is all of it as one sink; [`provenance`] keeps what is known around an anomaly, and through
//! [`server`] ranks share what they learn. All models merge, exactly or within a bound that is told, and
//! have bytes with a version.
//!
//! # What it costs
//! On one core of 2.6 GHz: 29 to 34 million events a second to calls and labels, 400 instructions a call of
//! them at most for the detector; 86 ns a span of a program that watches itself; 3 KB a function for its
//! model. A server takes a step of 10,240 ranks that touch 100 of 1,000 functions in 0.26 s. With models of
//! moments that is 0.10 s, and 0.85 s where each touches all of them. `docs/benchmarks.md` has the commands.
//!
//! # What to mind
//! * Below 32 calls of a function the answer is [`Label::NotEnoughData`], not "normal".
//! * A mode is known from 16 calls on. Of the calls before, the first one is an alarm, and those near it are
//!   [`Label::NotEnoughData`] while the mode may hold 1 % of the calls. What repeats less than once in 2,000
//!   calls, or takes another time each time, keeps being reported.
//! * [`Report::unjudged`] has the longest calls that were not judged.
//! * A long tail is no anomaly. On the heat2d recordings of Chimbuko, six ranks of some 1,300 calls each in one
//!   step, the default detector finds nothing where SSTD labels 4 to 6 calls a rank: receives usually take
//!   3 us, but some took 0.5 and 1.6 ms, and beyond such a tail the two of 7.5 ms on five of the ranks are nothing
//!   that happens less than 10 times in a million. Other labelled calls are of 5 to 25 us, a few steps of a
//!   clock of 1 us. Who wants to see them asks for more false alarms.
//! * The stated rates are for calls that do not depend on each other. A program with phases has runs of
//!   slow calls: give paths models of their own, or look at the [changes](Drift).
//! * Labels are given with what was known then. [`Report::prune`] judges what was recorded again.
//! * The strict detectors label as Chimbuko does, oddities included: they are there to compare.
//!
//! # Results as data
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
//!
//! # Features
//! * `serde`: `Serialize` for results and ids; labels and records of [`provenance`] have it in any case.
//! * `sqlite`: a database of provenance with indices.
//! * `tracing`: `spans`, by which a program that is instrumented with `tracing` watches itself.
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
