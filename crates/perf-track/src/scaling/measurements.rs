//! [`Measurements`]: values of a metric at several scales.

use crate::{Error, Result};

/// Values of a metric at several scales. A scale is one value of each parameter, such as tasks and problem
/// size.
///
/// ```
/// use perf_track::scaling::Measurements;
/// let mut data = Measurements::new(["tasks", "size"]);
/// data.push(&[27.0, 30.0], 1.4)?;
/// assert!(data.push(&[64.0], 1.5).is_err());
/// assert!(data.push(&[64.0, 0.0], 1.5).is_err());
/// assert_eq!((data.len(), data.scale(0), data.values()), (1, &[27.0, 30.0][..], &[1.4][..]));
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Measurements {
    /// Names of the parameters.
    parameters: Vec<String>,
    /// Values of the parameters, scale after scale.
    scales: Vec<f64>,
    /// Value of the metric at each scale.
    values: Vec<f64>,
}

impl Measurements {
    /// Creates an empty list of values over the named parameters.
    pub fn new<S: Into<String>>(parameters: impl IntoIterator<Item = S>) -> Self {
        Measurements {
            parameters: parameters.into_iter().map(Into::into).collect(),
            ..Measurements::default()
        }
    }

    /// Adds a value of the metric. Several values of one scale are repetitions.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the scale does not have one value for each parameter, and
    /// [`Error::Parameter`] if a value of the scale is not positive and finite.
    pub fn push(&mut self, scale: &[f64], value: f64) -> Result<()> {
        if scale.len() != self.parameters.len() {
            return Err(Error::Length {
                what: "parameters of a scale",
                expected: self.parameters.len(),
                got: scale.len(),
            });
        }
        positive(scale)?;
        self.scales.extend(scale);
        self.values.push(value);
        Ok(())
    }

    /// Returns the names of the parameters.
    pub fn parameters(&self) -> &[String] {
        &self.parameters
    }

    /// Returns the values of the metric.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the number of values.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// Returns `true` if there is no value.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the scale of a value. Empty for a number that is too large.
    pub fn scale(&self, at: usize) -> &[f64] {
        let width = self.parameters.len();
        self.scales.get(at * width..(at + 1) * width).unwrap_or(&[])
    }

    /// Returns the number of the distinct scale of each value, in the order of their first occurrence.
    pub(super) fn distinct(&self) -> Vec<usize> {
        let mut first: Vec<usize> = Vec::new();
        let number = |at: usize| {
            let known = first
                .iter()
                .position(|&other| self.scale(other) == self.scale(at));
            known.unwrap_or_else(|| {
                first.push(at);
                first.len() - 1
            })
        };
        (0..self.len()).map(number).collect()
    }

    /// Returns the different values of a parameter in ascending order.
    pub(super) fn levels(&self, parameter: usize) -> Vec<f64> {
        let mut levels: Vec<f64> = (0..self.len())
            .map(|at| self.scale(at)[parameter])
            .collect();
        levels.sort_by(f64::total_cmp);
        levels.dedup();
        levels
    }

    /// Returns the values for which a condition on their number holds.
    pub(super) fn only(&self, is_kept: impl Fn(usize) -> bool) -> Self {
        let kept: Vec<usize> = (0..self.len()).filter(|&at| is_kept(at)).collect();
        Measurements {
            parameters: self.parameters.clone(),
            scales: kept
                .iter()
                .flat_map(|&at| self.scale(at).to_vec())
                .collect(),
            values: kept.iter().map(|&at| self.values[at]).collect(),
        }
    }
}

/// Returns an error if a value of a scale is not positive and finite.
pub(crate) fn positive(scale: &[f64]) -> Result<()> {
    match scale
        .iter()
        .find(|value| !(value.is_finite() && **value > 0.0))
    {
        Some(value) => Err(Error::Parameter {
            name: "a value of a scale",
            value: value.to_string(),
            range: "positive and finite",
        }),
        None => Ok(()),
    }
}
