//! [`Tracking`] and what it is made of: objects, links, events, votes.

use super::matrix::Matrix;
use super::mixture::Mixture;
use super::occurrence::Occurrence;
use crate::{ClusterId, Error, Labels, Result, TimeBalance};
use perf_core::Merge;

/// One phase of the program through all frames: 1, 2, ...
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct ObjectId(pub u32);

impl std::fmt::Display for ObjectId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Who says that two clusters are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Evaluator {
    /// The share of the bursts of the first cluster whose nearest burst of the second frame is in
    /// the second cluster. In optimal mode distances count: [`Pair::reach`].
    Forward,
    /// The same the other way round.
    Backward,
    /// How near the centroids are once the displacement of all is taken away.
    Centroid,
    /// Overlap of the callers of the calls before: the sum of the smaller shares.
    CallersBefore,
    /// Overlap of the callers of the calls after.
    CallersAfter,
    /// How often they stand at the same place between anchors of the frames' sequences.
    Sequence,
    /// In published mode: how often the one stands in a column with a cluster that the other is linked
    /// to, at most as much as that link.
    Simultaneity,
    /// How alike their shares of the time are. In optimal mode.
    Duration,
    /// How alike their shares of the bursts are; in published mode how many of its bursts those of
    /// the other one fill, if asked for.
    Density,
}

impl Evaluator {
    /// A short name.
    pub fn name(self) -> &'static str {
        match self {
            Evaluator::Forward => "forward",
            Evaluator::Backward => "backward",
            Evaluator::Centroid => "centroid",
            Evaluator::CallersBefore => "callers before",
            Evaluator::CallersAfter => "callers after",
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

/// What one evaluator says of all pairs of clusters of two frames, from 0 to 1.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Vote {
    /// Who.
    pub evaluator: Evaluator,
    /// From the clusters of the earlier frame (rows) to those of the later. The backward evaluator
    /// is stored the same way: its columns are shares, not its rows.
    pub matrix: Matrix,
}

/// Two frames that were compared.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Pair {
    /// The earlier frame.
    pub from: usize,
    /// The later one: the next, or in optimal mode the next but one.
    pub to: usize,
    /// What was added to the points of the earlier frame, a value a dimension.
    pub displacement: Vec<f64>,
    /// Half of the typical distance between clusters, the deviation of the Gaussian by which
    /// distances count in optimal mode. Infinite where there is one cluster a frame.
    pub reach: f64,
    /// The share of each cluster's bursts whose nearest neighbour is in each cluster of the other
    /// frame, whatever the distance: from the earlier into the later frame, and from the later
    /// (rows) into the earlier.
    pub cross: [Matrix; 2],
    /// Every evaluator that had something to say.
    pub votes: Vec<Vote>,
    /// The evidence of all together, from 0 to 1; empty in published mode.
    pub evidence: Matrix,
}

impl Pair {
    /// What an evaluator says of a pair of clusters; `None` where it has no opinion.
    pub fn vote(&self, evaluator: Evaluator, from: ClusterId, to: ClusterId) -> Option<f64> {
        let vote = self.votes.iter().find(|vote| vote.evaluator == evaluator)?;
        vote.matrix.get(from, to)
    }
}

/// What a link says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum LinkKind {
    /// The same cluster in the next frame.
    Continues,
    /// The same cluster in the next frame but one.
    Bridges,
    /// The later cluster is a part of the earlier one.
    Splits,
    /// The earlier cluster is a part of the later one.
    Merges,
    /// Both belong to one group of the published heuristic.
    Groups,
}

/// Two clusters that are one object.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Link {
    /// Frame and cluster.
    pub from: (usize, ClusterId),
    /// A later frame and its cluster.
    pub to: (usize, ClusterId),
    /// What it says.
    pub kind: LinkKind,
    /// The evidence, from 0 to 1: for splits and merges that of the part being one, in published mode
    /// the mean of the votes, or what simultaneity or sequences say if that is more.
    pub evidence: f64,
    /// `evidence * (1 + margin) / 2`, where the margin is `1 - other / evidence` with the best
    /// evidence that links either cluster to another object; at least 0.
    pub confidence: f64,
    /// What every evaluator with an opinion says.
    pub votes: Vec<(Evaluator, f64)>,
}

