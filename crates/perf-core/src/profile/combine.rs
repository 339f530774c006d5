//! [`Combine`]: rule that combines the values of a metric over locations and call paths.

use super::Severities;
use crate::Value;

/// Rule that combines the values of a metric over locations and call paths; it also defines the
/// structure of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Combine {
    /// Additive numbers.
    #[default]
    Sum,
    /// Minimum of numbers; infinity if there are none.
    Minimum,
    /// Maximum of numbers; minus infinity if there are none.
    Maximum,
    /// Tuples of this many floats that are added element by element, such as complex numbers or
    /// (amount, duration).
    Elementwise(u32),
    /// Tuples (count, minimum, maximum, sum, sum of squares).
    Statistics,
    /// Tuples (minimum, maximum, then this many bins). Bins are additive.
    Histogram(u32),
    /// Ratios and other values that cannot be combined. The number is the width of the tuples, 1
    /// for plain numbers.
    Never(u32),
}

impl Combine {
    /// Returns the number of floats for each value; 1 for single numbers.
    pub fn width(self) -> usize {
        match self {
            Combine::Sum | Combine::Minimum | Combine::Maximum => 1,
            Combine::Elementwise(width) | Combine::Never(width) => width.max(1) as usize,
            Combine::Statistics => 5,
            Combine::Histogram(bins) => bins as usize + 2,
        }
    }

    /// Combines a row into one value. If the values are tuples, their first numbers are combined.
    /// Returns NaN if the values cannot be combined.
    pub fn total(self, row: &Severities) -> Value {
        let extreme = |of: fn(f64, f64) -> f64, none| {
            let values = row.to_f64();
            Value::F64(values.into_iter().fold(none, of))
        };
        match self {
            Combine::Minimum => extreme(f64::min, f64::INFINITY),
            Combine::Maximum => extreme(f64::max, f64::NEG_INFINITY),
            Combine::Never(_) => Value::F64(f64::NAN),
            _ => row.sum(),
        }
    }

    /// Combines a row over parts of the machine into one number for each part. `parts` holds the
    /// number of the part of each location; a number past the end of `values` means that the
    /// location is in no part. If the values are tuples, their first numbers are combined. A part
    /// without a location is 0. A part with several values that cannot be combined is NaN.
    ///
    /// ```
    /// use perf_core::{Combine, Severities};
    /// let row = Severities::F64(vec![3.0, 1.0, 2.0]);
    /// let mut parts = [0.0; 3];
    /// Combine::Sum.over_parts(&row, &[0, 0, 2], &mut parts);
    /// assert_eq!(parts, [4.0, 0.0, 2.0]);
    /// Combine::Maximum.over_parts(&row, &[0, 0, 2], &mut parts);
    /// assert_eq!(parts, [3.0, 0.0, 2.0]);
    /// Combine::Never(1).over_parts(&row, &[0, 0, 2], &mut parts);
    /// assert!(parts[0].is_nan() && parts[2] == 2.0);
    /// ```
    pub fn over_parts(self, row: &Severities, parts: &[u32], values: &mut [f64]) {
        values.fill(0.0);
        match self {
            Combine::Minimum | Combine::Histogram(_) => {
                mark(parts, values, |_| f64::INFINITY);
                // NaN is kept.
                row.each(parts, values, |slot, value| {
                    *slot = if value < *slot || value.is_nan() {
                        value
                    } else {
                        *slot
                    };
                });
            }
            Combine::Maximum => {
                mark(parts, values, |_| f64::NEG_INFINITY);
                row.each(parts, values, |slot, value| {
                    *slot = if value > *slot || value.is_nan() {
                        value
                    } else {
                        *slot
                    };
                });
            }
            Combine::Never(_) => {
                // Counts the locations of each part. A part with one location takes its value.
                mark(parts, values, |count| count + 1.0);
                row.each(parts, values, |slot, value| {
                    *slot = if *slot == 1.0 { value } else { f64::NAN };
                });
            }
            Combine::Sum | Combine::Elementwise(_) | Combine::Statistics => {
                row.each(parts, values, |slot, value| *slot += value);
            }
        }
    }

    /// Adds a value to another; both have [`width`](Self::width) floats.
    pub fn add(self, to: &mut [f64], value: &[f64]) {
        self.each(to, value, |role, to, value| match role {
            Role::Smallest => to.min(value),
            Role::Largest => to.max(value),
            Role::Amount => to + value,
        });
    }

