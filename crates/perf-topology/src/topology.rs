//! [`Topology`]: cell of a grid for each location, from a table of coordinates or from another
//! module; turns severity views into [`Grid`]s.

use crate::{Check, Error, Grid, Result, Shape};
use perf_core::{CallPathId, Combine, LocationId, MetricId, Profile, Severities};

/// Cell number of a location that is not placed.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Map from the locations of a recording to the cells of a grid.
///
/// ```
/// use perf_core::Severities;
/// use perf_topology::{AxisOrder, Shape, Topology};
/// let ranks = Topology::by_order(Shape::of(&[2, 3])?, AxisOrder::FirstFastest, 6);
/// assert!(ranks.check().is_perfect());
/// let grid = ranks.view(&Severities::U64(vec![0, 1, 2, 3, 4, 5]))?;
/// assert_eq!(grid.values(), [0.0, 2.0, 4.0, 1.0, 3.0, 5.0]);
/// # Ok::<(), perf_topology::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Name; may be empty.
    pub(crate) name: String,
    /// Axes of the grid.
    pub(crate) shape: Shape,
    /// Cell of each location, or [`NOWHERE`].
    pub(crate) cells: Vec<u32>,
    /// Defects counted while the topology was built.
    pub(crate) check: Check,
}

impl Topology {
    /// Creates a topology from the cell of each location, or [`NOWHERE`].
    pub(crate) fn new(name: String, shape: Shape, cells: Vec<u32>, found: Check) -> Self {
        let mut held = vec![0u8; shape.cells()];
        let mut check = Check {
            locations: cells.len(),
            ..found
        };
        for cell in &cells {
            if let Some(held) = held.get_mut(*cell as usize) {
                check.placed += 1;
                *held = (*held + 1).min(2);
            }
        }
        check.unplaced =
            check.locations - check.placed - check.outside.min(check.locations - check.placed);
        check.missing = held.iter().filter(|held| **held == 0).count();
        check.shared = held.iter().filter(|held| **held == 2).count();
        Topology {
            name,
            shape,
            cells,
            check,
        }
    }

    /// Builds a topology from a table of (location, coordinates) entries in any order, for
    /// `locations` locations. Invalid entries are counted, see [`Check`].
    pub fn from_table<'a>(
        shape: Shape,
        locations: usize,
        entries: impl IntoIterator<Item = (LocationId, &'a [usize])>,
    ) -> Self {
        let mut cells = vec![NOWHERE; locations];
        let mut found = Check::default();
        for (location, coordinates) in entries {
            let Some(slot) = cells.get_mut(location.index()) else {
                found.strangers += 1;
                continue;
            };
            // A shape has at most 2^28 cells, so the number fits.
            let cell = shape.cell(coordinates).map(|cell| cell as u32);
            place(slot, cell, &mut found);
        }
        Self::new(String::new(), shape, cells, found)
    }

    /// Renames the topology. By default it has the name of the grid, levels or property that it was
    /// built from. A topology from a table or an order has an empty name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Returns the name; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the axes of the grid.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the counted defects.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// Returns the number of locations, placed or not.
    pub fn locations(&self) -> usize {
        self.cells.len()
    }

    /// Returns the cell of a location, or `None` if it is not placed.
    pub fn cell(&self, location: LocationId) -> Option<usize> {
        let cell = *self.cells.get(location.index())?;
        (cell != NOWHERE).then_some(cell as usize)
    }

    /// Returns the placed locations as (cell, location) pairs in ascending order.
    pub fn occupants(&self) -> Vec<(usize, LocationId)> {
        let locations = self.cells.iter().enumerate();
        let placed = locations.filter(|(_, cell)| **cell != NOWHERE);
        let mut all: Vec<_> = placed
            .filter_map(|(at, cell)| Some((*cell as usize, LocationId::from_index(at)?)))
            .collect();
        all.sort_unstable();
        all
    }

    /// Returns the mask: `true` for each cell that holds a location.
    pub fn mask(&self) -> Vec<bool> {
        let mut mask = vec![false; self.shape.cells()];
        for cell in &self.cells {
            if let Some(mask) = mask.get_mut(*cell as usize) {
                *mask = true;
            }
        }
        mask
    }

