//! [`ScalingModel`]: [`Form`], constant and [`Term`]s of a fitted model of a metric, with its
//! derivatives and the variances from which prediction intervals follow.

use super::Measurements;
use super::curve::Curve;
use super::structure::Structure;
use nalgebra::{DMatrix, DVector};

/// Form of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Form {
    /// The metric does not depend on the parameters.
    Constant,
    /// One term without constant and without logarithms, with any real powers or those of the normal form.
    PowerLaw,
    /// Sum of terms of the performance model normal form.
    NormalForm,
}

impl Form {
    /// Returns the name.
    pub fn name(self) -> &'static str {
        match self {
            Form::Constant => "constant",
            Form::PowerLaw => "power law",
            Form::NormalForm => "normal form",
        }
    }
}

/// Factor `p^power * log2(p)^log_power` of a parameter `p` in a term.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Factor {
    /// Power of the parameter.
    pub power: f64,
    /// Power of the binary logarithm of the parameter.
    pub log_power: i32,
}

impl Factor {
    /// Returns the value of the factor.
    pub fn value(&self, parameter: f64) -> f64 {
        parameter.powf(self.power) * parameter.log2().powi(self.log_power)
    }

    /// Returns `true` if the factor is 1 for every value of the parameter.
    pub fn is_one(&self) -> bool {
        self.power == 0.0 && self.log_power == 0
    }
}

/// Term: a coefficient times one factor for each parameter.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Term {
    /// Coefficient, greater than 0, in the unit of the metric.
    pub coefficient: f64,
    /// Factor of each parameter.
    pub factors: Vec<Factor>,
}

impl Term {
    /// Returns the product of the factors at a scale.
    pub(super) fn basis(&self, scale: &[f64]) -> f64 {
        let factors = self.factors.iter().zip(scale);
        let factors = factors.filter(|(factor, _)| !factor.is_one());
        factors
            .map(|(factor, value)| factor.value(*value))
            .product()
    }
}

/// Model of a metric over parameters, with the uncertainty of its predictions.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct ScalingModel {
    /// Names of the parameters.
    pub parameters: Vec<String>,
    /// Form.
    pub form: Form,
    /// Constant, in the unit of the metric; 0 without one.
    pub constant: f64,
    /// Terms.
    pub terms: Vec<Term>,
    /// Number of measurements.
    pub points: usize,
    /// Degrees of freedom: measurements minus coefficients and powers. 0 if the model has as many numbers as there are
    /// measurements, which it then fits exactly; predictions have no intervals.
    pub free: usize,
    /// Root mean square of the relative errors at scales excluded from the fit (cross-validation): 0.1 is 10 %. `None`
    /// for a power law that was not selected among other structures.
    pub error: Option<f64>,
    /// Fraction of the variance of the logarithms that the model explains, in `0.0..=1.0`; 1 if there is
    /// no variance.
    pub r_squared: f64,
    /// Confidence level of the intervals, greater than 0 and less than 1.
    pub level: f64,
    /// Data for intervals.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(super) uncertainty: Uncertainty,
}

/// Data for the intervals of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Uncertainty {
    /// Standard deviation of the logarithm of a measurement about the model.
    pub(super) deviation: f64,
    /// Inverse of the upper triangular factor of the Jacobian matrix; `None` if the coefficients and powers
    /// depend on each other.
    pub(super) inverse: Option<DMatrix<f64>>,
    /// Uncertainty along each parameter.
    pub(super) levels: Vec<Levels>,
}

/// Measured values of a parameter, and the standard deviation of the mean residuals at them.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Levels {
    /// Different values in ascending order.
    pub(super) values: Vec<f64>,
    /// Degrees of freedom of the mean residuals of the values.
    pub(super) free: usize,
    /// Standard deviation of the mean residuals; 0 if each value was measured once.
    pub(super) deviation: f64,
    /// `true` if the model depends on the parameter.
    pub(super) is_used: bool,
}

