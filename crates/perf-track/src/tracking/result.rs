//! [`Tracking`], the result: each [`TrackedRegion`] with its [`Link`]s and [`Event`]s, each
//! [`TrackedExperiment`], and the [`Vote`] of each [`Evaluator`] on each [`Pair`] of experiments.

use super::matrix::Matrix;
use crate::tracking::composition::mixture::Mixture;
use crate::tracking::program_position::code_position::CodePosition;
use crate::tracking::program_position::occurrence::Occurrence;
use crate::{ClusterId, Error, Labels, Result, TimeBalance};
use perf_core::Merge;

/// Number of a tracked region: 1, 2, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct TrackedRegionId(pub u32);

impl std::fmt::Display for TrackedRegionId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Criterion by which two clusters of two experiments are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Evaluator {
    /// Fraction of the bursts of the first cluster whose nearest burst of the second experiment is
    /// in the second cluster. In the optimal mode bursts are weighted by distance, see
    /// [`Pair::reach`].
    Forward,
    /// Fraction as in [`Forward`](Self::Forward) from the second cluster to the first.
    Backward,
    /// Optimal mode: proximity of the centroids after removing the common displacement.
    Centroid,
    /// Overlap of the callers of the calls before the bursts: the sum of the smaller fractions.
    CallersBefore,
    /// Optimal mode: overlap of the callers of the calls after the bursts.
    CallersAfter,
    /// Optimal mode: overlap of the functions that contain the bursts.
    Within,
    /// Optimal mode: similarity of several calls before and after the bursts, where only the names of calls are
    /// known.
    Context,
    /// Alignment of the program orders: 1 for clusters at the same position, 0 for clusters at positions
    /// of others. In the published mode, frequency of equal positions between anchors of the sequences.
    Sequence,
    /// Published mode: frequency with which the second cluster shares a column of the alignment
    /// with a cluster to which the first is linked, limited by the value of that link.
    Simultaneity,
    /// Optimal mode: similarity of their shares of the time.
    Duration,
    /// Similarity of their shares of the bursts. In the published mode, if
    /// [requested](super::TrackParams::use_density), the number of bursts of the second cluster as
    /// a fraction of those of the first.
    Density,
}

impl Evaluator {
    /// Returns a short name.
    pub fn name(self) -> &'static str {
        match self {
            Evaluator::Forward => "forward",
            Evaluator::Backward => "backward",
            Evaluator::Centroid => "centroid",
            Evaluator::CallersBefore => "callers before",
            Evaluator::CallersAfter => "callers after",
            Evaluator::Within => "within",
            Evaluator::Context => "context",
            Evaluator::Sequence => "sequence",
            Evaluator::Simultaneity => "simultaneity",
            Evaluator::Duration => "duration",
            Evaluator::Density => "density",
        }
    }
}

impl std::fmt::Display for Evaluator {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Votes of one evaluator on all pairs of clusters of two experiments, in `0.0..=1.0`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Vote {
    /// Evaluator.
    pub evaluator: Evaluator,
    /// Values for the clusters of the earlier experiment (rows) and of the later one (columns). The
    /// backward evaluator has the same orientation: each of its columns holds the fractions of one
    /// cluster, instead of each row.
    pub matrix: Matrix,
}

/// Comparison of two experiments.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Pair {
    /// Index of the earlier experiment.
    pub from: usize,
    /// Index of the later experiment: the next, or in the optimal mode also the next but one.
    pub to: usize,
    /// Vector added to the points of the earlier experiment, one value for each dimension.
    pub displacement: Vec<f64>,
    /// Half of the median distance from a centroid to the nearest one at another place, which is the
    /// deviation of the Gaussian that weights distances in the optimal mode. Two clusters are at one
    /// place if their bursts scatter more than their centroids are apart. Infinite if no experiment
    /// has clusters at two places, and in the published mode.
    pub reach: f64,
    /// Fraction of each cluster's bursts (row) whose nearest neighbour, at any distance, is in each
    /// cluster of the other experiment (column). The first matrix leads from the earlier into the
    /// later experiment, the second from the later into the earlier.
    pub cross: [Matrix; 2],
    /// Votes of all evaluators that could be computed.
    pub votes: Vec<Vote>,
    /// Combined evidence, in `0.0..=1.0`; empty in the published mode.
    pub evidence: Matrix,
}

impl Pair {
    /// Returns the vote of an evaluator on a pair of clusters; `None` if there is no vote.
    pub fn vote(&self, evaluator: Evaluator, from: ClusterId, to: ClusterId) -> Option<f64> {
        let vote = self.votes.iter().find(|vote| vote.evaluator == evaluator)?;
        vote.matrix.get(from, to)
    }
}

/// Kind of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum LinkKind {
    /// The same cluster in the next experiment.
    Continues,
    /// The same cluster in the next experiment but one.
    Bridges,
    /// The later cluster is a part of the earlier one.
    Splits,
    /// The earlier cluster is a part of the later one.
    Merges,
    /// Both clusters belong to one group of the published heuristic.
    Groups,
}