    /// Places a severity view on the grid as values and mask. Values of locations that share a cell
    /// are added. If the values are tuples, their first numbers are added. Cells without a location
    /// are 0 and masked out. For metrics that are not additive see [`view_of`](Self::view_of).
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the view has another number of locations.
    pub fn view(&self, severities: &Severities) -> Result<Grid> {
        let mut values = vec![0.0; self.shape.cells()];
        self.view_into(severities, &mut values)?;
        Grid::new(self.shape.clone(), values, self.mask())
    }

    /// Places a view on the grid like [`view`](Self::view), into a buffer of the caller with one
    /// value for each cell. The mask is always [`mask`](Self::mask). Does not allocate.
    ///
    /// # Errors
    /// Returns [`Error::Length`] if the view has another number of locations, or if `values` does
    /// not have one entry for each cell.
    pub fn view_into(&self, severities: &Severities, values: &mut [f64]) -> Result<()> {
        same("locations of a view", self.cells.len(), severities.len())?;
        same("values of a grid", self.shape.cells(), values.len())?;
        Combine::Sum.over_parts(severities, &self.cells, values);
        Ok(())
    }

    /// Places the severity view of a metric and call path on the grid. Returns `None` if the
    /// profile has no row for them, that is, if all severities are zero. Locations that share a
    /// cell are combined according to the metric, see [`Profile::over_parts`]: additive metrics are
    /// summed, minimum and maximum metrics take the extreme, and a ratio is computed from its sums
    /// over the cell.
    ///
    /// ```
    /// use perf_core::*;
    /// use perf_topology::{AxisOrder, Shape, Topology};
    /// use std::sync::Arc;
    /// let system = SystemTree::new(vec![], vec![], vec![Location::default(), Location { key: 1, ..Location::default() }], &Limits::default())?;
    /// let mut calls = CallTree::default();
    /// let main = calls.child(None, RegionId(0))?;
    /// let mut rows = Rows::default();
    /// rows.insert(MetricId(0), main, Severities::F64(vec![2.0, 3.0]));
    /// let longest = ProfileMetric { combine: Combine::Maximum, ..ProfileMetric::default() };
    /// let regions = vec![Region::named("main")];
    /// let profile = Profile::new(system, regions, calls, vec![longest], Arc::new(rows))?;
    /// // Both locations in one cell.
    /// let at = [(LocationId(0), &[0][..]), (LocationId(1), &[0])];
    /// let grid = Topology::from_table(Shape::of(&[2])?, 2, at);
    /// let view = grid.view_of(&profile, MetricId(0), main)?.expect("a row");
    /// assert_eq!(view.values(), [3.0, 0.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Returns the errors of [`Profile::over_parts`].
    pub fn view_of(
        &self,
        profile: &Profile,
        metric: MetricId,
        path: CallPathId,
    ) -> perf_core::Result<Option<Grid>> {
        let mut values = vec![0.0; self.shape.cells()];
        let is_there = self.view_of_into(profile, metric, path, &mut values)?;
        let grid = is_there.then(|| Grid::new(self.shape.clone(), values, self.mask()));
        // The vectors have one entry for each cell, so the constructor cannot fail.
        Ok(grid.and_then(Result::ok))
    }

    /// Places a view on the grid like [`view_of`](Self::view_of), into a buffer of the caller with
    /// one value for each cell. Returns `true` if the profile has a row for the metric and call
    /// path. Without a row all values are 0. Allocates only the buffers that reading the row needs,
    /// and one value for each cell for derived metrics.
    ///
    /// # Errors
    /// Returns the errors of [`Profile::over_parts`], and [`perf_core::Error::Length`] if `values`
    /// does not have one entry for each cell.
    pub fn view_of_into(
        &self,
        profile: &Profile,
        metric: MetricId,
        path: CallPathId,
        values: &mut [f64],
    ) -> perf_core::Result<bool> {
        let (expected, got) = (self.shape.cells(), values.len());
        if expected != got {
            return Err(perf_core::Error::Length {
                what: "values of a grid",
                expected,
                got,
            });
        }
        profile.over_parts(metric, path, &self.cells, values)
    }
}

/// Stores the cell of a location and counts its defects.
pub(crate) fn place(slot: &mut u32, cell: Option<u32>, found: &mut Check) {
    match cell {
        None => found.outside += 1,
        Some(cell) if *slot == NOWHERE => *slot = cell,
        Some(cell) if *slot != cell => found.repeated += 1,
        Some(_) => {}
    }
}

pub(crate) fn same(what: &'static str, expected: usize, got: usize) -> Result<()> {
    if expected == got {
        Ok(())
    } else {
        Err(Error::Length {
            what,
            expected,
            got,
        })
    }
}
