//! Which calls, on which rank, are abnormal, right now?
//!
//! Events come from an [`EventSource`](perf_core::EventSource), such as a recording that is
//! [replayed](Replay), or are pushed by the program itself through a [`Watch`]. [`calls`] makes
//! completed calls of them. A [`Sample`] is a completed call; a [`Detector`] answers with a
//! [`Judgement`]. A [`Monitor`] is all of it as one sink; [`provenance`] keeps what is known around an
//! anomaly, and through [`server`] ranks share what they learn.
//!
//! # Features
//! * `sqlite`: a database of provenance with indices.
//! * `tracing`: `spans`, by which a program that is instrumented with `tracing` watches itself.

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
pub mod server;
#[cfg(feature = "tracing")]
pub mod spans;
mod watch;

pub use detect::{
    Bin, Change, Copod, Detector, Drift, DriftChecked, DriftParams, Functions, Hbos, Histogram,
    Loss, Losses, Model, Place, ScoredHistogram, Sketch, Sstd, StrictChecked, StrictParams, Tail,
    TailChecked, TailParams,
};
pub use error::{Error, Result};
pub use moments::Moments;
pub use monitor::Monitor;
pub use replay::Replay;
pub use report::{Report, Unfinished};
pub use sample::{FunctionId, Judgement, Label, Sample};
pub use watch::Watch;
