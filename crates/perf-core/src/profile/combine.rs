//! [`Combine`]: how values become one.

use super::Severities;
use crate::Value;

/// How values of a metric become one, over locations and call paths, and so what a value is made
/// of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Combine {
    /// Numbers that add up.
    #[default]
    Sum,
    /// Numbers of which the smallest counts. Without any it is infinity.
    Minimum,
    /// Numbers of which the largest counts. Without any it is minus infinity.
    Maximum,
    /// Tuples of this many floats that add up one by one: complex numbers, (amount, duration).
    Elementwise(u32),
    /// (count, smallest, largest, sum, sum of squares).
    Statistics,
    /// (smallest, largest, then this many bins); bins add up.
    Histogram(u32),
    /// Ratios and the like, which nothing combines: tuples of this many floats, 1 for numbers.
    Never(u32),
}

impl Combine {
    /// Floats a value; 1 for single numbers.
    pub fn width(self) -> usize {
        match self {
            Combine::Sum | Combine::Minimum | Combine::Maximum => 1,
            Combine::Elementwise(width) | Combine::Never(width) => width.max(1) as usize,
            Combine::Statistics => 5,
            Combine::Histogram(bins) => bins as usize + 2,
        }
    }

    /// A row as one value; of tuples that of the first numbers, of what nothing combines NaN.
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

    /// Adds a value to another; both are of [`width`](Self::width) floats.
    pub fn add(self, to: &mut [f64], value: &[f64]) {
        self.each(to, value, |role, to, value| match role {
            Role::Smallest => to.min(value),
            Role::Largest => to.max(value),
            Role::Amount => to + value,
        });
    }

    /// Takes a part out of a whole; what has no difference, such as a smallest value, stays.
    pub fn subtract(self, from: &mut [f64], value: &[f64]) {
        self.each(from, value, |role, from, value| match role {
            Role::Smallest | Role::Largest => from,
            Role::Amount => from - value,
        });
    }

    fn each(self, to: &mut [f64], values: &[f64], f: impl Fn(Role, f64, f64) -> f64) {
        // A value of no samples has no smallest and largest one.
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

#[derive(Clone, Copy)]
enum Role {
    Smallest,
    Largest,
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
}
