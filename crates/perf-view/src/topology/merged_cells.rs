//! [`Coarse`]: grid in which blocks of neighbouring cells are merged, so that it has a limited number of cells.

use perf_topology::Grid;

/// Approximate maximum number of cubes of a picture.
pub const MOST_CUBES: usize = 20_000;

/// Coarsened grid. Each cell represents a block of neighbouring cells of the original grid.
#[derive(Clone, Debug, PartialEq)]
pub struct Coarse {
    /// Number of cells along each axis.
    pub lens: Vec<usize>,
    /// Number of original cells in a block along each axis. These numbers are powers of two.
    pub blocks: Vec<usize>,
    /// Mean over the locations of each cell, with the last axis varying fastest; NaN for cells
    /// without locations.
    pub mean: Vec<f64>,
    /// Maximum over the locations of each cell; NaN for cells without locations.
    pub max: Vec<f64>,
    /// Maximum minus minimum over the locations of each cell; NaN for cells without locations.
    pub spread: Vec<f64>,
}

impl Coarse {
    /// Merges pairs of neighbouring cells along the longest axis until there are at most `most`
    /// cells.
    ///
    /// ```
    /// use perf_topology::{Grid, Shape};
    /// use perf_view::topology::Coarse;
    /// let values = (0..8).map(f64::from).collect();
    /// let grid = Grid::new(Shape::of(&[4, 2])?, values, vec![true; 8])?;
    /// let coarse = Coarse::of(&grid, 4);
    /// assert_eq!((coarse.lens, coarse.blocks), (vec![2, 2], vec![2, 1]));
    /// assert_eq!(coarse.mean, [1.0, 2.0, 5.0, 6.0]);
    /// assert_eq!((coarse.max[3], coarse.spread[3]), (7.0, 2.0));
    /// # Ok::<(), perf_topology::Error>(())
    /// ```
    pub fn of(grid: &Grid, most: usize) -> Self {
        let shape = grid.shape();
        let mut lens = shape.lens();
        let mut blocks = vec![1usize; lens.len()];
        while lens.iter().product::<usize>() > most.max(1) {
            let longest = (0..lens.len()).rev().max_by_key(|axis| lens[*axis]);
            let Some(axis) = longest.filter(|axis| lens[*axis] > 1) else {
                break;
            };
            lens[axis] = lens[axis].div_ceil(2);
            blocks[axis] *= 2;
        }
        let cells = lens.iter().product();
        let (mut sum, mut count) = (vec![0.0; cells], vec![0u32; cells]);
        let (mut low, mut high) = (vec![f64::INFINITY; cells], vec![f64::NEG_INFINITY; cells]);
        let held = grid.values().iter().zip(grid.mask());
        for (cell, (value, held)) in held.enumerate() {
            if !held || !value.is_finite() {
                continue;
            }
            let coordinates = shape.coordinates(cell).zip(&blocks).zip(&lens);
            let at = coordinates.fold(0, |at, ((place, block), len)| at * len + place / block);
            sum[at] += value;
            count[at] += 1;
            low[at] = low[at].min(*value);
            high[at] = high[at].max(*value);
        }
        let pick = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
            let cells = count.iter().enumerate();
            let value = |(at, count): (usize, &u32)| if *count == 0 { f64::NAN } else { of(at) };
            cells.map(value).collect()
        };
        Coarse {
            mean: pick(&|at| sum[at] / f64::from(count[at])),
            max: pick(&|at| high[at]),
            spread: pick(&|at| high[at] - low[at]),
            lens,
            blocks,
        }
    }

    /// Returns `true` if cells represent more than one original cell.
    pub fn is_coarser(&self) -> bool {
        self.blocks.iter().any(|block| *block > 1)
    }
}

/// Returns the smallest and the largest finite value, or 0 and 0 if there is none.
pub(super) fn range(values: &[f64]) -> [f64; 2] {
    let finite = values.iter().filter(|value| value.is_finite());
    let start = [f64::INFINITY, f64::NEG_INFINITY];
    let found = finite.fold(start, |[low, high], value| {
        [low.min(*value), high.max(*value)]
    });
    if found[0] <= found[1] {
        found
    } else {
        [0.0, 0.0]
    }
}
