//! [`Topology`]: which cell of a grid each location lies in.

use crate::{Check, Error, Grid, Result, Shape};
use perf_core::{LocationId, Severities};

/// No cell.
pub(crate) const NOWHERE: u32 = u32::MAX;

/// Which cell of a grid each location of a recording lies in.
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
    pub(crate) name: String,
    pub(crate) shape: Shape,
    /// By location.
    pub(crate) cells: Vec<u32>,
    pub(crate) check: Check,
}

impl Topology {
    /// Puts one together from places: the cell of each location, where it has one.
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

    /// Coordinates from a table: `locations` locations, and (location, coordinates) entries in any
    /// order. What does not fit is counted, see [`Check`].
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
            // Cells are at most 2^28.
            let cell = shape.cell(coordinates).map(|cell| cell as u32);
            place(slot, cell, &mut found);
        }
        Self::new(String::new(), shape, cells, found)
    }

    /// The same topology under a name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Its name, may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The grid.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// What it lacks.
    pub fn check(&self) -> &Check {
        &self.check
    }

    /// Number of locations, placed or not.
    pub fn locations(&self) -> usize {
        self.cells.len()
    }

    /// The cell of a location.
    pub fn cell(&self, location: LocationId) -> Option<usize> {
        let cell = *self.cells.get(location.index())?;
        (cell != NOWHERE).then_some(cell as usize)
    }

    /// The locations of each cell that has any, as (cell, location), ascending.
    pub fn occupants(&self) -> Vec<(usize, LocationId)> {
        let locations = self.cells.iter().enumerate();
        let placed = locations.filter(|(_, cell)| **cell != NOWHERE);
        let mut all: Vec<_> = placed
            .filter_map(|(at, cell)| Some((*cell as usize, LocationId::from_index(at)?)))
            .collect();
        all.sort_unstable();
        all
    }

    /// Whether each cell holds a location.
    pub fn mask(&self) -> Vec<bool> {
        let mut mask = vec![false; self.shape.cells()];
        for cell in &self.cells {
            if let Some(mask) = mask.get_mut(*cell as usize) {
                *mask = true;
            }
        }
        mask
    }

    /// A severity view on the grid: values and mask. Values of locations that share a cell add up;
    /// cells without a location are 0 and masked.
    ///
    /// # Errors
    /// [`Error::Length`] if the view is of another number of locations.
    pub fn view(&self, severities: &Severities) -> Result<Grid> {
        let mut values = vec![0.0; self.shape.cells()];
        self.view_into(severities, &mut values)?;
        Grid::new(self.shape.clone(), values, self.mask())
    }

    /// As [`view`](Self::view), into memory of the caller's, one value a cell; the mask is always
    /// [`mask`](Self::mask). Allocates nothing.
    ///
    /// # Errors
    /// [`Error::Length`] if the view is of another number of locations, or `values` not of one
    /// number a cell.
    pub fn view_into(&self, severities: &Severities, values: &mut [f64]) -> Result<()> {
        same("locations of a view", self.cells.len(), severities.len())?;
        same("values of a grid", self.shape.cells(), values.len())?;
        values.fill(0.0);
        let mut add = |cell: u32, value: f64| {
            if let Some(slot) = values.get_mut(cell as usize) {
                *slot += value;
            }
        };
        match severities {
            Severities::U64(all) => {
                let pairs = self.cells.iter().zip(all);
                pairs.for_each(|(cell, value)| add(*cell, *value as f64));
            }
            Severities::I64(all) => {
                let pairs = self.cells.iter().zip(all);
                pairs.for_each(|(cell, value)| add(*cell, *value as f64));
            }
            Severities::F64(all) => {
                let pairs = self.cells.iter().zip(all);
                pairs.for_each(|(cell, value)| add(*cell, *value));
            }
            // What a tuple is worth is its first number, as everywhere.
            tuples @ Severities::Tuples { .. } => {
                let pairs = self.cells.iter().zip(tuples.to_f64());
                pairs.for_each(|(cell, value)| add(*cell, value));
            }
        }
        Ok(())
    }
}

/// Gives a location its place, and counts what is wrong with it.
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
