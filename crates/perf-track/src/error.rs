//! The errors of this crate.

use perf_core::Cancelled;

/// What can be wrong with bursts, points or parameters that are given.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A list that does not have one value for each of something.
    #[error("{what}: {got} values for {expected}")]
    Length {
        /// What the values are.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// Points without coordinates.
    #[error("points need at least one dimension")]
    NoDimensions,
    /// A coordinate that is infinite or not a number.
    #[error("coordinate {dimension} of point {point} is {value}, not a finite number")]
    NotFinite {
        /// The point.
        point: usize,
        /// The dimension.
        dimension: usize,
        /// What it is.
        value: f64,
    },
    /// An id past the end of its table.
    #[error("{what} {id} is not there: there are {count}")]
    Unknown {
        /// What it names.
        what: &'static str,
        /// The id.
        id: usize,
        /// How many there are.
        count: usize,
    },
    /// A metric that the bursts do not have.
    #[error("there is no metric {name:?}; there are {known}")]
    UnknownMetric {
        /// The name asked for.
        name: String,
        /// The names there are, separated by commas.
        known: String,
    },
    /// A formula with something that does not belong there.
    #[error("{text:?}, byte {at}: expected {expected}")]
    Formula {
        /// The formula.
        text: String,
        /// Where, in bytes.
        at: usize,
        /// What belongs there.
        expected: &'static str,
    },
    /// A pattern that no region fits.
    #[error("no region of the recording fits {pattern:?}")]
    NoRegion {
        /// The pattern.
        pattern: String,
    },
    /// A burst that ends before it begins.
    #[error("a burst of thread {thread} begins at {begin} ns and ends at {end} ns")]
    Backwards {
        /// Index of the thread.
        thread: u32,
        /// Its begin.
        begin: i64,
        /// Its end.
        end: i64,
    },
    /// More bursts, threads or chains than 32 bits count.
    #[error("more than {limit} {what}")]
    TooMany {
        /// What there are too many of.
        what: &'static str,
        /// The most there can be.
        limit: u64,
    },
    /// A parameter out of its range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// The parameter.
        name: &'static str,
        /// Its value.
        value: String,
        /// What is allowed.
        range: &'static str,
    },
    /// Points whose distances give no scale to choose a radius by.
    #[error("no radius: there are too few points, or nearly all are at the same few places")]
    NoScale,
    /// A clustering library that failed.
    #[error("{backend}: {why}")]
    Backend {
        /// Which algorithm of which library.
        backend: &'static str,
        /// What it says.
        why: String,
    },
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
