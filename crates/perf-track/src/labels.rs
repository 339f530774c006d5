//! [`ClusterId`] and [`Labels`]: cluster of each point, and renumbering of clusters by weight;
//! [`Present`]: the clusters that have points.

use crate::{Error, Result};

/// Number of a cluster: 1, 2, ... by descending weight (the total time of its bursts), or 0 for
/// noise. The established tools number clusters in the same way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[repr(transparent)]
pub struct ClusterId(pub u32);

impl ClusterId {
    /// Noise: points in no cluster.
    pub const NOISE: ClusterId = ClusterId(0);

    /// Returns `true` for noise.
    pub fn is_noise(self) -> bool {
        self == ClusterId::NOISE
    }

    /// Returns the index of the cluster in a table of all clusters without noise.
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

/// Cluster of each point.
///
/// ```
/// use perf_track::{ClusterId, Labels};
/// let labels = Labels::new(vec![ClusterId(1), ClusterId(2), ClusterId::NOISE, ClusterId(2)]);
/// assert_eq!((labels.clusters(), labels.noise()), (2, 1));
/// // The first point outweighs all others, so its cluster keeps number 1.
/// let labels = labels.by_weight(&[9.0, 2.0, 5.0, 3.0])?;
/// assert_eq!(labels.sizes()?, [1, 2]);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Labels {
    /// Cluster of each point.
    of: Vec<ClusterId>,
    /// Highest cluster number.
    clusters: u32,
}

impl Labels {
    /// Creates labels without renumbering. Ids need not be dense; [`by_weight`](Self::by_weight)
    /// makes them dense.
    pub fn new(of: Vec<ClusterId>) -> Self {
        let clusters = of.iter().map(|id| id.0).max().unwrap_or(0);
        Labels { of, clusters }
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.of.is_empty()
    }

    /// Returns the cluster of each point.
    pub fn as_slice(&self) -> &[ClusterId] {
        &self.of
    }

    /// Returns the highest cluster number, which is the number of clusters without noise if ids are
    /// dense.
    pub fn clusters(&self) -> usize {
        self.clusters as usize
    }

    /// Returns the number of noise points.
    pub fn noise(&self) -> usize {
        self.of.iter().filter(|id| id.is_noise()).count()
    }

    /// Returns the number of points of each cluster, without noise, at [`ClusterId::index`].
    ///
    /// # Errors
    /// Returns [`Error::Unknown`] for a cluster number above the number of points, which only labels
    /// with sparse ids have. [`by_weight`](Self::by_weight) makes ids dense.
    pub fn sizes(&self) -> Result<Vec<usize>> {
        let mut sizes = vec![0; self.numbered()?];
        for size in self.of.iter().filter_map(|id| id.index()) {
            sizes[size] += 1;
        }
        Ok(sizes)
    }

    /// Returns the highest cluster number, or an error if it exceeds the number of points. A table by
    /// cluster number is thus never longer than the points.
    pub(crate) fn numbered(&self) -> Result<usize> {
        if self.clusters() <= self.len() {
            Ok(self.clusters())
        } else {
            Err(Error::Unknown {
                what: "cluster",
                id: self.clusters(),
                count: self.len(),
            })
        }
    }

