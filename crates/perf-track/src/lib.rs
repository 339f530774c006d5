//! Clustering of CPU bursts, and tracking of the clusters across experiments.
//!
//! A parallel program computes in bursts between its communication calls. Bursts that execute the
//! same code have similar metrics and form clusters in a space of metrics; a cluster corresponds to
//! a phase of the program. With more tasks, another input, or later in the run, the same phases lie
//! elsewhere in the space. Each such experiment, or each time window of an experiment, is a [`Experiment`].
//! Tracking decides which clusters of the experiments are the same phase, called a tracked region
//! ([`tracking::TrackedRegion`]), and how each region changed.
//!
//! ```
//! use perf_core::{Job, Nanos};
//! use perf_track::cluster::{Clusterer, Dbscan};
//! use perf_track::tracking::{Observation, Tracking};
//! use perf_track::{Burst, Bursts, Dimension, Experiment, Scale, Thread};
//!
//! // Each task alternates a long and a short step; more tasks share the work.
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
//! // One space for both: the logarithm of instructions, with the common shift removed.
//! let scale = Scale::params().dimension(Dimension::new("instructions").log(true)).check()?;
//! let scaled = scale.fit(&[&all[0], &all[1]], &Job::default())?;
//! let dbscan = Dbscan::new(Dbscan::params().eps(0.1).min_points(4).check()?);
//! let mut seen = Vec::new();
//! for (bursts, scaled) in all.iter().zip(&scaled.experiments) {
//!     let labels = dbscan.cluster(scaled.points()?, &job)?;
//!     // Cluster 1 takes the most time.
//!     let labels = labels.by_weight(&bursts.durations())?;
//!     assert_eq!(labels.clusters(), 2);
//!     let experiment = Experiment::new("", bursts.clone(), labels)?;
//!     seen.push(Observation::of(&experiment, scaled.points()?, scaled.rows())?);
//! }
//! let tracking = Tracking::of(&seen, &Default::default(), &job)?;
//! assert_eq!(tracking.regions.len(), 2);
//! assert_eq!(tracking.regions[0].members, [[perf_track::ClusterId(1)], [perf_track::ClusterId(1)]]);
//! # Ok::<(), perf_track::Error>(())
//! ```
//!
//! # Method
//! A metric `x` becomes the coordinate `y = f (ln x - shift - low) / (high - low)` (or the same
//! without the logarithm), where `f` is the factor of the axis, `low` and `high` are quantiles over
//! all experiments, and the shift belongs to the experiment. A burst with at least `min_points`
//! bursts within `eps` is core, and core bursts within `eps` of each other are in one cluster
//! (DBSCAN). The sequences of all threads are aligned in columns. The SPMD score (single program,
//! multiple data) of cluster `k` is the mean of `n_k(c) / T` over the columns `c` in which it occurs,
//! where `n_k(c)` of `T` threads have the cluster in the column. The score of an experiment is the
//! mean of the scores of its clusters weighted by time. The evidence that two clusters of different
//! experiments are the same is the weighted mean of votes of [`tracking::Evaluator`]s, and tracked
//! regions are the assignment of largest sum over all experiments. The trend of a tracked region is
//! a [scaling model](scaling), a sum of terms `c p^i log2(p)^j` in the number of tasks `p`. Time `T`, instructions `I` and frequency `f`
//! satisfy `ln T = ln I - ln IPC - ln f` exactly.
//!
//! # Overview
//!
//! | question | item |
//! |---|---|
//! | Which bursts does a recording have, with which metrics and callers, and which were dropped? | [`Extract`], [`Bursts`], [`Dropped`] |
//! | How are metrics of several experiments converted to coordinates? | [`Scale`], [`Scaled`] |
//! | Which bursts behave alike? | [`cluster`]: DBSCAN, HDBSCAN, a radius, refinement, samples |
//! | Do all ranks execute the same phase at the same time? | [`Sequences`], [`Align`], [`SpmdScore`] |
//! | Which clusters of different experiments are the same phase? | [`tracking`] |
//! | How does each phase change, and what is the prediction? | [`trend`] |
//! | How does a metric depend on tasks, threads and problem size? | [`scaling`] |
//! | Which method is used, the published one or the optimal one? | [`Mode`] |
//!
//! # Cost
//!
//! Extraction takes time linear in the number of events. For n bursts DBSCAN takes about n log n in
//! up to three dimensions, independent of the number of neighbours (100,000 points in 4 ms, 5
//! million in half a second on one core at 2.6 GHz), and uses a tree in more dimensions. The
//! automatic radius takes about fifteen such runs. The alignment takes at most
//! `different sequences x length x columns`, a few milliseconds if ranks behave alike. Tracking takes
//! n log n for each pair of experiments. Memory is proportional to the number of bursts:
//! [`Dbscan::memory`](cluster::Dbscan::memory) and [`KdTree::memory`](cluster::KdTree::memory)
//! return it beforehand, and [`Align`] respects its memory budget. With the feature `parallel`
//! (default) all cores are used, and no result depends on their number.
//!
//! # Pitfalls
//!
//! * A burst without one of the requested metrics is not clustered. If a recording multiplexes
//!   counters, most bursts are dropped: check [`Dropped`] before interpreting clusters.
//! * Counters and durations span orders of magnitude: take their logarithm ([`Dimension::log`]).
//!   Bursts without a finite logarithm are no points ([`ScaledExperiment::left_out`]).
//! * A radius is valid for one space only. Experiments in a [`ScaleMode::Joint`] space share a
//!   radius; experiments that are scaled separately do not.
//! * Small experiments have few bursts in each phase: a cluster on 16 tasks may be noise on 2. A
//!   smaller minimum number of points or a larger radius helps, and
//!   [`EpsChoice`](cluster::EpsChoice) reports the sensitivity to the radius.
//! * Cluster numbers are not comparable between experiments, because they follow time. Tracked
//!   regions are.
//!
//! # Features
//!
//! * `parallel` (default): clusters, aligns and tracks bursts on all cores.
//! * `serde`: `Serialize` for results and ids.
//! * `linfa`: `cluster::linfa`, with DBSCAN, OPTICS, k-means and Gaussian mixtures of
//!   linfa-clustering.
//!
//! Every result has a method `table` or `tables`; the feature `render` of `perf-core` writes tables as text, CSV
//! and JSON.
#![doc(html_root_url = "../")]

mod balance;
mod bursts;
pub mod cluster;
mod error;
mod experiment;
mod labels;
mod mode;
mod monotone;
mod points;
mod scale;
pub mod scaling;
#[cfg(feature = "serde")]
mod serialize;
mod spmd;
pub mod tracking;
pub mod trend;

pub use balance::TimeBalance;
pub use bursts::{
    Amount, Burst, Bursts, CallerChain, ChainId, Column, Delimiter, Dropped, DurationCut, Extract,
    ExtractParams, Formula, Kind, Position, Thread, Unfiltered, ZeroDivision, drop_small_clusters,
};
pub use error::{Error, Result};
pub use experiment::Experiment;
pub use labels::{ClusterId, Labels};
pub use mode::Mode;
pub use points::Points;
pub use scale::{
    Dimension, ExperimentAxis, Scale, ScaleMode, ScaleParams, Scaled, ScaledExperiment, Shift,
    Transform, TransformAxis,
};
pub use spmd::{
    Align, AlignMethod, AlignParams, Alignment, ClusterScore, Sequences, SpmdScore, SpmdScorer,
    time_shares,
};
