//! [`Slabs`]: division of space into one slab for each rank, with about equal numbers of points,
//! along the longest axis.

use crate::{Ranks, Result};
use perf_track::Points;

/// Division of space into slabs.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Slabs {
    /// Axis along which space is cut.
    pub(super) axis: usize,
    /// Start of the slab of each rank except the first, ascending.
    cuts: Vec<f64>,
    /// Distance around a slab within which its rank needs points.
    reach: f64,
}

/// Number of columns of the histogram by which space is cut into slabs with equal numbers of
/// points.
const COLUMNS: usize = 4096;

impl Slabs {
    pub(super) fn new(ranks: &Ranks, points: Points<'_>, eps: f64) -> Result<Self> {
        let dimensions = points.dimensions();
        let mut own = vec![(f64::INFINITY, f64::NEG_INFINITY); dimensions];
        for point in points.iter() {
            for ((low, high), x) in own.iter_mut().zip(point) {
                (*low, *high) = (low.min(*x), high.max(*x));
            }
        }
        let mut all = vec![(f64::INFINITY, f64::NEG_INFINITY); dimensions];
        for of_rank in ranks.all_gather(&own)? {
            for (all, (low, high)) in all.iter_mut().zip(of_rank) {
                *all = (all.0.min(low), all.1.max(high));
            }
        }
        let widest = all.iter().enumerate().rev().max_by(|(_, a), (_, b)| {
            let width = |(low, high): &(f64, f64)| high - low;
            width(a).total_cmp(&width(b))
        });
        let (axis, (low, high)) = widest.map_or((0, (0.0, 0.0)), |(axis, range)| (axis, *range));
        let size = (high - low) / COLUMNS as f64;
        let mut counts = vec![0_u64; COLUMNS];
        // There is a single slab if there are no points, if all are at one position, or if the
        // extent overflows.
        if size > 0.0 && size.is_finite() {
            for point in points.iter() {
                let x = point[axis];
                let column = ((x - low) / size) as usize;
                if let Some(count) = counts.get_mut(column.min(COLUMNS - 1)) {
                    *count += 1;
                }
            }
        }
        let mut sums = vec![0_u64; COLUMNS];
        for counts in ranks.all_gather(&counts)? {
            for (sum, count) in sums.iter_mut().zip(counts) {
                *sum += count;
            }
        }
        let largest = low.abs().max(high.abs());
        // Distances are compared as computed, so the reach must allow for rounding errors.
        let reach = 2.0 * eps * (1.0 + 1e-6) + 8.0 * f64::EPSILON * largest;
        Ok(Slabs {
            axis,
            cuts: cuts(&sums, low, size, ranks.size()),
            reach,
        })
    }

    /// Returns the rank whose slab contains a coordinate.
    pub(super) fn owner(&self, x: f64) -> usize {
        self.cuts.partition_point(|cut| *cut <= x)
    }

    /// Returns the ranks that need a point at this coordinate.
    pub(super) fn seen_by(&self, x: f64) -> std::ops::RangeInclusive<usize> {
        self.owner(x - self.reach)..=self.owner(x + self.reach)
    }
}

/// Returns the start of the slab of each rank except the first.
fn cuts(counts: &[u64], low: f64, size: f64, ranks: usize) -> Vec<f64> {
    let total: u128 = counts.iter().map(|count| u128::from(*count)).sum();
    let (mut column, mut sum) = (0, 0_u128);
    let cut = |rank: usize| {
        let share = total * rank as u128 / ranks.max(1) as u128;
        while let Some(count) = counts.get(column)
            && sum < share
        {
            sum += u128::from(*count);
            column += 1;
        }
        match column {
            // All points are in the last slab.
            0 => f64::NEG_INFINITY,
            column => low + size * column as f64,
        }
    };
    (1..ranks).map(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_have_as_many_points() {
        let counts = [1, 1, 1, 1, 4, 0, 0, 0];
        assert_eq!(cuts(&counts, 10.0, 1.0, 2), [14.0]);
        assert_eq!(cuts(&counts, 10.0, 1.0, 4), [12.0, 14.0, 15.0]);
        let slabs = Slabs {
            axis: 0,
            cuts: vec![12.0, 14.0, 15.0],
            reach: 0.5,
        };
        assert_eq!(
            [11.9, 12.0, 14.5, 99.0].map(|x| slabs.owner(x)),
            [0, 1, 2, 3]
        );
        assert_eq!(slabs.seen_by(14.6), 2..=3);
        assert_eq!(slabs.seen_by(13.0), 1..=1);
        // There is no extent to cut.
        assert_eq!(cuts(&[0; 4], 0.0, 0.0, 3), [f64::NEG_INFINITY; 2]);
    }
}
