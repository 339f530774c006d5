//! [`Severities`]: one row of a profile, with one value for each location.

use crate::{LocationId, Value, ValueType};

/// Severity view of one metric and call path. It has one value for each location, with the type of
/// the metric.
///
/// ```
/// use perf_core::{LocationId, Severities, Value};
/// let row = Severities::U64(vec![3, 0, 9]);
/// assert_eq!((row.len(), row.sum()), (3, Value::U64(12)));
/// assert_eq!(row.get(LocationId(2)), Some(Value::U64(9)));
/// assert_eq!(row.get(LocationId(3)), None);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Severities {
    /// Unsigned.
    U64(Vec<u64>),
    /// Signed.
    I64(Vec<i64>),
    /// Floating point.
    F64(Vec<f64>),
    /// `width` floats for each location, one location after the other; see
    /// [`Combine`](super::Combine).
    Tuples {
        /// Number of floats for each location, at least 1.
        width: usize,
        /// All floats, `width` times the number of locations.
        values: Vec<f64>,
    },
}

impl Severities {
    /// Returns zeros of type `kind` for `locations` locations.
    pub fn zeros(kind: ValueType, locations: usize) -> Self {
        match kind {
            ValueType::U64 => Severities::U64(vec![0; locations]),
            ValueType::I64 => Severities::I64(vec![0; locations]),
            ValueType::F64 => Severities::F64(vec![0.0; locations]),
        }
    }

    /// Returns the number of locations.
    pub fn len(&self) -> usize {
        match self {
            Severities::U64(values) => values.len(),
            Severities::I64(values) => values.len(),
            Severities::F64(values) => values.len(),
            Severities::Tuples { width, values } => values.len() / width.max(&1),
        }
    }

    /// Returns `true` if there are no locations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the severity at a location, or the first number if it is a tuple. Returns `None` if
    /// there is no such location.
    pub fn get(&self, location: LocationId) -> Option<Value> {
        let at = location.index();
        match self {
            Severities::U64(values) => values.get(at).copied().map(Value::U64),
            Severities::I64(values) => values.get(at).copied().map(Value::I64),
            Severities::F64(values) => values.get(at).copied().map(Value::F64),
            Severities::Tuples { .. } => self.tuple(location)?.first().copied().map(Value::F64),
        }
    }

    /// Returns the tuple at a location. Returns `None` for single numbers, or if there is no such
    /// location.
    pub fn tuple(&self, location: LocationId) -> Option<&[f64]> {
        let Severities::Tuples { width, values } = self else {
            return None;
        };
        let start = location.index().checked_mul(*width)?;
        values.get(start..start.checked_add(*width)?)
    }

    /// Converts all values to floats. Integers above 2^53 are rounded. If the values are tuples,
    /// their first numbers are returned.
    pub fn to_f64(&self) -> Vec<f64> {
        match self {
            Severities::U64(values) => values.iter().map(|value| *value as f64).collect(),
            Severities::I64(values) => values.iter().map(|value| *value as f64).collect(),
            Severities::F64(values) => values.clone(),
            Severities::Tuples { width, values } => {
                values.iter().step_by((*width).max(1)).copied().collect()
            }
        }
    }

    /// Returns the sum over all locations. If the values are tuples, their first numbers are added.
    /// Integer sums saturate.
    pub fn sum(&self) -> Value {
        match self {
            Severities::U64(values) => Value::U64(
                values
                    .iter()
                    .fold(0, |sum, value| sum.saturating_add(*value)),
            ),
            Severities::I64(values) => Value::I64(
                values
                    .iter()
                    .fold(0, |sum, value| sum.saturating_add(*value)),
            ),
            Severities::F64(values) => Value::F64(values.iter().sum()),
            Severities::Tuples { .. } => Value::F64(self.to_f64().iter().sum()),
        }
    }

    /// Calls `f` with the slot of the part of each location and the value of the location, or the
    /// first number of a tuple.
    pub(super) fn each(&self, parts: &[u32], slots: &mut [f64], f: impl Fn(&mut f64, f64)) {
        fn pairs<'a, T: 'a>(
            parts: &[u32],
            slots: &mut [f64],
            values: impl Iterator<Item = &'a T>,
            f: impl Fn(&mut f64, &T),
        ) {
            for (part, value) in parts.iter().zip(values) {
                if let Some(slot) = slots.get_mut(*part as usize) {
                    f(slot, value);
                }
            }
        }
        match self {
            Severities::U64(all) => {
                pairs(parts, slots, all.iter(), |to, value| f(to, *value as f64))
            }
            Severities::I64(all) => {
                pairs(parts, slots, all.iter(), |to, value| f(to, *value as f64))
            }
            Severities::F64(all) => pairs(parts, slots, all.iter(), |to, value| f(to, *value)),
            Severities::Tuples { width, values } => {
                let firsts = values.iter().step_by((*width).max(1));
                pairs(parts, slots, firsts, |to, value| f(to, *value));
            }
        }
    }
}
