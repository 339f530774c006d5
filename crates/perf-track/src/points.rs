//! [`Points`]: coordinates of the points to be clustered, as a flat slice.

use crate::{Error, Result};

/// Points in a space of few dimensions: `len` rows of `dimensions` coordinates in row-major order.
/// All coordinates are finite.
///
/// ```
/// use perf_track::Points;
/// let points = Points::new(&[0.0, 1.0, 0.5, 0.25], 2)?;
/// assert_eq!((points.len(), points.dimensions()), (2, 2));
/// assert_eq!(points.get(1), Some(&[0.5, 0.25][..]));
/// assert!(Points::new(&[0.0, f64::NAN], 2).is_err());
/// # Ok::<(), perf_track::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Points<'a> {
    /// Coordinates in row-major order.
    values: &'a [f64],
    /// Number of dimensions.
    dimensions: usize,
}

impl<'a> Points<'a> {
    /// Creates points from their coordinates in row-major order.
    ///
    /// # Errors
    /// Returns [`Error::NoDimensions`] for 0 dimensions, [`Error::Length`] if the last row is
    /// incomplete, [`Error::NotFinite`] for a coordinate that is not finite, or [`Error::TooMany`]
    /// for more points than 32 bits can count.
    pub fn new(values: &'a [f64], dimensions: usize) -> Result<Self> {
        if dimensions == 0 {
            return Err(Error::NoDimensions);
        }
        if !values.len().is_multiple_of(dimensions) {
            return Err(Error::Length {
                what: "coordinates of the last point",
                expected: dimensions,
                got: values.len() % dimensions,
            });
        }
        if values.len() / dimensions > u32::MAX as usize {
            return Err(Error::TooMany {
                what: "points",
                limit: u64::from(u32::MAX),
            });
        }
        if let Some(at) = values.iter().position(|value| !value.is_finite()) {
            return Err(Error::NotFinite {
                point: at / dimensions,
                dimension: at % dimensions,
                value: values[at],
            });
        }
        Ok(Points { values, dimensions })
    }

    /// Returns the number of points.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    /// Returns `true` if there are no points.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the number of coordinates of each point.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// Returns all coordinates in row-major order.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// Returns the coordinates of a point; `None` if the point does not exist.
    pub fn get(&self, index: usize) -> Option<&'a [f64]> {
        let start = index.checked_mul(self.dimensions)?;
        self.values.get(start..start.checked_add(self.dimensions)?)
    }

    /// Returns the points in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, f64> {
        self.values.chunks_exact(self.dimensions)
    }
}
