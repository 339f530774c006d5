//! Clusters of CPU bursts, and their tracking from one experiment to the next.
//!
//! A parallel program computes in bursts between its calls of communication. Bursts that do the same
//! have alike metrics, and so they are clusters in a space of metrics; a cluster is a phase of the
//! program. With more tasks, another input or later in the run the same phases are elsewhere in the
//! space: each such experiment, or window of time of one, is a *frame*. Tracking tells which clusters of the
//! frames are one phase, an *object*, and how each of them changed.
//!
//! ```
//! use perf_core::{Job, Nanos};
//! use perf_track::cluster::{Clusterer, Dbscan};
//! use perf_track::tracking::{Observation, Tracking};
//! use perf_track::{Burst, Bursts, Dimension, Frame, Scale, Thread};
//!
//! // Each of some tasks does a long step and a short one in turn; more tasks share the work.
//! let job = Job::default();
//! let experiment = |tasks: u32| {
//!     let mut bursts = Bursts::new(["instructions"]);
//!     for process in 0..tasks {
//!         let thread = bursts.add_thread(Thread { process, ..Thread::default() })?;
//!         for step in 0..8_i64 {
//!             let work = [6.4e9, 0.4e9][step as usize % 2] / f64::from(tasks);
//!             let work = work * (1.0 + 0.01 * f64::from(process));
//!             let begin = Nanos(10_000_000_000 * step);
//!             let end = Nanos(begin.0 + work as i64);
//!             bursts.push(Burst { thread, begin, end, ..Burst::default() }, &[work])?;
//!         }
//!     }
//!     Ok::<_, perf_track::Error>(bursts)
//! };
//! let all = [experiment(4)?, experiment(8)?];
//!
//! // One space for both: the logarithm of instructions, shifted by what all have in common.
//! let scale = Scale::params().dimension(Dimension::new("instructions").log(true)).check()?;
//! let scaled = scale.fit(&[&all[0], &all[1]], &Job::default())?;
//! let dbscan = Dbscan::new(Dbscan::params().eps(0.1).min_points(4).check()?);
//! let mut seen = Vec::new();
//! for (bursts, scaled) in all.iter().zip(&scaled.frames) {
//!     let labels = dbscan.cluster(scaled.points()?, &job)?;
//!     // Cluster 1 takes the most time.
//!     let labels = labels.by_weight(&bursts.durations())?;
//!     assert_eq!(labels.clusters(), 2);
//!     let frame = Frame::new("", bursts.clone(), labels)?;
//!     seen.push(Observation::of(&frame, scaled.points()?, scaled.rows())?);
//! }
//! let tracking = Tracking::of(&seen, &Default::default(), &job)?;
//! assert_eq!(tracking.objects.len(), 2);
//! assert_eq!(tracking.objects[0].members, [[perf_track::ClusterId(1)], [perf_track::ClusterId(1)]]);
//! # Ok::<(), perf_track::Error>(())
//! ```
//!
//! # How
//! A metric `x` is a coordinate by `y = f (ln x - shift - low) / (high - low)` (or without the logarithm), where
//! `low` and `high` are quantiles of all frames and the shift is that of the frame. A burst with at least
//! `min_points` within `eps` is core, and cores within `eps` of each other are one cluster (DBSCAN). With the
//! sequences of all threads in columns, the SPMD score (single program, multiple data) of cluster k is the mean of `n_k(c) / T` over the columns c
//! it is in, T threads; that of a frame is their mean by time. What two clusters of different frames have in
//! common is the weighted mean of votes of [`tracking::Evaluator`]s, and objects are the assignment of largest sum
//! over all frames. What happens to an object is a power law in the tasks, `x = a p^b`, and
//! `ln T = ln I - ln IPC - ln f`, exactly.
//!
//! # What for what
//!
//! | question | item |
//! |---|---|
//! | which bursts are there, with which metrics and callers, and what was left out | [`Extract`], [`Bursts`], [`Dropped`] |
//! | how do metrics become coordinates, over several experiments | [`Scale`], [`Scaled`] |
//! | which bursts behave alike | [`cluster`]: DBSCAN, HDBSCAN, a radius, refinement, samples |
//! | does every rank do the same at the same time | [`Sequences`], [`Align`], [`SpmdScore`] |
//! | which clusters are one phase from frame to frame | [`tracking`] |
//! | how does each phase change, and what comes next | [`trend`] |
//! | as the literature and its tools do it, or ours | [`Mode`] |
//!
//! # Cost
//!
//! With n bursts of T threads: extraction is linear in the events; DBSCAN near n log n in up to three
//! dimensions, however many neighbours there are (100,000 points in 4 ms, 5 million in half a second on
//! one core of 2.6 GHz), and over a tree beyond; the automatic radius is some fifteen of them. The
//! alignment is at most `different sequences x length x columns`, a few milliseconds where ranks do
//! the same; tracking is n log n a pair of frames. All of it takes memory in proportion to the bursts:
//! [`Dbscan::memory`](cluster::Dbscan::memory) and [`KdTree::memory`](cluster::KdTree::memory) tell it before, and
//! [`Align`] keeps to what it is given.
//! With the feature `parallel` (default) all cores work, and no result depends on how many.
//!
//! # Pitfalls
//!
//! * A burst without one of the metrics asked for is not clustered. Counters that a recording reads
//!   in turn leave out most bursts: look at [`Dropped`] before clusters.
//! * Counters and durations span orders of magnitude: take their logarithm
//!   ([`Dimension::log`]). What has none is no point ([`ScaledFrame::left_out`]).
//! * A radius holds for a space. Frames of a [`ScaleMode::Joint`] space share one; frames that are
//!   scaled each by itself do not.
//! * Small frames have few bursts a phase: what is a cluster on 16 tasks can be noise on 2. Fewer
//!   points a neighbourhood or a larger radius help, and [`EpsChoice`](cluster::EpsChoice) says how much
//!   depends on it.
//! * Numbers of clusters mean nothing from frame to frame: they go by time. Objects do.
//!
//! # Features
//!
//! * `parallel` (default): bursts are clustered, aligned and tracked on all cores.
//! * `serde`: `Serialize` for results and ids.
//! * `linfa`: `cluster::linfa`, the DBSCAN, OPTICS, k-means and Gaussian mixtures of linfa-clustering.
//!
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
#![doc(html_root_url = "../")]

mod balance;
mod bursts;
pub mod cluster;
mod error;
mod frame;
mod labels;
mod mode;
mod points;
mod scale;
#[cfg(feature = "serde")]
mod serialize;
mod spmd;
pub mod tracking;
pub mod trend;

pub use balance::TimeBalance;
pub use bursts::{
    Amount, Burst, Bursts, CallerChain, ChainId, Column, Delimiter, Dropped, DurationCut, Extract,
    ExtractParams, Formula, Kind, Thread, ZeroDivision, drop_small_clusters,
};
pub use error::{Error, Result};
pub use frame::Frame;
pub use labels::{ClusterId, Labels};
pub use mode::Mode;
pub use points::Points;
pub use scale::{
    Dimension, FrameAxis, Scale, ScaleMode, ScaleParams, Scaled, ScaledFrame, Shift, Transform,
    TransformAxis,
};
pub use spmd::{
    Align, AlignMethod, AlignParams, Alignment, ClusterScore, Sequences, SpmdScore, SpmdScorer,
    time_shares,
};
