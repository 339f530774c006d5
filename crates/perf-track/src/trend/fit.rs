//! [`PowerLaw`]: dependence of a metric on the number of tasks.
//!
//! Least squares with one variable have a closed form with two sums. A matrix decomposition with
//! nalgebra would compute the same numbers, and would add 6 packages and 9 seconds to a cold build on
//! two cores.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Fit of a metric as `coefficient * tasks ^ exponent`, by least squares of logarithms.
///
/// ```
/// use perf_track::trend::PowerLaw;
/// let law = PowerLaw::fit(&[(2.0, 8.1), (4.0, 3.9), (8.0, 2.05)], 0.95).expect("three points");
/// assert!((law.exponent + 1.0).abs() < 0.05);
/// let (low, high) = law.interval.expect("one point more than needed");
/// assert!(low < -1.0 && -1.0 < high);
/// let next = law.predict(16.0);
/// assert!(next.interval.is_some_and(|(low, high)| low < 1.0 && 1.0 < high));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PowerLaw {
    /// Metric for one task.
    pub coefficient: f64,
    /// Exponent: -1 if doubling the tasks halves the metric, 0 if it has no effect.
    pub exponent: f64,
    /// Confidence interval of the exponent b at `level`: `b +- t s / sqrt(Sxx)` with Student's t of
    /// n - 2 degrees of freedom for n points, s the standard deviation of the residuals, and Sxx the
    /// sum of squares of the logarithms of tasks about their mean. `None` for two points, which the
    /// law fits exactly.
    pub interval: Option<(f64, f64)>,
    /// Confidence level of the intervals, greater than 0 and less than 1.
    pub level: f64,
    /// Fraction of the variance of the logarithms that the law explains; 1 if there is no variance.
    pub r_squared: f64,
    /// Number of points of the fit.
    pub points: usize,
    /// Standard deviation of the residuals of the logarithms.
    residual: f64,
    /// Mean of the logarithms of tasks.
    centre: f64,
    /// Sum of squares of the logarithms of tasks about their mean.
    spread: f64,
}

/// Prediction of a law for another number of tasks.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Prediction {
    /// Most likely value.
    pub value: f64,
    /// Prediction interval of one new experiment at the confidence level of the law:
    /// `ln y +- t s sqrt(1 + 1/n + (x - mean)^2 / Sxx)`, with x the logarithm of tasks and the symbols
    /// of [`PowerLaw::interval`]. `None` for two points.
    pub interval: Option<(f64, f64)>,
}

impl PowerLaw {
    /// Fits a law to points (tasks, metric). `None` with fewer than two different numbers of tasks,
    /// with a value that is not positive and finite, or with a level that is not greater than 0 and
    /// less than 1.
    pub fn fit(points: &[(f64, f64)], level: f64) -> Option<Self> {
        let is_fine = |value: f64| value.is_finite() && value > 0.0;
        let level_is_fine = level > 0.0 && level < 1.0;
        if !level_is_fine || !points.iter().all(|&(x, y)| is_fine(x) && is_fine(y)) {
            return None;
        }
        let logs: Vec<(f64, f64)> = points.iter().map(|&(x, y)| (x.ln(), y.ln())).collect();
        let count = logs.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| logs.iter().map(of).sum::<f64>() / count;
        let (x, y) = (mean(|point| point.0), mean(|point| point.1));
        let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
        for (u, v) in &logs {
            xx += (u - x) * (u - x);
            xy += (u - x) * (v - y);
            yy += (v - y) * (v - y);
        }
        // Different numbers of tasks differ by far more than rounding.
        if logs.len() < 2 || xx < 1e-18 {
            return None;
        }
        let exponent = xy / xx;
        let rest: f64 = logs
            .iter()
            .map(|(u, v)| (v - y - exponent * (u - x)).powi(2))
            .sum();
        let free = logs.len() - 2;
        let residual = if free > 0 {
            (rest / free as f64).sqrt()
        } else {
            0.0
        };
        let mut law = PowerLaw {
            coefficient: (y - exponent * x).exp(),
            exponent,
            interval: None,
            level,
            r_squared: if yy > 0.0 {
                (1.0 - rest / yy).clamp(0.0, 1.0)
            } else {
                1.0
            },
            points: logs.len(),
            residual,
            centre: x,
            spread: xx,
        };
        law.interval = law.t().map(|t| {
            let half = t * residual / xx.sqrt();
            (exponent - half, exponent + half)
        });
        Some(law)
    }

    /// Returns the `t` for which a variable of Student's distribution lies between `-t` and `t` with
    /// probability `level`. `None` for two points. Exact to 9 digits for up to 10,000 points.
    fn t(&self) -> Option<f64> {
        let free = self.points.checked_sub(2).filter(|&free| free > 0)?;
        let student = StudentsT::new(0.0, 1.0, free as f64).ok()?;
        Some(student.inverse_cdf(0.5 + 0.5 * self.level))
    }

    /// Predicts the metric for another number of tasks, which must be positive.
    pub fn predict(&self, tasks: f64) -> Prediction {
        let value = self.coefficient * tasks.powf(self.exponent);
        let away = tasks.ln() - self.centre;
        let interval = self.t().map(|t| {
            let variance = 1.0 + 1.0 / self.points as f64 + away * away / self.spread;
            let factor = (t * self.residual * variance.sqrt()).exp();
            (value / factor, value * factor)
        });
        Prediction { value, interval }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns half the width of the interval of the exponent, in standard errors.
    fn t(points: usize, level: f64) -> f64 {
        let points: Vec<(f64, f64)> = (1..=points)
            .map(|tasks| (tasks as f64, if tasks % 2 == 0 { 1.0 } else { 2.0 }))
            .collect();
        let law = PowerLaw::fit(&points, level).expect("points that differ");
        let (low, high) = law.interval.expect("more than two points");
        0.5 * (high - low) * law.spread.sqrt() / law.residual
    }

    #[test]
    fn intervals_are_those_of_printed_tables() {
        for (level, points, expected) in [
            (0.95, 3, 12.706_2),
            (0.95, 4, 4.302_65),
            (0.95, 12, 2.228_14),
            (0.95, 102, 1.983_97),
            (0.99, 5, 5.840_91),
            (0.90, 7, 2.015_05),
            (0.50, 3, 1.0),
        ] {
            let t = t(points, level);
            assert!((t / expected - 1.0).abs() < 3e-6, "{level} {points}: {t}");
        }
    }

    #[test]
    fn intervals_have_closed_forms_for_one_and_two_degrees_of_freedom() {
        // One degree of freedom is Cauchy's distribution, and two have a closed form.
        for level in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let one = (std::f64::consts::FRAC_PI_2 * level).tan();
            assert!((t(3, level) / one - 1.0).abs() < 1e-10);
            let two = level * (2.0 / (1.0 - level * level)).sqrt();
            assert!((t(4, level) / two - 1.0).abs() < 1e-10);
        }
    }
}
