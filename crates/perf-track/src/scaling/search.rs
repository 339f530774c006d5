//! Least squares of a structure, and the search of its powers.

use super::structure::Structure;
use super::{Factor, Form, Measurements, Term};
use nalgebra::{DMatrix, DVector};

/// Powers of a parameter that the normal form tries.
const POWERS: [f64; 22] = [
    -2.0,
    -1.5,
    -1.0,
    -2.0 / 3.0,
    -0.5,
    -1.0 / 3.0,
    -0.25,
    0.0,
    0.25,
    1.0 / 3.0,
    0.5,
    2.0 / 3.0,
    0.75,
    1.0,
    1.25,
    4.0 / 3.0,
    1.5,
    5.0 / 3.0,
    2.0,
    7.0 / 3.0,
    2.5,
    3.0,
];
/// Largest power of a logarithm that the normal form tries.
const MAX_LOG_POWER: i32 = 2;
/// Largest number of passes of the coordinate search over all factors.
const PASSES: usize = 4;
/// Smallest ratio of diagonal elements of R at which columns count as independent.
const INDEPENDENT: f64 = 1e-9;

/// Coefficients and terms of a model.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    /// Form.
    pub(super) form: Form,
    /// Constant; 0 without one.
    pub(super) constant: f64,
    /// Terms.
    pub(super) terms: Vec<Term>,
}

impl Curve {
    /// Returns the value at a scale.
    pub(super) fn value(&self, scale: &[f64]) -> f64 {
        let terms = self.terms.iter();
        self.constant
            + terms
                .map(|term| term.coefficient * term.basis(scale))
                .sum::<f64>()
    }

    /// Fits the coefficients and powers of a structure. `None` if parameters do not vary independently,
    /// or if a coefficient would be negative.
    pub(super) fn fit(structure: &Structure, data: &Measurements) -> Option<Self> {
        if structure.terms.is_empty() {
            let logs = data.values().iter().map(|value| value.ln());
            let mean = logs.sum::<f64>() / data.len() as f64;
            return Some(Curve {
                form: Form::Constant,
                constant: mean.exp(),
                terms: Vec::new(),
            });
        }
        if structure.is_power_law {
            return power_law(structure, data);
        }
        let mut factors = start(structure, data)?;
        let mut best = linear(structure.has_constant, &factors, data);
        for _ in 0..PASSES {
            let before = best.as_ref().map(|found| found.0);
            for term in 0..factors.len() {
                for &parameter in &structure.terms[term] {
                    let kept = factors[term][parameter];
                    let mut chosen = kept;
                    for (power, log_power) in grid() {
                        factors[term][parameter] = Factor { power, log_power };
                        let found = linear(structure.has_constant, &factors, data);
                        let is_better = match (&found, &best) {
                            (Some(found), Some(best)) => found.0 < best.0 * (1.0 - 1e-9),
                            (found, None) => found.is_some(),
                            _ => false,
                        };
                        if is_better {
                            chosen = factors[term][parameter];
                            best = found;
                        }
                    }
                    factors[term][parameter] = chosen;
                }
            }
            if best.as_ref().map(|found| found.0) == before {
                break;
            }
        }
        best.map(|(_, curve)| curve)
    }
}

/// Returns the powers and powers of logarithms that the normal form tries.
fn grid() -> impl Iterator<Item = (f64, i32)> {
    let all = POWERS.into_iter();
    let all = all.flat_map(|power| (0..=MAX_LOG_POWER).map(move |log_power| (power, log_power)));
    all.filter(|factor| *factor != (0.0, 0))
}

