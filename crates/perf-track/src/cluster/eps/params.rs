//! [`EpsParams`]: minimum number of points, range of the sweep, allowed noise and smallest radius
//! of the search; [`EpsChecked`]: their validated form.

use crate::{Error, Result};

perf_core::parameters! {
    /// Parameters of [`EpsSearch`](super::EpsSearch). Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_track::cluster::EpsSearch;
    /// assert!(EpsSearch::params().min_points(4).check().is_ok());
    /// assert!(EpsSearch::params().min_points(1).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct EpsParams {
        /// Sets the number of points within eps that make a point core, itself included. Use the same
        /// number as for the clustering. Default 10, at least 2.
        min_points: usize = 10,
        /// Sets the extent of the sweep from the knee, down and up, in octaves. Default 3, from 0.5 to
        /// 16.
        octaves: f64 = 3.0,
        /// Sets the smallest adjusted Rand index at which two steps of the sweep agree. Default 0.9, in
        /// `0.0..=1.0`.
        alike: f64 = 0.9,
        /// Sets the largest number of points in the k-distance graph. If there are more points, the
        /// graph has every n-th point, with its distance to the neighbours among all points. Default
        /// 50,000, at least 3.
        queries: usize = 50_000,
        /// Sets the largest fraction of the weight left in noise if a larger eps takes it in; see
        /// [`choose_weighted`](super::EpsSearch::choose_weighted). Default 0.1, in `0.0..=1.0`.
        noise: f64 = 0.1,
        /// Sets the smallest radius that is tried, as a fraction of the spread of the points, which is the
        /// largest range of an axis between its 1 % and 99 % quantiles. Default 1/256, at least 0, less
        /// than 1.
        ///
        /// If many points lie very close to each other, such as equal values of a coarse clock or
        /// thousands of bursts on one axis, their nearest neighbours carry no information about
        /// clusters.
        resolution: f64 = 1.0 / 256.0,
        /// Sets the smallest radius that is tried, in units of the coordinates, such as
        /// [`Scaled::resolution`](crate::Scaled::resolution). The larger of this radius and the radius of
        /// [`resolution`](Self::resolution) applies. Default 0, finite and at least 0.
        floor: f64 = 0.0,
    }
}

impl EpsParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a parameter out of range.
    pub fn check(self) -> Result<EpsChecked> {
        let wrong = |name, value: String, range| Err(Error::Parameter { name, value, range });
        if self.min_points < 2 {
            return wrong("min_points", self.min_points.to_string(), "at least 2");
        }
        if !(0.5..=16.0).contains(&self.octaves) {
            return wrong("octaves", self.octaves.to_string(), "from 0.5 to 16");
        }
        if !(0.0..=1.0).contains(&self.alike) {
            return wrong("alike", self.alike.to_string(), "from 0 to 1");
        }
        if !(0.0..=1.0).contains(&self.noise) {
            return wrong("noise", self.noise.to_string(), "from 0 to 1");
        }
        if !(0.0..1.0).contains(&self.resolution) {
            return wrong("resolution", self.resolution.to_string(), "from 0, below 1");
        }
        if !(self.floor.is_finite() && self.floor >= 0.0) {
            return wrong("floor", self.floor.to_string(), "finite and at least 0");
        }
        if self.queries < 3 {
            return wrong("queries", self.queries.to_string(), "at least 3");
        }
        Ok(EpsChecked(self))
    }
}

/// Parameters validated by [`EpsParams::check`], with which an [`EpsSearch`](super::EpsSearch)
/// runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EpsChecked(EpsParams);

impl EpsChecked {
    /// Returns the number of points within eps that make a point core.
    pub fn min_points(&self) -> usize {
        self.0.min_points
    }

    pub(super) fn octaves(&self) -> f64 {
        self.0.octaves
    }

    pub(super) fn alike(&self) -> f64 {
        self.0.alike
    }

    pub(super) fn noise(&self) -> f64 {
        self.0.noise
    }

    pub(super) fn resolution(&self) -> f64 {
        self.0.resolution
    }

    pub(super) fn floor(&self) -> f64 {
        self.0.floor
    }

    pub(super) fn queries(&self) -> usize {
        self.0.queries
    }
}