/// Link between two clusters of one tracked region.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Link {
    /// Earlier experiment and its cluster.
    pub from: (usize, ClusterId),
    /// Later experiment and its cluster.
    pub to: (usize, ClusterId),
    /// Kind of the link.
    pub kind: LinkKind,
    /// Evidence, in `0.0..=1.0`. For splits and merges, evidence that one cluster is a part of the
    /// other. In the published mode, mean of the votes, or the vote of simultaneity or sequences if
    /// that vote is higher.
    pub evidence: f64,
    /// Confidence, in `0.0..=1.0`: `evidence * (1 + margin) / 2`, where the margin is
    /// `1 - other / evidence`, at least 0, and `other` is the best evidence that links one of the
    /// two clusters to another tracked region.
    pub confidence: f64,
    /// Votes of the evaluators that have one on this pair; in the published mode only those above 0.
    pub votes: Vec<(Evaluator, f64)>,
}

/// Event in the life of a tracked region.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Event {
    /// The region is first seen after the first experiment.
    Birth {
        /// First experiment in which the region is seen.
        experiment: usize,
    },
    /// The region is last seen before the last experiment.
    Death {
        /// Last experiment in which the region is seen.
        experiment: usize,
    },
    /// One cluster became several.
    Split {
        /// Experiment with several clusters.
        experiment: usize,
        /// Cluster of the previous experiment.
        from: ClusterId,
        /// Clusters of the experiment `experiment`.
        into: Vec<ClusterId>,
    },
    /// Several clusters became one.
    Merge {
        /// Experiment with one cluster.
        experiment: usize,
        /// Clusters of the previous experiment.
        from: Vec<ClusterId>,
        /// Cluster of the experiment `experiment`.
        into: ClusterId,
    },
    /// The region is missing from an experiment and present in the next.
    Gap {
        /// Experiment from which the region is missing.
        experiment: usize,
        /// Cluster of the experiment `experiment` that contains the region; `None` if it is lost, such
        /// as in noise.
        hidden_in: Option<ClusterId>,
    },
    /// A neighbouring experiment has bursts of the region, but in no cluster: bursts of its program
    /// positions are noise there or were dropped by a filter. Replaces a birth, death or gap.
    Unclustered {
        /// Experiment in which the bursts are in no cluster.
        experiment: usize,
        /// Number of bursts of its positions that are noise.
        noise: usize,
        /// Number of bursts of its positions that a filter dropped or that lack a metric.
        dropped: usize,
    },
}

/// Tracked region: one phase of the program in all experiments.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TrackedRegion {
    /// Number 1, 2, ...: in the optimal mode in descending order of the share of the time, in the
    /// published mode in order of the lowest cluster of the first experiment.
    pub id: TrackedRegionId,
    /// Clusters of the region in each experiment, ascending; empty if the region is not seen there.
    pub members: Vec<Vec<ClusterId>>,
    /// Confidence of the region, in `0.0..=1.0`: the confidence of the weakest link of the maximum
    /// spanning tree by confidence over its clusters, in the optimal mode including bridges. For a
    /// region of one cluster in the optimal mode, `1 - evidence` of its best possible link, where
    /// bridges count half, times the share of clusters in the time of the adjacent experiment, because
    /// the region may be in the noise there.
    pub confidence: f64,
    /// Share of the region in the CPU time of each experiment, in `0.0..=1.0`. For an
    /// [`Observation`](super::Observation) created from points alone, share in the time of all
    /// points.
    pub share: Vec<f64>,
    /// Links that hold the region together. In the optimal mode these are the links of the
    /// assignment, splits and merges, and bridges that strengthen the weakest link. In the published
    /// mode they are the maximum spanning tree by confidence over the clusters.
    pub links: Vec<Link>,
    /// Events of the region in order of experiments.
    pub events: Vec<Event>,
    /// `true` if the region was filtered because of its [small share](super::TrackParams::min_share).
    pub is_filtered: bool,
    /// Call sites that the region mixes; `None` if it mixes none or callers are unknown.
    pub mixture: Option<Mixture>,
    /// Part of the run in which the region occurs.
    pub occurrence: Occurrence,
    /// Place of the region in the program in each experiment; `None` if the region is not seen there or no
    /// call is known. The position of the last experiment that has one is the [current](Self::position).
    pub positions: Vec<Option<CodePosition>>,
    /// `true` if a trend of the region can be stated: it is not a mixture, it is repeated, and its
    /// confidence is at least [`min_confidence`](super::TrackParams::min_confidence).
    pub is_reliable: bool,
}

impl TrackedRegion {
    /// Returns the place of the region in the program in the last experiment in which it is known.
    pub fn position(&self) -> Option<&CodePosition> {
        self.positions.iter().flatten().next_back()
    }

    /// Returns the number of experiments in which the region is seen.
    pub fn experiments(&self) -> usize {
        self.members
            .iter()
            .filter(|members| !members.is_empty())
            .count()
    }
}

