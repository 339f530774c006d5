//! [`Agreement`]: similarity of two labelings of the same points; [`same_core_partition`]: test if
//! both partition the core points in the same way.

use crate::{Error, Labels, Result};
use std::collections::BTreeMap;

/// Similarity of two labelings of the same points, independent of cluster numbers. Noise counts as
/// an additional cluster.
///
/// ```
/// use perf_track::{ClusterId, Labels, cluster::Agreement};
/// let labels = |ids: [u32; 4]| Labels::new(ids.map(ClusterId).to_vec());
/// let same = Agreement::new(&labels([1, 1, 2, 0]), &labels([2, 2, 1, 0]))?;
/// assert_eq!((same.adjusted_rand(), same.mirkin()), (1.0, 0.0));
/// let other = Agreement::new(&labels([1, 1, 2, 2]), &labels([1, 2, 1, 2]))?;
/// assert!(other.adjusted_rand() < 0.0);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Agreement {
    /// Number of points.
    points: u64,
    /// Number of pairs of points that share a cluster in both labelings.
    both: u128,
    /// Number of pairs that share a cluster in the first labeling.
    first: u128,
    /// Number of pairs that share a cluster in the second labeling.
    second: u128,
}

impl Agreement {
    /// Compares two labelings.
    ///
    /// # Errors
    /// Returns [`Error::Length`](crate::Error::Length) if the labelings have different numbers of
    /// points.
    pub fn new(first: &Labels, second: &Labels) -> Result<Self> {
        if first.len() != second.len() {
            return Err(Error::Length {
                what: "labels to compare",
                expected: first.len(),
                got: second.len(),
            });
        }
        let mut cells: BTreeMap<(u32, u32), u64> = BTreeMap::new();
        for (a, b) in first.as_slice().iter().zip(second.as_slice()) {
            *cells.entry((a.0, b.0)).or_default() += 1;
        }
        let (mut rows, mut columns) = (BTreeMap::new(), BTreeMap::new());
        for (&(a, b), &count) in &cells {
            *rows.entry(a).or_insert(0) += count;
            *columns.entry(b).or_insert(0) += count;
        }
        let sum = |counts: &mut dyn Iterator<Item = u64>| counts.map(pairs).sum();
        Ok(Agreement {
            points: first.len() as u64,
            both: sum(&mut cells.into_values()),
            first: sum(&mut rows.into_values()),
            second: sum(&mut columns.into_values()),
        })
    }

    /// Returns the Rand index corrected for chance (Hubert and Arabie 1985): 1 for equal partitions and
    /// if there are no pairs of points, about 0 for unrelated partitions.
    pub fn adjusted_rand(&self) -> f64 {
        let (both, first, second) = (self.both as f64, self.first as f64, self.second as f64);
        let all = pairs(self.points) as f64;
        let mean = f64::midpoint(first, second);
        if self.both == self.first && self.both == self.second {
            return 1.0;
        }
        let chance = first * second / all;
        (both - chance) / (mean - chance)
    }

    /// Returns the Mirkin distance divided by the square of the number of points: the fraction of
    /// ordered pairs that share a cluster in only one of the labelings. 0 for equal partitions, always
    /// less than 1.
    pub fn mirkin(&self) -> f64 {
        let apart = self.first + self.second - 2 * self.both;
        if self.points == 0 {
            return 0.0;
        }
        2.0 * apart as f64 / (self.points as f64 * self.points as f64)
    }
}

/// Returns the number of pairs among `count` elements.
fn pairs(count: u64) -> u128 {
    let count = u128::from(count);
    count * count.saturating_sub(1) / 2
}

