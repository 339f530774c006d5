//! The errors of this crate.

use std::time::Duration;

/// What can be wrong with messages, servers and stores.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
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
    /// Bytes that are no message, or end too early.
    #[error("byte {at} of a message: expected {expected}")]
    Wire {
        /// Where.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A server that has as much to do as it may keep in memory. Nothing of the message was taken.
    #[error("the server is busy, come again in {} ms", again.as_millis())]
    Busy {
        /// When to come again.
        again: Duration,
    },
    /// More clients than the server may keep.
    #[error("the server has as many clients as it may keep, {0}")]
    TooMany(usize),
    /// What the detection says: a delta of another session or detector, a store that cannot be
    /// written.
    #[error(transparent)]
    Anomaly(#[from] perf_anomaly::Error),
    /// A database that cannot be read.
    #[error("{file}: {what}")]
    Store {
        /// Its file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// A server that cannot be reached, or whose answer makes no sense.
    #[error("{url}: {what}")]
    Unreachable {
        /// The address.
        url: String,
        /// What happened.
        what: String,
    },
    /// A server that says no.
    #[error("{url} refuses with {status}: {what}")]
    Refused {
        /// The address.
        url: String,
        /// The status of HTTP.
        status: u16,
        /// What it says.
        what: String,
    },
    /// An address on which nothing can be offered.
    #[error("{address}: {what}")]
    Listen {
        /// The address.
        address: String,
        /// What happened.
        what: String,
    },
    /// A result that has no form in JSON.
    #[error("an answer cannot be written as JSON: {what}")]
    Json {
        /// Reason.
        what: String,
    },
    /// The server was closed.
    #[error("the server was closed")]
    Closed,
}

/// Writes the message and its causes, so that `fn main() -> Result` ends with a sentence.
impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        perf_core::write_chain(self, out)
    }
}

impl From<perf_core::codec::Malformed> for Error {
    fn from(found: perf_core::codec::Malformed) -> Self {
        let perf_core::codec::Malformed { at, expected } = found;
        Error::Wire { at, expected }
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A parameter is within its range, or an error says what it is and which range that is.
#[cfg(feature = "server")]
pub(crate) fn within(
    is_within: bool,
    name: &'static str,
    value: impl std::fmt::Display,
    range: &'static str,
) -> Result<()> {
    match is_within {
        true => Ok(()),
        false => Err(Error::Parameter {
            name,
            value: value.to_string(),
            range,
        }),
    }
}
