//! [`Check`]: what a topology lacks, counted.

use crate::{Error, Result};

/// What is wrong with a topology, counted while it is put together.
///
/// A map from locations to cells that is one to one and onto is what correlation wants. Recordings
/// often fall short of it: threads of a process share its cell, ranks are fewer than cells.
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
    /// Locations of the recording.
    pub locations: usize,
    /// Those that lie in a cell.
    pub placed: usize,
    /// Those that the source gives no coordinates.
    pub unplaced: usize,
    /// Those whose coordinates lie outside of the grid, or are too few or too many. Not placed.
    pub outside: usize,
    /// Those that the source places again, somewhere else; the first place holds.
    pub repeated: usize,
    /// Entries of the source for ranks or locations that the recording does not have.
    pub strangers: usize,
    /// Cells that hold no location.
    pub missing: usize,
    /// Cells that hold several locations, see [`Topology::view_of`](crate::Topology::view_of).
    pub shared: usize,
}

impl Check {
    /// Whether no cell holds two locations.
    pub fn is_injective(&self) -> bool {
        self.shared == 0
    }

    /// Whether each cell holds exactly one location, and all coordinates were in range.
    pub fn is_perfect(&self) -> bool {
        self.missing == 0 && self.shared == 0 && self.outside == 0
    }

    /// For who refuses anything less than perfect.
    ///
    /// # Errors
    /// [`Error::Outside`], [`Error::Shared`] or [`Error::Missing`], the first that holds.
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
