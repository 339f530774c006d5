//! [`Band`]: upper and lower bounds of the difference of two clocks over time, and the line with
//! the largest distance to them.

/// A point of time and a bound of the difference of two clocks at it.
pub(super) type Point = (f64, f64);

/// Largest drift of a clock that is considered: 0.1 %, ten times that of a bad quartz.
const MAX_DRIFT: f64 = 1e-3;

/// Number of steps of a search by thirds or halves, which reduce the interval to less than 1e-12 of its length.
const STEPS: usize = 72;

/// Upper and lower bounds of the difference of two clocks over time.
///
/// Only the lower convex hull of the upper bounds and the upper convex hull of the lower bounds touch a line between them.
pub(super) struct Band {
    upper: Vec<Point>,
    lower: Vec<Point>,
}

/// A line in a [`Band`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Line {
    /// Value at time 0.
    pub(super) offset: f64,
    /// Slope.
    pub(super) drift: f64,
    /// Largest distance of another line in the band between time 0 and the end; `None` if there are bounds on only one
    /// side.
    pub(super) uncertainty: Option<f64>,
}

impl Band {
    pub(super) fn new(upper: Vec<Point>, lower: Vec<Point>) -> Self {
        let mirrored = lower
            .into_iter()
            .map(|(time, value)| (time, -value))
            .collect();
        let mirrored = lower_hull(mirrored);
        Band {
            upper: lower_hull(upper),
            lower: mirrored
                .into_iter()
                .map(|(time, value)| (time, -value))
                .collect(),
        }
    }

    /// Returns the largest value at time 0 of a line of this slope below all upper bounds.
    fn top(&self, drift: f64) -> f64 {
        let values = self.upper.iter().map(|(time, value)| value - drift * time);
        values.fold(f64::INFINITY, f64::min)
    }

    /// Returns the smallest value at time 0 of a line of this slope above all lower bounds.
    fn bottom(&self, drift: f64) -> f64 {
        let values = self.lower.iter().map(|(time, value)| value - drift * time);
        values.fold(f64::NEG_INFINITY, f64::max)
    }

    /// Returns a band that satisfies other bounds as well.
    pub(super) fn with(&self, upper: &[Point], lower: &[Point]) -> Self {
        let all = |own: &[Point], other: &[Point]| own.iter().chain(other).copied().collect();
        Band::new(all(&self.upper, upper), all(&self.lower, lower))
    }

    /// Returns the distance between the largest and the smallest value at time 0 of a line of this slope, which is
    /// negative if no such line satisfies the bounds.
    fn gap(&self, drift: f64) -> f64 {
        self.top(drift) - self.bottom(drift)
    }

    /// Returns the drift and the offset of the line with the largest distance to the bounds.
    fn centre(&self) -> (f64, f64) {
        let drift = highest(|drift| self.gap(drift), -MAX_DRIFT, MAX_DRIFT);
        (drift, (self.top(drift) + self.bottom(drift)) / 2.0)
    }

    /// Returns the line with the largest distance to the bounds, or that of the first narrower band that contains a
    /// line. The uncertainty is that of this band from time 0 to `end`.
    pub(super) fn line(&self, narrower: impl IntoIterator<Item = Band>, end: f64) -> Line {
        if self.upper.is_empty() || self.lower.is_empty() {
            // The line moves no further than the bounds require.
            return Line {
                offset: 0.0_f64.min(self.top(0.0)).max(self.bottom(0.0)),
                ..Line::default()
            };
        }
        let (centre, offset) = self.centre();
        let half = self.gap(centre) / 2.0;
        if half < 0.0 {
            // No line satisfies all bounds: the error is at least the largest violation.
            return Line {
                offset,
                drift: centre,
                uncertainty: Some(-half),
            };
        }
        let slowest = last_where(|drift| self.gap(drift) >= 0.0, centre, -MAX_DRIFT);
        let fastest = last_where(|drift| self.gap(drift) >= 0.0, centre, MAX_DRIFT);
        let inner = narrower.into_iter().find_map(|band| {
            let centre = band.centre();
            (band.gap(centre.0) >= 0.0).then_some(centre)
        });
        let (drift, offset) = inner.unwrap_or((centre, offset));
        let mut uncertainty = half;
        for time in [0.0, end] {
            let value = offset + drift * time;
            let above = |drift: f64| self.top(drift) + drift * time;
            let below = |drift: f64| -self.bottom(drift) - drift * time;
            let above = above(highest(above, slowest, fastest)) - value;
            let below = below(highest(below, slowest, fastest)) + value;
            uncertainty = uncertainty.max(above).max(below);
        }
        Line {
            offset,
            drift,
            uncertainty: Some(uncertainty),
        }
    }
}