impl ScalingModel {
    /// Creates a model from its numbers. `None` if a value of the model is not positive.
    pub(super) fn new(
        data: &Measurements,
        curve: Curve,
        structure: &Structure,
        errors: Option<&[f64]>,
        level: f64,
    ) -> Option<Self> {
        let count = data.len();
        let residual = |at: usize| (data.values()[at] / curve.value(data.scale(at))).ln();
        let residuals: Vec<f64> = (0..count).map(residual).collect();
        let rest: f64 = residuals.iter().map(|value| value * value).sum();
        if !rest.is_finite() {
            return None;
        }
        let logs: Vec<f64> = data.values().iter().map(|value| value.ln()).collect();
        let mean = logs.iter().sum::<f64>() / count as f64;
        let all: f64 = logs.iter().map(|value| (value - mean).powi(2)).sum();
        let numbers = structure.numbers();
        let free = count.saturating_sub(numbers);
        let jacobian = jacobian(&curve, structure, data);
        let inverse = inverse(jacobian.clone());
        let leverage = |at: usize| {
            let row: Vec<f64> = jacobian.row(at).iter().copied().collect();
            inverse.as_ref().map_or(1.0, |of| norm(of, &row))
        };
        let within = if free > 0 { rest / free as f64 } else { 0.0 };
        // The expected square of such an error is the variance divided by 1 minus the leverage.
        let of_errors = errors.map_or(0.0, |errors| {
            let each = errors.iter().enumerate();
            let each = each.map(|(at, error)| error * error * (1.0 - leverage(at)).clamp(0.0, 1.0));
            each.sum::<f64>() / count as f64
        });
        let levels = (0..data.parameters().len())
            .map(|parameter| levels(data, structure, parameter, &residuals))
            .collect();
        Some(ScalingModel {
            parameters: data.parameters().to_vec(),
            form: curve.form,
            constant: curve.constant,
            terms: curve.terms,
            points: count,
            free,
            error: errors.map(|errors| {
                let sum: f64 = errors.iter().map(|error| error * error).sum();
                (sum / count as f64).sqrt()
            }),
            r_squared: if all > 0.0 {
                (1.0 - rest / all).clamp(0.0, 1.0)
            } else {
                1.0
            },
            level,
            uncertainty: Uncertainty {
                deviation: within.max(of_errors).sqrt(),
                inverse,
                levels,
            },
        })
    }

    /// Returns the constant and the terms of the model without their uncertainty.
    pub(super) fn curve(&self) -> Curve {
        Curve {
            form: self.form,
            constant: self.constant,
            terms: self.terms.clone(),
        }
    }

    /// Returns the structure of the model.
    pub(super) fn structure(&self) -> Structure {
        let of = |term: &Term| {
            let factors = term.factors.iter().enumerate();
            let levels = &self.uncertainty.levels;
            let own = factors.filter(|(at, factor)| match self.form {
                Form::PowerLaw => levels[*at].is_used,
                _ => !factor.is_one(),
            });
            own.map(|(at, _)| at).collect()
        };
        Structure {
            is_power_law: self.form == Form::PowerLaw,
            has_constant: self.constant > 0.0,
            terms: self.terms.iter().map(of).collect(),
        }
    }
}

/// Returns the derivatives of the logarithm of a model with respect to its constant, its coefficients and its
/// powers.
pub(super) fn row(curve: &Curve, structure: &Structure, scale: &[f64]) -> Vec<f64> {
    let value = curve.value(scale);
    let mut row = Vec::with_capacity(structure.numbers());
    if structure.has_constant {
        row.push(curve.constant / value);
    }
    for (term, parameters) in curve.terms.iter().zip(&structure.terms) {
        let share = term.coefficient * term.basis(scale) / value;
        row.push(share);
        row.extend(parameters.iter().map(|&at| share * scale[at].ln()));
    }
    row
}

/// Returns the derivatives of the logarithm of a model at all measurements.
pub(super) fn jacobian(curve: &Curve, structure: &Structure, data: &Measurements) -> DMatrix<f64> {
    let rows = (0..data.len()).flat_map(|at| row(curve, structure, data.scale(at)));
    DMatrix::from_row_iterator(data.len(), structure.numbers(), rows)
}

/// Returns the inverse of R in the QR decomposition of a matrix. `None` if columns depend on each other.
pub(super) fn inverse(matrix: DMatrix<f64>) -> Option<DMatrix<f64>> {
    if matrix.nrows() < matrix.ncols() {
        return None;
    }
    let lengths: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    let r = matrix.qr().r();
    let independent = |(value, length): (&f64, &f64)| value.abs() > 1e-9 * length;
    if !r.diagonal().iter().zip(&lengths).all(independent) {
        return None;
    }
    r.solve_upper_triangular(&DMatrix::identity(r.ncols(), r.ncols()))
}

/// Returns the variance of a value with the given derivatives, in units of the variance of the noise.
pub(super) fn norm(inverse: &DMatrix<f64>, row: &[f64]) -> f64 {
    inverse
        .tr_mul(&DVector::from_column_slice(row))
        .norm_squared()
}

/// Returns the deviation of the mean residuals of each value of a parameter.
fn levels(
    data: &Measurements,
    structure: &Structure,
    parameter: usize,
    residuals: &[f64],
) -> Levels {
    let values = data.levels(parameter);
    let free = values.len().saturating_sub(structure.numbers_of(parameter));
    let mean = |value: &f64| {
        let own = residuals.iter().enumerate();
        let own = own.filter(|(at, _)| data.scale(*at)[parameter] == *value);
        let (sum, count) = own.fold((0.0, 0.0), |(sum, count), (_, residual)| {
            (sum + residual, count + 1.0)
        });
        sum / count
    };
    let rest: f64 = values.iter().map(|value| mean(value).powi(2)).sum();
    let is_repeated = values.len() < data.len();
    Levels {
        deviation: if free > 0 && is_repeated {
            (rest / free as f64).sqrt()
        } else {
            0.0
        },
        free,
        is_used: structure.uses(parameter),
        values,
    }
}
