//! [`Matrix`]: what an evaluator says of each pair of clusters.

use crate::ClusterId;

/// A value for each cluster of one frame (rows) and each of another (columns); NaN where there is
/// no opinion, such as where the callers of one of the two are not known.
///
/// ```
/// # use perf_core::Job;
/// # use perf_track::tracking::{Observation, Tracking};
/// # use perf_track::{ClusterId, Points};
/// # let id = [ClusterId(1); 2];
/// # let runs = [(4_u32, 8e9_f64), (8, 4e9), (16, 2e9)];
/// # let points: Vec<[f64; 2]> = runs.iter().map(|run| [run.1 * f64::from(run.0); 2]).collect();
/// # let mut frames = Vec::new();
/// # for (run, points) in runs.iter().zip(&points) {
/// #     frames.push(Observation::new("", run.0, Points::new(points, 1)?, &id, &[run.1 / 2e9; 2])?);
/// # }
/// # let tracking = Tracking::of(&frames, &Default::default(), &Job::default())?;
/// // One phase in three frames: what the evaluators say of its cluster in the first two.
/// let pair = tracking.pair(0, 1).expect("neighbours are compared");
/// assert_eq!((pair.evidence.rows(), pair.evidence.columns()), (1, 1));
/// assert!(pair.evidence.get(ClusterId(1), ClusterId(1)).is_some_and(|sure| sure > 0.5));
/// assert_eq!(pair.evidence.get(ClusterId(1), ClusterId(2)), None);
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Matrix {
    rows: usize,
    columns: usize,
    values: Vec<f64>,
}

impl Matrix {
    /// All values alike.
    pub(crate) fn filled(rows: usize, columns: usize, value: f64) -> Self {
        let values = vec![value; rows * columns];
        Matrix {
            rows,
            columns,
            values,
        }
    }

    /// A value computed for each row and column.
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

    /// Clusters of the first frame.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Clusters of the second frame.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The value for a cluster of the first frame and one of the second; `None` for noise, for
    /// clusters that do not exist and where there is no opinion.
    pub fn get(&self, from: ClusterId, to: ClusterId) -> Option<f64> {
        let (row, column) = (from.index()?, to.index()?);
        let value = self.row(row)?.get(column)?;
        (!value.is_nan()).then_some(*value)
    }

    /// All values of a row (cluster `row + 1` of the first frame), NaN for no opinion.
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

    /// Makes a value at least this.
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

    /// Each row divided by its sum; rows without anything become NaN: no opinion.
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
