//! Squared distances between points and boxes.
//!
//! Rounding is monotone: `x <= y` gives `fl(x - z) <= fl(y - z)`, and squares and sums of what is
//! not negative keep the order. So the bounds below hold for the distances as they are computed,
//! to the last bit: a box whose `gap` is beyond eps² has no point that `squared` would find within,
//! and a box whose `reach` is within eps² has none that it would find beyond.

/// Sum of squared differences, dimension by dimension.
#[inline(always)]
pub(crate) fn squared(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.fold(0.0, |sum, (x, y)| sum + (x - y) * (x - y))
}

/// A box: its lowest and its highest corner.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds<'a> {
    pub(crate) low: &'a [f64],
    pub(crate) high: &'a [f64],
}

impl Bounds<'_> {
    /// At most the squared distance of `point` to any point of the box.
    #[inline(always)]
    pub(crate) fn gap(self, point: &[f64]) -> f64 {
        let sides = self.low.iter().zip(self.high).zip(point);
        sides.fold(0.0, |sum, ((low, high), x)| {
            let beside = (low - x).max(x - high).max(0.0);
            sum + beside * beside
        })
    }

    /// At least the squared distance of `point` to any point of the box.
    #[inline(always)]
    pub(crate) fn reach(self, point: &[f64]) -> f64 {
        let sides = self.low.iter().zip(self.high).zip(point);
        sides.fold(0.0, |sum, ((low, high), x)| {
            let across = (x - low).max(high - x);
            sum + across * across
        })
    }

    /// At most the squared distance of any two points of the two boxes.
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

    /// At least the squared distance of any two points of the two boxes.
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

/// The smallest box around `points`; nothing if there are none.
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
