//! [`Refinement`]: clusters points with increasing radii until each cluster has a perfect
//! [`Score`]; [`Refined`]: the labels and the tree of steps.

mod co_occurrence;
mod params;

pub use co_occurrence::merge_together;
pub use params::{RefineChecked, RefineMode, RefineParams};

use super::{Dbscan, k_distances, knee};
use crate::{ClusterId, Error, Labels, Points, Result};
use perf_core::Job;

/// Quality of each cluster, such as its SPMD score ([`SpmdScorer`](crate::SpmdScorer)).
///
/// ```
/// use perf_core::Job;
/// use perf_track::{ClusterId, Labels, Result, cluster::Score};
/// /// Content with clusters of at least so many points.
/// struct Least(usize);
/// impl Score for Least {
///     fn scores(&self, labels: &Labels, _: &Job) -> Result<Vec<f64>> {
///         let score = |size: usize| (size as f64 / self.0 as f64).min(1.0);
///         Ok(labels.sizes()?.into_iter().map(score).collect())
///     }
/// }
/// let labels = Labels::new([1, 1, 1, 1, 2].map(ClusterId).to_vec());
/// assert_eq!(Least(4).scores(&labels, &Job::default())?, [1.0, 0.25]);
/// # Ok::<(), perf_track::Error>(())
/// ```
pub trait Score {
    /// Returns the scores of clusters 1, 2, ... of these labels; 1 is perfect.
    ///
    /// # Errors
    /// Returns the errors of the implementation.
    fn scores(&self, labels: &Labels, job: &Job) -> Result<Vec<f64>>;

    /// Returns the sets of clusters that occur simultaneously, one set for each time, such as each
    /// column of an alignment of the tasks' sequences. Clusters that always occur together are one
    /// phase and are merged at the end ([`merge_together`]). The default, no sets, merges no
    /// clusters.
    ///
    /// # Errors
    /// Returns the errors of the implementation.
    fn simultaneous(&self, labels: &Labels, job: &Job) -> Result<Vec<Vec<ClusterId>>> {
        let _ = (labels, job);
        Ok(Vec::new())
    }
}

impl<F: Fn(&Labels) -> Result<Vec<f64>>> Score for F {
    fn scores(&self, labels: &Labels, job: &Job) -> Result<Vec<f64>> {
        let _ = job;
        self(labels)
    }
}

/// Aggregative cluster refinement (Gonzalez, Huck, Gimenez and Labarta 2012).
///
/// 1. DBSCAN clusters all points with the smallest eps, and each cluster gets a score.
/// 2. Clusters with a perfect score are settled. The points of all other clusters, and noise, are
///    clustered again with the next larger eps. New clusters are scored together with the settled
///    clusters; a settled cluster remains so even if its score changes. This continues until all
///    points are settled or the list of eps ends. Each cluster is a node of the
///    [tree](Refined::tree), whose parents are the nodes of the previous step that share points
///    with it.
/// 3. Clusters that always occur [together](merge_together) are merged, and all clusters are numbered
///    by weight.
///
/// The default list of eps is independent of the scale of the coordinates: equal ratios from the
/// [`knee`] of the k-distance graph to the start of its highest 0.5 %. [`RefineMode::Published`]
/// uses ten distances between the same marks, at equal steps of rank.
///
/// ```
/// use perf_core::Job;
/// use perf_track::cluster::Refinement;
/// use perf_track::{Labels, Points};
/// let values: Vec<f64> = (0..60).map(|i| f64::from(i / 20) + 0.01 * f64::from(i % 20)).collect();
/// // A score that is perfect for clusters of twenty points.
/// let score = |labels: &Labels| {
///     let sizes = labels.sizes()?.into_iter();
///     Ok(sizes.map(|size| if size == 20 { 1.0 } else { 0.5 }).collect::<Vec<f64>>())
/// };
/// let refinement = Refinement::new(Refinement::params().min_points(3).check()?);
/// let points = Points::new(&values, 1)?;
/// let refined = refinement.run(points, &[1.0; 60], &score, &Job::default())?;
/// assert_eq!(refined.labels.sizes()?, [20, 20, 20]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement(RefineChecked);

