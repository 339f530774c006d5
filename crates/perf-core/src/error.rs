//! [`Error`]: reasons why a trace, a profile or a part of them is invalid; [`write_chain`]: the
//! message of any error with its causes, for all crates.

use crate::Cancelled;

/// Reasons why a trace, profile or one of their parts is invalid.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An id is out of range.
    #[error("{what} {id} is not defined: there are only {count}")]
    Undefined {
        /// Kind of the element, such as `region`.
        what: &'static str,
        /// The id.
        id: u64,
        /// Number of elements.
        count: usize,
    },
    /// Two elements share a value that must be unique.
    #[error("{what} {id} is defined twice")]
    Duplicate {
        /// Kind of the value, such as `location key`.
        what: &'static str,
        /// The shared value.
        id: u64,
    },
    /// An element is its own ancestor.
    #[error("{what} {id} is its own ancestor")]
    Cycle {
        /// Kind of the element, such as `system node`.
        what: &'static str,
        /// Id of an element of the cycle.
        id: u64,
    },
    /// A tree is deeper than [`Limits::depth`](crate::Limits::depth).
    #[error("{what} {id} is nested deeper than {limit} levels")]
    TooDeep {
        /// Kind of the element.
        what: &'static str,
        /// Id of the element that lies too deep.
        id: u64,
        /// The limit.
        limit: u32,
    },
    /// There are more elements than ids can number.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Kind of the element, in the plural.
        what: &'static str,
        /// Largest possible number of elements.
        limit: u64,
    },
    /// An event is earlier than its predecessor on the same location.
    #[error("event {index} of location {location} is at tick {at}, before {last}")]
    Backwards {
        /// Number of the location.
        location: u32,
        /// Index of the event on the location.
        index: usize,
        /// Time of the event.
        at: u64,
        /// Time of the preceding event.
        last: u64,
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
    /// A row could not be read from the source of the profile.
    #[error("reading a row failed: {0}")]
    Read(#[source] std::sync::Arc<dyn std::error::Error + Send + Sync>),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

crate::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Implements `Debug` of an error type by [`write_chain`], so that `fn main() -> Result<..>` prints a readable message.
#[macro_export]
macro_rules! debug_as_chain {
    ($error:ty) => {
        impl std::fmt::Debug for $error {
            fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                $crate::write_chain(self, out)
            }
        }
    };
}

/// Writes the message of an error and the messages of its causes, separated by colons.
///
/// A cause is skipped if the text already contains its message.
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