/// What happens to an object.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub enum Event {
    /// It is first seen, not in the first frame.
    Birth {
        /// The frame.
        frame: usize,
    },
    /// It is last seen, not in the last frame.
    Death {
        /// The last frame it is seen in.
        frame: usize,
    },
    /// One cluster became several.
    Split {
        /// The frame in which there are several.
        frame: usize,
        /// The cluster of the frame before.
        from: ClusterId,
        /// Those of the frame.
        into: Vec<ClusterId>,
    },
    /// Several clusters became one.
    Merge {
        /// The frame in which there is one.
        frame: usize,
        /// The clusters of the frame before.
        from: Vec<ClusterId>,
        /// That of the frame.
        into: ClusterId,
    },
    /// It is missing from a frame, and was found again in the next.
    Gap {
        /// The frame it is missing from.
        frame: usize,
        /// The cluster of another object that it is hidden in; `None` if it is lost, as in noise.
        hidden_in: Option<ClusterId>,
    },
    /// A neighbouring frame has it, but in no cluster: bursts of its call sites are noise there or
    /// were dropped by a filter. Takes the place of a birth, death or gap.
    Unclustered {
        /// The frame.
        frame: usize,
        /// Bursts of its call sites that are noise.
        noise: usize,
        /// Bursts of its call sites that a filter dropped or that lack a metric.
        dropped: usize,
    },
}

/// One phase of the program through all frames.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Object {
    /// 1, 2, ...: by falling share of the time, in published mode by lowest cluster of the first
    /// frame.
    pub id: ObjectId,
    /// Its clusters in each frame, ascending; empty where it is not seen.
    pub members: Vec<Vec<ClusterId>>,
    /// The confidence of the weakest link it needs, from 0 to 1: that of the tree of largest
    /// confidence over its clusters, in optimal mode with those that are alike over a frame. For an
    /// object of one cluster `1 - evidence` of the best link it could have had, where half the
    /// evidence over a frame counts.
    pub confidence: f64,
    /// Share of the CPU time of each frame, in `0.0..=1.0`; for an
    /// [`Observation`](super::Observation) that was made of points alone of the time of all points.
    pub share: Vec<f64>,
    /// Why it is one object: in optimal mode what was assigned, and bridges beside it that hold the
    /// object together better than its weakest link. In published mode those links without which it
    /// would fall apart: of all there are between its clusters the tree of largest confidence.
    pub links: Vec<Link>,
    /// What happens to it, by frame.
    pub events: Vec<Event>,
    /// Whether it was filtered for its small share.
    pub is_filtered: bool,
    /// Call sites that it mixes, if it does and callers are known.
    pub mixture: Option<Mixture>,
    /// Part of the run in which it occurs.
    pub occurrence: Occurrence,
    /// Whether its trend can be stated: it is no mixture, it is repeated, and its confidence is not
    /// below [`min_confidence`](super::TrackParams::min_confidence).
    pub is_reliable: bool,
}

impl Object {
    /// In how many frames it is seen.
    pub fn frames(&self) -> usize {
        self.members
            .iter()
            .filter(|members| !members.is_empty())
            .count()
    }
}

/// What tracking found out about a frame.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct TrackedFrame {
    /// Its name.
    pub name: String,
    /// How many processes computed.
    pub tasks: u32,
    /// How many clusters it has.
    pub clusters: usize,
    /// Time in clusters, in the unit of the durations.
    pub clustered_time: f64,
    /// Time of bursts in no cluster.
    pub noise_time: f64,
    /// Tracked share of the time of the points, clusters and noise, in `0.0..=1.0`: the time in
    /// objects that are seen in other frames, too, and were not filtered. Bursts that filters
    /// dropped are not part of it; see [`balance`](Self::balance).
    pub coverage: f64,
    /// Division of the CPU time, which includes noise and all bursts that filters dropped. `None`
    /// for an [`Observation`](super::Observation) that was made of points alone.
    pub balance: Option<TimeBalance>,
    /// Clusters of no object; only in published mode.
    pub untracked: Vec<ClusterId>,
    /// How often clusters are at the same step of the program: the share of the columns of the
    /// alignment with one (rows) that also have another; empty without an alignment.
    pub simultaneity: Matrix,
    /// The SPMD score of noise and each cluster; empty without an alignment.
    pub scores: Vec<f64>,
    /// The SPMD score of the frame, weighted by time; `None` without an alignment.
    pub score: Option<f64>,
}

