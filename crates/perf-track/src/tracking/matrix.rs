//! [`Matrix`]: values of an evaluator for each pair of clusters.

use crate::ClusterId;

/// Value for each pair of a cluster of one experiment (rows) and a cluster of another one
/// (columns). NaN if the evaluator has no vote on the pair, such as for unknown callers.
///
/// ```
/// # use perf_core::Job;
/// # use perf_track::tracking::{Observation, Tracking};
/// # use perf_track::{ClusterId, Points};
/// # let id = [ClusterId(1); 2];
/// # let runs = [(4_u32, 8e9_f64), (8, 4e9), (16, 2e9)];
/// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
/// # let mut experiments = Vec::new();
/// # for (run, points) in runs.iter().zip(&points) {
/// #     experiments.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
/// # }
/// # let tracking = Tracking::of(&experiments, &Default::default(), &Job::default())?;
/// // One phase in three experiments: votes on its clusters in the first two.
/// let pair = tracking.pair(0, 1).expect("neighbours are compared");
/// assert_eq!((pair.evidence.rows(), pair.evidence.columns()), (1, 1));
/// assert!(pair.evidence.get(ClusterId(1), ClusterId(1)).is_some_and(|sure| sure > 0.5));
/// assert_eq!(pair.evidence.get(ClusterId(1), ClusterId(2)), None);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Matrix {
    /// Number of rows.
    rows: usize,
    /// Number of columns.
    columns: usize,
    /// Values in row-major order.
    values: Vec<f64>,
}

impl Matrix {
    /// Creates a matrix of equal values.
    pub(crate) fn filled(rows: usize, columns: usize, value: f64) -> Self {
        let values = vec![value; rows * columns];
        Matrix {
            rows,
            columns,
            values,
        }
    }

    /// Creates a matrix with a value computed for each row and column.
    pub(crate) fn from_fn(
        rows: usize,
        columns: usize,
        mut value: impl FnMut(usize, usize) -> f64,
    ) -> Self {
        let cells = (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column)));
        Matrix {
            rows,
            columns,
            values: cells.map(|(row, column)| value(row, column)).collect(),
        }
    }

    /// Returns the number of clusters of the first experiment.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of clusters of the second experiment.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the value for a cluster of the first experiment and a cluster of the second. `None`
    /// for noise, for clusters that do not exist, and if there is no vote.
    pub fn get(&self, from: ClusterId, to: ClusterId) -> Option<f64> {
        let (row, column) = (from.index()?, to.index()?);
        let value = self.row(row)?.get(column)?;
        (!value.is_nan()).then_some(*value)
    }

    /// Returns the values of a row, which is cluster `row + 1` of the first experiment. A value is
    /// NaN if there is no vote. `None` if there is no such row.
    pub fn row(&self, row: usize) -> Option<&[f64]> {
        let start = row.checked_mul(self.columns)?;
        (row < self.rows)
            .then(|| self.values.get(start..start + self.columns))
            .flatten()
    }

    pub(crate) fn at(&self, row: usize, column: usize) -> f64 {
        let inside = row < self.rows && column < self.columns;
        let value = inside.then(|| self.values.get(row * self.columns + column));
        value.flatten().copied().unwrap_or(f64::NAN)
    }

    pub(crate) fn add(&mut self, row: usize, column: usize, amount: f64) {
        if row < self.rows
            && column < self.columns
            && let Some(value) = self.values.get_mut(row * self.columns + column)
        {
            *value += amount;
        }
    }

    /// Raises a value to at least `least`.
    pub(crate) fn raise(&mut self, row: usize, column: usize, least: f64) {
        if row < self.rows
            && column < self.columns
            && let Some(value) = self.values.get_mut(row * self.columns + column)
        {
            *value = value.max(least);
        }
    }

    pub(crate) fn transposed(&self) -> Self {
        Matrix::from_fn(self.columns, self.rows, |row, column| self.at(column, row))
    }

    pub(crate) fn map(&self, change: impl Fn(f64) -> f64) -> Self {
        Matrix {
            values: self.values.iter().map(|&value| change(value)).collect(),
            ..*self
        }
    }

    /// Divides each row by its sum; rows with sum 0 become NaN.
    pub(crate) fn shares(&self) -> Self {
        let sum = |row| self.row(row).map_or(0.0, |row: &[f64]| row.iter().sum());
        let sums: Vec<f64> = (0..self.rows).map(sum).collect();
        Matrix::from_fn(self.rows, self.columns, |row, column| {
            self.at(row, column) / sums[row]
        })
    }

    pub(crate) fn values(&self) -> &[f64] {
        &self.values
    }
}
