//! [`ScalingModel::fit`]: selects the structure of a scaling model by cross-validation over the
//! scales; [`ScalingModel::power_law`]: fits a power law.

use super::curve::Curve;
use super::model::{inverse, jacobian};
use super::structure::Structure;
use super::{Measurements, ScalingModel};
use crate::{Error, Result};
use perf_core::Job;

/// Largest number of groups of scales that are left out in turn.
const MAX_FOLDS: usize = 12;

/// Mean squared error below which errors are those of rounding.
const ROUNDING: f64 = 1e-18;

/// Structure with its errors on scales that were left out.
struct Candidate {
    /// Structure.
    structure: Structure,
    /// Model of all measurements.
    curve: Curve,
    /// Logarithmic error of each measurement, predicted without its group.
    errors: Vec<f64>,
}

impl Candidate {
    fn of(structure: Structure, data: &Measurements, job: &Job) -> Result<Option<Self>> {
        let Some(curve) = Curve::fit(&structure, data, None) else {
            return Ok(None);
        };
        if inverse(jacobian(&curve, &structure, data)).is_none() {
            return Ok(None);
        }
        let distinct = data.distinct();
        let scales = distinct.iter().max().map_or(0, |last| last + 1);
        let folds = scales.min(MAX_FOLDS);
        let mut errors = vec![0.0; data.len()];
        for fold in 0..folds {
            job.check()?;
            let rest = data.only(|at| distinct[at] % folds != fold);
            let Some(refitted) = Curve::fit(&structure, &rest, Some(&curve)) else {
                return Ok(None);
            };
            for at in (0..data.len()).filter(|&at| distinct[at] % folds == fold) {
                errors[at] = (data.values()[at] / refitted.value(data.scale(at))).ln();
            }
        }
        let is_finite = errors.iter().all(|error| error.is_finite());
        Ok(is_finite.then_some(Candidate {
            structure,
            curve,
            errors,
        }))
    }

    /// Returns the mean of the squared errors.
    fn score(&self) -> f64 {
        self.errors.iter().map(|error| error * error).sum::<f64>() / self.errors.len() as f64
    }

    /// Returns `true` if the squared errors exceed those of the best structure by at most one standard error
    /// of the differences, or are rounding errors.
    fn is_near(&self, best: &Self) -> bool {
        let pairs = self.errors.iter().zip(&best.errors);
        let excess: Vec<f64> = pairs.map(|(own, best)| own * own - best * best).collect();
        let count = excess.len() as f64;
        let mean = excess.iter().sum::<f64>() / count;
        let spread = excess
            .iter()
            .map(|value| (value - mean).powi(2))
            .sum::<f64>();
        mean <= (spread / (count * (count - 1.0).max(1.0))).sqrt() || self.score() < ROUNDING
    }
}

impl ScalingModel {
    /// Selects and fits the model of measurements, with intervals of the confidence `level`, greater than 0
    /// and less than 1. `None` with fewer than two different scales, with a value that is not positive
    /// and finite, and for two scales that differ in several parameters.
    ///
    /// Two scales determine a power law, which then has no intervals. The cost is proportional to the number of
    /// measurements times the number of different scales, at most 12 of which count.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for another level, and [`Error::Cancelled`] if the job is cancelled.
    pub fn fit(data: &Measurements, level: f64, job: &Job) -> Result<Option<Self>> {
        check(level)?;
        if !data
            .values()
            .iter()
            .all(|value| value.is_finite() && *value > 0.0)
        {
            return Ok(None);
        }
        let mut candidates = Vec::new();
        for structure in Structure::all(data) {
            candidates.extend(Candidate::of(structure, data, job)?);
        }
        let is_few = data
            .distinct()
            .into_iter()
            .max()
            .is_none_or(|last| last < 2);
        if is_few || candidates.is_empty() {
            return Self::power_law(data, level);
        }
        let scores = candidates.iter().enumerate();
        let best = scores.min_by(|a, b| a.1.score().total_cmp(&b.1.score()));
        let best = best.map_or(0, |best| best.0);
        // Structures have ascending numbers of coefficients and powers.
        let chosen = candidates
            .iter()
            .position(|of| of.is_near(&candidates[best]));
        let chosen = candidates.into_iter().nth(chosen.unwrap_or(best));
        Ok(chosen.and_then(|of| Self::new(data, of.curve, &of.structure, Some(&of.errors), level)))
    }

    /// Fits the power law of all parameters that vary, which is one case of the models that [`fit`](Self::fit)
    /// selects. `None` with fewer than two different scales, with a value that is not positive and finite,
    /// or if parameters do not vary independently.
    ///
    /// ```
    /// use perf_track::scaling::{Measurements, ScalingModel};
    /// let mut data = Measurements::new(["tasks"]);
    /// for (tasks, time) in [(2.0, 8.1), (4.0, 3.9), (8.0, 2.05)] {
    ///     data.push(&[tasks], time)?;
    /// }
    /// let law = ScalingModel::power_law(&data, 0.95)?.expect("three points");
    /// assert!((law.exponent(0) + 1.0).abs() < 0.05);
    /// let (low, high) = law.exponent_interval(0).expect("one point more than needed");
    /// assert!(low < -1.0 && -1.0 < high);
    /// let next = law.predict(&[16.0])?;
    /// assert!(next.interval.is_some_and(|(low, high)| low < 1.0 && 1.0 < high));
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a level that is not greater than 0 and less than 1.
    pub fn power_law(data: &Measurements, level: f64) -> Result<Option<Self>> {
        check(level)?;
        let parameters = 0..data.parameters().len();
        let varying: Vec<usize> = parameters.filter(|&at| data.levels(at).len() > 1).collect();
        let is_fine = data
            .values()
            .iter()
            .all(|value| value.is_finite() && *value > 0.0);
        if varying.is_empty() || !is_fine {
            return Ok(None);
        }
        let structure = Structure::power_law(varying);
        let curve = Curve::fit(&structure, data, None);
        Ok(curve.and_then(|curve| Self::new(data, curve, &structure, None, level)))
    }
}

/// Returns an error for a confidence level that is not greater than 0 and less than 1.
fn check(level: f64) -> Result<()> {
    if level > 0.0 && level < 1.0 {
        return Ok(());
    }
    Err(Error::Parameter {
        name: "confidence level",
        value: level.to_string(),
        range: "greater than 0 and less than 1",
    })
}
