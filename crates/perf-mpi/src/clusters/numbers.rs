//! [`Numbers`]: global numbers of the clusters of slabs, which join clusters that share a core
//! point.

/// Global numbers of the clusters of a slab.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Numbers {
    /// Global number, from 1, of each local cluster, from 0.
    pub(super) of: Vec<u32>,
    /// Number of clusters on all ranks.
    pub(super) clusters: u32,
}

/// Knowledge of a rank about its clusters: their lowest own core points, and triples (rank, cluster
/// of that rank, own cluster) of clusters that share a core point.
pub(super) type Known = (Vec<u32>, Vec<(u32, u32, u32)>);

impl Numbers {
    /// Computes the global numbers. All ranks do the same computation with the same input. Clusters
    /// that share a core point are merged, and clusters are ordered by the lowest index of their
    /// core points.
    pub(super) fn of(all: &[Known], rank: usize) -> Self {
        let mut offsets = vec![0];
        let mut lowest: Vec<u32> = Vec::new();
        for (low, _) in all {
            lowest.extend(low);
            offsets.push(lowest.len());
        }
        let mut parent: Vec<usize> = (0..lowest.len()).collect();
        let node = |rank: usize, cluster: u32| {
            let at = offsets.get(rank)? + cluster as usize;
            (at < *offsets.get(rank + 1)?).then_some(at)
        };
        for (own, (_, pairs)) in all.iter().enumerate() {
            for (other, theirs, mine) in pairs {
                if let (Some(a), Some(b)) = (node(*other as usize, *theirs), node(own, *mine)) {
                    let (a, b) = (find(&mut parent, a), find(&mut parent, b));
                    if let Some(slot) = parent.get_mut(a.max(b)) {
                        *slot = a.min(b);
                    }
                }
            }
        }
        let roots: Vec<usize> = (0..lowest.len()).map(|at| find(&mut parent, at)).collect();
        let mut least = lowest.clone();
        for (low, root) in lowest.iter().zip(&roots) {
            if let Some(slot) = least.get_mut(*root) {
                *slot = (*slot).min(*low);
            }
        }
        let is_root = |at: &usize| roots.get(*at) == Some(at);
        let seen = |at: &usize| least.get(*at).is_some_and(|low| *low != u32::MAX);
        let mut order: Vec<usize> = (0..lowest.len()).filter(is_root).filter(seen).collect();
        order.sort_by_key(|at| least.get(*at));
        let mut number = vec![0_u32; lowest.len()];
        for (place, root) in order.iter().enumerate() {
            if let Some(slot) = number.get_mut(*root) {
                *slot = place as u32 + 1;
            }
        }
        let own = roots[offsets[rank]..offsets[rank + 1]].iter();
        let of = own.map(|root| number[*root]);
        Numbers {
            of: of.collect(),
            clusters: order.len() as u32,
        }
    }
}

/// Returns the root of a set and makes it the parent of all nodes on the way.
fn find(parent: &mut [usize], at: usize) -> usize {
    let mut root = at;
    while parent[root] != root {
        root = parent[root];
    }
    let mut at = at;
    while at != root {
        at = std::mem::replace(&mut parent[at], root);
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_with_a_core_point_in_common_are_one() {
        // Rank 0 has clusters with the lowest core points 7 and 2. Rank 1 has a cluster with core
        // point 4 that is the same as the second one of rank 0, and one with core point 1. Rank 2
        // only sees points of that cluster.
        let all = [
            (vec![7, 2], vec![(1, 0, 1)]),
            (vec![4, 1], vec![(2, 0, 1)]),
            (vec![u32::MAX], vec![]),
        ];
        let numbers = |rank| Numbers::of(&all, rank).of;
        assert_eq!(
            [numbers(0), numbers(1), numbers(2)],
            [vec![3, 2], vec![2, 1], vec![1]]
        );
        assert_eq!(Numbers::of(&all, 0).clusters, 3);
        // Numbers without a cluster are ignored.
        let odd = [(vec![3], vec![(9, 9, 9), (0, 5, 0)])];
        assert_eq!(Numbers::of(&odd, 0).of, [1]);
    }
}
