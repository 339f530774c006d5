//! How costs grow with size: points, the power law through them, and what it says of larger sizes.

use perfkit::track::trend;

/// A size, and what it cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// How large the input was, in units of its axis.
    pub size: f64,
    /// What it cost, above 0.
    pub cost: f64,
}

/// A power law `cost = factor * size ^ slope`: a straight line where both axes are logarithmic.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// The exponent: 1 is linear, 0 does not grow.
    pub slope: f64,
    /// Cost at size 1.
    pub factor: f64,
    /// The largest distance of a point from the line, as a share of the line: 0.1 is 10 %, above or below.
    pub residual: f64,
    /// The exponent between the two largest sizes alone.
    pub end: f64,
}

impl PowerLaw {
    /// The line of least squares through logarithms; nothing for fewer than two sizes, or costs that have none.
    ///
    /// ```
    /// use perfkit_benches::scaling::{Point, PowerLaw};
    /// let square = |size: f64| Point { size, cost: 3.0 * size * size };
    /// let law = PowerLaw::fit(&[1.0, 10.0, 100.0].map(square)).expect("three sizes");
    /// assert!((law.slope - 2.0).abs() < 1e-9 && (law.factor - 3.0).abs() < 1e-9 && law.residual < 1e-9);
    /// ```
    pub fn fit(points: &[Point]) -> Option<Self> {
        let line: Vec<(f64, f64)> = points.iter().map(|it| (it.size, it.cost)).collect();
        let law = trend::PowerLaw::fit(&line, 0.95)?;
        let [.., (x1, y1), (x2, y2)] = line[..] else {
            return None;
        };
        let far = |&(x, y): &(f64, f64)| (y / law.predict(x).value).ln().abs();
        let residual = line.iter().map(far).fold(0.0, f64::max).exp_m1();
        Some(PowerLaw {
            slope: law.exponent,
            factor: law.coefficient,
            residual,
            end: (y2 / y1).ln() / (x2 / x1).ln(),
        })
    }

    /// What a size costs by the line.
    pub fn at(&self, size: f64) -> f64 {
        self.factor * size.powf(self.slope)
    }

    /// What a larger size costs, if costs grow from the last point on with the exponent of all points, and if they
    /// do with that of the last two: the smaller one first.
    pub fn project(&self, last: Point, size: f64) -> [f64; 2] {
        let with = |slope: f64| last.cost * (size / last.size).powf(slope);
        let (one, other) = (with(self.slope), with(self.end));
        [one.min(other), one.max(other)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_with_its_residual() {
        let points = [(10.0, 1.0), (100.0, 12.0), (1000.0, 100.0)];
        let points = points.map(|(size, cost)| Point { size, cost });
        let law = PowerLaw::fit(&points).expect("three sizes");
        assert!((law.slope - 1.0).abs() < 1e-9, "{law:?}");
        assert!((law.end - (100.0_f64 / 12.0).log10()).abs() < 1e-9);
        // Of the logarithms 0, 1.0792 and 2 the second one is the farthest from the line.
        assert!((law.residual - 0.1292).abs() < 1e-3, "{law:?}");
        let [low, high] = law.project(points[2], 10_000.0);
        assert!((low - 833.3).abs() < 0.1 && (high - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn what_has_no_line_has_none() {
        let point = |size, cost| Point { size, cost };
        assert_eq!(PowerLaw::fit(&[]), None);
        assert_eq!(PowerLaw::fit(&[point(1.0, 1.0)]), None);
        assert_eq!(PowerLaw::fit(&[point(1.0, 1.0), point(1.0, 2.0)]), None);
        assert_eq!(PowerLaw::fit(&[point(1.0, 0.0), point(2.0, 2.0)]), None);
    }
}
