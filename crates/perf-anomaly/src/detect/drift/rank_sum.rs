//! Rank sum test of two sketches, its significance bound, and the usual run time of a sketch.

use super::super::Sketch;
use super::super::tail::edge;
use perf_core::Nanos;
use std::cmp::Ordering;

/// Returns the number of standard deviations that a normal variable exceeds, on either side, with
/// at most probability `p`: the tail is at most `exp(-z^2 / 2) / (z sqrt(2 pi))`.
pub(super) fn bound(p: f64) -> f64 {
    let tail = |z: f64| (-z * z / 2.0).exp() / (z * (2.0 * std::f64::consts::PI).sqrt());
    let (mut low, mut high) = (0.1, 40.0);
    for _ in 0..64 {
        let middle = (low + high) / 2.0;
        if 2.0 * tail(middle) > p {
            low = middle;
        } else {
            high = middle;
        }
    }
    high
}

/// Returns the rank sum of the calls of `new` among those of both sketches, as the number of
/// standard deviations from its expectation for equal distributions. It is positive if calls of
/// `new` are longer, and 0 if all calls share a bucket.
pub(super) fn rank_sum(old: &Sketch, new: &Sketch) -> f64 {
    let mut left = old.filled().peekable();
    let mut right = new.filled().peekable();
    let (mut below, mut sum, mut ties) = (0.0, 0.0, 0.0);
    loop {
        let (of_old, of_new) = match (left.peek().copied(), right.peek().copied()) {
            (None, None) => break,
            (Some((_, count)), None) => (Some(count), None),
            (None, Some((_, count))) => (None, Some(count)),
            (Some((mine, one)), Some((theirs, other))) => match mine.cmp(&theirs) {
                Ordering::Less => (Some(one), None),
                Ordering::Greater => (None, Some(other)),
                Ordering::Equal => (Some(one), Some(other)),
            },
        };
        if of_old.is_some() {
            left.next();
        }
        if of_new.is_some() {
            right.next();
        }
        let (one, other) = (of_old.unwrap_or(0) as f64, of_new.unwrap_or(0) as f64);
        sum += other * (below + one / 2.0);
        below += one;
        let tied = one + other;
        ties += tied * (tied * tied - 1.0);
    }
    let (m, n) = (old.count() as f64, new.count() as f64);
    let all = m + n;
    let variance = n * m / 12.0 * (all + 1.0 - ties / (all * (all - 1.0)));
    if variance > 0.0 {
        (sum - n * m / 2.0) / variance.sqrt()
    } else {
        0.0
    }
}

/// Returns the geometric mean of the run times, which few long calls do not dominate; `None` for an
/// empty sketch.
pub(super) fn usual(sketch: &Sketch) -> Option<Nanos> {
    let resolution = sketch.resolution().0 as f64;
    let logs = sketch.filled().map(|(bucket, count)| {
        let middle = (edge(bucket) + edge(bucket + 1)) / 2.0;
        count as f64 * middle.max(1.0).ln()
    });
    let sum: f64 = logs.sum();
    let mean = (sum / sketch.count() as f64).exp() - resolution;
    (sketch.count() > 0).then_some(Nanos(mean.max(0.0) as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_those_of_the_normal_distribution() {
        // Two-sided probabilities: 1e-5 for 4.417, 1e-6 for 4.892.
        for (p, z) in [(1e-5, 4.417), (1e-6, 4.892), (1e-3, 3.291)] {
            assert!(bound(p) > z && bound(p) < z + 0.05, "{p}: {}", bound(p));
        }
    }

    #[test]
    fn rank_sums_are_those_of_all_pairs() {
        let sketch = |values: &[i64]| {
            let mut sketch = Sketch::new(Nanos(1));
            values.iter().for_each(|value| sketch.push(Nanos(*value)));
            sketch
        };
        let (old, new) = ([1, 2, 2, 3, 5, 8], [2, 3, 3, 9]);
        let mut pairs = 0.0;
        for x in new {
            for y in old {
                pairs += match x.cmp(&y) {
                    Ordering::Greater => 1.0,
                    Ordering::Equal => 0.5,
                    Ordering::Less => 0.0,
                };
            }
        }
        // Ties: 2 three times, 3 three times.
        let variance = 24.0 / 12.0 * (11.0 - 2.0 * 24.0 / 90.0_f64);
        let expected = (pairs - 12.0) / variance.sqrt();
        let found = rank_sum(&sketch(&old), &sketch(&new));
        assert!((found - expected).abs() < 1e-12, "{found} and {expected}");
        assert_eq!(rank_sum(&sketch(&[7; 40]), &sketch(&[7; 40])), 0.0);
        let mean = usual(&sketch(&[100_000, 400_000])).map(|mean| mean.0);
        assert!(
            mean.is_some_and(|mean| (mean - 200_000).abs() < 2_000),
            "{mean:?}"
        );
        assert_eq!(usual(&sketch(&[])), None);
    }
}
