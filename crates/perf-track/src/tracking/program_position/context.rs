//! [`Context`]: most frequent calls before and after the bursts of a cluster, for recordings that
//! know calls by name alone, and the similarity of two contexts.

use perf_core::Nanos;
use std::collections::BTreeMap;

/// Number of calls on each side of a burst that are compared.
const DEPTH: usize = 6;
/// Number of contexts of a cluster that are kept.
const MOST_CONTEXTS: usize = 8;
/// Number of bursts of each cluster that are examined.
const MOST_BURSTS: usize = 64;

/// Call of a thread in the order of time.
type Call = u32;

/// Most frequent calls around the bursts of a cluster, on each side with the nearest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Context([Vec<Call>; 2]);

/// One burst: thread and begin, cluster, and the calls before and after.
pub(crate) type Row = ((u32, Nanos), Option<usize>, [Option<Call>; 2]);

impl Context {
    /// Returns the contexts of each cluster, the most frequent one first, at most [`MOST_CONTEXTS`]. `rows` are in the
    /// order of threads and time.
    pub(crate) fn of(rows: &[Row], clusters: usize) -> Vec<Vec<Self>> {
        let mut sizes = vec![0_usize; clusters];
        rows.iter()
            .filter_map(|row| row.1)
            .for_each(|class| sizes[class] += 1);
        let mut seen = vec![0_usize; clusters];
        let mut counts: Vec<BTreeMap<Context, usize>> = vec![BTreeMap::new(); clusters];
        for thread in rows.chunk_by(|a, b| a.0.0 == b.0.0) {
            // Calls of the thread, and the number of calls before each burst.
            let (mut calls, mut places) = (Vec::new(), Vec::new());
            for (_, class, [before, after]) in thread {
                if let Some(before) = before
                    && calls.last() != Some(before)
                {
                    calls.push(*before);
                }
                places.push((*class, calls.len()));
                calls.extend(after);
            }
            for (class, place) in places {
                let Some(class) = class else { continue };
                // Evenly over the bursts of the cluster.
                let step = sizes[class].div_ceil(MOST_BURSTS);
                seen[class] += 1;
                if seen[class].is_multiple_of(step) {
                    let (before, after) = calls.split_at(place);
                    let before = before.iter().rev().take(DEPTH).copied().collect();
                    let after = after.iter().take(DEPTH).copied().collect();
                    *counts[class].entry(Context([before, after])).or_default() += 1;
                }
            }
        }
        let by_count = |counts: BTreeMap<Context, usize>| {
            let mut contexts: Vec<_> = counts.into_iter().collect();
            // A stable sort keeps the order of equal counts.
            contexts.sort_by_key(|of| std::cmp::Reverse(of.1));
            let contexts = contexts.into_iter().take(MOST_CONTEXTS);
            contexts.map(|of| of.0).collect()
        };
        counts.into_iter().map(by_count).collect()
    }

    /// Returns the similarity of the calls on both sides, in `0.0..=1.0`; NaN if no call is known.
    pub(crate) fn similarity(&self, other: &Self) -> f64 {
        let sides = self.0.iter().zip(&other.0);
        let longest: usize = sides.clone().map(|(a, b)| a.len().max(b.len())).sum();
        let score: i64 = sides.map(|(a, b)| aligned(a, b)).sum();
        match longest {
            0 => f64::NAN,
            longest => score as f64 / longest as f64,
        }
    }
}

/// Returns the score of the best alignment of the begins of two short sequences, at least 0: 1 for equal calls, and
/// -1 for different ones and for those of one sequence alone. The ends need not be aligned.
fn aligned(a: &[Call], b: &[Call]) -> i64 {
    let mut row: Vec<i64> = (0..=b.len() as i64).map(|gaps| -gaps).collect();
    let mut best = 0;
    for (at, left) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = -(at as i64 + 1);
        for (at, right) in b.iter().enumerate() {
            let both = diagonal + if left == right { 1 } else { -1 };
            diagonal = row[at + 1];
            row[at + 1] = both.max(row[at] - 1).max(diagonal - 1);
            best = best.max(row[at + 1]);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn insertions_shift_nothing() {
        assert_eq!(aligned(&[1, 2, 3, 4], &[1, 2, 3, 4]), 4);
        assert_eq!(aligned(&[1, 2, 3, 4], &[9, 1, 2, 3]), 2);
        assert_eq!(aligned(&[1, 2, 3, 4], &[5, 6, 7, 8]), 0);
        assert_eq!(aligned(&[], &[1]), 0);
    }

    #[test]
    fn the_most_frequent_context_counts() {
        // A loop of two bursts: calls 7 and 8 end them.
        let row = |at: i64, class| {
            let calls = if class == 0 {
                [Some(8), Some(7)]
            } else {
                [Some(7), Some(8)]
            };
            ((0, Nanos(at)), Some(class), calls)
        };
        let rows: Vec<Row> = (0..20).map(|at| row(at, at as usize % 2)).collect();
        let contexts = Context::of(&rows, 2);
        assert_eq!(contexts[0][0].0[1], [7, 8, 7, 8, 7, 8]);
        assert_eq!(contexts[0][0].similarity(&contexts[0][0]), 1.0);
        assert!(contexts[0][0].similarity(&contexts[1][0]) < 0.9);
        assert!(Context::default().similarity(&Context::default()).is_nan());
    }
}