/// Results for one experiment.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TrackedExperiment {
    /// Name of the experiment.
    pub name: String,
    /// Number of threads that computed, over all processes: tasks times threads. Power laws are over this
    /// number.
    pub tasks: u32,
    /// Number of noise points that joined a cluster because of their program position.
    pub rescued: usize,
    /// Number of clusters.
    pub clusters: usize,
    /// Time in clusters, in the unit of the durations.
    pub clustered_time: f64,
    /// Time of points in no cluster, in the unit of the durations.
    pub noise_time: f64,
    /// Tracked fraction of the time of the points (clusters and noise), in `0.0..=1.0`. Tracked time
    /// is spent in regions that occur in several experiments and were not filtered. Bursts dropped
    /// by filters do not count; see [`balance`](Self::balance).
    pub coverage: f64,
    /// Breakdown of the CPU time, including noise and all bursts dropped by filters. `None` for an
    /// [`Observation`](super::Observation) created from points alone.
    pub balance: Option<TimeBalance>,
    /// Clusters of no tracked region; always empty in the optimal mode.
    pub untracked: Vec<ClusterId>,
    /// Simultaneity of clusters: the fraction of the columns of the alignment with one cluster (row)
    /// that also contain another cluster (column). Empty without an alignment.
    pub simultaneity: Matrix,
    /// SPMD scores of noise and each cluster, in `0.0..=1.0`; empty without an alignment.
    pub scores: Vec<f64>,
    /// SPMD score of the experiment, weighted by time, in `0.0..=1.0`; `None` without an alignment.
    pub score: Option<f64>,
}

/// Tracked regions through a series of experiments.
///
/// ```
/// # use perf_core::Job;
/// # use perf_track::tracking::{Observation, Tracking};
/// # use perf_track::{ClusterId, Points};
/// # let id = [ClusterId(1); 2];
/// # let runs = [(4_u32, 8e9_f64), (8, 4e9), (16, 2e9)];
/// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
/// # let mut experiments = Vec::new();
/// # for (run, points) in runs.iter().zip(&points) {
/// #     experiments.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
/// # }
/// # let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
/// // One phase in three experiments.
/// let region = &tracking.regions[0];
/// assert_eq!((tracking.regions.len(), region.experiments()), (1, 3));
/// assert_eq!(tracking.colours(2)?, [None, Some(region.id)]);
/// assert!(tracking.colours(3).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Tracking {
    /// Experiments in order.
    pub experiments: Vec<TrackedExperiment>,
    /// Pairs of experiments that were compared, with the matrices of all evaluators.
    pub pairs: Vec<Pair>,
    /// Tracked regions; `regions[i].id` is `i + 1`.
    pub regions: Vec<TrackedRegion>,
}

impl Tracking {
    /// Returns the breakdown of the CPU time of all experiments together. `None` if an experiment
    /// has no [balance](TrackedExperiment::balance).
    pub fn balance(&self) -> Option<TimeBalance> {
        let mut sum = TimeBalance::default();
        for experiment in &self.experiments {
            sum.merge(experiment.balance.as_ref()?);
        }
        Some(sum)
    }

    /// Returns a tracked region by number; `None` if there is no such region.
    pub fn region(&self, id: TrackedRegionId) -> Option<&TrackedRegion> {
        self.regions.get((id.0 as usize).checked_sub(1)?)
    }

    /// Returns the tracked region of each cluster of an experiment, by cluster number: `[0]` is
    /// noise, `[3]` is cluster 3. `None` for noise and for clusters of filtered regions or of no
    /// region.
    ///
    /// # Errors
    /// Returns an error if there is no such experiment.
    pub fn colours(&self, experiment: usize) -> Result<Vec<Option<TrackedRegionId>>> {
        let clusters = self
            .experiments
            .get(experiment)
            .map(|experiment| experiment.clusters);
        let clusters = clusters.ok_or(Error::Unknown {
            what: "experiment",
            id: experiment,
            count: self.experiments.len(),
        })?;
        let mut colours = vec![None; clusters + 1];
        for region in self.regions.iter().filter(|region| !region.is_filtered) {
            for id in region.members.get(experiment).into_iter().flatten() {
                if let Some(colour) = colours.get_mut(id.0 as usize) {
                    *colour = Some(region.id);
                }
            }
        }
        Ok(colours)
    }

    /// Relabels the bursts of an experiment by tracked region instead of cluster; noise for bursts
    /// of no region.
    ///
    /// # Errors
    /// Returns an error if there is no such experiment, or if the labels have a cluster that the
    /// experiment does not have.
    pub fn recolour(&self, experiment: usize, labels: &Labels) -> Result<Labels> {
        let colours = self.colours(experiment)?;
        let new = |id: &ClusterId| {
            let colour = colours.get(id.0 as usize).ok_or(Error::Unknown {
                what: "cluster",
                id: id.0 as usize,
                count: colours.len() - 1,
            })?;
            Ok(colour.map_or(ClusterId::NOISE, |region| ClusterId(region.0)))
        };
        let ids: Result<Vec<ClusterId>> = labels.as_slice().iter().map(new).collect();
        Ok(Labels::new(ids?))
    }

    /// Returns the comparison of two experiments; `None` if they were not compared.
    pub fn pair(&self, from: usize, to: usize) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| (pair.from, pair.to) == (from, to))
    }
}
