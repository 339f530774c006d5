//! [`any_within`]: test if any two points of two sets are within eps of each other.

use crate::cluster::distance::{Bounds, enclose, squared};
use perf_core::{CancellationChecks, Cancelled};

/// Number of pairs up to which all pairs are compared.
const PAIRS: usize = 512;

/// Returns `true` if the squared distance between a point of `a` and a point of `b` is at most `limit`.
/// Reorders both.
///
/// Halves the larger set at its middle along the longer side. Skips halves whose boxes are too far
/// apart, and succeeds at once if boxes are completely within the limit.
pub(super) fn any_within<const D: usize>(
    a: &mut [[f64; D]],
    b: &mut [[f64; D]],
    limit: f64,
    checks: &mut CancellationChecks<'_>,
) -> Result<bool, Cancelled> {
    if a.is_empty() || b.is_empty() {
        return Ok(false);
    }
    checks.next(a.len() + b.len())?;
    let (mut a_low, mut a_high, mut b_low, mut b_high) = ([0.0; D], [0.0; D], [0.0; D], [0.0; D]);
    enclose(a.iter().map(|point| &point[..]), &mut a_low, &mut a_high);
    enclose(b.iter().map(|point| &point[..]), &mut b_low, &mut b_high);
    let box_a = Bounds {
        low: &a_low,
        high: &a_high,
    };
    let box_b = Bounds {
        low: &b_low,
        high: &b_high,
    };
    if box_a.gap_to(box_b) > limit {
        return Ok(false);
    }
    if box_a.reach_to(box_b) <= limit {
        return Ok(true);
    }
    if a.len().saturating_mul(b.len()) <= PAIRS {
        return Ok(a.iter().any(|p| b.iter().any(|q| squared(p, q) <= limit)));
    }
    let (large, small, low, high, other) = if a.len() >= b.len() {
        (a, b, a_low, a_high, box_b)
    } else {
        (b, a, b_low, b_high, box_a)
    };
    let axis = (0..D).max_by(|&i, &j| (high[i] - low[i]).total_cmp(&(high[j] - low[j])));
    let axis = axis.unwrap_or_default();
    let middle = large.len() / 2;
    large.select_nth_unstable_by(middle, |p, q| p[axis].total_cmp(&q[axis]));
    let (left, right) = large.split_at_mut(middle);
    // Searches the half towards the other set first, because that is more likely to succeed.
    let centre = f64::midpoint(low[axis], high[axis]);
    let (first, second) = if f64::midpoint(other.low[axis], other.high[axis]) < centre {
        (left, right)
    } else {
        (right, left)
    };
    Ok(any_within(first, small, limit, checks)? || any_within(second, small, limit, checks)?)
}
