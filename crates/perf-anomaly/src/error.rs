//! [`Error`]: reasons why parameters, snapshots, messages or stores are invalid; range checks of
//! parameters.

/// Error of this crate. Events never cause an error, because defects of a stream are repaired and
/// counted.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// Bytes are not the expected model or message, or are truncated.
    #[error("byte {at}: expected {expected}")]
    Decode {
        /// Offset of the invalid bytes.
        at: usize,
        /// Expected content.
        expected: &'static str,
    },
    /// A model belongs to another detector.
    #[error("expected a model of {expected}, but got one of {found}")]
    OtherModel {
        /// Detector that needs a model.
        expected: &'static str,
        /// Detector of the model.
        found: &'static str,
    },
    /// A message belongs to another session of the server. The server was restarted and does not
    /// know the function numbers that it assigned before. No part of the message was merged.
    #[error("the server was restarted; reconnect to join the new session")]
    OtherSession {
        /// Session of the server.
        session: u64,
    },
    /// A store of provenance cannot be read or written.
    #[error("{file}: {what}")]
    Store {
        /// File of the store.
        file: String,
        /// Description of the problem.
        what: String,
    },
    /// A text is not an entry of a store.
    #[error("invalid entry of a store: {0}")]
    Entry(String),
    /// The thread that judges the spans of this process has ended.
    #[error("the thread that judges spans failed: {0}")]
    Spans(String),
    /// A message to a server, or its answer, was lost.
    #[error("the parameter server cannot be reached: {0}")]
    Exchange(String),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] perf_core::Cancelled),
}

perf_core::debug_as_chain!(Error);

impl From<perf_core::codec::Malformed> for Error {
    fn from(found: perf_core::codec::Malformed) -> Self {
        let perf_core::codec::Malformed { at, expected } = found;
        Error::Decode { at, expected }
    }
}

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns [`Error::Parameter`] unless `is_within`.
pub(crate) fn within(
    is_within: bool,
    name: &'static str,
    value: impl std::fmt::Display,
    range: &'static str,
) -> Result<()> {
    if is_within {
        Ok(())
    } else {
        Err(Error::Parameter {
            name,
            value: value.to_string(),
            range,
        })
    }
}

/// Returns [`Error::Parameter`] unless a resolution is from 1 ns to 1 s.
pub(crate) fn check_resolution(resolution: perf_core::Nanos) -> Result<()> {
    let is_within = (1..=1_000_000_000).contains(&resolution.0);
    within(is_within, "resolution", resolution, "1 ns to 1 s")
}
