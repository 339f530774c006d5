//! The errors of this crate.

use crate::Cancelled;

/// What can be wrong with nouns that are put together.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An id points past the end of its table.
    #[error("{what} {id} is not defined: there are {count}")]
    Undefined {
        /// The kind of the thing, such as `region`.
        what: &'static str,
        /// The id that was asked for.
        id: u64,
        /// How many there are.
        count: usize,
    },
    /// Two elements share what must be their own.
    #[error("{what} {id} is defined twice")]
    Duplicate {
        /// What they share, such as `location key`.
        what: &'static str,
        /// Its value.
        id: u64,
    },
    /// A parent is its own descendant.
    #[error("{what} {id} is its own ancestor")]
    Cycle {
        /// The kind of the thing, such as `system node`.
        what: &'static str,
        /// One of those on the cycle.
        id: u64,
    },
    /// A tree is deeper than [`Limits::depth`](crate::Limits::depth).
    #[error("{what} {id} lies deeper than {limit} levels")]
    TooDeep {
        /// The kind of the thing.
        what: &'static str,
        /// The one that lies too deep.
        id: u64,
        /// The limit.
        limit: u32,
    },
    /// More elements than ids can name.
    #[error("more than {limit} {what}")]
    TooMany {
        /// The kind of the thing, in the plural.
        what: &'static str,
        /// The most there can be.
        limit: u64,
    },
    /// An event is earlier than the one before it on its location.
    #[error("event {index} of location {location} is at tick {at}, before {last}")]
    Backwards {
        /// The location.
        location: u32,
        /// Number of the event on the location.
        index: usize,
        /// Its time.
        at: u64,
        /// The time of the event before.
        last: u64,
    },
    /// Two tables that belong together differ in length.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A row could not be read from where the profile has its rows.
    #[error("reading a row failed: {0}")]
    Read(#[source] std::sync::Arc<dyn std::error::Error + Send + Sync>),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

/// Writes the message and its causes, so that `fn main() -> Result` ends with a sentence.
impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write_chain(self, out)
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Writes the message of an error and those of its causes, separated by colons.
///
/// A cause is skipped if its message already stands in the text.
///
/// ```
/// # use std::error::Error;
/// # let cause = std::io::Error::other("the disk is full");
/// let error = perf_core::Error::Read(std::sync::Arc::new(cause));
/// let mut text = String::new();
/// perf_core::write_chain(&error, &mut text)?;
/// assert_eq!(text, "reading a row failed: the disk is full");
/// assert_eq!(format!("{error:?}"), text);
/// # Ok::<(), Box<dyn Error>>(())
/// ```
///
/// # Errors
///
/// Returns the error of `out`.
pub fn write_chain(
    error: &dyn std::error::Error,
    out: &mut dyn std::fmt::Write,
) -> std::fmt::Result {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let message = inner.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = inner.source();
    }
    out.write_str(&text)
}
