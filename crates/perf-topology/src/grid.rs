//! [`Grid`]: values and mask of a severity view on a grid, whose empty cells can be filled
//! ([`Fill`]); axes are combined ([`Aggregate`]) or fixed, and a [`Plane`] is cut out.

use crate::topology::same;
use crate::{Result, Shape};

/// Value that [`Grid::filled`] stores in cells without a location.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Fill {
    /// Mean of the occupied cells; this adds no variation.
    #[default]
    Mean,
    /// Zero; appropriate if an empty cell means that no time was spent.
    Zero,
    /// A constant.
    Value(f64),
}

/// Function that combines the cells along an axis, see [`Grid::aggregate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Aggregate {
    /// Sum.
    Sum,
    /// Mean of the cells that hold a location.
    Mean,
    /// Maximum.
    Max,
    /// Minimum.
    Min,
    /// Maximum minus minimum.
    Spread,
}

/// A severity view on a grid. It has one value for each cell, with the last axis varying fastest,
/// and a mask of the cells that hold a location.
///
/// ```
/// use perf_topology::{Aggregate, Fill, Grid, Shape};
/// // Two rows of three cells; the last one holds no location.
/// let values = vec![1.0, 2.0, 3.0, 5.0, 7.0, 0.0];
/// let mask = vec![true, true, true, true, true, false];
/// let grid = Grid::new(Shape::of(&[2, 3])?, values, mask)?;
/// assert_eq!((grid.get(&[1, 1]), grid.get(&[1, 2]), grid.mean()), (Some(7.0), None, 3.6));
/// assert_eq!(grid.slice(0, 1)?.values(), [5.0, 7.0, 0.0]);
/// assert_eq!(grid.aggregate(0, Aggregate::Spread)?.values(), [4.0, 5.0, 0.0]);
/// assert_eq!(grid.filled(Fill::Mean).values()[5], 3.6);
/// # Ok::<(), perf_topology::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// Axes of the grid.
    shape: Shape,
    /// One value for each cell.
    values: Vec<f64>,
    /// `true` for each cell that holds a location.
    mask: Vec<bool>,
}

/// Two-dimensional plane of a grid, with rows along one axis and columns along another.
#[derive(Clone, Debug, PartialEq)]
pub struct Plane {
    /// Number of columns.
    pub columns: usize,
    /// Cells in row-major order; `None` for a cell without a location.
    pub cells: Vec<Option<f64>>,
}

impl Grid {
    /// Creates a grid from its values and mask.
    ///
    /// # Errors
    /// Returns [`Error::Length`](crate::Error::Length) if `values` or `mask` does not have one
    /// entry for each cell.
    pub fn new(shape: Shape, values: Vec<f64>, mask: Vec<bool>) -> Result<Self> {
        same("values of a grid", shape.cells(), values.len())?;
        same("mask of a grid", shape.cells(), mask.len())?;
        Ok(Grid {
            shape,
            values,
            mask,
        })
    }

    /// Returns the axes of the grid.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns one value for each cell, with the last axis varying fastest.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Returns the mask: `true` for each cell that holds a location.
    pub fn mask(&self) -> &[bool] {
        &self.mask
    }

    /// Returns the values and the mask.
    pub fn into_parts(self) -> (Vec<f64>, Vec<bool>) {
        (self.values, self.mask)
    }

    /// Returns the number of cells that hold no location.
    pub fn missing(&self) -> usize {
        self.mask.iter().filter(|held| !**held).count()
    }

    /// Returns the value of a cell, or `None` if it holds no location or lies outside of the grid.
    pub fn get(&self, coordinates: &[usize]) -> Option<f64> {
        let cell = self.shape.cell(coordinates)?;
        self.at(cell)
    }

    fn at(&self, cell: usize) -> Option<f64> {
        let held = *self.mask.get(cell)?;
        self.values.get(cell).copied().filter(|_| held)
    }

    /// Returns the mean of the cells that hold a location, or 0 if there is none.
    pub fn mean(&self) -> f64 {
        let held = self
            .values
            .iter()
            .zip(&self.mask)
            .filter(|(_, held)| **held);
        let (sum, count) = held.fold((0.0, 0usize), |(sum, count), (value, _)| {
            (sum + value, count + 1)
        });
        if count == 0 { 0.0 } else { sum / count as f64 }
    }

