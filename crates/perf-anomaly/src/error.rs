//! The errors of this crate.

/// What can be wrong with parameters, snapshots or stores. Events are never an error: what is
/// wrong with a stream is repaired and counted.
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
    /// Bytes that are no snapshot or delta, or end too early.
    #[error("byte {at}: expected {expected}")]
    Decode {
        /// Where.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A model of another detector.
    #[error("expected a model of {expected}, but got one of {found}")]
    OtherModel {
        /// The detector that asks.
        expected: &'static str,
        /// The detector that made the model.
        found: &'static str,
    },
    /// A message for another run of the server: it was started anew, and does not know the numbers
    /// of functions that it gave out before. Nothing of the message was taken.
    #[error("the server was started anew")]
    OtherSession {
        /// The session of the server.
        session: u64,
    },
    /// A store of provenance that cannot be read or written.
    #[error("{file}: {what}")]
    Store {
        /// Its file.
        file: String,
        /// What is wrong with it.
        what: String,
    },
    /// A text that is no entry of a store.
    #[error("no entry of a store: {0}")]
    Entry(String),
    /// The thread that judges spans of this process is not there.
    #[error("the thread that judges spans: {0}")]
    Spans(String),
    /// A message to a server, or its answer, did not get through.
    #[error("the parameter server cannot be reached: {0}")]
    Exchange(String),
    /// Somebody cancelled.
    #[error(transparent)]
    Cancelled(#[from] perf_core::Cancelled),
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
        Error::Decode { at, expected }
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A parameter is within its range, or an error says what it is and which range that is.
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

/// Times closer than a resolution cannot be told apart.
pub(crate) fn check_resolution(resolution: perf_core::Nanos) -> Result<()> {
    let is_within = (1..=1_000_000_000).contains(&resolution.0);
    within(is_within, "resolution", resolution, "1 ns to 1 s")
}
