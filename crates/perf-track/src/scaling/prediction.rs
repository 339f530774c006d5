//! [`Prediction`]: value of a [`ScalingModel`] at a scale with its prediction interval; the scales
//! needed for a narrower one, and exponents of parameters.

use super::ScalingModel;
use super::model::{norm, row};
use super::positive;
use crate::{Error, Result};
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Prediction of a model for a scale.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Prediction {
    /// Most likely value.
    pub value: f64,
    /// Prediction interval of one new measurement at the confidence level of the model,
    /// `ln y +- t s sqrt(1 + h)`, with t the quantile of Student's distribution, s the standard deviation of the
    /// noise and h the leverage of the scale. `None` without degrees of freedom, also of the measured
    /// values of a parameter whose value at this scale was not measured.
    pub interval: Option<(f64, f64)>,
}

impl ScalingModel {
    /// Predicts the metric at a scale, with one value for each parameter.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the scale does not have one value for each parameter, and
    /// [`Error::Parameter`] if a value is not positive and finite.
    pub fn predict(&self, scale: &[f64]) -> Result<Prediction> {
        self.check(scale)?;
        let value = self.curve().value(scale);
        let interval = self.half_width(scale).and_then(|half| {
            let factor = half.exp();
            let (low, high) = (value / factor, value * factor);
            (low.is_finite() && high.is_finite()).then_some((low, high))
        });
        Ok(Prediction { value, interval })
    }

    /// Returns the number of further measured scales with which the limits of the prediction interval would be at
    /// most `factor` times the value and the value at most `factor` times the limits, if the noise stays the same.
    /// Returns 0 if they are now, and `None` if the noise is too large for any number of scales up to 30: the
    /// model does not describe the metric.
    ///
    /// With few degrees of freedom the quantile of Student's distribution makes intervals wide: it is 12.7 with one
    /// degree at 95 %, 4.3 with two and 2.0 with many.
    ///
    /// ```
    /// use perf_core::Job;
    /// use perf_track::scaling::{Measurements, ScalingModel};
    /// let mut data = Measurements::new(["tasks"]);
    /// for (tasks, seconds) in [(4.0, 8.0), (8.0, 4.6), (16.0, 2.1)] {
    ///     data.push(&[tasks], seconds)?;
    /// }
    /// let model = ScalingModel::fit(&data, 0.95, &Job::default())?.expect("three scales");
    /// assert_eq!(model.scales_needed(&[32.0], 100.0)?, Some(0));
    /// // Three degrees of freedom suffice for an interval from the value divided by 1.3 to 1.3 times the value.
    /// assert_eq!(model.scales_needed(&[32.0], 1.3)?, Some(2));
    /// assert_eq!(model.scales_needed(&[32.0], 1.001)?, None);
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`predict`](Self::predict) for the scale, and [`Error::Parameter`] for a factor below 1.
    pub fn scales_needed(&self, scale: &[f64], factor: f64) -> Result<Option<usize>> {
        const MOST: usize = 30;
        self.check(scale)?;
        if !(factor.is_finite() && factor >= 1.0) {
            return Err(Error::Parameter {
                name: "factor of an interval",
                value: factor.to_string(),
                range: "finite and at least 1",
            });
        }
        let Some((deviation, free)) = self.noise(scale) else {
            return Ok(None);
        };
        let is_enough = |more: &usize| {
            let quantile = quantile(free + more, self.level);
            quantile.is_some_and(|quantile| quantile * deviation <= factor.ln())
        };
        Ok((0..=MOST).find(is_enough))
    }

    fn check(&self, scale: &[f64]) -> Result<()> {
        if scale.len() != self.parameters.len() {
            return Err(Error::Length {
                what: "parameters of a scale",
                expected: self.parameters.len(),
                got: scale.len(),
            });
        }
        positive(scale)
    }

    /// Returns half the width of the interval of the logarithm of a new measurement.
    fn half_width(&self, scale: &[f64]) -> Option<f64> {
        let (deviation, free) = self.noise(scale)?;
        Some(quantile(free, self.level)? * deviation)
    }

    /// Returns the standard deviation of the logarithm of a new measurement about the prediction, and its degrees of
    /// freedom.
    fn noise(&self, scale: &[f64]) -> Option<(f64, usize)> {
        let of = &self.uncertainty;
        let leverage = norm(
            of.inverse.as_ref()?,
            &row(&self.curve(), &self.structure(), scale),
        );
        let mut variance = of.deviation.powi(2) * (1.0 + leverage);
        let mut free = self.free;
        for (levels, value) in of.levels.iter().zip(scale) {
            // A parameter of one value is not part of the model.
            if levels.values.contains(value) || levels.values.len() < 2 {
                continue;
            }
            let (mean, spread) = spread(&levels.values);
            let away = value.ln() - mean;
            let leverage = 1.0 / levels.values.len() as f64 + away * away / spread;
            variance += levels.deviation.powi(2) * (1.0 + leverage);
            free = free.min(levels.free);
        }
        Some((variance.sqrt(), free))
    }

    /// Returns the mean power of the metric in a parameter between its smallest and its largest measured value,
    /// with the geometric means of the other parameters: -1 if doubling the parameter halves the metric, 0 if it
    /// has no effect. It is the power of a power law.
    pub fn exponent(&self, parameter: usize) -> f64 {
        let levels = &self.uncertainty.levels;
        let Some([first, .., last]) = levels.get(parameter).map(|of| of.values.as_slice()) else {
            return 0.0;
        };
        let centre: Vec<f64> = levels.iter().map(|of| spread(&of.values).0.exp()).collect();
        let at = |value: f64| {
            let mut scale = centre.clone();
            scale[parameter] = value;
            self.curve().value(&scale).ln()
        };
        (at(*last) - at(*first)) / (last / first).ln()
    }

    /// Returns the confidence interval of the power of a parameter in a power law, `b +- t s sqrt(c)` with c
    /// the diagonal element of the inverse normal matrix. `None` for other forms, and without degrees of freedom.
    pub fn exponent_interval(&self, parameter: usize) -> Option<(f64, f64)> {
        let of = &self.uncertainty;
        if self.form != super::Form::PowerLaw || !of.levels.get(parameter)?.is_used {
            return None;
        }
        let before = of
            .levels
            .iter()
            .take(parameter)
            .filter(|levels| levels.is_used)
            .count();
        let inverse = of.inverse.as_ref()?;
        let mut unit = vec![0.0; inverse.ncols()];
        *unit.get_mut(before + 1)? = 1.0;
        let half = quantile(self.free, self.level)? * of.deviation * norm(inverse, &unit).sqrt();
        let power = self.terms.first()?.factors.get(parameter)?.power;
        Some((power - half, power + half))
    }
}

/// Returns the mean of the logarithms of values and the sum of their squares about it.
fn spread(values: &[f64]) -> (f64, f64) {
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len().max(1) as f64;
    (mean, logs.iter().map(|value| (value - mean).powi(2)).sum())
}

/// Returns the `t` for which a variable of Student's distribution lies between `-t` and `t` with probability
/// `level`. `None` without degrees of freedom.
fn quantile(free: usize, level: f64) -> Option<f64> {
    if free == 0 {
        return None;
    }
    let student = StudentsT::new(0.0, 1.0, free as f64).ok()?;
    Some(student.inverse_cdf(0.5 + 0.5 * level))
}
