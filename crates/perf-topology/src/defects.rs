//! [`Check`]: number of defects of a topology, by kind.

use crate::{Error, Result};

/// Defects of a topology, counted while it is built.
///
/// Correlation requires a one-to-one map from locations onto cells. In many recordings the map is
/// not one-to-one: the threads of a process share its cell, or there are fewer ranks than cells.
///
/// ```
/// use perf_topology::{AxisOrder, Shape, Topology};
/// let grid = Topology::by_order(Shape::of(&[2, 3])?, AxisOrder::LastFastest, 5);
/// let check = grid.check();
/// assert_eq!((check.locations, check.placed, check.missing), (5, 5, 1));
/// assert!(check.is_injective() && !check.is_perfect() && check.perfect().is_err());
/// # Ok::<(), perf_topology::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Check {
    /// Number of locations in the recording.
    pub locations: usize,
    /// Number of locations that lie in a cell.
    pub placed: usize,
    /// Number of locations that the source gives no coordinates for.
    pub unplaced: usize,
    /// Number of locations that are not placed because their coordinates lie outside of the grid or
    /// have the wrong number of axes.
    pub outside: usize,
    /// Number of entries that give another cell to a location that already has a cell. The first
    /// cell is kept.
    pub repeated: usize,
    /// Number of entries for ranks or locations that the recording does not have.
    pub strangers: usize,
    /// Number of cells that hold no location.
    pub missing: usize,
    /// Number of cells that hold several locations, see
    /// [`Topology::view_of`](crate::Topology::view_of).
    pub shared: usize,
}

impl Check {
    /// Returns `true` if no cell holds two locations.
    pub fn is_injective(&self) -> bool {
        self.shared == 0
    }

    /// Returns `true` if each cell holds exactly one location and all coordinates were in range.
    pub fn is_perfect(&self) -> bool {
        self.missing == 0 && self.shared == 0 && self.outside == 0
    }

    /// Requires a one-to-one map from locations onto cells.
    ///
    /// # Errors
    /// Returns [`Error::Outside`], [`Error::Shared`] or [`Error::Missing`], in this order of
    /// precedence.
    pub fn perfect(&self) -> Result<()> {
        let Check {
            outside: locations,
            shared,
            missing,
            ..
        } = *self;
        if locations > 0 {
            return Err(Error::Outside { locations });
        }
        if shared > 0 {
            return Err(Error::Shared { cells: shared });
        }
        if missing > 0 {
            return Err(Error::Missing { cells: missing });
        }
        Ok(())
    }
}
