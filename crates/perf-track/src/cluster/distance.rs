//! [`squared`]: squared distance of two points; [`Bounds`]: box around points, with bounds of its
//! squared distances from points and other boxes.
//!
//! Rounding is monotone: `x <= y` implies `fl(x - z) <= fl(y - z)`, and squares and sums of
//! non-negative numbers preserve the order. The bounds below therefore hold for the distances as
//! computed, to the last bit: a box whose `gap` exceeds eps² has no point that `squared` would find
//! within eps, and a box whose `reach` is within eps² has none that it would find beyond.

/// Returns the sum of squared differences, dimension by dimension.
#[inline(always)]
pub(crate) fn squared(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y))
}

/// Axis-aligned box.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    /// Lowest corner.
    pub(crate) low: &'a [f64],
    /// Highest corner.
    pub(crate) high: &'a [f64],
}

impl Bounds<'_> {
    /// Returns a lower bound of the squared distance from `point` to any point of the box.
    #[inline(always)]
    pub(crate) fn gap(self, point: &[f64]) -> f64 {
        let sides = self.low.iter().zip(self.high).zip(point);
        sides.fold(0.0, |sum, ((low, high), x)| {
            let beside = (low - x).max(x - high).max(0.0);
            sum + beside * beside
        })
    }

    /// Returns an upper bound of the squared distance from `point` to any point of the box.
    #[inline(always)]
    pub(crate) fn reach(self, point: &[f64]) -> f64 {
        let sides = self.low.iter().zip(self.high).zip(point);
        sides.fold(0.0, |sum, ((low, high), x)| {
            let across = (x - low).max(high - x);
            sum + across * across
        })
    }

    /// Returns a lower bound of the squared distance between points of the two boxes.
    #[inline(always)]
    pub(crate) fn gap_to(self, other: Bounds<'_>) -> f64 {
        let sides = self.low.iter().zip(self.high);
        let others = other.low.iter().zip(other.high);
        sides
            .zip(others)
            .fold(0.0, |sum, ((low, high), (other_low, other_high))| {
                let beside = (low - other_high).max(other_low - high).max(0.0);
                sum + beside * beside
            })
    }

    /// Returns an upper bound of the squared distance between points of the two boxes.
    #[inline(always)]
    pub(crate) fn reach_to(self, other: Bounds<'_>) -> f64 {
        let sides = self.low.iter().zip(self.high);
        let others = other.low.iter().zip(other.high);
        sides
            .zip(others)
            .fold(0.0, |sum, ((low, high), (other_low, other_high))| {
                let across = (high - other_low).max(other_high - low);
                sum + across * across
            })
    }
}

/// Computes the smallest box around `points`. Without points, `low` becomes infinity and `high` negative
/// infinity.
pub(crate) fn enclose<'p>(
    points: impl IntoIterator<Item = &'p [f64]>,
    low: &mut [f64],
    high: &mut [f64],
) {
    low.fill(f64::INFINITY);
    high.fill(f64::NEG_INFINITY);
    for point in points {
        for ((low, high), &x) in low.iter_mut().zip(high.iter_mut()).zip(point) {
            *low = low.min(x);
            *high = high.max(x);
        }
    }
}
