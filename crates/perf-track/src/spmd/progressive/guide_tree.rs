//! [`join_order`]: order in which groups of sequences are aligned, from the UPGMA tree.

use crate::Result;
use perf_core::Job;

/// Join of two groups, each identified by its lowest sequence, with `left < right`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tree {
    /// Lowest sequence of the first group.
    pub(super) left: usize,
    /// Lowest sequence of the second group.
    pub(super) right: usize,
}

/// Computes the order in which groups are joined (unweighted pair groups with arithmetic mean). Each
/// join takes the two groups whose sequences have the highest mean similarity, in a tie the groups with
/// the lowest sequences. `similar[i][k]` is the similarity of sequences `i` and `i + 1 + k`, and
/// `weights` the multiplicity of each sequence. The time is usually about quadratic in the number of
/// sequences.
pub(super) fn join_order(similar: Vec<Vec<f64>>, weights: &[u64], job: &Job) -> Result<Vec<Tree>> {
    let count = weights.len();
    let mut groups = Groups {
        sizes: weights.iter().map(|&weight| weight.max(1) as f64).collect(),
        sums: similar,
        is_there: vec![true; count],
        best: vec![None; count],
    };
    for (first, row) in groups.sums.iter_mut().enumerate() {
        for (sum, second) in row.iter_mut().zip(first + 1..) {
            *sum *= groups.sizes[first] * groups.sizes[second];
        }
    }
    for first in 0..count {
        groups.look(first);
    }
    let mut order = Vec::with_capacity(count.saturating_sub(1));
    while let Some((left, right)) = groups.nearest() {
        job.check()?;
        groups.join(left, right);
        order.push(Tree { left, right });
    }
    Ok(order)
}

struct Groups {
    /// Number of sequences of each group.
    sizes: Vec<f64>,
    /// Sum of the similarities of all pairs between two groups.
    sums: Vec<Vec<f64>>,
    /// `true` for groups that have not been merged into another.
    is_there: Vec<bool>,
    /// Most similar later group: similarity and index.
    best: Vec<Option<(i64, usize)>>,
}

impl Groups {
    /// Returns the mean similarity of all pairs of two groups, in units so small that only rounding
    /// errors are below. Equal means are thus equal for any order of summation.
    fn alike(&self, a: usize, b: usize) -> i64 {
        let (low, high) = (a.min(b), a.max(b));
        (self.sums[low][high - low - 1] / (self.sizes[low] * self.sizes[high]) * 1e9).round() as i64
    }

    /// Recomputes the most similar later group of `first`.
    fn look(&mut self, first: usize) {
        let later = first + 1..self.sizes.len();
        let found = later
            .filter(|&second| self.is_there[second])
            .map(|second| (self.alike(first, second), second))
            .fold(None, |best: Option<(i64, usize)>, next| match best {
                Some(best) if best.0 >= next.0 => Some(best),
                _ => Some(next),
            });
        self.best[first] = found;
    }

    fn nearest(&self) -> Option<(usize, usize)> {
        let all = self.best.iter().enumerate();
        let there = all.filter(|(first, _)| self.is_there[*first]);
        let found = there.filter_map(|(first, best)| best.map(|best| (best.0, first, best.1)));
        let found = found.fold(None, |best: Option<(i64, usize, usize)>, next| match best {
            Some(best) if best.0 >= next.0 => Some(best),
            _ => Some(next),
        });
        found.map(|(_, first, second)| (first, second))
    }

    fn join(&mut self, left: usize, right: usize) {
        self.is_there[right] = false;
        let others = (0..self.sizes.len()).filter(|&other| other != left && self.is_there[other]);
        let others: Vec<usize> = others.collect();
        for &other in &others {
            let (low, high) = (other.min(right), other.max(right));
            let sum = self.sums[low][high - low - 1];
            let (low, high) = (other.min(left), other.max(left));
            self.sums[low][high - low - 1] += sum;
        }
        self.sizes[left] += self.sizes[right];
        self.look(left);
        for &first in others.iter().filter(|&&first| first < right) {
            match self.best[first] {
                Some((_, best)) if best == left || best == right => self.look(first),
                Some((most, best)) if first < left => {
                    let now = self.alike(first, left);
                    if now > most || (now == most && left < best) {
                        self.best[first] = Some((now, left));
                    }
                }
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares all pairs of groups each time.
    fn naive(similar: &[Vec<f64>], weights: &[u64]) -> Vec<Tree> {
        let mut groups: Vec<Vec<usize>> = (0..weights.len()).map(|at| vec![at]).collect();
        let mut order = Vec::new();
        while groups.len() > 1 {
            let mut best: Option<(i64, usize, usize)> = None;
            for x in 0..groups.len() {
                for y in x + 1..groups.len() {
                    let (mut sum, mut all) = (0.0, 0.0);
                    for &a in &groups[x] {
                        for &b in &groups[y] {
                            let (low, high) = (a.min(b), a.max(b));
                            let weight = (weights[a] * weights[b]) as f64;
                            sum += weight * similar[low][high - low - 1];
                            all += weight;
                        }
                    }
                    let value = (sum / all * 1e9).round() as i64;
                    if best.is_none_or(|best| value > best.0) {
                        best = Some((value, x, y));
                    }
                }
            }
            let Some((_, x, y)) = best else { break };
            let other = groups.remove(y);
            order.push(Tree {
                left: groups[x][0],
                right: other[0],
            });
            groups[x].extend(other);
            groups[x].sort_unstable();
        }
        order
    }

    #[test]
    fn the_order_is_that_of_all_pairs_each_time() {
        let mut random = perf_testdata::xorshift::Xorshift::new(5);
        for _ in 0..100 {
            let count = 1 + random.below(12) as usize;
            // Few distinct values, so that many are equal.
            let similar: Vec<Vec<f64>> = (0..count)
                .map(|at| {
                    (at + 1..count)
                        .map(|_| random.below(4) as f64 * 25.0)
                        .collect()
                })
                .collect();
            let weights: Vec<u64> = (0..count).map(|_| 1 + random.below(3)).collect();
            let expected = naive(&similar, &weights);
            let found = join_order(similar, &weights, &Job::default()).expect("not cancelled");
            assert_eq!(found, expected);
        }
    }
}
