//! [`split_by_key`]: splits clusters whose points have several frequent values of a key, such as
//! the call site.

use crate::labels::Present;
use crate::{ClusterId, Error, Labels, Result};
use std::collections::BTreeMap;

/// Splits each cluster by a categorical key of its points, such as the chain of callers.
///
/// A key is significant within a cluster if it holds at least `min_share` (in `0.0..=1.0`) of the
/// weight of the cluster's points that have a key. Weights are usually durations, so that many
/// short bursts do not outweigh long ones. If two or more keys are significant, each becomes a
/// cluster, and all other points of the cluster stay with the heaviest key. Otherwise the cluster is
/// unchanged. Noise stays noise.
///
/// The result is numbered by weight ([`Labels::by_weight`]).
///
/// ```
/// use perf_track::{ClusterId, Labels, cluster::split_by_key};
/// let labels = Labels::new([1; 6].map(ClusterId).to_vec());
/// let keys = [Some("solve"), Some("solve"), Some("pack"), Some("pack"), Some("log"), None];
/// let weights = [5.0, 5.0, 4.0, 3.0, 0.1, 1.0];
/// let split = split_by_key(&labels, &keys, &weights, 0.1)?;
/// assert_eq!(split.as_slice(), [1, 1, 2, 2, 1, 1].map(ClusterId));
/// # Ok::<(), perf_track::Error>(())
/// ```
///
/// # Errors
/// Returns [`Error::Length`](crate::Error::Length) if there is not one key and weight for each
/// label, or [`Error::Parameter`](crate::Error::Parameter) for a weight that is negative or not
/// finite, or a share outside of 0 to 1.
pub fn split_by_key<K: Ord>(
    labels: &Labels,
    keys: &[Option<K>],
    weights: &[f64],
    min_share: f64,
) -> Result<Labels> {
    for (what, got) in [
        ("keys of points", keys.len()),
        ("weights of points", weights.len()),
    ] {
        if got != labels.len() {
            return Err(Error::Length {
                what,
                expected: labels.len(),
                got,
            });
        }
    }
    if !(0.0..=1.0).contains(&min_share) {
        return Err(Error::Parameter {
            name: "min_share",
            value: min_share.to_string(),
            range: "from 0 to 1",
        });
    }
    if let Some(weight) = weights
        .iter()
        .find(|weight| !(weight.is_finite() && **weight >= 0.0))
    {
        return Err(Error::Parameter {
            name: "weight of a point",
            value: weight.to_string(),
            range: "finite and at least 0",
        });
    }
    let mut of_cluster: Vec<BTreeMap<&K, f64>> = Vec::new();
    let present = Present::new(labels);
    of_cluster.resize_with(present.len(), BTreeMap::new);
    let points = labels.as_slice().iter().zip(keys).zip(weights);
    for ((id, key), weight) in points {
        if let (Some(cluster), Some(key)) = (present.place(*id), key) {
            *of_cluster[cluster].entry(key).or_insert(0.0) += weight;
        }
    }
    // New number of each significant key and of all other points, for each cluster.
    let mut next = 0;
    let parts: Vec<(BTreeMap<&K, u32>, u32)> = of_cluster
        .into_iter()
        .map(|keys| {
            let total: f64 = keys.values().sum();
            let shares = keys
                .into_iter()
                .filter(|(_, weight)| *weight >= min_share * total);
            let mut large: Vec<(&K, f64)> = shares.filter(|(_, weight)| *weight > 0.0).collect();
            // Orders keys by descending weight; in a tie the lower key is first.
            large.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let rest = next + 1;
            next += large.len().max(1) as u32;
            let named = large.into_iter().map(|(key, _)| key).zip(rest..);
            (named.collect(), rest)
        })
        .collect();
    let split = labels.as_slice().iter().zip(keys).map(|(id, key)| {
        let Some((named, rest)) = present.place(*id).and_then(|place| parts.get(place)) else {
            return ClusterId::NOISE;
        };
        let own = key.as_ref().and_then(|key| named.get(key));
        ClusterId(*own.unwrap_or(rest))
    });
    Labels::new(split.collect()).by_weight(weights)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(ids: &[u32]) -> Labels {
        Labels::new(ids.iter().copied().map(ClusterId).collect())
    }

    #[test]
    fn only_clusters_that_mix_are_split() {
        let before = labels(&[1, 1, 1, 0, 2, 2, 2]);
        let keys = [Some(7), Some(7), Some(8), Some(9), Some(7), None, Some(8)];
        let weights = [1.0, 1.0, 1.0, 50.0, 4.0, 4.0, 0.2];
        let split = split_by_key(&before, &keys, &weights, 0.2).expect("in range");
        // Cluster 2 is nearly all key 7: it stays whole and is the heaviest.
        assert_eq!(split, labels(&[2, 2, 3, 0, 1, 1, 1]));
        let whole = split_by_key(&before, &keys, &weights, 0.5).expect("in range");
        assert_eq!(whole, labels(&[2, 2, 2, 0, 1, 1, 1]));
    }

    #[test]
    fn clusters_without_keys_or_weight_stay() {
        let before = labels(&[1, 1, 2, 2]);
        let none: [Option<u32>; 4] = [None; 4];
        let same = split_by_key(&before, &none, &[1.0; 4], 0.0).expect("in range");
        assert_eq!(same, before);
        let keys = [Some(1), Some(2), Some(1), Some(2)];
        let weightless = split_by_key(&before, &keys, &[0.0; 4], 0.0).expect("in range");
        assert_eq!(weightless, before);
    }

    #[test]
    fn ids_may_be_far_apart() {
        let keys = [Some(1), Some(2), Some(1), None];
        let split = |ids: &[u32]| split_by_key(&labels(ids), &keys, &[3.0, 2.0, 4.0, 1.0], 0.1);
        let near = split(&[2, 2, 1, 1]).expect("in range");
        assert_eq!(near, labels(&[2, 3, 1, 1]));
        assert_eq!(split(&[u32::MAX, u32::MAX, 40, 40]), Ok(near));
    }

    #[test]
    fn wrong_use_is_told() {
        let before = labels(&[1]);
        assert!(split_by_key::<u32>(&before, &[], &[1.0], 0.1).is_err());
        assert!(split_by_key(&before, &[Some(1)], &[f64::NAN], 0.1).is_err());
        assert!(split_by_key(&before, &[Some(1)], &[1.0], 1.5).is_err());
    }
}
