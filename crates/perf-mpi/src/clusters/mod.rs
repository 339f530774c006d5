//! [`cluster`]: density-based clustering of points that are distributed over ranks, with a
//! [`SharedScan`] on each; [`durations_first`]: numbers its clusters by total weight.
//!
//! Space is cut into one slab for each rank, along the axis with the largest extent of the points.
//! All slabs have about the same number of points. A rank receives the points of its slab, and
//! those within `2 eps` of it. It therefore knows all neighbours of the points within `eps` of its
//! slab. This determines the core points among them, and all links between own core points and
//! other points. Clusters of two slabs that share a core point are the same cluster. Only these
//! pairs, a few numbers for each border between slabs, are sent to all ranks.

mod numbers;
mod slabs;

use crate::{Error, Ranks, Result, Wire};
use numbers::Numbers;
use perf_core::Job;
use perf_track::cluster::{Border, Checked, Dbscan, Scan};
use perf_track::{ClusterId, Labels, Points};
use slabs::Slabs;
use std::collections::BTreeSet;

/// Result of a distributed clustering: labels of the own points, and totals over all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SharedScan {
    /// Cluster of each own point.
    pub labels: Labels,
    /// `true` for each own point that is a core point.
    pub core: Vec<bool>,
    /// Number of clusters on all ranks.
    pub clusters: u32,
    /// Number of points on all ranks.
    pub points: u64,
    /// Number of core points on all ranks.
    pub core_points: u64,
    /// Number of points in no cluster, on all ranks.
    pub noise: u64,
    /// Index of the first own point among those of all ranks.
    pub first: u32,
}

/// Clusters the points of all ranks by density. The points are ordered by rank.
///
/// Core points, clusters, border points and cluster numbers are the same as those of
/// [`Dbscan::scan`] on all points. Reports the progress of the points of the own slab, as
/// [`Dbscan::scan`] does. Collective.
///
/// If slabs are narrower than `eps`, a rank receives the points of several slabs. With a radius
/// that is a large part of the extent of the points, each rank receives most of the points.
///
/// ```no_run
/// use perf_core::Job;
/// use perf_mpi::{Ranks, cluster, durations_first, mpi};
/// use perf_track::{Points, cluster::Dbscan};
/// let universe = mpi::initialize().ok_or("MPI was initialised before")?;
/// let ranks = Ranks::new(&universe.world());
/// // A hundred points of each rank, of two coordinates.
/// let own: Vec<f64> = (0..200).map(|k| f64::from(k % 20 / 10) + 0.001 * f64::from(k)).collect();
/// let params = Dbscan::params().eps(0.05).min_points(4).check()?;
/// let found = cluster(&ranks, Points::new(&own, 2)?, &params, &Job::default())?;
/// assert_eq!(found.points, 100 * ranks.size() as u64);
/// // Cluster 1 takes the most time.
/// let found = durations_first(&ranks, &found, &vec![1.0; 100])?;
/// assert_eq!(found.labels.len(), 100);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
///
/// On all ranks:
///
/// - Returns [`Error::Parameter`] for [`Border::PeerCompatible`], whose result depends on the order
///   in which all points are visited.
/// - Returns [`Error::Differs`] if parameters or dimensions differ between ranks.
/// - Returns [`Error::TooMany`] if there are 2^32 points or more.
/// - Returns [`Error::Track`] if [`Dbscan::scan`] fails.
pub fn cluster(
    ranks: &Ranks,
    points: Points<'_>,
    params: &Checked,
    job: &Job,
) -> Result<SharedScan> {
    let border = match params.border() {
        Border::LowestCore => Ok(()),
        other => Err(Error::Parameter {
            name: "border",
            value: format!("{other:?}"),
            range: "LowestCore, which does not depend on the order of points",
        }),
    };
    ranks.agree(border)?;
    let settings = (
        points.dimensions(),
        params.eps().to_bits(),
        params.min_points(),
    );
    ranks.same("dimensions or parameters", &settings)?;
    let starts = starts(ranks, points.len())?;
    let slabs = Slabs::new(ranks, points, params.eps())?;
    let first = starts[ranks.rank()];
    let slab = Slab::gather(ranks, points, &slabs, first)?;
    let scan = slab.scan(params, job);
    let scan = ranks.agree(scan)?;
    let numbers = slab.numbers(ranks, &scan)?;
    let mut found = slab.return_labels(ranks, &scan, &numbers, &starts)?;
    found.first = first;
    found.clusters = numbers.clusters;
    let noise = found.labels.noise() as u64;
    let core = found.core.iter().filter(|core| **core).count() as u64;
    for [points, core, noise] in ranks.all_gather(&[points.len() as u64, core, noise])? {
        found.points += points;
        found.core_points += core;
        found.noise += noise;
    }
    Ok(found)
}

