//! [`DbscanParams`] and what they check to, [`Checked`].

use crate::{Error, Result};

/// Whose a border point is that core points of several clusters reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Border {
    /// The cluster of the core point of the lowest index within eps. It does not depend on how
    /// clusters are numbered or found.
    #[default]
    LowestCore,
    /// As established burst clustering does it, visiting points in order: a cluster starts at its
    /// core point of the lowest index, all points of whose ball become its own, also those of
    /// another cluster; from there on it takes only points that are nobody's. So a border point is
    /// of the last cluster whose starting point is within eps, or else of the first cluster that
    /// reaches it. The same for the same order of points.
    PeerCompatible,
}

/// How neighbours are found. Labels do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Index {
    /// A grid for up to 3 dimensions, a k-d tree for more, and where eps is less than about 10^-8
    /// of the extent of the points.
    #[default]
    Auto,
    /// A k-d tree always.
    Tree,
}

/// Parameters of [`Dbscan`](super::Dbscan): set them, then [`check`](Self::check).
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
    eps: f64,
    min_points: usize,
    border: Border,
    index: Index,
}

impl Default for DbscanParams {
    fn default() -> Self {
        DbscanParams {
            eps: 0.01,
            min_points: 10,
            border: Border::default(),
            index: Index::default(),
        }
    }
}

impl DbscanParams {
    /// Radius of the neighbourhood, in the unit of the coordinates. Default 0.01, which is usual
    /// for coordinates scaled to 0..1; at least 10^-150 and at most 10^150, so that squares of
    /// distances near it are numbers of full precision.
    pub fn eps(mut self, eps: f64) -> Self {
        self.eps = eps;
        self
    }

    /// Points within eps that make a point core, itself included. Default 10, at least 1.
    pub fn min_points(mut self, min_points: usize) -> Self {
        self.min_points = min_points;
        self
    }

    /// Whose border points are. Default [`Border::LowestCore`].
    pub fn border(mut self, border: Border) -> Self {
        self.border = border;
        self
    }

    /// How neighbours are found. Default [`Index::Auto`].
    pub fn index(mut self, index: Index) -> Self {
        self.index = index;
        self
    }

    /// Checks them.
    ///
    /// # Errors
    /// [`Error::Parameter`].
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

/// Parameters that [`DbscanParams::check`] let pass: what a [`Dbscan`](super::Dbscan) runs with.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Checked(DbscanParams);

impl Checked {
    /// Radius of the neighbourhood.
    pub fn eps(&self) -> f64 {
        self.0.eps
    }

    /// Points within eps that make a point core.
    pub fn min_points(&self) -> usize {
        self.0.min_points
    }

    /// Whose border points are.
    pub fn border(&self) -> Border {
        self.0.border
    }

    /// How neighbours are found.
    pub fn index(&self) -> Index {
        self.0.index
    }
}
