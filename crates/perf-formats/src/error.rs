//! [`Error`]: reasons why a recording could not be read or written, mostly with the place in the
//! input.

use perf_core::{Cancelled, Place, Rule};

/// Reason why a recording could not be read or written.
///
/// Errors about the content of a file name the file, the byte offset and the record.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system could not read or write a file.
    #[error("{place}: {source}")]
    Io {
        /// File that could not be read or written.
        place: Place,
        /// Error of the operating system.
        source: std::io::Error,
    },
    /// A file ends too early.
    #[error("{place}: the file ends where {expected} should be")]
    Truncated {
        /// Position at which the file ends.
        place: Place,
        /// Element that should follow.
        expected: String,
    },
    /// A file violates its format.
    #[error("{place}: expected {expected}, got {got}")]
    Malformed {
        /// Position of the violation.
        place: Place,
        /// Content that the format requires at this position.
        expected: String,
        /// Content found instead.
        got: String,
    },
    /// A part of a format that this crate does not read.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Position at which it was found.
        place: Place,
        /// Unsupported part.
        what: String,
    },
    /// A limit of [`Limits`](perf_core::Limits) was exceeded.
    #[error("{place}: {what} is {got}, the limit is {limit}")]
    Limit {
        /// Position at which the limit was exceeded.
        place: Place,
        /// Limited quantity, with its unit.
        what: &'static str,
        /// Amount that the recording has or would need.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// A recording needs a repair, and the options demand strict reading.
    #[error("{place}: {} ({})", rule.what, rule.name)]
    Strict {
        /// Violated rule.
        rule: Rule,
        /// First place of a violation.
        place: Place,
    },
    /// No format recognises the input.
    #[error("{place}: no known format; tried {tried}")]
    UnknownFormat {
        /// Path of the input.
        place: Place,
        /// Names of the formats that were tried, separated by commas.
        tried: String,
    },
    /// The file is of a known kind that cannot be read as it is.
    #[error("{place}: this is {kind}; {remedy}")]
    Foreign {
        /// Path of the input.
        place: Place,
        /// Its kind, such as `a report of Nsight Systems`.
        kind: &'static str,
        /// The command that converts it, or the feature that reads it.
        remedy: String,
    },
    /// A recording holds a profile where a trace is needed, or the other way round.
    #[error("{place}: holds a {got}, expected a {expected}; {remedy}")]
    Content {
        /// Path of the input.
        place: Place,
        /// Content that the caller needs: `trace` or `profile`.
        expected: &'static str,
        /// Content of the recording: `trace` or `profile`.
        got: &'static str,
        /// Way to obtain the needed content.
        remedy: &'static str,
    },
    /// The caller requested an operation that is not possible.
    #[error("{what}")]
    Usage {
        /// Requested operation, and the reason why it is not possible.
        what: String,
    },
    /// The parts of the recording are inconsistent with each other.
    #[error(transparent)]
    Core(#[from] perf_core::Error),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

perf_core::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Returns the place in the input, for errors that have one.
    pub fn place(&self) -> Option<&Place> {
        match self {
            Error::Io { place, .. }
            | Error::Truncated { place, .. }
            | Error::Malformed { place, .. }
            | Error::Unsupported { place, .. }
            | Error::Limit { place, .. }
            | Error::Strict { place, .. }
            | Error::UnknownFormat { place, .. }
            | Error::Foreign { place, .. }
            | Error::Content { place, .. } => Some(place),
            Error::Usage { .. } | Error::Core(_) | Error::Cancelled(_) => None,
        }
    }

    /// Adds the place at which inconsistent parts were detected to an [`Error::Core`].
    #[cfg(feature = "paraver")]
    pub(crate) fn found_at(self, place: impl FnOnce() -> Place) -> Self {
        match self {
            Error::Core(perf_core::Error::Cancelled(cancelled)) => Error::Cancelled(cancelled),
            Error::Core(error) => Error::Malformed {
                place: place(),
                expected: "events that a trace can hold".into(),
                got: error.to_string(),
            },
            other => other,
        }
    }

    /// Returns the same error with the place inside the archive at `path`. The archive may be the
    /// failing member itself.
    #[cfg(feature = "otf2")]
    pub(crate) fn within(self, path: &std::path::Path) -> Self {
        let member = match &self {
            Error::Io { place, .. }
            | Error::Truncated { place, .. }
            | Error::Malformed { place, .. }
            | Error::Unsupported { place, .. }
            | Error::Limit { place, .. } => place.file.clone(),
            _ => return self,
        };
        if !path.is_dir() && path.file_name().is_some_and(|name| name == &*member) {
            self.in_file(&path.to_string_lossy())
        } else {
            self.in_file(&format!("{}: {member}", path.display()))
        }
    }

    /// Returns the same error with another file name.
    #[cfg(feature = "otf2")]
    pub(crate) fn in_file(mut self, file: &str) -> Self {
        if let Error::Io { place, .. }
        | Error::Truncated { place, .. }
        | Error::Malformed { place, .. }
        | Error::Unsupported { place, .. }
        | Error::Limit { place, .. } = &mut self
        {
            place.file = file.into();
        }
        self
    }
}
