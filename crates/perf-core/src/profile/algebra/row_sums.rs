//! [`Sum`]: combines the rows of several profiles value by value into a row of the result;
//! [`scattered`]: moves a row to the locations of the result.

use super::Operator;
use crate::profile::{Combine, Severities};
use crate::{Error, LocationId, Result, ValueType};

/// Returns a row over the locations of the result. Locations without a value have 0, or the value
/// of no samples in a minimum or maximum metric.
pub(super) fn scattered(
    combine: Combine,
    row: &Severities,
    places: &[LocationId],
    locations: usize,
) -> Result<Severities> {
    fn moved<T: Copy>(values: &[T], places: &[LocationId], width: usize, to: &mut [T]) {
        for (value, place) in values.chunks_exact(width.max(1)).zip(places) {
            let start = place.index().saturating_mul(width);
            if let Some(slot) = to.get_mut(start..start.saturating_add(width)) {
                slot.copy_from_slice(value);
            }
        }
    }
    if row.len() != places.len() {
        return Err(Error::Length {
            what: "values of a row",
            expected: places.len(),
            got: row.len(),
        });
    }
    let none = match combine {
        Combine::Minimum => f64::INFINITY,
        Combine::Maximum => f64::NEG_INFINITY,
        _ => 0.0,
    };
    Ok(match row {
        Severities::U64(values) => {
            let mut to = vec![0; locations];
            moved(values, places, 1, &mut to);
            Severities::U64(to)
        }
        Severities::I64(values) => {
            let mut to = vec![0; locations];
            moved(values, places, 1, &mut to);
            Severities::I64(to)
        }
        Severities::F64(values) => {
            let mut to = vec![none; locations];
            moved(values, places, 1, &mut to);
            Severities::F64(to)
        }
        Severities::Tuples { width, values } => {
            let mut to = vec![none; locations.saturating_mul(*width)];
            moved(values, places, *width, &mut to);
            Severities::Tuples {
                width: *width,
                values: to,
            }
        }
    })
}

/// Values so far. Integers are exact.
#[derive(Debug)]
enum Values {
    /// Integers.
    Integers(Vec<i128>),
    /// Floats, with their number for each location.
    Floats(usize, Vec<f64>),
}

/// Row of a result that is being computed.
#[derive(Debug)]
pub(super) struct Sum {
    /// Operator.
    operator: Operator,
    /// Rule of the metric.
    combine: Combine,
    /// Number of profiles with the metric.
    profiles: usize,
    /// Number of profiles with a row.
    rows: usize,
    /// Values so far; `None` before the first row.
    values: Option<Values>,
}

impl Sum {
    pub(super) fn new(operator: Operator, combine: Combine, profiles: usize) -> Self {
        Sum {
            operator,
            combine,
            profiles,
            rows: 0,
            values: None,
        }
    }

    /// Returns `true` if a missing value counts as 0.
    fn is_additive(&self) -> bool {
        !matches!(self.combine, Combine::Minimum | Combine::Maximum)
    }

    /// Adds the row of an operand.
    pub(super) fn add(&mut self, operand: usize, row: &Severities) -> Result<()> {
        let row = match row {
            Severities::U64(values) => {
                Values::Integers(values.iter().map(|value| i128::from(*value)).collect())
            }
            Severities::I64(values) => {
                Values::Integers(values.iter().map(|value| i128::from(*value)).collect())
            }
            Severities::F64(values) => Values::Floats(1, values.clone()),
            Severities::Tuples { width, values } => Values::Floats(*width, values.clone()),
        };
        let row = if self.operator == Operator::Difference && operand == 1 {
            match row {
                Values::Integers(values) => {
                    Values::Integers(values.into_iter().map(|value| -value).collect())
                }
                Values::Floats(width, values) => {
                    // Subtracts from 0, so that the difference of zeros is not -0.
                    Values::Floats(width, values.into_iter().map(|value| 0.0 - value).collect())
                }
            }
        } else {
            row
        };
        self.rows += 1;
        self.values = Some(match self.values.take() {
            None => row,
            Some(values) => self.joined(values, row)?,
        });
        Ok(())
    }

    /// Joins the values so far with another row.
    fn joined(&self, values: Values, row: Values) -> Result<Values> {
        let is_least = self.is_extreme(Operator::Minimum, Combine::Minimum);
        let is_most = self.is_extreme(Operator::Maximum, Combine::Maximum);
        let whole = |one: i128, other: i128| match (is_least, is_most) {
            (true, _) => one.min(other),
            (_, true) => one.max(other),
            _ => one.saturating_add(other),
        };
        let real = |one: f64, other: f64| match (is_least, is_most) {
            _ if one.is_nan() || other.is_nan() => f64::NAN,
            (true, _) => one.min(other),
            (_, true) => one.max(other),
            _ => one + other,
        };
        let (one, other) = match (values, row) {
            (Values::Integers(one), Values::Integers(other)) if one.len() == other.len() => {
                let pairs = one.into_iter().zip(other);
                return Ok(Values::Integers(pairs.map(|(a, b)| whole(a, b)).collect()));
            }
            (one, other) => (one.floats(), other.floats()),
        };
        if (one.0, one.1.len()) != (other.0, other.1.len()) {
            return Err(Error::Length {
                what: "values of a row",
                expected: one.1.len(),
                got: other.1.len(),
            });
        }
        let pairs = one.1.into_iter().zip(other.1);
        Ok(Values::Floats(
            one.0,
            pairs.map(|(a, b)| real(a, b)).collect(),
        ))
    }

    /// Returns `true` if the joined value is the extreme of the operator, or of the metric for a
    /// mean.
    fn is_extreme(&self, operator: Operator, combine: Combine) -> bool {
        self.operator == operator || (self.operator == Operator::Mean && self.combine == combine)
    }

    /// Returns the row in the type of the result; `None` if no profile has a row.
    pub(super) fn finish(mut self, value_type: ValueType) -> Option<Severities> {
        // A profile without a row has zeros.
        if self.is_additive() && self.rows < self.profiles && self.operator != Operator::Mean {
            let values = self.values.take()?;
            let zeros = match &values {
                Values::Integers(values) => Values::Integers(vec![0; values.len()]),
                Values::Floats(width, values) => Values::Floats(*width, vec![0.0; values.len()]),
            };
            self.values = self.joined(values, zeros).ok();
        }
        let is_mean = self.operator == Operator::Mean && self.is_additive();
        let divisor = if is_mean { self.profiles as f64 } else { 1.0 };
        Some(match (self.values?, value_type) {
            (Values::Integers(values), ValueType::U64) => {
                let largest = i128::from(u64::MAX);
                let values = values.into_iter();
                Severities::U64(values.map(|value| value.clamp(0, largest) as u64).collect())
            }
            (Values::Integers(values), ValueType::I64) => {
                let (least, most) = (i128::from(i64::MIN), i128::from(i64::MAX));
                let values = values.into_iter();
                Severities::I64(
                    values
                        .map(|value| value.clamp(least, most) as i64)
                        .collect(),
                )
            }
            (values, _) => {
                let (width, mut values) = values.floats();
                for value in &mut values {
                    *value /= divisor;
                }
                match self.combine.width() {
                    1 => Severities::F64(values),
                    _ => Severities::Tuples { width, values },
                }
            }
        })
    }
}

impl Values {
    fn floats(self) -> (usize, Vec<f64>) {
        match self {
            Values::Integers(values) => (1, values.into_iter().map(|value| value as f64).collect()),
            Values::Floats(width, values) => (width, values),
        }
    }
}