/// Objects through a series of frames.
///
/// ```
/// # use perf_core::Job;
/// # use perf_track::tracking::{Observation, Tracking};
/// # use perf_track::{ClusterId, Points};
/// # let id = [ClusterId(1); 2];
/// # let runs = [(4_u32, 8e9_f64), (8, 4e9), (16, 2e9)];
/// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
/// # let mut frames = Vec::new();
/// # for (run, points) in runs.iter().zip(&points) {
/// #     frames.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
/// # }
/// # let tracking = Tracking::of(&frames, &Default::default(), &Job::default())?;
/// // One phase in three frames.
/// let object = &tracking.objects[0];
/// assert_eq!((tracking.objects.len(), object.frames()), (1, 3));
/// assert_eq!(tracking.colours(2)?, [None, Some(object.id)]);
/// assert!(tracking.colours(3).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Tracking {
    /// The frames, in order.
    pub frames: Vec<TrackedFrame>,
    /// The pairs of frames that were compared, with every evaluator's matrix.
    pub pairs: Vec<Pair>,
    /// The objects; `objects[i].id` is `i + 1`.
    pub objects: Vec<Object>,
}

impl Tracking {
    /// The CPU time of all frames together, divided as that of each. `None` if one of them has no
    /// [balance](TrackedFrame::balance).
    pub fn balance(&self) -> Option<TimeBalance> {
        let mut sum = TimeBalance::default();
        for frame in &self.frames {
            sum.merge(frame.balance.as_ref()?);
        }
        Some(sum)
    }

    /// An object by its number.
    pub fn object(&self, id: ObjectId) -> Option<&Object> {
        self.objects.get((id.0 as usize).checked_sub(1)?)
    }

    /// The object of each cluster of a frame, noise first: `[0]` is `None`, `[3]` is cluster 3.
    /// Clusters of filtered objects and of none are `None`.
    ///
    /// # Errors
    /// There is no such frame.
    pub fn colours(&self, frame: usize) -> Result<Vec<Option<ObjectId>>> {
        let clusters = self.frames.get(frame).map(|frame| frame.clusters);
        let clusters = clusters.ok_or(Error::Unknown {
            what: "frame",
            id: frame,
            count: self.frames.len(),
        })?;
        let mut colours = vec![None; clusters + 1];
        for object in self.objects.iter().filter(|object| !object.is_filtered) {
            for id in object.members.get(frame).into_iter().flatten() {
                if let Some(colour) = colours.get_mut(id.0 as usize) {
                    *colour = Some(object.id);
                }
            }
        }
        Ok(colours)
    }

    /// The bursts of a frame by object instead of by cluster: numbers of objects for those of
    /// clusters, noise for bursts of none.
    ///
    /// # Errors
    /// There is no such frame, or the labels have a cluster that it does not have.
    pub fn recolour(&self, frame: usize, labels: &Labels) -> Result<Labels> {
        let colours = self.colours(frame)?;
        let new = |id: &ClusterId| {
            let colour = colours.get(id.0 as usize).ok_or(Error::Unknown {
                what: "cluster",
                id: id.0 as usize,
                count: colours.len() - 1,
            })?;
            Ok(colour.map_or(ClusterId::NOISE, |object| ClusterId(object.0)))
        };
        let ids: Result<Vec<ClusterId>> = labels.as_slice().iter().map(new).collect();
        Ok(Labels::new(ids?))
    }

    /// The comparison of two frames.
    pub fn pair(&self, from: usize, to: usize) -> Option<&Pair> {
        self.pairs
            .iter()
            .find(|pair| (pair.from, pair.to) == (from, to))
    }
}
