//! [`ClusterId`] and [`Labels`]: which cluster each point belongs to.

use crate::{Error, Result};

/// A cluster: 1, 2, ... by falling weight (the total time of its bursts), or 0 for what belongs
/// to none. The numbers are those of the field's own tools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ClusterId(pub u32);

impl ClusterId {
    /// Belongs to no cluster.
    pub const NOISE: ClusterId = ClusterId(0);

    /// Whether this is no cluster.
    pub fn is_noise(self) -> bool {
        self == ClusterId::NOISE
    }

    /// Place of the cluster in a table of all clusters without noise.
    pub fn index(self) -> Option<usize> {
        (self.0 as usize).checked_sub(1)
    }
}

impl std::fmt::Display for ClusterId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_noise() {
            f.write_str("noise")
        } else {
            write!(f, "{}", self.0)
        }
    }
}

/// The cluster of each point.
///
/// ```
/// use perf_track::{ClusterId, Labels};
/// let labels = Labels::new(vec![ClusterId(1), ClusterId(2), ClusterId::NOISE, ClusterId(2)]);
/// assert_eq!((labels.clusters(), labels.noise()), (2, 1));
/// // The first point alone lasts longer than the others together: it keeps the first number.
/// let labels = labels.by_weight(&[9.0, 2.0, 5.0, 3.0])?;
/// assert_eq!(labels.sizes(), [1, 2]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    of: Vec<ClusterId>,
    clusters: u32,
}

impl Labels {
    /// Labels as they are; ids need not be dense, [`by_weight`](Self::by_weight) makes them so.
    pub fn new(of: Vec<ClusterId>) -> Self {
        let clusters = of.iter().map(|id| id.0).max().unwrap_or(0);
        Labels { of, clusters }
    }

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// The cluster of each point.
    pub fn as_slice(&self) -> &[ClusterId] {
        &self.of
    }

    /// The highest cluster number: how many clusters there are without noise.
    pub fn clusters(&self) -> usize {
        self.clusters as usize
    }

    /// How many points belong to none.
    pub fn noise(&self) -> usize {
        self.of.iter().filter(|id| id.is_noise()).count()
    }

    /// Points of each cluster, without noise.
    pub fn sizes(&self) -> Vec<usize> {
        let mut sizes = vec![0; self.clusters()];
        for size in self.of.iter().filter_map(|id| id.index()) {
            sizes[size] += 1;
        }
        sizes
    }

    /// Numbers the clusters 1, 2, ... by the falling sum of their points' weights; equal sums go
    /// to the cluster whose first point comes first. Clusters without points disappear.
    ///
    /// # Errors
    /// Not one weight a point, or a weight that is not finite.
    pub fn by_weight(&self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.of.len() {
            return Err(Error::Length {
                what: "weights of points",
                expected: self.of.len(),
                got: weights.len(),
            });
        }
        let mut seen: Vec<(f64, usize)> = vec![(0.0, usize::MAX); self.clusters()];
        for (point, (id, &weight)) in self.of.iter().zip(weights).enumerate() {
            if !weight.is_finite() {
                return Err(Error::NotFinite {
                    point,
                    dimension: 0,
                    value: weight,
                });
            }
            if let Some(cluster) = id.index().and_then(|index| seen.get_mut(index)) {
                cluster.0 += weight;
                cluster.1 = cluster.1.min(point);
            }
        }
        let mut order: Vec<usize> = (0..seen.len())
            .filter(|&c| seen[c].1 != usize::MAX)
            .collect();
        order.sort_unstable_by(|&a, &b| {
            let ((wa, fa), (wb, fb)) = (seen[a], seen[b]);
            wb.total_cmp(&wa).then(fa.cmp(&fb))
        });
        let mut new = vec![ClusterId::NOISE; seen.len()];
        for (rank, &old) in order.iter().enumerate() {
            new[old] = ClusterId(rank as u32 + 1);
        }
        let of = self.of.iter();
        let of = of.map(|id| id.index().map_or(ClusterId::NOISE, |index| new[index]));
        Ok(Labels {
            of: of.collect(),
            clusters: order.len() as u32,
        })
    }
}