    /// Renumbers the clusters 1, 2, ... by the descending sum of the weights of their points. In a
    /// tie the cluster whose first point comes first gets the lower number. Numbers without points
    /// disappear.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one weight for each point, or [`Error::NotFinite`]
    /// for a weight that is not finite.
    pub fn by_weight(&self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.of.len() {
            return Err(Error::Length {
                what: "weights of points",
                expected: self.of.len(),
                got: weights.len(),
            });
        }
        let present = Present::new(self);
        let mut seen: Vec<(f64, usize)> = vec![(0.0, usize::MAX); present.len()];
        for (point, (id, &weight)) in self.of.iter().zip(weights).enumerate() {
            if !weight.is_finite() {
                return Err(Error::NotFinite {
                    point,
                    dimension: 0,
                    value: weight,
                });
            }
            if let Some(cluster) = present.place(*id).and_then(|place| seen.get_mut(place)) {
                cluster.0 += weight;
                cluster.1 = cluster.1.min(point);
            }
        }
        let mut order: Vec<usize> = (0..seen.len()).collect();
        order.sort_unstable_by(|&a, &b| {
            let ((wa, fa), (wb, fb)) = (seen[a], seen[b]);
            wb.total_cmp(&wa).then(fa.cmp(&fb))
        });
        let mut new = vec![ClusterId::NOISE; seen.len()];
        for (rank, &old) in order.iter().enumerate() {
            new[old] = ClusterId(rank as u32 + 1);
        }
        let of = self.of.iter();
        let of = of.map(|id| {
            present
                .place(*id)
                .map_or(ClusterId::NOISE, |place| new[place])
        });
        Ok(Labels {
            of: of.collect(),
            clusters: order.len() as u32,
        })
    }
}

/// Clusters that have points. Tables are indexed by the position of a cluster in this list, because ids
/// may be arbitrarily large. The list is no longer than the points.
#[derive(Debug)]
pub(crate) struct Present {
    /// Cluster ids in ascending order, without noise.
    ids: Vec<ClusterId>,
}

impl Present {
    pub(crate) fn new(labels: &Labels) -> Self {
        let all = labels.of.iter().filter(|id| !id.is_noise());
        let Ok(numbers) = labels.numbered() else {
            let mut ids: Vec<ClusterId> = all.copied().collect();
            ids.sort_unstable();
            ids.dedup();
            return Present { ids };
        };
        let mut seen = vec![false; numbers];
        for index in all.filter_map(|id| id.index()) {
            seen[index] = true;
        }
        let ids = (1..).map(ClusterId).zip(seen);
        let ids = ids.filter_map(|(id, is_seen)| is_seen.then_some(id));
        Present { ids: ids.collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.ids.len()
    }

    /// Returns the position of a cluster; `None` for noise or a cluster without points.
    pub(crate) fn place(&self, id: ClusterId) -> Option<usize> {
        // The position equals the index of the id unless an earlier cluster has no points.
        let index = id.index()?;
        if self.ids.get(index) == Some(&id) {
            Some(index)
        } else {
            self.ids.binary_search(&id).ok()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Labels with huge ids take no more memory than the points.
    #[test]
    fn memory_is_bounded_by_the_number_of_points() {
        let far = [7, u32::MAX, 0, 7, 9, u32::MAX].map(ClusterId);
        let near = [1, 3, 0, 1, 2, 3].map(ClusterId);
        let weights = [1.0, 2.0, 50.0, 1.0, 8.0, 2.0];
        let (far, near) = (Labels::new(far.to_vec()), Labels::new(near.to_vec()));
        let dense = far.by_weight(&weights).expect("a weight a point");
        assert_eq!(dense, near.by_weight(&weights).expect("a weight a point"));
        assert_eq!(dense.as_slice(), [3, 2, 0, 3, 1, 2].map(ClusterId));
        assert_eq!(dense.sizes().expect("dense"), [1, 2, 2]);
        // A table by number would be far longer than the points.
        let unknown = far.sizes().expect_err("too long");
        assert_eq!(
            unknown.to_string(),
            "no cluster 4294967295: there are only 6"
        );
    }

    #[test]
    fn numbers_may_be_left_out() {
        let gaps = Labels::new([4, 2, 2, 0].map(ClusterId).to_vec());
        assert_eq!(gaps.sizes().expect("few"), [0, 2, 0, 1]);
        let present = Present::new(&gaps);
        assert_eq!(present.len(), 2);
        let places = [0, 1, 2, 3, 4, 5].map(|id| present.place(ClusterId(id)));
        assert_eq!(places, [None, None, Some(0), None, Some(1), None]);
    }
}