/// Cluster, or noise, of one step.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct RefineNode {
    /// Step in which the cluster appeared, from 0: index into [`Refined::eps`].
    pub step: usize,
    /// Number of the cluster among all clusters of the step; noise for the points in no cluster.
    pub cluster: ClusterId,
    /// Number of points.
    pub points: usize,
    /// Score; 0 for noise.
    pub score: f64,
    /// Nodes of the previous step with which the cluster shares points.
    pub parents: Vec<usize>,
    /// Number of the cluster in [`Refined::labels`]; `None` if it does not exist at the end.
    pub last: Option<ClusterId>,
}

/// Result of [`Refinement::run`].
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Refined {
    /// Cluster of each point.
    pub labels: Labels,
    /// Radius of each step, ascending.
    pub eps: Vec<f64>,
    /// Tree of the steps; parents come before children.
    pub tree: Vec<RefineNode>,
}

impl Refinement {
    /// Returns parameters with their default values.
    pub fn params() -> RefineParams {
        RefineParams::default()
    }

    /// Creates a refinement with these parameters.
    pub fn new(params: RefineChecked) -> Self {
        Refinement(params)
    }

    /// Refines clusters of `points`. The `weights` (durations) determine the final numbering.
    ///
    /// # Errors
    /// Returns an error if there is not one weight for each point, [`Error::NoScale`] if no eps can
    /// be derived, the errors of the score, or [`Error::Cancelled`] if the job is cancelled.
    pub fn run(
        &self,
        points: Points<'_>,
        weights: &[f64],
        score: &dyn Score,
        job: &Job,
    ) -> Result<Refined> {
        let list = self.eps_list(points, job)?;
        let mut tree: Vec<RefineNode> = Vec::new();
        // Node of each point, and `true` if the node is settled.
        let mut node_of = vec![usize::MAX; points.len()];
        let mut settled: Vec<bool> = Vec::new();
        let mut used = Vec::new();
        for (step, &eps) in list.iter().enumerate() {
            let is_open = |&at: &usize| node_of[at] == usize::MAX || !settled[node_of[at]];
            let open: Vec<usize> = (0..points.len()).filter(is_open).collect();
            if open.is_empty() {
                break;
            }
            used.push(eps);
            let rows = open.iter().filter_map(|&at| points.get(at));
            let values: Vec<f64> = rows.flatten().copied().collect();
            let params = Dbscan::params().eps(eps).min_points(self.0.min_points());
            let dbscan = Dbscan::new(params.border(self.0.border()).check()?);
            let some = Points::new(&values, points.dimensions())?;
            let scan = dbscan.scan(some, &job.without_progress())?;
            let before = node_of.clone();
            let first = tree.len();
            let clusters = scan.labels().clusters();
            for number in 0..=clusters as u32 {
                tree.push(RefineNode {
                    step,
                    cluster: ClusterId(number),
                    points: 0,
                    score: 0.0,
                    parents: Vec::new(),
                    last: None,
                });
                settled.push(false);
            }
            for (&at, id) in open.iter().zip(scan.labels().as_slice()) {
                let node = first + id.0 as usize;
                node_of[at] = node;
                tree[node].points += 1;
                if before[at] != usize::MAX {
                    tree[node].parents.push(before[at]);
                }
            }
            for node in &mut tree[first..] {
                node.parents.sort_unstable();
                node.parents.dedup();
            }
            // Settled clusters are scored with the new ones, because a score may depend on all
            // clusters.
            let (labels, nodes) = numbered(&node_of, &tree);
            let scores = score.scores(&labels, job)?;
            if scores.len() != nodes.len() {
                return Err(Error::Length {
                    what: "scores of clusters",
                    expected: nodes.len(),
                    got: scores.len(),
                });
            }
            for ((&node, &score), number) in nodes.iter().zip(&scores).zip(1..) {
                if node >= first {
                    tree[node].score = score;
                    tree[node].cluster = ClusterId(number);
                    settled[node] = score >= self.0.perfect();
                }
            }
            job.advance("refinement", 1, list.len() as u64);
        }
        let (labels, _) = numbered(&node_of, &tree);
        let merged =
            merge_together(&labels, &score.simultaneous(&labels, job)?)?.by_weight(weights)?;
        for (&node, id) in node_of.iter().zip(merged.as_slice()) {
            if let Some(node) = tree.get_mut(node) {
                node.last = (!id.is_noise()).then_some(*id);
            }
        }
        Ok(Refined {
            labels: merged,
            eps: used,
            tree,
        })
    }

