//! [`Curve`]: constant, coefficients and powers of a model with a given structure, fitted to
//! measurements: coefficients by least squares, powers by search.

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

    /// Fits the coefficients and powers of a structure. The search of powers begins at those of a curve if there
    /// is one. `None` if parameters do not vary independently, or if a coefficient would not be positive.
    pub(super) fn fit(
        structure: &Structure,
        data: &Measurements,
        near: Option<&Curve>,
    ) -> Option<Self> {
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
        let starts = match near {
            Some(curve) => vec![
                curve
                    .terms
                    .iter()
                    .map(|term| term.factors.clone())
                    .collect(),
            ],
            None => start(structure, data)?,
        };
        let found = starts.into_iter();
        let found = found.filter_map(|factors| descend(structure, factors, data));
        let best = found.min_by(|a, b| a.0.total_cmp(&b.0));
        best.map(|(_, curve)| curve)
    }
}

/// Changes one factor after the other to the best one of the grid until no change reduces the sum of squares.
fn descend(
    structure: &Structure,
    mut factors: Vec<Vec<Factor>>,
    data: &Measurements,
) -> Option<(f64, Curve)> {
    let mut best = linear(structure.has_constant, &factors, data);
    for _ in 0..PASSES {
        let before = best.as_ref().map(|found| found.0);
        for term in 0..factors.len() {
            for &parameter in &structure.terms[term] {
                let mut chosen = factors[term][parameter];
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
    best
}

/// Returns the powers and powers of logarithms that the normal form tries.
fn grid() -> impl Iterator<Item = (f64, i32)> {
    let all = POWERS.into_iter();
    let all = all.flat_map(|power| (0..=MAX_LOG_POWER).map(move |log_power| (power, log_power)));
    all.filter(|factor| *factor != (0.0, 0))
}

/// Returns the first factors of searches: the powers of the power law, rounded to the grid, and logarithms.
fn start(structure: &Structure, data: &Measurements) -> Option<Vec<Vec<Vec<Factor>>>> {
    let mut all: Vec<usize> = structure.terms.iter().flatten().copied().collect();
    all.sort_unstable();
    all.dedup();
    let law = power_law(&Structure::power_law(all), data)?;
    let near = |power: f64| {
        let others = POWERS.into_iter().filter(|other| *other != 0.0);
        let found = others.min_by(|a, b| (a - power).abs().total_cmp(&(b - power).abs()));
        found.unwrap_or(1.0)
    };
    let width = data.parameters().len();
    let logarithm = Factor {
        power: 0.0,
        log_power: 1,
    };
    let of_term = |(number, term): (usize, &Vec<usize>), is_logarithm: bool| {
        let mut factors = vec![Factor::default(); width];
        for &at in term {
            let rounded = Factor {
                power: near(law.terms[0].factors[at].power),
                // Two terms of one parameter must differ.
                log_power: number as i32 % 2,
            };
            factors[at] = if is_logarithm && number == 0 {
                logarithm
            } else {
                rounded
            };
        }
        factors
    };
    let of = |is_logarithm: bool| -> Vec<Vec<Factor>> {
        let terms = structure.terms.iter().enumerate();
        terms.map(|term| of_term(term, is_logarithm)).collect()
    };
    let mut starts = vec![of(false), of(true)];
    starts.extend(coarse(structure, data));
    Some(starts)
}

/// Returns the best of all pairs of factors of a coarse grid, for structures with two factors. The sum of
/// squares of two factors can have several local minima.
fn coarse(structure: &Structure, data: &Measurements) -> Vec<Vec<Vec<Factor>>> {
    const BEST: usize = 3;
    const COARSE: [f64; 7] = [-1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 3.0];
    let places = structure.terms.iter().enumerate();
    let places = places.flat_map(|(term, own)| own.iter().map(move |&at| (term, at)));
    let places: Vec<(usize, usize)> = places.collect();
    let [first, second] = places[..] else {
        return Vec::new();
    };
    let single = COARSE
        .into_iter()
        .flat_map(|power| [0, 1].map(|log_power| Factor { power, log_power }));
    let single: Vec<Factor> = single.filter(|factor| !factor.is_one()).collect();
    let width = data.parameters().len();
    let mut found: Vec<(f64, Vec<Vec<Factor>>)> = Vec::new();
    for &one in &single {
        for &other in &single {
            let mut factors = vec![vec![Factor::default(); width]; structure.terms.len()];
            factors[first.0][first.1] = one;
            factors[second.0][second.1] = other;
            if let Some((sum, _)) = linear(structure.has_constant, &factors, data) {
                found.push((sum, factors));
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().take(BEST).map(|it| it.1).collect()
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
    // A coefficient that is no number fails this test too.
    let all_positive = found.iter().all(|coefficient| *coefficient > 0.0);
    if !all_positive {
        return None;
    }
    for (term, coefficient) in terms.iter_mut().zip(found.iter().skip(first)) {
        term.coefficient = *coefficient;
    }
    let curve = Curve {
        form: form(has_constant, &terms),
        constant: if has_constant { found[0] } else { 0.0 },
        terms,
    };
    // A constant below the rounding errors of all values is none.
    let is_felt = |value: &f64| curve.constant > 1e-9 * value;
    if has_constant && !data.values().iter().any(is_felt) {
        return None;
    }
    let residual = |at: usize| (data.values()[at] / curve.value(data.scale(at))).ln();
    let sum: f64 = (0..data.len()).map(|at| residual(at).powi(2)).sum();
    sum.is_finite().then_some((sum, curve))
}

/// Returns the form of a sum of terms: one term alone without logarithms is a power law.
fn form(has_constant: bool, terms: &[Term]) -> Form {
    let mut factors = terms.iter().flat_map(|term| &term.factors);
    if !has_constant && terms.len() == 1 && factors.all(|factor| factor.log_power == 0) {
        Form::PowerLaw
    } else {
        Form::NormalForm
    }
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
