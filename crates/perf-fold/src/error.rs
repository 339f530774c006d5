//! [`Error`]: reasons why timelines of many streams cannot be folded into few rows and columns,
//! such as too many cells, or groups of mixed kinds.

use perf_core::Cancelled;

/// Reasons why a fold cannot be planned or computed.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The fold has no columns.
    #[error("a fold needs at least one column")]
    NoColumns,
    /// The fold has more cells than [`FoldParams::max_cells`](crate::FoldParams::max_cells) allows.
    #[error("too many cells: {rows} rows of {columns} columns, the limit is {limit} cells")]
    TooManyCells {
        /// Requested number of rows.
        rows: usize,
        /// Requested number of columns.
        columns: usize,
        /// Largest allowed number of cells.
        limit: usize,
    },
    /// There are more classes than a [`ClassId`](crate::ClassId) can number.
    #[error("more than {limit} classes")]
    TooManyClasses {
        /// Largest possible number of classes.
        limit: u64,
    },
    /// A state map returned a class that is not in its table.
    #[error("the state map returned class {class}, but its table has only {count} classes")]
    UnknownClass {
        /// Number of the class.
        class: u32,
        /// Number of classes in the table.
        count: usize,
    },
    /// A stream number is out of range.
    #[error("no stream {stream}: there are only {count}")]
    UnknownStream {
        /// The stream number.
        stream: u32,
        /// Number of streams.
        count: usize,
    },
    /// A group or row number is out of range.
    #[error("no {what} {id}: there are only {count}")]
    UnknownGroup {
        /// `group` or `row`.
        what: &'static str,
        /// The number.
        id: usize,
        /// Number of groups or rows.
        count: usize,
    },
    /// A group would combine CPU threads, accelerator streams or metric sources in one cell.
    #[error("group {label:?} mixes kinds of locations that cannot share a cell")]
    MixedKinds {
        /// Label of the group.
        label: String,
    },
    /// Groups are nested too deeply.
    #[error("group {label:?} is nested deeper than {limit} levels")]
    TooDeep {
        /// Label of the group.
        label: String,
        /// Largest nesting depth.
        limit: u32,
    },
    /// The groups were built for other timelines.
    #[error("the groups are for {expected} streams, but the timelines have {got}")]
    OtherTimelines {
        /// Number of streams of the timelines that the groups were built for.
        expected: usize,
        /// Number of streams of the timelines to fold.
        got: usize,
    },
    /// A nested fold uses an operation that returns a number instead of a state.
    #[error("a nested fold needs an operation that selects a state")]
    NestedNumbers,
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

perf_core::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
