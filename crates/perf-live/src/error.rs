//! [`Error`]: reasons why a message, a parameter, a request, a database or the server fails.

use std::time::Duration;

/// Reasons why a message, a request, the server or a store fails.
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
    /// Bytes are not a message, or are truncated.
    #[error("byte {at} of a message: expected {expected}")]
    Wire {
        /// Byte offset.
        at: usize,
        /// Expected content.
        expected: &'static str,
    },
    /// The server has reached its memory limit for waiting messages. No part of the message was
    /// stored.
    #[error("the server is busy; send the message again in {} ms", again.as_millis())]
    Busy {
        /// Delay after which the message should be sent again.
        again: Duration,
    },
    /// The server has reached its maximum number of clients.
    #[error(
        "the server has reached its limit of {0} clients; raise it with the option `--clients`"
    )]
    TooMany(usize),
    /// Error of the detection, such as a delta of another session or detector, or a store that
    /// cannot be written.
    #[error(transparent)]
    Anomaly(#[from] perf_anomaly::Error),
    /// A database cannot be read.
    #[error("{file}: {what}")]
    Store {
        /// File of the database.
        file: String,
        /// Description of the problem.
        what: String,
    },
    /// A server is unreachable, or its answer is invalid.
    #[error("{url}: {what}")]
    Unreachable {
        /// Address.
        url: String,
        /// Description of the problem.
        what: String,
    },
    /// A server rejected a request.
    #[error("{url} rejected the request with status {status}: {what}")]
    Refused {
        /// Address.
        url: String,
        /// HTTP status.
        status: u16,
        /// Message of the server.
        what: String,
    },
    /// The server cannot listen on an address.
    #[error("{address}: {what}")]
    Listen {
        /// Address.
        address: String,
        /// Description of the problem.
        what: String,
    },
    /// A result cannot be represented in JSON.
    #[error("an answer cannot be written as JSON: {what}")]
    Json {
        /// Reason.
        what: String,
    },
    /// The server was closed.
    #[error("the server was closed")]
    Closed,
}

perf_core::debug_as_chain!(Error);

impl From<perf_core::codec::Malformed> for Error {
    fn from(found: perf_core::codec::Malformed) -> Self {
        let perf_core::codec::Malformed { at, expected } = found;
        Error::Wire { at, expected }
    }
}

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Returns [`Error::Parameter`] with the allowed range unless `is_within`.
#[cfg(feature = "server")]
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