/// Returns `true` if two labelings partition the points marked in `core` in the same way,
/// independent of cluster numbers. Other points are ignored. Two exact implementations of DBSCAN
/// must agree on core points, while border points depend on a rule.
///
/// ```
/// use perf_track::{ClusterId, Labels, cluster::same_core_partition};
/// let labels = |ids: [u32; 4]| Labels::new(ids.map(ClusterId).to_vec());
/// let core = [true, true, true, false];
/// // Cluster numbers do not matter, nor does the last point, a border point.
/// assert!(same_core_partition(&labels([1, 1, 2, 2]), &labels([2, 2, 1, 0]), &core)?);
/// assert!(!same_core_partition(&labels([1, 1, 2, 2]), &labels([1, 2, 2, 2]), &core)?);
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Length`](crate::Error::Length) if the slices differ in length.
pub fn same_core_partition(first: &Labels, second: &Labels, core: &[bool]) -> Result<bool> {
    for got in [second.len(), core.len()] {
        if got != first.len() {
            return Err(Error::Length {
                what: "labels to compare",
                expected: first.len(),
                got,
            });
        }
    }
    let (mut there, mut back) = (BTreeMap::new(), BTreeMap::new());
    let pairs = first.as_slice().iter().zip(second.as_slice());
    let mut pairs = pairs.zip(core).filter(|(_, core)| **core);
    Ok(pairs
        .all(|((a, b), _)| *there.entry(a).or_insert(b) == b && *back.entry(b).or_insert(a) == a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ClusterId;

    fn labels(ids: &[u32]) -> Labels {
        Labels::new(ids.iter().copied().map(ClusterId).collect())
    }

    /// Compares all pairs.
    fn naive(a: &[u32], b: &[u32]) -> (f64, f64) {
        let n = a.len();
        let (mut both, mut one, mut two, mut all) = (0.0, 0.0, 0.0, 0.0);
        for i in 0..n {
            for j in 0..i {
                let (x, y) = (a[i] == a[j], b[i] == b[j]);
                all += 1.0;
                one += f64::from(u8::from(x));
                two += f64::from(u8::from(y));
                both += f64::from(u8::from(x && y));
            }
        }
        let chance = one * two / all;
        let rand = (both - chance) / ((one + two) / 2.0 - chance);
        (rand, 2.0 * (one + two - 2.0 * both) / (n * n) as f64)
    }

    #[test]
    fn equals_counting_all_pairs() {
        let a = [0, 0, 1, 1, 1, 2, 2, 3, 0, 1, 2, 3, 3, 3];
        let b = [1, 0, 1, 1, 2, 2, 2, 3, 0, 1, 1, 0, 3, 3];
        let agreement = Agreement::new(&labels(&a), &labels(&b)).expect("as many");
        let (rand, mirkin) = naive(&a, &b);
        assert!((agreement.adjusted_rand() - rand).abs() < 1e-12);
        assert!((agreement.mirkin() - mirkin).abs() < 1e-12);
        // Hubert and Arabie's index of two crossing halves of four points.
        let crossed = Agreement::new(&labels(&[1, 1, 2, 2]), &labels(&[1, 2, 1, 2]));
        assert!((crossed.expect("as many").adjusted_rand() + 0.5).abs() < 1e-12);
    }

    #[test]
    fn nothing_to_disagree_about() {
        for ids in [&[][..], &[1], &[1, 1, 1], &[1, 2, 3]] {
            let agreement = Agreement::new(&labels(ids), &labels(ids)).expect("as many");
            assert_eq!((agreement.adjusted_rand(), agreement.mirkin()), (1.0, 0.0));
        }
        assert!(Agreement::new(&labels(&[1]), &labels(&[])).is_err());
    }

    #[test]
    fn core_partitions_ignore_names_and_borders() {
        let (a, b) = (labels(&[1, 1, 2, 2, 1]), labels(&[2, 2, 1, 1, 1]));
        let same = |core: [bool; 5]| same_core_partition(&a, &b, &core).expect("as many");
        assert!(same([true, true, true, true, false]));
        assert!(!same([true; 5]));
        assert!(same_core_partition(&a, &b, &[true]).is_err());
    }
}
