//! The errors of this crate.

use perf_core::{Cancelled, Place, Rule};

/// Why a recording could not be read, or written.
///
/// Errors about the content of a file say where: file, byte and record.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The system could not read or write a file.
    #[error("{place}: {source}")]
    Io {
        /// Where.
        place: Place,
        /// What the system says.
        source: std::io::Error,
    },
    /// A file ends too early.
    #[error("{place}: the file ends where {expected} should be")]
    Truncated {
        /// Where it ends.
        place: Place,
        /// What should follow.
        expected: String,
    },
    /// A file is not what its format says.
    #[error("{place}: expected {expected}, got {got}")]
    Malformed {
        /// Where.
        place: Place,
        /// What should be there.
        expected: String,
        /// What is there.
        got: String,
    },
    /// A part of a format that this crate does not read.
    #[error("{place}: {what} is not supported")]
    Unsupported {
        /// Where it was found.
        place: Place,
        /// What is not supported.
        what: String,
    },
    /// A limit of [`Limits`](perf_core::Limits) was passed.
    #[error("{place}: {what} is {got}, the limit is {limit}")]
    Limit {
        /// Where.
        place: Place,
        /// What was limited, with its unit.
        what: &'static str,
        /// What the recording has, or would need.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// A recording had to be repaired, and strict reading was asked for.
    #[error("{place}: {} ({})", rule.what, rule.name)]
    Strict {
        /// What is wrong.
        rule: Rule,
        /// The first place.
        place: Place,
    },
    /// No format takes the input.
    #[error("{place}: no known format; tried {tried}")]
    UnknownFormat {
        /// The input.
        place: Place,
        /// The names of the formats that were tried.
        tried: String,
    },
    /// The file is of a known kind that cannot be read as it is.
    #[error("{place}: this is {kind}; {remedy}")]
    Foreign {
        /// The input.
        place: Place,
        /// Its kind, such as `a report of Nsight Systems`.
        kind: &'static str,
        /// The command that converts it, or the feature that reads it.
        remedy: String,
    },
    /// A recording holds a profile where a trace is needed, or the other way round.
    #[error("{place}: holds a {got}, expected a {expected}; {remedy}")]
    Content {
        /// The input.
        place: Place,
        /// `trace` or `profile`.
        expected: &'static str,
        /// `trace` or `profile`.
        got: &'static str,
        /// A way to the expected one.
        remedy: &'static str,
    },
    /// A caller asked for something that cannot be done.
    #[error("{what}")]
    Usage {
        /// What cannot be done, and why.
        what: String,
    },
    /// The parts do not fit together.
    #[error(transparent)]
    Core(#[from] perf_core::Error),
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

impl Error {
    /// Where in the input the error is, if it is about a place.
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

    /// An error about parts that do not fit together, with the place where that showed.
    #[cfg(feature = "paraver")]
    pub(crate) fn found_at(self, place: impl FnOnce() -> Place) -> Self {
        match self {
            Error::Core(perf_core::Error::Cancelled(cancelled)) => Error::Cancelled(cancelled),
            Error::Core(error) => Error::Malformed {
                place: place(),
                expected: "what a trace can hold".into(),
                got: error.to_string(),
            },
            other => other,
        }
    }

    /// The same error about a member of the archive at `path`, which may be that member.
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
        match !path.is_dir() && path.file_name().is_some_and(|name| name == &*member) {
            true => self.in_file(&path.to_string_lossy()),
            false => self.in_file(&format!("{}: {member}", path.display())),
        }
    }

    /// The same error about another file.
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
