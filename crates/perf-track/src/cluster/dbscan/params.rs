//! [`DbscanParams`]: radius, minimum number of points, rule for border points and index structure
//! of DBSCAN; [`Checked`]: their validated form.

use crate::{Error, Result};

/// Rule for a border point that core points of several clusters reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Border {
    /// The cluster of the core point of lowest index within eps. The result does not depend on the
    /// numbering of clusters or on the search.
    #[default]
    LowestCore,
    /// The rule of established burst clustering, which visits points in order. A cluster starts at
    /// its core point of lowest index and takes all points of its ball, including those of other
    /// clusters. From then on it takes only unassigned points. A border point thus belongs to the
    /// last cluster whose starting point is within eps. If there is none, it belongs to the first
    /// cluster that reaches it. The result depends on the order of points.
    PeerCompatible,
}

/// Index structure for the search of neighbours. Labels do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Index {
    /// A grid for up to 3 dimensions. A k-d tree for more, and if eps is less than about 10^-8 of
    /// the extent of the points.
    #[default]
    Auto,
    /// Always a k-d tree.
    Tree,
}

perf_core::parameters! {
    /// Parameters of [`Dbscan`](super::Dbscan). Set them, then call [`check`](Self::check).
    ///
    /// ```
    /// use perf_track::cluster::{Border, Dbscan};
    /// let params = Dbscan::params().eps(0.04).min_points(4).border(Border::PeerCompatible);
    /// assert_eq!(params.check()?.min_points(), 4);
    /// assert!(Dbscan::params().eps(0.0).check().is_err());
    /// # Ok::<(), perf_track::Error>(())
    /// ```
    #[derive(Clone, Debug, PartialEq)]
    pub struct DbscanParams {
        /// Sets the radius of the neighbourhood, in the unit of the coordinates. Default 0.01, which is
        /// usual for coordinates scaled to 0..1; at least 10^-150 and at most 10^150, so that squares
        /// of distances near it have full precision.
        eps: f64 = 0.01,
        /// Sets the number of points within eps that make a point core, itself included. Default 10, at
        /// least 1.
        min_points: usize = 10,
        /// Sets the rule for border points. Default [`Border::LowestCore`].
        border: Border = Border::default(),
        /// Sets the index structure. Default [`Index::Auto`].
        index: Index = Index::default(),
    }
}

impl DbscanParams {
    /// Validates the parameters.
    ///
    /// # Errors
    /// Returns [`Error::Parameter`] for a radius or number of points out of range.
    pub fn check(self) -> Result<Checked> {
        if !(1e-150..=1e150).contains(&self.eps) {
            return Err(Error::Parameter {
                name: "eps",
                value: self.eps.to_string(),
                range: "from 1e-150 to 1e150",
            });
        }
        if self.min_points == 0 {
            return Err(Error::Parameter {
                name: "min_points",
                value: "0".into(),
                range: "at least 1",
            });
        }
        Ok(Checked(self))
    }
}

/// Parameters validated by [`DbscanParams::check`], with which a [`Dbscan`](super::Dbscan) runs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked(DbscanParams);

impl Checked {
    /// Returns the radius of the neighbourhood.
    pub fn eps(&self) -> f64 {
        self.0.eps
    }

    /// Returns the number of points within eps that make a point core.
    pub fn min_points(&self) -> usize {
        self.0.min_points
    }

    /// Returns the rule for border points.
    pub fn border(&self) -> Border {
        self.0.border
    }

    /// Returns the index structure.
    pub fn index(&self) -> Index {
        self.0.index
    }
}