/// Renumbers clusters by decreasing total weight of their points on all ranks, as
/// [`Labels::by_weight`] does.
///
/// Ties are resolved in favour of the cluster with the lowest point. Weights that are whole numbers
/// below 2^53, such as durations, give exactly the sums of a single process. Collective.
///
/// # Errors
///
/// Returns [`Error::Track`] or [`Error::Elsewhere`] on all ranks if the numbers of weights and
/// points differ on any of them, or if a weight is not finite.
pub fn durations_first(ranks: &Ranks, found: &SharedScan, weights: &[f64]) -> Result<SharedScan> {
    // Only checks the weights; the order on this rank alone is not used.
    let checked = found.labels.by_weight(weights).map_err(Error::from);
    ranks.agree(checked.map(|_| ()))?;
    let mut own = vec![(0.0, u32::MAX); found.clusters as usize];
    let labels = found.labels.as_slice().iter();
    for ((label, weight), point) in labels.zip(weights).zip(found.first..) {
        if let Some(slot) = label.index().and_then(|at| own.get_mut(at)) {
            slot.0 += weight;
            slot.1 = slot.1.min(point);
        }
    }
    let mut all = vec![(0.0, u32::MAX); own.len()];
    for of_rank in ranks.all_gather(&own)? {
        for (sum, (weight, first)) in all.iter_mut().zip(of_rank) {
            sum.0 += weight;
            sum.1 = sum.1.min(first);
        }
    }
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|a, b| {
        let (a, b) = (all[*a], all[*b]);
        b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
    });
    let mut new = vec![ClusterId::NOISE; order.len()];
    for (number, old) in order.into_iter().enumerate() {
        if let Some(slot) = new.get_mut(old) {
            *slot = ClusterId(number as u32 + 1);
        }
    }
    let labels = found.labels.as_slice().iter().map(|label| {
        let new = label.index().and_then(|at| new.get(at));
        new.copied().unwrap_or_default()
    });
    Ok(SharedScan {
        labels: Labels::new(labels.collect()),
        ..found.clone()
    })
}

/// Returns the index of the first point of each rank, followed by the number of all points.
fn starts(ranks: &Ranks, points: usize) -> Result<Vec<u32>> {
    let mut starts = vec![0_u32];
    let mut sum = 0_u64;
    for count in ranks.all_gather(&(points as u64))? {
        sum = sum.saturating_add(count);
        let start = u32::try_from(sum).map_err(|_| Error::TooMany {
            what: "points",
            limit: u64::from(u32::MAX),
        })?;
        starts.push(start);
    }
    Ok(starts)
}

/// Points that a rank receives, sorted by their index among all points.
#[derive(Debug, Default)]
struct Slab {
    /// Index of each point among all points.
    index: Vec<u32>,
    /// Coordinates, point after point.
    values: Vec<f64>,
    /// Number of coordinates of a point.
    dimensions: usize,
    /// `true` for each point that lies in the slab itself.
    own: Vec<bool>,
    /// Rank in whose slab each point lies.
    owner: Vec<u32>,
}

impl Slab {
    /// Sends points to all ranks that need them.
    fn gather(ranks: &Ranks, points: Points<'_>, slabs: &Slabs, first: u32) -> Result<Self> {
        let dimensions = points.dimensions();
        let mut parcels: Vec<(Vec<u32>, Vec<f64>)> = vec![Default::default(); ranks.size()];
        for (point, index) in points.iter().zip(first..) {
            let x = point[slabs.axis];
            for rank in slabs.seen_by(x) {
                if let Some((indices, values)) = parcels.get_mut(rank) {
                    indices.push(index);
                    values.extend_from_slice(point);
                }
            }
        }
        let parcels: Vec<Vec<u8>> = parcels.iter().map(Wire::to_bytes).collect();
        let parcels = ranks.all_to_all(&parcels)?;
        let read = || {
            let (mut index, mut values) = (Vec::new(), Vec::new());
            for parcel in &parcels {
                let (indices, coordinates) = <(Vec<u32>, Vec<f64>)>::from_bytes(parcel)?;
                index.extend(indices);
                values.extend(coordinates);
            }
            Ok((index, values))
        };
        // The parcels are ordered by rank, so the points are ordered by index.
        let (index, values): (Vec<u32>, Vec<f64>) = ranks.agree(read())?;
        let owner = values.chunks_exact(dimensions).map(|point| {
            let x = point[slabs.axis];
            slabs.owner(x) as u32
        });
        let owner: Vec<u32> = owner.collect();
        Ok(Slab {
            own: owner
                .iter()
                .map(|owner| *owner as usize == ranks.rank())
                .collect(),
            index,
            values,
            dimensions,
            owner,
        })
    }

