//! [`HdbscanParams`]: minimum cluster size and number of neighbours for core distances of HDBSCAN;
//! [`HdbscanChecked`]: their validated form.

use crate::{Error, Result};

perf_core::parameters! {
    /// Parameters of [`Hdbscan`](super::Hdbscan). Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_track::cluster::Hdbscan;
    /// let checked = Hdbscan::params().min_cluster_size(5).check()?;
    /// assert_eq!((checked.min_cluster_size(), checked.min_points()), (5, 5));
    /// assert!(Hdbscan::params().min_cluster_size(1).check().is_err());
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct HdbscanParams {
        /// Sets the minimum number of points of a cluster. Default 10, at least 2.
        min_cluster_size: Option<usize> = None => |size: usize| Some(size),
        /// Sets the number of points within the core distance, the point included, which lengthens thin
        /// bridges between clusters. Default `min_cluster_size`, at least 1.
        min_points: Option<usize> = None => |min_points: usize| Some(min_points),
        /// Allows all points to be one cluster. Default `false`, with which all points are noise if they
        /// never split.
        single: bool = false,
    }
}

impl HdbscanParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a number out of range.
    pub fn check(self) -> Result<HdbscanChecked> {
        let checked = HdbscanChecked(self);
        let wrong = |name, value: usize, range| {
            let value = value.to_string();
            Err(Error::Parameter { name, value, range })
        };
        match (checked.min_cluster_size(), checked.min_points()) {
            (size @ 0..2, _) => wrong("min_cluster_size", size, "at least 2"),
            (_, 0) => wrong("min_points", 0, "at least 1"),
            _ => Ok(checked),
        }
    }
}

/// Parameters validated by [`HdbscanParams::check`], with which an [`Hdbscan`](super::Hdbscan)
/// runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HdbscanChecked(HdbscanParams);

impl HdbscanChecked {
    /// Returns the minimum number of points of a cluster.
    pub fn min_cluster_size(&self) -> usize {
        self.0.min_cluster_size.unwrap_or(10)
    }

    /// Returns the number of points within the core distance of a point.
    pub fn min_points(&self) -> usize {
        self.0.min_points.unwrap_or(self.min_cluster_size())
    }

    pub(super) fn single(&self) -> bool {
        self.0.single
    }
}
