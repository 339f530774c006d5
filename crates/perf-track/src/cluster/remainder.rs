//! [`Remainder`]: the points that a clustering leaves in noise.

use crate::{ClusterId, Error, Labels, Points, Result};

/// The points that a clustering leaves in noise, to be clustered by themselves.
///
/// Phases of few long bursts are sparse beside those of many short ones, so that one density does
/// not suit both. Clustered first with many points a neighbourhood, then what is left with few, both
/// are found, and the second step ties nothing of the first together.
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
    rows: Vec<u32>,
    values: Vec<f64>,
    dimensions: usize,
}

impl Remainder {
    /// The noise of a clustering.
    ///
    /// # Errors
    /// [`Error::Length`] if there is not one label a point.
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

    /// Index of each of them among all points, ascending.
    pub fn rows(&self) -> &[u32] {
        &self.rows
    }

    /// The points alone.
    ///
    /// # Errors
    /// None: they were points before.
    pub fn points(&self) -> Result<Points<'_>> {
        Points::new(&self.values, self.dimensions)
    }

    /// One value of each of them, out of one of each point; 0 where there is none.
    pub fn pick(&self, of_points: &[f64]) -> Vec<f64> {
        let of = |&row: &u32| of_points.get(row as usize).copied().unwrap_or_default();
        self.rows.iter().map(of).collect()
    }

    /// The first clustering with the clusters of the remainder behind its own.
    ///
    /// # Errors
    /// [`Error::Length`] if there is not one label a point of the remainder, or a point that
    /// `first` does not have.
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
