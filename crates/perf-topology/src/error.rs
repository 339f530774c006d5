//! Errors of this crate: topologies that cannot be built, and operations on them that fail.

/// Reasons why a topology cannot be built or an operation on it fails.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The number of axes is 0 or exceeds [`MAX_AXES`](crate::MAX_AXES).
    #[error("a topology has 1 to {limit} axes, not {got}")]
    Axes {
        /// Requested number of axes.
        got: usize,
        /// Largest supported number of axes.
        limit: usize,
    },
    /// An axis has length 0.
    #[error("axis {axis} has no coordinates")]
    EmptyAxis {
        /// Index of the axis.
        axis: usize,
    },
    /// The grid has more than [`MAX_CELLS`](crate::MAX_CELLS) cells.
    #[error("more than {limit} cells")]
    TooManyCells {
        /// Largest supported number of cells, [`MAX_CELLS`](crate::MAX_CELLS).
        limit: usize,
    },
    /// The grid has implausibly many cells for the number of locations.
    #[error("{cells} cells are implausible for {locations} locations: the limit is {limit}")]
    Implausible {
        /// Number of cells of the grid.
        cells: usize,
        /// Number of locations of the recording.
        locations: usize,
        /// Upper bound: 1,024 cells for each location, but at least 2^20.
        limit: usize,
    },
    /// An axis index is out of range.
    #[error("no axis {axis}: there are only {count}")]
    UnknownAxis {
        /// Index of the axis.
        axis: usize,
        /// Number of axes.
        count: usize,
    },
    /// A coordinate lies past the end of its axis.
    #[error("coordinate {at} is outside axis {axis} of length {len}")]
    OutOfRange {
        /// Index of the axis.
        axis: usize,
        /// The coordinate.
        at: usize,
        /// Length of the axis.
        len: usize,
    },
    /// An axis order is not a permutation: it omits an axis or repeats one.
    #[error("{order:?} is not a permutation of {count} axes")]
    Permutation {
        /// The given order.
        order: Vec<usize>,
        /// Number of axes.
        count: usize,
    },
    /// No part of the system tree has coordinates in a property of this name.
    #[error("no part of the system tree has coordinates in a property `{name}`")]
    NoCoordinates {
        /// Name of the property.
        name: String,
    },
    /// Two lengths that must agree differ.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// Name of the quantity that was counted.
        what: &'static str,
        /// Expected length.
        expected: usize,
        /// Actual length.
        got: usize,
    },
    /// Some cells hold several locations, but the caller required at most one.
    #[error("{cells} cells hold several locations")]
    Shared {
        /// Number of shared cells.
        cells: usize,
    },
    /// Some cells hold no location, but the caller required one in each cell.
    #[error("{cells} cells hold no location")]
    Missing {
        /// Number of empty cells.
        cells: usize,
    },
    /// The coordinates of some locations lie outside of the grid.
    #[error("{locations} locations are outside the grid")]
    Outside {
        /// Number of such locations.
        locations: usize,
    },
}

perf_core::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
