//! [`Claim`]: decides the cluster of a border point that core points of several clusters reach.

use super::Border;

/// Collects the core points around a border point and decides its cluster.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    /// Rule for border points.
    rule: Border,
    /// Core point of lowest index of each cluster, at which a visit of the points in order starts the cluster.
    seeds: &'a [u32],
    /// Lowest core point so far, and its cluster.
    lowest: Option<(u32, u32)>,
    /// First cluster that reaches the point.
    first: Option<u32>,
    /// Last cluster whose seed reaches the point.
    seeded: Option<u32>,
}

impl<'a> Claim<'a> {
    pub(super) fn new(rule: Border, seeds: &'a [u32]) -> Self {
        Claim {
            rule,
            seeds,
            lowest: None,
            first: None,
            seeded: None,
        }
    }

    /// Adds a core point within eps, by its index, and its cluster (from 0).
    pub(super) fn offer(&mut self, index: u32, cluster: u32) {
        match self.rule {
            Border::LowestCore => {
                let offer = (index, cluster);
                self.lowest = Some(self.lowest.map_or(offer, |known| known.min(offer)));
            }
            // Clusters are numbered in the order of the visit. The first cluster that reaches the
            // point takes it. Each later cluster whose first ball contains the point takes it over.
            Border::PeerCompatible => {
                self.first = Some(self.first.map_or(cluster, |known| known.min(cluster)));
                if self.seeds.get(cluster as usize) == Some(&index) {
                    self.seeded = self.seeded.max(Some(cluster));
                }
            }
        }
    }

    /// Returns the cluster of the point (from 0); `None` for noise.
    pub(super) fn cluster(&self) -> Option<u32> {
        match self.rule {
            Border::LowestCore => self.lowest.map(|(_, cluster)| cluster),
            Border::PeerCompatible => self.seeded.or(self.first),
        }
    }
}
