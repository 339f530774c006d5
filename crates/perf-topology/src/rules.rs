//! Topologies without stored coordinates: ranks in an [`AxisOrder`] over given axis lengths, or
//! over [`balanced`] ones, close to a cube.

use crate::topology::{NOWHERE, Topology};
use crate::{Check, Shape};
use perf_core::SystemTree;

/// Axis along which consecutive ranks lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AxisOrder {
    /// The last axis, as in `MPI_Cart_create` and C arrays.
    #[default]
    LastFastest,
    /// The first axis, as in Fortran arrays and in many applications such as LULESH.
    FirstFastest,
}

impl Topology {
    /// Assigns locations to the cells of a grid in order. If there are fewer locations than cells,
    /// the last cells are empty. If there are more, the last locations lie outside of the grid.
    pub fn by_order(shape: Shape, order: AxisOrder, locations: usize) -> Self {
        let places: Vec<u32> = (0..locations)
            .map(|rank| nth(&shape, order, rank).unwrap_or(NOWHERE))
            .collect();
        let outside = locations.saturating_sub(shape.cells());
        let found = Check {
            outside,
            ..Check::default()
        };
        Self::new(String::new(), shape, places, found)
    }

    /// Assigns processes to the cells of a grid by [rank](SystemTree::ranks): the cell of that number,
    /// or, if a rank is past the last cell, in the order of the ranks. The cell of a process holds its
    /// CPU threads and the streams of its accelerators; [`view_of`](Self::view_of) combines their
    /// values.
    pub fn by_process(shape: Shape, order: AxisOrder, system: &SystemTree) -> Self {
        let ranks = system.ranks();
        let cells = shape.cells() as u64;
        let has_cells = ranks.iter().flatten().all(|rank| *rank < cells);
        let mut rank_of = vec![None; ranks.len()];
        for (at, id) in system.processes_by_rank().into_iter().enumerate() {
            let rank = ranks.get(id.index()).copied().flatten();
            let rank = rank
                .filter(|_| has_cells)
                .and_then(|rank| usize::try_from(rank).ok());
            if let Some(slot) = rank_of.get_mut(id.index()) {
                *slot = Some(rank.unwrap_or(at));
            }
        }
        let mut found = Check::default();
        let cells = system.location_ids().map(|id| {
            let rank = system
                .process(id)
                .and_then(|process| *rank_of.get(process.index())?);
            let cell = rank.and_then(|rank| nth(&shape, order, rank));
            found.outside += usize::from(rank.is_some() && cell.is_none());
            cell.unwrap_or(NOWHERE)
        });
        let cells = cells.collect();
        Self::new(String::new(), shape, cells, found)
    }
}

/// Returns the cell at position `rank` of the given order.
pub(crate) fn nth(shape: &Shape, order: AxisOrder, rank: usize) -> Option<u32> {
    if rank >= shape.cells() {
        return None;
    }
    // A shape has at most 2^28 cells, so the number fits.
    Some(match order {
        AxisOrder::LastFastest => rank as u32,
        AxisOrder::FirstFastest => {
            let (mut rest, mut cell, mut stride) = (rank, 0, shape.cells());
            let mut below = shape.cells();
            for axis in shape.axes() {
                stride /= axis.len;
                cell += rest % axis.len * stride;
                rest /= axis.len;
                below /= axis.len;
            }
            debug_assert_eq!((rest, below), (0, 1));
            cell as u32
        }
    })
}

/// Factorises `count` into `axes` lengths that are as close to each other as possible, longest
/// first. `MPI_Dims_create` has the same purpose.
///
/// ```
/// assert_eq!(perf_topology::balanced(64, 3), [4, 4, 4]);
/// assert_eq!(perf_topology::balanced(24, 2), [6, 4]);
/// assert_eq!(perf_topology::balanced(7, 2), [7, 1]);
/// ```
pub fn balanced(count: usize, axes: usize) -> Vec<usize> {
    let mut lens = vec![1; axes];
    balance(count.max(1), axes, &mut lens, 0);
    lens
}

/// Chooses the smallest length for the longest axis that leaves a valid factorisation for the other
/// axes, then recurses.
fn balance(count: usize, axes: usize, lens: &mut [usize], at: usize) {
    let left = axes - at;
    if left == 0 {
        return;
    }
    if left == 1 {
        lens[at] = count;
        return;
    }
    let longest = shortest_longest(count, left, count);
    lens[at] = longest;
    balance(count / longest, axes, lens, at + 1);
}

/// Returns the smallest possible length of the longest of `axes` axes.
fn shortest_longest(count: usize, axes: usize, most: usize) -> usize {
    if axes <= 1 {
        return count;
    }
    divisors(count)
        .into_iter()
        .find(|len| *len <= most && fits(count / len, axes - 1, *len))
        .unwrap_or(count)
}

/// Returns `true` if `count` is a product of `axes` numbers of at most `most`.
fn fits(count: usize, axes: usize, most: usize) -> bool {
    if axes == 0 || count <= most {
        return count == 1 || axes > 0;
    }
    // If even the largest allowed lengths do not reach `count`, no factorisation exists.
    let reach = (0..axes).try_fold(1usize, |reach, _| reach.checked_mul(most));
    if reach.is_some_and(|reach| reach < count) {
        return false;
    }
    let mut below = divisors(count);
    below.retain(|len| *len > 1 && *len <= most);
    below
        .into_iter()
        .rev()
        .any(|len| fits(count / len, axes - 1, len))
}

/// Returns the divisors of `count` in ascending order.
fn divisors(count: usize) -> Vec<usize> {
    let mut low = Vec::new();
    let mut high = Vec::new();
    let mut candidate = 1usize;
    while candidate.saturating_mul(candidate) <= count {
        if count.is_multiple_of(candidate) {
            low.push(candidate);
            if candidate != count / candidate {
                high.push(count / candidate);
            }
        }
        candidate += 1;
    }
    low.extend(high.into_iter().rev());
    low
}
