//! The errors of this crate.

/// What can be wrong with a topology, or with what is asked of one.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No axis, or more than [`MAX_AXES`](crate::MAX_AXES).
    #[error("a topology has 1 to {limit} axes, not {got}")]
    Axes {
        /// Axes asked for.
        got: usize,
        /// The most there can be.
        limit: usize,
    },
    /// An axis without coordinates.
    #[error("axis {axis} has no coordinates")]
    EmptyAxis {
        /// The axis.
        axis: usize,
    },
    /// More cells than a topology may have.
    #[error("more than {limit} cells")]
    TooManyCells {
        /// [`MAX_CELLS`](crate::MAX_CELLS).
        limit: usize,
    },
    /// More cells than a grid over so few locations can have.
    #[error("{cells} cells for {locations} locations are more than the {limit} that are plausible")]
    Implausible {
        /// Cells of the grid.
        cells: usize,
        /// Locations of the recording.
        locations: usize,
        /// Upper bound: 1,024 cells a location, but at least 2^20.
        limit: usize,
    },
    /// An axis that is not there.
    #[error("axis {axis} is not there: there are {count}")]
    UnknownAxis {
        /// The axis.
        axis: usize,
        /// How many there are.
        count: usize,
    },
    /// A coordinate past the end of its axis.
    #[error("coordinate {at} lies outside of axis {axis}, which has {len}")]
    OutOfRange {
        /// The axis.
        axis: usize,
        /// The coordinate.
        at: usize,
        /// Coordinates the axis has.
        len: usize,
    },
    /// A permutation that leaves an axis out or names one twice.
    #[error("{order:?} is no permutation of {count} axes")]
    Permutation {
        /// What was given.
        order: Vec<usize>,
        /// How many axes there are.
        count: usize,
    },
    /// No part of the machine has coordinates in a property of this name.
    #[error("nothing has coordinates under the name `{name}`")]
    NoCoordinates {
        /// The name.
        name: String,
    },
    /// Two counts that belong together differ.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A cell holds several locations, and the caller asked that none does.
    #[error("{cells} cells hold several locations")]
    Shared {
        /// Such cells.
        cells: usize,
    },
    /// Cells without a location, and the caller asked that there are none.
    #[error("{cells} cells hold no location")]
    Missing {
        /// Such cells.
        cells: usize,
    },
    /// Locations whose coordinates lie outside of the grid.
    #[error("{locations} locations lie outside of the grid")]
    Outside {
        /// Such locations.
        locations: usize,
    },
}

/// Writes the message and its causes, so that `fn main() -> Result` ends with a sentence.
impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        perf_core::write_chain(self, out)
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
