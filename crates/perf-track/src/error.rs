//! [`Error`]: reasons why bursts, points or parameters are invalid.

use perf_core::Cancelled;

/// Reasons why bursts, points or parameters are invalid.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A list has the wrong length.
    #[error("{what}: expected {expected} values, got {got}")]
    Length {
        /// Description of the values.
        what: &'static str,
        /// Expected length.
        expected: usize,
        /// Actual length.
        got: usize,
    },
    /// Points have no coordinates.
    #[error("points need at least one dimension")]
    NoDimensions,
    /// A coordinate is infinite or NaN.
    #[error("coordinate {dimension} of point {point} is {value}, not a finite number")]
    NotFinite {
        /// Index of the point.
        point: usize,
        /// Index of the dimension.
        dimension: usize,
        /// The coordinate.
        value: f64,
    },
    /// An id is out of range.
    #[error("no {what} {id}: there are only {count}")]
    Unknown {
        /// Kind of the element.
        what: &'static str,
        /// The id.
        id: usize,
        /// Number of elements.
        count: usize,
    },
    /// The bursts do not have the requested metric.
    #[error("no metric {name:?}; known metrics: {known}")]
    UnknownMetric {
        /// Requested name.
        name: String,
        /// Available names, separated by commas.
        known: String,
    },
    /// A formula has a syntax error.
    #[error("{text:?}, byte {at}: expected {expected}")]
    Formula {
        /// The formula.
        text: String,
        /// Byte offset of the error.
        at: usize,
        /// Expected syntax.
        expected: &'static str,
    },
    /// No region matches a pattern.
    #[error("no region of the recording matches {pattern:?}")]
    NoRegion {
        /// The pattern.
        pattern: String,
    },
    /// A burst ends before it begins.
    #[error("a burst of thread {thread} begins at {begin} ns and ends at {end} ns")]
    Backwards {
        /// Index of the thread.
        thread: u32,
        /// Begin in nanoseconds.
        begin: i64,
        /// End in nanoseconds.
        end: i64,
    },
    /// There are more bursts, threads or chains than 32 bits can count.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Kind of the elements.
        what: &'static str,
        /// Largest possible number.
        limit: u64,
    },
    /// A parameter is out of range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Value of the parameter.
        value: String,
        /// Allowed range.
        range: &'static str,
    },
    /// The distances of the points provide no scale for a radius.
    #[error("no radius found: there are too few points, or nearly all of them coincide")]
    NoScale,
    /// A clustering library failed.
    #[error("{backend}: {why}")]
    Backend {
        /// Library and algorithm.
        backend: &'static str,
        /// Message of the library.
        why: String,
    },
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

perf_core::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
