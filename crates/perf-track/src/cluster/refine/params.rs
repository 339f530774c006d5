//! [`RefineParams`]: source of the radii of the steps ([`RefineMode`]), minimum number of points
//! and perfect score of a refinement; [`RefineChecked`]: their validated form.

use crate::cluster::Border;
use crate::{Error, Result};

/// Source of the eps of the steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RefineMode {
    /// Equal ratios between two marks of the k-distance graph of the points.
    #[default]
    ScaleFree,
    /// As the established tool chooses them: ten values of the k-distance graph (k = `min_points`, not
    /// counting the point itself) at equal steps of rank, from the highest 0.5 % to the knee; all values
    /// in between if there are fewer than ten.
    Published,
}

perf_core::parameters! {
    /// Parameters of [`Refinement`](super::Refinement). Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_track::cluster::{RefineMode, Refinement};
    /// // As published, for 64 threads: neighbourhoods of 16 points.
    /// assert!(Refinement::params().for_threads(64).mode(RefineMode::Published).check().is_ok());
    /// assert!(Refinement::params().min_points(1).check().is_err());
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct RefineParams {
        /// Sets the number of points within eps that make a point core, itself included. Default 4, at
        /// least 2; the published method takes a quarter of the number of threads
        /// ([`for_threads`](Self::for_threads)).
        min_points: usize = 4,
        /// Sets the number of steps of [`RefineMode::ScaleFree`]; default 10, in `1..=10_000`.
        steps: usize = 10,
        /// Sets the smallest score at which a cluster is settled; default 1.
        perfect: f64 = 1.0,
        /// Sets the source of the eps of the steps; default [`RefineMode::ScaleFree`].
        mode: RefineMode = RefineMode::default(),
        /// Sets the rule for border points; default [`Border::LowestCore`].
        border: Border = Border::default(),
        /// Sets the smallest and the largest eps, in `1e-150..=1e150`: the first and last step of
        /// [`RefineMode::ScaleFree`], and the limits of the list of [`RefineMode::Published`]. By default
        /// they are derived from the distances of the points.
        range: Option<(f64, f64)> = None => |low: f64, high: f64| Some((low, high)),
    }
}

impl RefineParams {
    /// Sets [`min_points`](Self::min_points) to a quarter of the number of threads, at least 2.
    pub fn for_threads(self, threads: usize) -> Self {
        self.min_points((threads / 4).max(2))
    }

    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a parameter out of range.
    pub fn check(self) -> Result<RefineChecked> {
        let wrong = |name, value: String, range| Err(Error::Parameter { name, value, range });
        if self.min_points < 2 {
            return wrong("min_points", self.min_points.to_string(), "at least 2");
        }
        if !(1..=10_000).contains(&self.steps) {
            return wrong("steps", self.steps.to_string(), "from 1 to 10,000");
        }
        if let Some((low, high)) = self.range
            && !(1e-150 <= low && low <= high && high <= 1e150)
        {
            let value = format!("{low} to {high}");
            return wrong(
                "range of eps",
                value,
                "from 1e-150 to 1e150, in ascending order",
            );
        }
        if !self.perfect.is_finite() {
            return wrong("perfect", self.perfect.to_string(), "finite");
        }
        Ok(RefineChecked(self))
    }
}

/// Parameters validated by [`RefineParams::check`], with which a [`Refinement`](super::Refinement)
/// runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RefineChecked(RefineParams);

impl RefineChecked {
    pub(super) fn min_points(&self) -> usize {
        self.0.min_points
    }

    pub(super) fn steps(&self) -> usize {
        self.0.steps
    }

    pub(super) fn perfect(&self) -> f64 {
        self.0.perfect
    }

    pub(super) fn mode(&self) -> RefineMode {
        self.0.mode
    }

    pub(super) fn range(&self) -> Option<(f64, f64)> {
        self.0.range
    }

    pub(super) fn border(&self) -> Border {
        self.0.border
    }
}