    /// Subtracts a part from a whole. Values that cannot be subtracted, such as minima, are
    /// unchanged.
    pub fn subtract(self, from: &mut [f64], value: &[f64]) {
        self.each(from, value, |role, from, value| match role {
            Role::Smallest | Role::Largest => from,
            Role::Amount => from - value,
        });
    }

    fn each(self, to: &mut [f64], values: &[f64], f: impl Fn(Role, f64, f64) -> f64) {
        // Statistics of zero samples have no minimum and maximum.
        if self == Combine::Statistics && values.first() == Some(&0.0) {
            return;
        }
        let is_first = self == Combine::Statistics && to.first() == Some(&0.0);
        for (at, (to, value)) in to.iter_mut().zip(values).enumerate() {
            let role = match (self, at) {
                (Combine::Minimum, _) => Role::Smallest,
                (Combine::Maximum, _) => Role::Largest,
                (Combine::Statistics, 1) | (Combine::Histogram(_), 0) => Role::Smallest,
                (Combine::Statistics, 2) | (Combine::Histogram(_), 1) => Role::Largest,
                _ => Role::Amount,
            };
            *to = match role {
                Role::Smallest | Role::Largest if is_first => *value,
                role => f(role, *to, *value),
            };
        }
    }
}

/// Applies `to` to the value of a part once for each of its locations.
fn mark(parts: &[u32], values: &mut [f64], to: impl Fn(f64) -> f64) {
    for part in parts {
        if let Some(slot) = values.get_mut(*part as usize) {
            *slot = to(*slot);
        }
    }
}

#[derive(Clone, Copy)]
enum Role {
    /// Minimum.
    Smallest,
    /// Maximum.
    Largest,
    /// Additive number.
    Amount,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statistics_of_no_samples_change_nothing() {
        let mut sum = [0.0; 5];
        Combine::Statistics.add(&mut sum, &[2.0, 3.0, 7.0, 10.0, 58.0]);
        Combine::Statistics.add(&mut sum, &[0.0; 5]);
        Combine::Statistics.add(&mut sum, &[1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(sum, [3.0, 1.0, 7.0, 11.0, 59.0]);
        Combine::Statistics.subtract(&mut sum, &[1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(sum, [2.0, 1.0, 7.0, 10.0, 58.0]);
    }

    #[test]
    fn nothing_is_larger_than_the_smallest_of_none() {
        let none = Severities::F64(vec![]);
        assert_eq!(Combine::Minimum.total(&none), Value::F64(f64::INFINITY));
        let two = Severities::F64(vec![2.0, 1.0]);
        assert_eq!(Combine::Minimum.total(&two), Value::F64(1.0));
        assert_eq!(Combine::Maximum.total(&two), Value::F64(2.0));
    }

    #[test]
    fn parts_are_combined_by_the_rule_of_the_metric() {
        let parts = [1, u32::MAX, 1, 0, 3];
        let over = |combine: Combine, row: &Severities| {
            let mut values = [9.0; 4];
            combine.over_parts(row, &parts, &mut values);
            values
        };
        let row = Severities::I64(vec![-4, 100, 6, 5, -1]);
        assert_eq!(over(Combine::Sum, &row), [5.0, 2.0, 0.0, -1.0]);
        assert_eq!(over(Combine::Minimum, &row), [5.0, -4.0, 0.0, -1.0]);
        assert_eq!(over(Combine::Maximum, &row), [5.0, 6.0, 0.0, -1.0]);
        let never = over(Combine::Never(1), &row);
        assert!(never[1].is_nan());
        assert_eq!([never[0], never[2], never[3]], [5.0, 0.0, -1.0]);
        // Three locations in one part, the first with the value 1.
        let mut one = [0.0];
        let ones = Severities::F64(vec![1.0; 3]);
        Combine::Never(1).over_parts(&ones, &[0; 3], &mut one);
        assert!(one[0].is_nan());
        let odd = Severities::F64(vec![f64::NAN, 0.0, 1.0, 2.0, 3.0]);
        assert!(over(Combine::Minimum, &odd)[1].is_nan());
        assert!(over(Combine::Maximum, &odd)[1].is_nan());
        // First numbers of tuples: minima of histograms, counts of statistics.
        let values = (0..15).map(f64::from).collect();
        let tuples = Severities::Tuples { width: 3, values };
        assert_eq!(over(Combine::Histogram(1), &tuples), [9.0, 0.0, 0.0, 12.0]);
        assert_eq!(
            over(Combine::Elementwise(3), &tuples),
            [9.0, 6.0, 0.0, 12.0]
        );
        assert_eq!(
            over(Combine::Sum, &Severities::U64(vec![1; 5])),
            [1.0, 2.0, 0.0, 1.0]
        );
    }
}
