//! [`Axis`] and [`Shape`]: the dimensions of a grid, without its contents.

use crate::{Error, Result};

/// Largest number of axes of a topology.
pub const MAX_AXES: usize = 16;

/// Largest number of cells of a topology: 2^28, whose values take 2 GiB.
pub const MAX_CELLS: usize = 1 << 28;

/// Number of cells that is plausible even for a recording with few locations. This limit accepts
/// the grid of a whole machine for a small job and rejects damaged lengths.
const MIN_PLAUSIBLE_CELLS: usize = 1 << 20;

/// Upper bound on the number of cells per location, if it allows more than [`MIN_PLAUSIBLE_CELLS`].
const MAX_CELLS_PER_LOCATION: usize = 1 << 10;

/// One axis of a grid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Axis {
    /// Name; may be empty.
    pub name: String,
    /// Number of coordinates, at least 1.
    pub len: usize,
    /// `true` if the last coordinate is adjacent to the first.
    pub periodic: bool,
}

impl Axis {
    /// Creates a periodic axis.
    pub fn new(name: impl Into<String>, len: usize) -> Self {
        Axis {
            name: name.into(),
            len,
            periodic: true,
        }
    }
}

/// Axes of a grid. Cells are numbered in row-major order: the last axis varies fastest.
///
/// ```
/// use perf_topology::Shape;
/// let shape = Shape::of(&[4, 3, 2])?;
/// assert_eq!(shape.cells(), 24);
/// assert_eq!(shape.cell(&[1, 2, 0]), Some(10));
/// assert_eq!(shape.coordinates(10).collect::<Vec<_>>(), [1, 2, 0]);
/// # Ok::<(), perf_topology::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Axes, slowest first.
    axes: Vec<Axis>,
    /// Number of cells, the product of the lengths.
    cells: usize,
}

impl Shape {
    /// Creates a shape from its axes.
    ///
    /// # Errors
    /// Returns [`Error::Axes`] if the number of axes is 0 or above [`MAX_AXES`],
    /// [`Error::EmptyAxis`] if an axis has length 0, or [`Error::TooManyCells`] above
    /// [`MAX_CELLS`].
    pub fn new(axes: Vec<Axis>) -> Result<Self> {
        if axes.is_empty() || axes.len() > MAX_AXES {
            return Err(Error::Axes {
                got: axes.len(),
                limit: MAX_AXES,
            });
        }
        if let Some(axis) = axes.iter().position(|axis| axis.len == 0) {
            return Err(Error::EmptyAxis { axis });
        }
        let product = axes.iter().try_fold(1usize, |product, axis| {
            product
                .checked_mul(axis.len)
                .filter(|cells| *cells <= MAX_CELLS)
        });
        let cells = product.ok_or(Error::TooManyCells { limit: MAX_CELLS })?;
        Ok(Shape { axes, cells })
    }

    /// Creates a shape with periodic axes without names.
    ///
    /// # Errors
    /// Returns the errors of [`new`](Self::new).
    pub fn of(lens: &[usize]) -> Result<Self> {
        Self::new(lens.iter().map(|len| Axis::new("", *len)).collect())
    }

    /// Returns the shape if its size is plausible for a recording of that many locations. Lengths
    /// from a file or an option need this check before they size an allocation.
    ///
    /// ```
    /// use perf_topology::Shape;
    /// assert!(Shape::of(&[6, 6, 6])?.plausible_for(216).is_ok());
    /// assert!(Shape::of(&[600, 600, 600])?.plausible_for(216).is_err());
    /// # Ok::<(), perf_topology::Error>(())
    /// ```
    ///
    /// # Errors
    /// Returns [`Error::Implausible`] if the shape has more than 1,024 cells per location and more
    /// than 2^20 cells in total.
    pub fn plausible_for(self, locations: usize) -> Result<Self> {
        let limit = locations.saturating_mul(MAX_CELLS_PER_LOCATION);
        let limit = limit.max(MIN_PLAUSIBLE_CELLS);
        if self.cells <= limit {
            Ok(self)
        } else {
            Err(Error::Implausible {
                cells: self.cells,
                locations,
                limit,
            })
        }
    }

    /// Returns the axes, slowest first.
    pub fn axes(&self) -> &[Axis] {
        &self.axes
    }

    /// Returns the length of each axis.
    pub fn lens(&self) -> Vec<usize> {
        self.axes.iter().map(|axis| axis.len).collect()
    }

    /// Returns the number of cells, the product of the lengths.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// Returns the number of the cell at `coordinates`, or `None` if they lie outside of the grid
    /// or their number is wrong.
    pub fn cell(&self, coordinates: &[usize]) -> Option<usize> {
        if coordinates.len() != self.axes.len() {
            return None;
        }
        let pairs = coordinates.iter().zip(&self.axes);
        pairs.into_iter().try_fold(0, |cell, (at, axis)| {
            (*at < axis.len).then(|| cell * axis.len + at)
        })
    }

    /// Returns the coordinates of a cell, first axis first, without allocating.
    pub fn coordinates(&self, cell: usize) -> impl ExactSizeIterator<Item = usize> + '_ {
        let mut below = self.cells;
        let mut rest = cell;
        self.axes.iter().map(move |axis| {
            below /= axis.len;
            let at = rest / below.max(1);
            rest %= below.max(1);
            at
        })
    }

    pub(crate) fn axis(&self, axis: usize) -> Result<&Axis> {
        let count = self.axes.len();
        self.axes
            .get(axis)
            .ok_or(Error::UnknownAxis { axis, count })
    }

    /// Returns an error unless `at` lies on `axis`.
    pub(crate) fn on_axis(&self, axis: usize, at: usize) -> Result<()> {
        let len = self.axis(axis)?.len;
        if at < len {
            Ok(())
        } else {
            Err(Error::OutOfRange { axis, at, len })
        }
    }

    /// Returns the number of cells that one step along `axis` passes, and that number times the
    /// length of the axis.
    pub(crate) fn strides(&self, axis: usize) -> (usize, usize) {
        let below: usize = self
            .axes
            .iter()
            .skip(axis + 1)
            .map(|axis| axis.len)
            .product();
        let len = self.axes.get(axis).map_or(1, |axis| axis.len);
        (below, below * len)
    }

    /// Returns the shape without one axis, or a shape of one cell if it was the only axis.
    pub(crate) fn without(&self, axis: usize) -> Result<Self> {
        let mut axes = self.axes.clone();
        if axes.len() == 1 {
            axes[0].len = 1;
        } else {
            axes.remove(axis);
        }
        Self::new(axes)
    }

    /// Returns the permuted shape, or an error unless `order` is a permutation of the axes.
    pub(crate) fn permuted(&self, order: &[usize]) -> Result<Self> {
        let count = self.axes.len();
        let mut seen = vec![false; count];
        for axis in order {
            if let Some(seen) = seen.get_mut(*axis) {
                *seen = true;
            }
        }
        if order.len() != count || seen.contains(&false) {
            let order = order.to_vec();
            return Err(Error::Permutation { order, count });
        }
        let axes = order.iter().filter_map(|axis| self.axes.get(*axis));
        Self::new(axes.cloned().collect())
    }
}