    fn eps_list(&self, points: Points<'_>, job: &Job) -> Result<Vec<f64>> {
        if let (RefineMode::ScaleFree, Some((low, high))) = (self.0.mode(), self.0.range()) {
            return Ok(self.ratios(low, high));
        }
        let k = match self.0.mode() {
            RefineMode::Published => self.0.min_points(),
            RefineMode::ScaleFree => self.0.min_points() - 1,
        };
        let mut falling = k_distances(points, k.max(1), job)?;
        falling.retain(|distance| distance.is_finite());
        job.sort_by(&mut falling, |a, b| b.total_cmp(a))?;
        let list = match self.0.mode() {
            RefineMode::Published => {
                let mut list = published(&falling);
                let (low, high) = self.0.range().unwrap_or((0.0, f64::INFINITY));
                list.retain(|eps| (low..=high).contains(eps));
                list
            }
            RefineMode::ScaleFree => self.scale_free(&falling)?,
        };
        if list.is_empty() {
            Err(Error::NoScale)
        } else {
            Ok(list)
        }
    }

    fn scale_free(&self, falling: &[f64]) -> Result<Vec<f64>> {
        let low = knee(falling).ok_or(Error::NoScale)?;
        let high = falling[falling.len() / 200].max(low);
        Ok(self.ratios(low, high))
    }

    /// Returns steps of equal ratios.
    fn ratios(&self, low: f64, high: f64) -> Vec<f64> {
        let last = (self.0.steps() - 1).max(1) as f64;
        let ratio = (high / low).powf(1.0 / last);
        let mut list: Vec<f64> = (0..self.0.steps())
            .map(|step| low * ratio.powi(step as i32))
            .filter(|eps| (1e-150..=1e150).contains(eps))
            .collect();
        list.dedup();
        list
    }
}

/// Number of radii of [`RefineMode::Published`].
const PUBLISHED_STEPS: usize = 10;

/// Returns the k-distances at ten equal steps of rank from the highest 0.5 % to the knee, ascending. The knee is
/// where the graph is farthest below the line from the highest 0.5 % to 0 at half of the ranks.
fn published(falling: &[f64]) -> Vec<f64> {
    let (first, half) = (falling.len() / 200, falling.len() * 199 / 200 / 2);
    let Some(top) = falling.get(first) else {
        return Vec::new();
    };
    let below = |rank: usize| top * (1.0 - rank as f64 / half.max(1) as f64) - falling[rank];
    let ranks = first..=half.min(falling.len() - 1);
    // The first of equal ones.
    let knee = ranks.rev().max_by(|&a, &b| below(a).total_cmp(&below(b)));
    let range = knee.map_or(0, |knee| knee.saturating_sub(first));
    let ranks: Vec<usize> = if range < PUBLISHED_STEPS {
        (0..=range).rev().collect()
    } else {
        let steps = (1..=PUBLISHED_STEPS).rev();
        steps.map(|step| step * range / PUBLISHED_STEPS).collect()
    };
    let mut list: Vec<f64> = ranks
        .into_iter()
        .map(|rank| falling[first + rank])
        .collect();
    list.retain(|eps| *eps > 0.0);
    list.dedup();
    list
}

/// Returns labels for the nodes that contain points, numbered in the order of the nodes, and these
/// nodes.
fn numbered(node_of: &[usize], tree: &[RefineNode]) -> (Labels, Vec<usize>) {
    let mut used = vec![false; tree.len()];
    for &node in node_of {
        if let Some(used) = used.get_mut(node) {
            *used = true;
        }
    }
    let mut number = vec![ClusterId::NOISE; tree.len()];
    let mut nodes = Vec::new();
    for (node, used) in used.into_iter().enumerate() {
        // Noise of an earlier step was clustered again in the next one.
        if used && !tree[node].cluster.is_noise() {
            nodes.push(node);
            number[node] = ClusterId(nodes.len() as u32);
        }
    }
    let labels = node_of
        .iter()
        // A point in no node of the tree is noise.
        .map(|&node| number.get(node).copied().unwrap_or_default());
    (Labels::new(labels.collect()), nodes)
}