    /// Fills the cells that hold no location. The mask does not change.
    pub fn filled(mut self, rule: Fill) -> Self {
        let value = match rule {
            Fill::Mean => self.mean(),
            Fill::Zero => 0.0,
            Fill::Value(value) => value,
        };
        let cells = self.values.iter_mut().zip(&self.mask);
        cells
            .filter(|(_, held)| !**held)
            .for_each(|(cell, _)| *cell = value);
        self
    }

    /// Aggregates one axis and returns the grid without it. Cells that hold no location are
    /// skipped; a cell of the result is masked out if all cells that it combines are masked out.
    ///
    /// # Errors
    /// Returns [`Error::UnknownAxis`](crate::Error::UnknownAxis) if there is no such axis.
    pub fn aggregate(&self, axis: usize, how: Aggregate) -> Result<Self> {
        self.shape.axis(axis)?;
        let (below, block) = self.shape.strides(axis);
        let shape = self.shape.without(axis)?;
        let mut values = vec![0.0; shape.cells()];
        let mut mask = vec![false; shape.cells()];
        for (cell, (value, held)) in values.iter_mut().zip(&mut mask).enumerate() {
            let first = cell / below * block + cell % below;
            let line = (first..first - cell % below + block).step_by(below);
            let mut line = line.filter_map(|cell| self.at(cell));
            let Some(start) = line.next() else { continue };
            let begin = (start, start, start, 1usize);
            let (sum, low, high, count) = line.fold(begin, |(sum, low, high, count), value| {
                (sum + value, value.min(low), value.max(high), count + 1)
            });
            *held = true;
            *value = match how {
                Aggregate::Sum => sum,
                Aggregate::Mean => sum / count as f64,
                Aggregate::Max => high,
                Aggregate::Min => low,
                Aggregate::Spread => high - low,
            };
        }
        Grid::new(shape, values, mask)
    }

    /// Returns the hyperplane at coordinate `at` of `axis`, without that axis.
    ///
    /// # Errors
    /// Returns [`Error::UnknownAxis`](crate::Error::UnknownAxis) if there is no such axis, or
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if `at` lies past its end.
    pub fn slice(&self, axis: usize, at: usize) -> Result<Self> {
        self.shape.on_axis(axis, at)?;
        let (below, block) = self.shape.strides(axis);
        let shape = self.shape.without(axis)?;
        let from = |cell: usize| cell / below * block + at * below + cell % below;
        let cells = 0..shape.cells();
        let values = cells.clone().filter_map(|cell| self.values.get(from(cell)));
        let mask = cells.filter_map(|cell| self.mask.get(from(cell)));
        let (values, mask) = (values.copied().collect(), mask.copied().collect());
        Grid::new(shape, values, mask)
    }

    /// Returns the plane through `origin` along two axes, for display.
    ///
    /// # Errors
    /// Returns [`Error::UnknownAxis`](crate::Error::UnknownAxis) if there is no such axis,
    /// [`Error::OutOfRange`](crate::Error::OutOfRange) if `origin` lies outside of the grid, or
    /// [`Error::Length`](crate::Error::Length) if `origin` does not have one coordinate for each
    /// axis.
    pub fn plane(&self, rows: usize, columns: usize, origin: &[usize]) -> Result<Plane> {
        same("coordinates", self.shape.axes().len(), origin.len())?;
        for (axis, at) in origin.iter().enumerate() {
            self.shape.on_axis(axis, *at)?;
        }
        let (height, width) = (self.shape.axis(rows)?.len, self.shape.axis(columns)?.len);
        let mut at = origin.to_vec();
        let mut cells = Vec::with_capacity(height.saturating_mul(width).min(self.values.len()));
        for row in 0..height {
            for column in 0..width {
                at[rows] = row;
                at[columns] = column;
                cells.push(self.get(&at));
            }
        }
        Ok(Plane {
            columns: width,
            cells,
        })
    }
}