    fn scan(&self, params: &Checked, job: &Job) -> Result<Scan> {
        let points = Points::new(&self.values, self.dimensions)?;
        Ok(Dbscan::new(params.clone()).scan(points, job)?)
    }

    /// Returns the global numbers of the clusters of this slab.
    fn numbers(&self, ranks: &Ranks, scan: &Scan) -> Result<Numbers> {
        // Send each core point in another slab to the owner of the slab, with the local cluster
        // that contains it.
        let mut parcels: Vec<Vec<(u32, u32)>> = vec![Vec::new(); ranks.size()];
        let labels = scan.labels().as_slice();
        let mut lowest = vec![u32::MAX; scan.labels().clusters()];
        for (at, index) in self.index.iter().enumerate() {
            let cluster = labels.get(at).and_then(|label| label.index());
            let is_core = scan.core()[at];
            let (Some(cluster), true) = (cluster, is_core) else {
                continue;
            };
            if self.own[at] {
                if let Some(low) = lowest.get_mut(cluster) {
                    *low = (*low).min(*index);
                }
            } else if let Some(owner) = self.owner.get(at)
                && let Some(parcel) = parcels.get_mut(*owner as usize)
            {
                parcel.push((*index, cluster as u32));
            }
        }
        let parcels: Vec<Vec<u8>> = parcels.iter().map(Wire::to_bytes).collect();
        let parcels = ranks.all_to_all(&parcels)?;
        let pairs = || {
            let mut pairs = BTreeSet::new();
            for (rank, parcel) in parcels.iter().enumerate() {
                for (index, cluster) in <Vec<(u32, u32)>>::from_bytes(parcel)? {
                    let at = self.index.partition_point(|known| *known < index);
                    if let Some(own) = labels.get(at).and_then(|label| label.index()) {
                        pairs.insert((rank as u32, cluster, own as u32));
                    }
                }
            }
            Ok(pairs.into_iter().collect::<Vec<_>>())
        };
        let pairs = ranks.agree(pairs())?;
        let all = ranks.all_gather(&(lowest, pairs))?;
        Ok(Numbers::of(&all, ranks.rank()))
    }

    /// Sends the labels of points back to the ranks that hold the points.
    fn return_labels(
        &self,
        ranks: &Ranks,
        scan: &Scan,
        numbers: &Numbers,
        starts: &[u32],
    ) -> Result<SharedScan> {
        let mut parcels: Vec<Vec<(u32, u32, bool)>> = vec![Vec::new(); ranks.size()];
        let labels = scan.labels().as_slice().iter().zip(scan.core());
        let each = self.index.iter().zip(&self.own).zip(labels);
        for ((index, _), (label, core)) in each.filter(|((_, own), _)| **own) {
            let number = label.index().and_then(|at| numbers.of.get(at));
            let holder = starts.partition_point(|start| *start <= *index);
            if let Some(parcel) = parcels.get_mut(holder.saturating_sub(1)) {
                parcel.push((*index, number.copied().unwrap_or_default(), *core));
            }
        }
        let parcels: Vec<Vec<u8>> = parcels.iter().map(Wire::to_bytes).collect();
        let parcels = ranks.all_to_all(&parcels)?;
        let (first, end) = (starts[ranks.rank()], starts[ranks.rank() + 1]);
        let own = (end - first) as usize;
        let read = || {
            let (mut labels, mut core) = (vec![ClusterId::NOISE; own], vec![false; own]);
            for parcel in &parcels {
                for (index, label, is_core) in <Vec<(u32, u32, bool)>>::from_bytes(parcel)? {
                    let at = index.wrapping_sub(first) as usize;
                    if let (Some(slot), Some(flag)) = (labels.get_mut(at), core.get_mut(at)) {
                        (*slot, *flag) = (ClusterId(label), is_core);
                    }
                }
            }
            Ok((labels, core))
        };
        let (labels, core) = ranks.agree(read())?;
        Ok(SharedScan {
            labels: Labels::new(labels),
            core,
            ..SharedScan::default()
        })
    }
}
