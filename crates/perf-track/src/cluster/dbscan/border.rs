//! Which cluster a border point belongs to, where it could be several.

use super::Border;

/// Gathers the core points around a border point and says whose it is.
#[derive(Debug)]
pub(super) struct Claim<'a> {
    rule: Border,
    /// The core point of the lowest index of each cluster: where the visit in order starts it.
    seeds: &'a [u32],
    lowest: Option<(u32, u32)>,
    first: Option<u32>,
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

    /// A core point within eps, by its index, and its cluster (from 0).
    pub(super) fn offer(&mut self, index: u32, cluster: u32) {
        match self.rule {
            Border::LowestCore => {
                let offer = (index, cluster);
                self.lowest = Some(self.lowest.map_or(offer, |known| known.min(offer)));
            }
            // Clusters are numbered in the order of the visit. The first one that reaches the
            // point takes it, and each later one whose first ball it lies in takes it away.
            Border::PeerCompatible => {
                self.first = Some(self.first.map_or(cluster, |known| known.min(cluster)));
                if self.seeds.get(cluster as usize) == Some(&index) {
                    self.seeded = self.seeded.max(Some(cluster));
                }
            }
        }
    }

    /// Whose it is (from 0); `None` for noise.
    pub(super) fn cluster(&self) -> Option<u32> {
        match self.rule {
            Border::LowestCore => self.lowest.map(|(_, cluster)| cluster),
            Border::PeerCompatible => self.seeded.or(self.first),
        }
    }
}
