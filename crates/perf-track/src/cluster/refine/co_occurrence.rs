//! [`merge_together`]: merges clusters that always occur at the same times, such as in the same
//! columns of an alignment.

use crate::labels::Present;
use crate::{ClusterId, Error, Labels, Result};
use std::collections::BTreeMap;

/// Merges clusters that occur in exactly the same sets of `simultaneous`. Each set has the clusters at
/// one time, such as those in one column of an alignment; repeats and noise are ignored. Such clusters
/// are one phase that tasks execute differently. Clusters in no set are unchanged.
///
/// A set S of clusters is to be merged if each member occurs exactly as often as all of S occur
/// together, that is, if all members occur in the same columns. The largest such sets are therefore
/// the classes of clusters with equal lists of columns, which need one pass over the columns and no
/// enumeration of subsets.
///
/// The result is numbered by the lowest cluster of each class, without gaps.
///
/// ```
/// use perf_track::{ClusterId, Labels, cluster::merge_together};
/// let labels = Labels::new([1, 2, 3, 1, 2, 3].map(ClusterId).to_vec());
/// let columns = [vec![ClusterId(1), ClusterId(3)], vec![ClusterId(2)], vec![ClusterId(3), ClusterId(1)]];
/// let merged = merge_together(&labels, &columns)?;
/// assert_eq!(merged.as_slice(), [1, 2, 1, 1, 2, 1].map(ClusterId));
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns an error for a cluster that has no points.
pub fn merge_together(labels: &Labels, simultaneous: &[Vec<ClusterId>]) -> Result<Labels> {
    let present = Present::new(labels);
    let mut columns: Vec<Vec<usize>> = vec![Vec::new(); present.len()];
    for (column, set) in simultaneous.iter().enumerate() {
        for id in set.iter().filter(|id| !id.is_noise()) {
            let place = present.place(*id);
            let seen = place.and_then(|place| columns.get_mut(place));
            let seen = seen.ok_or(Error::Unknown {
                what: "cluster",
                id: id.0 as usize,
                count: present.len(),
            })?;
            if seen.last() != Some(&column) {
                seen.push(column);
            }
        }
    }
    let mut classes: BTreeMap<&[usize], u32> = BTreeMap::new();
    let mut next = 0;
    let mut number = Vec::with_capacity(columns.len());
    for seen in &columns {
        let known = classes.get(seen.as_slice()).filter(|_| !seen.is_empty());
        let class = known.copied().unwrap_or_else(|| {
            next += 1;
            next
        });
        classes.insert(seen, class);
        number.push(ClusterId(class));
    }
    let merged = labels.as_slice().iter();
    let merged = merged.map(|id| {
        present
            .place(*id)
            .map_or(ClusterId::NOISE, |place| number[place])
    });
    Ok(Labels::new(merged.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enumerates subsets, as the method is stated; for small sets only.
    fn naive(clusters: u32, columns: &[Vec<ClusterId>]) -> Vec<u32> {
        let occurs = |set: u32| {
            let has = |column: &&Vec<ClusterId>| {
                (1..=clusters).all(|id| set >> id & 1 == 0 || column.contains(&ClusterId(id)))
            };
            columns.iter().filter(has).count()
        };
        let mut group: Vec<u32> = (0..=clusters).collect();
        for set in (2_u32..2 << clusters).filter(|set| set & 1 == 0) {
            let members: Vec<u32> = (1..=clusters).filter(|id| set >> id & 1 == 1).collect();
            let times = occurs(set);
            if times > 0 && members.iter().all(|&id| occurs(1 << id) == times) {
                let least = members.iter().map(|&id| group[id as usize]).min();
                for &id in &members {
                    group[id as usize] = least.expect("it has members");
                }
            }
        }
        group
    }

    #[test]
    fn ids_may_be_far_apart() {
        let labels = Labels::new([5, u32::MAX, 0, 70, 5].map(ClusterId).to_vec());
        let columns = [[5, u32::MAX], [u32::MAX, 5]].map(|set| set.map(ClusterId).to_vec());
        let merged = merge_together(&labels, &columns).expect("they are known");
        assert_eq!(merged.as_slice(), [1, 1, 0, 2, 1].map(ClusterId));
        assert!(merge_together(&labels, &[vec![ClusterId(6)]]).is_err());
    }

    #[test]
    fn equals_the_enumeration_of_subsets() {
        let mut random = perf_testdata::xorshift::Xorshift::new(9);
        for _ in 0..200 {
            let clusters = 6;
            let columns: Vec<Vec<ClusterId>> = (0..random.below(6))
                .map(|_| {
                    let kinds = random.next_u64();
                    // Pairs of clusters that mostly occur together.
                    let ids = (1..=clusters).filter(|id| {
                        kinds >> (id / 2 + id % 2 * 8 * (kinds >> 60 & 1) as u32) & 1 == 1
                    });
                    ids.map(ClusterId).collect()
                })
                .collect();
            let labels = Labels::new((1..=clusters).map(ClusterId).collect());
            let merged = merge_together(&labels, &columns).expect("they are known");
            let expected = naive(clusters, &columns);
            for a in 0..clusters as usize {
                for b in 0..a {
                    let same = merged.as_slice()[a] == merged.as_slice()[b];
                    assert_eq!(same, expected[a + 1] == expected[b + 1], "{columns:?}");
                }
            }
        }
        let labels = Labels::new(vec![ClusterId(1)]);
        assert!(merge_together(&labels, &[vec![ClusterId(2)]]).is_err());
    }
}
