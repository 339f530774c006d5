//! [`Remainder`]: noise points of a clustering, which are clustered separately, and the union of
//! both results.

use crate::{ClusterId, Error, Labels, Points, Result};

/// Noise points of a clustering, to be clustered separately.
///
/// Phases with few long bursts are sparse compared with phases of many short bursts, so that a single
/// density does not suit both. A first clustering with a large minimum number of points, and a second
/// clustering of the noise with a small number, find both kinds of phases. The second does not join
/// clusters of the first.
///
/// ```
/// use perf_track::cluster::Remainder;
/// use perf_track::{ClusterId, Labels, Points};
/// let labels = |ids: &[u32]| Labels::new(ids.iter().copied().map(ClusterId).collect());
/// let points = Points::new(&[0.0, 0.1, 5.0, 0.2, 5.1], 1)?;
/// let first = labels(&[1, 1, 0, 1, 0]);
/// let left = Remainder::of(points, &first)?;
/// assert_eq!((left.rows(), left.points()?.values()), (&[2, 4][..], &[5.0, 5.1][..]));
/// assert_eq!(left.merged(&first, &labels(&[1, 1]))?, labels(&[1, 1, 2, 1, 2]));
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct Remainder {
    /// Index of each point.
    rows: Vec<u32>,
    /// Coordinates in row-major order.
    values: Vec<f64>,
    /// Number of dimensions.
    dimensions: usize,
}

impl Remainder {
    /// Selects the noise of a clustering.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one label for each point.
    pub fn of(points: Points<'_>, labels: &Labels) -> Result<Self> {
        if labels.len() != points.len() {
            return Err(Error::Length {
                what: "labels of points",
                expected: points.len(),
                got: labels.len(),
            });
        }
        let (mut rows, mut values) = (Vec::new(), Vec::new());
        let noise = labels.as_slice().iter().zip(points.iter()).zip(0..);
        for ((_, point), row) in noise.filter(|((id, _), _)| id.is_noise()) {
            rows.push(row);
            values.extend_from_slice(point);
        }
        Ok(Remainder {
            rows,
            values,
            dimensions: points.dimensions(),
        })
    }

    /// Returns the index of each remaining point among all points, in ascending order.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// Returns the remaining points.
    ///
    /// # Errors
    /// Never fails, because the remaining points were valid before.
    pub fn points(&self) -> Result<Points<'_>> {
        Points::new(&self.values, self.dimensions)
    }

    /// Selects the values of the remaining points from a list with a value for each point. A missing
    /// value becomes 0.
    pub fn pick(&self, of_points: &[f64]) -> Vec<f64> {
        let of = |&row: &u32| of_points.get(row as usize).copied().unwrap_or_default();
        self.rows.iter().map(of).collect()
    }

    /// Appends the clusters of the remainder to the first clustering.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if there is not one label for each point of the remainder, or if
    /// `first` does not have one of the points.
    pub fn merged(&self, first: &Labels, rest: &Labels) -> Result<Labels> {
        let wrong = |expected, got| Error::Length {
            what: "labels of points",
            expected,
            got,
        };
        if rest.len() != self.rows.len() {
            return Err(wrong(self.rows.len(), rest.len()));
        }
        let next = first.as_slice().iter().map(|id| id.0).max().unwrap_or(0);
        let mut all = first.as_slice().to_vec();
        for (&row, id) in self.rows.iter().zip(rest.as_slice()) {
            let (row, known) = (row as usize, all.len());
            let slot = all.get_mut(row).ok_or_else(|| wrong(row + 1, known))?;
            if !id.is_noise() {
                *slot = ClusterId(next.saturating_add(id.0));
            }
        }
        Ok(Labels::new(all))
    }
}