/// Returns the place of the maximum of a concave function.
fn highest(function: impl Fn(f64) -> f64, mut from: f64, mut to: f64) -> f64 {
    for _ in 0..STEPS {
        let third = (to - from) / 3.0;
        if function(from + third) < function(to - third) {
            from += third;
        } else {
            to -= third;
        }
    }
    (from + to) / 2.0
}

/// Returns the last place from `inside` towards `to` at which a condition holds that does not hold again after it has
/// failed.
fn last_where(holds: impl Fn(f64) -> bool, mut inside: f64, to: f64) -> f64 {
    if holds(to) {
        return to;
    }
    let mut outside = to;
    for _ in 0..STEPS {
        let middle = (inside + outside) / 2.0;
        if holds(middle) {
            inside = middle;
        } else {
            outside = middle;
        }
    }
    inside
}

/// Returns the lower convex hull in order of time.
fn lower_hull(mut points: Vec<Point>) -> Vec<Point> {
    points.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut hull: Vec<Point> = Vec::new();
    for point in points {
        if hull.last().is_some_and(|last| last.0 == point.0) {
            continue;
        }
        while let [.., first, second] = hull.as_slice() {
            let turn = (second.0 - first.0) * (point.1 - first.1)
                - (second.1 - first.1) * (point.0 - first.0);
            if turn > 0.0 {
                break;
            }
            hull.pop();
        }
        hull.push(point);
    }
    hull
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_between_parallel_bounds_lie_in_the_middle() {
        let line =
            |shift: f64| (0..50).map(move |at| (f64::from(at) * 1e6, f64::from(at) * 20.0 + shift));
        let band = Band::new(line(30.0).collect(), line(-10.0).collect());
        let found = band.line([], 49e6);
        assert!((found.offset - 10.0).abs() < 1e-3 && (found.drift - 2e-5).abs() < 1e-10);
        assert!((found.uncertainty.unwrap() - 20.0).abs() < 0.1);
    }

    #[test]
    fn likely_bounds_choose_a_line_and_keep_the_uncertainty() {
        let band = Band::new(vec![(0.0, 30.0), (9.0, 30.0)], vec![(0.0, 0.0), (9.0, 0.0)]);
        let inner = band.with(&[(0.0, 6.0), (9.0, 6.0)], &[]);
        let found = band.line([inner], 9.0);
        assert!((found.offset - 3.0).abs() < 1e-3 && found.uncertainty.unwrap() > 26.0);
        let contradiction = band.with(&[(0.0, -6.0), (9.0, -6.0)], &[]);
        assert!((band.line([contradiction], 9.0).offset - 15.0).abs() < 1e-3);
    }

    #[test]
    fn bounds_on_one_side_move_no_further_than_they_need() {
        let band = Band::new(vec![(0.0, -7.0), (5.0, 3.0)], vec![]);
        let found = band.line([], 5.0);
        assert_eq!(
            (found.offset, found.drift, found.uncertainty),
            (-7.0, 0.0, None)
        );
        let band = Band::new(vec![(0.0, 7.0)], vec![]);
        assert_eq!(band.line([], 5.0).offset, 0.0);
    }
}
