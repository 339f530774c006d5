//! [`align`]: the published alignment of sequences, with all pairs first and then groups along a
//! tree; [`Worth`]: worth of pairing two symbols.

mod aligned_profile;
mod guide_tree;

use crate::{ClusterId, Error, Result};
use aligned_profile::{Profile, Sweep, merge};
use guide_tree::{Tree, join_order};
use perf_core::{CancellationChecks, Cancelled, Job, parallel};

/// Largest total number of cells of the pairwise alignments.
const MOST_CELLS: u128 = 1 << 40;
/// Largest number of different sequences. The similarity of each pair is stored.
const MOST_SEQUENCES: usize = 4_096;

/// Worth of pairs of symbols, from the fraction of the time of each symbol. With `p_i` the fraction of
/// cluster `i` and `M` one more than the highest cluster, a pair of cluster `i` with itself is worth
/// `200 p_i + M - i`, a pair of different clusters `50 (p_i + p_j)`, noise with cluster `j` `100 p_j`,
/// and noise with itself `100 p_noise`. A gap costs [`GAP`], and at an end 100 times the fraction of the
/// lowest id.
#[derive(Debug)]
pub(super) struct Worth {
    /// Fraction of the time of each symbol.
    shares: Vec<f64>,
    /// Worth of each symbol with itself.
    own: Vec<f64>,
    /// Symbol of noise.
    noise: Option<usize>,
    /// Cost of a gap at an end.
    pub(super) end: f64,
}

/// Cost of each gap, whether it starts or extends a run.
pub(super) const GAP: f64 = 50.0;

impl Worth {
    /// Computes the worth of symbols that stand for these clusters, ascending.
    pub(super) fn new(clusters: &[ClusterId], shares: &[f64]) -> Self {
        // A cluster without a share has weight 0.
        let of = |id: &ClusterId| shares.get(id.0 as usize).copied().unwrap_or_default();
        let all: Vec<f64> = clusters.iter().map(of).collect();
        let most = clusters.last().map_or(0.0, |id| f64::from(id.0)) + 1.0;
        let own = |(id, share): (&ClusterId, &f64)| {
            if id.is_noise() {
                100.0 * share
            } else {
                200.0 * share + most - f64::from(id.0)
            }
        };
        Worth {
            own: clusters.iter().zip(&all).map(own).collect(),
            noise: clusters.iter().position(|id| id.is_noise()),
            end: 100.0 * all.first().copied().unwrap_or_default(),
            shares: all,
        }
    }

    pub(super) fn symbols(&self) -> usize {
        self.own.len()
    }

    pub(super) fn pair(&self, a: usize, b: usize) -> f64 {
        let share = |symbol: usize| self.shares[symbol];
        match (a == b, self.noise) {
            (true, _) => self.own[a],
            (_, Some(noise)) if a == noise => 100.0 * share(b),
            (_, Some(noise)) if b == noise => 100.0 * share(a),
            _ => 50.0 * (share(a) + share(b)),
        }
    }
}

/// Returns the number of columns, and the column of each symbol of each sequence.
pub(super) fn align(
    sequences: &[Vec<u32>],
    weights: &[u64],
    worth: &Worth,
    memory: usize,
    job: &Job,
) -> Result<(usize, Vec<Vec<u32>>)> {
    let count = sequences.len();
    if count > MOST_SEQUENCES {
        return Err(Error::TooMany {
            what: "different sequences in a progressive alignment",
            limit: MOST_SEQUENCES as u64,
        });
    }
    let symbols: u128 = sequences.iter().map(|one| one.len() as u128).sum();
    // Half of the square of the sum is an upper bound of the cells of all pairs.
    if symbols * symbols / 2 > MOST_CELLS {
        return Err(Error::TooMany {
            what: "cells of the pairs in a progressive alignment",
            limit: MOST_CELLS as u64,
        });
    }
    let rows = parallel::try_map(count, |first| -> Result<_> {
        let mut row = Vec::with_capacity(count - first - 1);
        let mut checks = job.checks();
        for second in &sequences[first + 1..] {
            job.check()?;
            row.push(similarity(&sequences[first], second, worth, &mut checks)?);
        }
        job.advance("alignment of pairs", 1, count as u64);
        Ok(row)
    })?;
    let mut parts: Vec<Option<Profile>> = (0..count)
        .map(|at| Some(Profile::of(at, &sequences[at], weights[at])))
        .collect();
    for Tree { left, right } in join_order(rows, weights, job)? {
        let (Some(a), Some(b)) = (parts[left].take(), parts[right].take()) else {
            continue;
        };
        parts[left] = Some(merge(a, b, worth, memory, job)?);
    }
    let Some(whole) = parts.into_iter().flatten().next() else {
        return Ok((0, Vec::new()));
    };
    let mut places = vec![Vec::new(); count];
    let columns = whole.columns.len();
    for (member, of) in whole.members {
        if let Some(slot) = places.get_mut(member) {
            *slot = of;
        }
    }
    Ok((columns, places))
}

/// Returns the percentage of identical pairs among all pairs of an alignment of two sequences, without
/// gaps. Two counts are propagated along the best path to each cell, so that no path is stored. Makes
/// cancellation checks by the number of cells.
fn similarity(
    a: &[u32],
    b: &[u32],
    worth: &Worth,
    checks: &mut CancellationChecks<'_>,
) -> Result<f64, Cancelled> {
    type Counts = (u32, u32);
    let width = b.len() + 1;
    let mut before = [
        vec![Counts::default(); width],
        vec![Counts::default(); width],
        vec![Counts::default(); width],
    ];
    let mut now = before.clone();
    let gaps = vec![GAP; b.len()];
    let mut sweep = Sweep::new(&gaps, worth.end);
    let mut scores = vec![0.0; b.len()];
    for (row, &symbol) in a.iter().enumerate() {
        checks.next(width)?;
        for (score, &other) in scores.iter_mut().zip(b) {
            *score = worth.pair(symbol as usize, other as usize);
        }
        let is_last = row + 1 == a.len();
        sweep.row(&scores, GAP, is_last, |column, from| {
            if column > 0 {
                let (aligned, same) = before[from[0]][column - 1];
                let equal = u32::from(b[column - 1] == symbol);
                now[0][column] = (aligned + 1, same + equal);
                now[2][column] = now[from[2]][column - 1];
            }
            now[1][column] = before[from[1]][column];
        });
        std::mem::swap(&mut before, &mut now);
    }
    let last = before[sweep.best()][b.len()];
    Ok(100.0 * f64::from(last.1) / f64::from(last.0.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn similarity_counts_identical_pairs() {
        let clusters = [1, 2, 3].map(ClusterId);
        let worth = Worth::new(&clusters, &[0.0, 0.6, 0.3, 0.1]);
        let similarity = |a: &[u32], b: &[u32]| {
            let job = Job::default();
            similarity(a, b, &worth, &mut job.checks()).expect("not cancelled")
        };
        let same = similarity(&[0, 1, 2], &[0, 1, 2]);
        assert!((same - 100.0).abs() < 1e-12);
        // A missing symbol does not reduce the percentage of the existing pairs.
        assert!((similarity(&[0, 1, 2], &[0, 1]) - 100.0).abs() < 1e-12);
        let half = similarity(&[0, 1], &[0, 2]);
        assert!((half - 50.0).abs() < 1e-12);
        assert_eq!(similarity(&[], &[0]), 0.0);
    }
}
