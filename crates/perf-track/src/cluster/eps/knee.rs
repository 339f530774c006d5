//! [`knee`]: value at which a descending curve bends most.

/// Returns the value at the knee of a descending list: where it is farthest below the straight line
/// from its first to its last value, both axes scaled to 0..1 (Satopää et al. 2011, without
/// smoothing).
///
/// Skips values that are not finite and the first 0.5 % of the finite values, because a single outlier
/// would stretch the axis. Returns `None` for fewer than three remaining values or a list that does not
/// descend. If the knee is at 0 (equal points), returns the smallest positive value.
///
/// ```
/// use perf_track::cluster::knee;
/// assert_eq!(knee(&[9.0, 6.0, 3.0, 1.0, 0.9, 0.8, 0.7]), Some(1.0));
/// assert_eq!(knee(&[1.0; 5]), Some(1.0));
/// assert_eq!(knee(&[0.0; 5]), None);
/// ```
pub fn knee(falling: &[f64]) -> Option<f64> {
    let finite = falling.iter().position(|value| value.is_finite())?;
    let falling = &falling[finite..];
    let values = &falling[falling.len() / 200..];
    let (first, last) = (*values.first()?, *values.last()?);
    if values.len() < 3 || first <= 0.0 {
        return None;
    }
    if first <= last {
        // All distances are equal, which is a valid scale.
        return Some(first);
    }
    let mut bend = (0, f64::NEG_INFINITY);
    for (at, value) in values.iter().enumerate() {
        let x = at as f64 / (values.len() - 1) as f64;
        let below = 1.0 - x - (value - last) / (first - last);
        if below > bend.1 {
            bend = (at, below);
        }
    }
    if values[bend.0] > 0.0 {
        return Some(values[bend.0]);
    }
    values.iter().rev().find(|&&value| value > 0.0).copied()
}
