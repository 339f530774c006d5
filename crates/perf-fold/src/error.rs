//! The errors of this crate.

use perf_core::Cancelled;

/// What can be wrong with a fold that is asked for.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A picture without columns.
    #[error("a fold needs at least one column")]
    NoColumns,
    /// More cells than [`FoldParams::max_cells`](crate::FoldParams::max_cells) allows.
    #[error("too many cells, rows: {rows}, columns: {columns}, most cells: {limit}")]
    TooManyCells {
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
        /// Most cells allowed.
        limit: usize,
    },
    /// More classes than ids can name.
    #[error("more than {limit} classes")]
    TooManyClasses {
        /// The most there can be.
        limit: u64,
    },
    /// A state map named a class that is not in its table.
    #[error("the state map gave class {class}, but its table has {count}")]
    UnknownClass {
        /// The class.
        class: u32,
        /// How many its table has.
        count: usize,
    },
    /// A stream number past the end of the timelines.
    #[error("stream {stream} is not there: there are {count}")]
    UnknownStream {
        /// The number.
        stream: u32,
        /// How many streams there are.
        count: usize,
    },
    /// A group or row number past the end.
    #[error("{what} {id} is not there: there are {count}")]
    UnknownGroup {
        /// `group` or `row`.
        what: &'static str,
        /// The number.
        id: usize,
        /// How many there are.
        count: usize,
    },
    /// A group would put CPU threads and accelerator streams, or metric sources, into one cell.
    #[error("group {label:?} mixes kinds of locations that cannot share a cell")]
    MixedKinds {
        /// Label of the group.
        label: String,
    },
    /// Groups of groups are nested too deep.
    #[error("group {label:?} lies deeper than {limit} levels")]
    TooDeep {
        /// Label of the group.
        label: String,
        /// The limit.
        limit: u32,
    },
    /// The groups were made for other timelines.
    #[error("the groups were made for {expected} streams, the timelines have {got}")]
    OtherTimelines {
        /// Streams of the timelines that the groups were made for.
        expected: usize,
        /// Streams of these timelines.
        got: usize,
    },
    /// A nested fold by an operation that gives a number and not a state.
    #[error("a nested fold needs an operation that selects a state")]
    NestedNumbers,
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Writes the message and its causes, so that `fn main() -> Result` ends with a sentence.
impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        perf_core::write_chain(self, out)
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
