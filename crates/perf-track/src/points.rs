//! [`Points`]: what is clustered.

use crate::{Error, Result};

/// Points in a space of few dimensions: `len` rows of `dimensions` coordinates, row after row.
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
    values: &'a [f64],
    dimensions: usize,
}

impl<'a> Points<'a> {
    /// Points from their coordinates, row after row.
    ///
    /// # Errors
    /// No dimensions, a last row that is not whole, a coordinate that is not finite, or more
    /// points than 32 bits count.
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

    /// How many points there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimensions
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Coordinates of each point.
    pub fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// All coordinates, row after row.
    pub fn values(&self) -> &'a [f64] {
        self.values
    }

    /// The coordinates of one point.
    pub fn get(&self, index: usize) -> Option<&'a [f64]> {
        let start = index.checked_mul(self.dimensions)?;
        self.values.get(start..start.checked_add(self.dimensions)?)
    }

    /// The points in order.
    pub fn iter(&self) -> std::slice::ChunksExact<'a, f64> {
        self.values.chunks_exact(self.dimensions)
    }
}