/// Returns the first factors of the search: the powers of the power law, rounded to the grid.
fn start(structure: &Structure, data: &Measurements) -> Option<Vec<Vec<Factor>>> {
    let mut all: Vec<usize> = structure.terms.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let law = power_law(&Structure::power_law(all), data)?;
    let near = |power: f64| {
        let others = POWERS.into_iter().filter(|other| *other != 0.0);
        others.min_by(|a, b| (a - power).abs().total_cmp(&(b - power).abs()))
    };
    let width = data.parameters().len();
    let of_term = |(number, term): (usize, &Vec<usize>)| {
        let mut factors = vec![Factor::default(); width];
        for &at in term {
            factors[at] = Factor {
                power: near(law.terms[0].factors[at].power)?,
                // Two terms of one parameter must differ.
                log_power: number as i32 % 2,
            };
        }
        Some(factors)
    };
    structure.terms.iter().enumerate().map(of_term).collect()
}

/// Fits a power law by least squares of logarithms.
fn power_law(structure: &Structure, data: &Measurements) -> Option<Curve> {
    let own = structure.terms.first()?;
    let matrix = DMatrix::from_fn(data.len(), own.len() + 1, |row, column| match column {
        0 => 1.0,
        _ => data.scale(row)[own[column - 1]].ln(),
    });
    let logs = DVector::from_iterator(data.len(), data.values().iter().map(|value| value.ln()));
    let found = least_squares(matrix, logs)?;
    let mut factors = vec![Factor::default(); data.parameters().len()];
    for (&at, power) in own.iter().zip(found.iter().skip(1)) {
        factors[at].power = *power;
    }
    Some(Curve {
        form: Form::PowerLaw,
        constant: 0.0,
        terms: vec![Term {
            coefficient: found[0].exp(),
            factors,
        }],
    })
}

/// Fits the coefficients of given factors by least squares of relative residuals. Returns the sum of
/// squares of the logarithmic residuals with the model.
fn linear(
    has_constant: bool,
    factors: &[Vec<Factor>],
    data: &Measurements,
) -> Option<(f64, Curve)> {
    let first = usize::from(has_constant);
    let mut terms: Vec<Term> = factors
        .iter()
        .map(|factors| Term {
            coefficient: 1.0,
            factors: factors.clone(),
        })
        .collect();
    let matrix = DMatrix::from_fn(data.len(), first + terms.len(), |row, column| {
        let basis = match column.checked_sub(first) {
            Some(term) => terms[term].basis(data.scale(row)),
            None => 1.0,
        };
        basis / data.values()[row]
    });
    let found = least_squares(matrix, DVector::from_element(data.len(), 1.0))?;
    if found.iter().any(|coefficient| !(*coefficient > 0.0)) {
        return None;
    }
    for (term, coefficient) in terms.iter_mut().zip(found.iter().skip(first)) {
        term.coefficient = *coefficient;
    }
    let curve = Curve {
        form: Form::NormalForm,
        constant: if has_constant { found[0] } else { 0.0 },
        terms,
    };
    let residual = |at: usize| (data.values()[at] / curve.value(data.scale(at))).ln();
    let sum: f64 = (0..data.len()).map(|at| residual(at).powi(2)).sum();
    sum.is_finite().then_some((sum, curve))
}

/// Solves a linear least-squares problem by QR decomposition of the columns, scaled to length 1. `None`
/// if there are fewer rows than columns, or columns depend on each other.
fn least_squares(mut matrix: DMatrix<f64>, right: DVector<f64>) -> Option<DVector<f64>> {
    if matrix.nrows() < matrix.ncols() {
        return None;
    }
    let lengths: Vec<f64> = matrix.column_iter().map(|column| column.norm()).collect();
    if lengths
        .iter()
        .any(|length| !(length.is_finite() && *length > 0.0))
    {
        return None;
    }
    for (mut column, length) in matrix.column_iter_mut().zip(&lengths) {
        column /= *length;
    }
    let decomposition = matrix.qr();
    let r = decomposition.r();
    if r.diagonal().iter().any(|value| value.abs() < INDEPENDENT) {
        return None;
    }
    let mut rotated = right;
    decomposition.q_tr_mul(&mut rotated);
    let mut found = r.solve_upper_triangular(&rotated.rows(0, r.ncols()).into_owned())?;
    for (value, length) in found.iter_mut().zip(&lengths) {
        *value /= length;
    }
    Some(found)
}
