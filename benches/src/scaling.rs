//! [`PowerLaw`]: growth of costs with size, fitted to measured [`Point`]s, and its projection to
//! larger sizes.

use perfkit::track::scaling::{Measurements, ScalingModel};

/// Size with its cost.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// Size of the input, in units of its axis.
    pub size: f64,
    /// Cost, above 0.
    pub cost: f64,
}

/// Power law `cost = factor * size ^ slope`, which is a straight line on logarithmic axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PowerLaw {
    /// Exponent: 1 is linear growth, 0 is no growth.
    pub slope: f64,
    /// Cost at size 1.
    pub factor: f64,
    /// Largest deviation of a point from the line, relative to the line: 0.1 is 10 %, above or
    /// below.
    pub residual: f64,
    /// Exponent between the two largest sizes alone.
    pub end: f64,
}

impl PowerLaw {
    /// Fits a line to the logarithms by least squares. Returns `None` for fewer than two sizes or
    /// if a logarithm does not exist.
    ///
    /// ```
    /// use perfkit_benches::scaling::{Point, PowerLaw};
    /// let square = |size: f64| Point { size, cost: 3.0 * size * size };
    /// let law = PowerLaw::fit(&[1.0, 10.0, 100.0].map(square)).expect("three sizes");
    /// assert!((law.slope - 2.0).abs() < 1e-9 && (law.factor - 3.0).abs() < 1e-9 && law.residual < 1e-9);
    /// ```
    pub fn fit(points: &[Point]) -> Option<Self> {
        let line: Vec<(f64, f64)> = points.iter().map(|it| (it.size, it.cost)).collect();
        let mut data = Measurements::new(["size"]);
        for (size, cost) in &line {
            data.push(&[*size], *cost).ok()?;
        }
        let law = ScalingModel::power_law(&data, 0.95).ok()??;
        let [.., (x1, y1), (x2, y2)] = line[..] else {
            return None;
        };
        let (slope, factor) = (law.exponent(0), law.terms.first()?.coefficient);
        let far = |&(x, y): &(f64, f64)| (y / (factor * x.powf(slope))).ln().abs();
        let residual = line.iter().map(far).fold(0.0, f64::max).exp_m1();
        Some(PowerLaw {
            slope,
            factor,
            residual,
            end: (y2 / y1).ln() / (x2 / x1).ln(),
        })
    }

    /// Returns the cost of a size according to the power law.
    pub fn at(&self, size: f64) -> f64 {
        self.factor * size.powf(self.slope)
    }

    /// Projects the cost of a larger size from the last point, with the exponent of all points and
    /// with that of the last two. Returns the smaller projection first.
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
        // Of the logarithms 0, 1.0792 and 2 the second one is farthest from the line.
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
