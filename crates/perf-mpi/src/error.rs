//! The errors of this crate.

/// What can be wrong with an analysis on many ranks.
///
/// What goes wrong on one rank ends the analysis on all: the others get [`Error::Elsewhere`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes of another rank that are not what was expected, or end too early.
    #[error("message of another rank, byte {at}: expected {expected}")]
    Decode {
        /// Where.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// A message that is not what was expected, or ends too early.
    #[error("message of rank {rank}, byte {at}: expected {expected}")]
    Message {
        /// The rank that sent it.
        rank: usize,
        /// Where.
        at: usize,
        /// What should be there.
        expected: &'static str,
    },
    /// Another rank failed.
    #[error("rank {rank}: {what}")]
    Elsewhere {
        /// The first rank that did.
        rank: usize,
        /// What it said.
        what: String,
    },
    /// Messages of all ranks together that are larger than [`Ranks::limit`](crate::Ranks::limit) allows.
    #[error("{what} of {got} bytes: at most {limit} are allowed")]
    TooLong {
        /// What they hold.
        what: &'static str,
        /// Their size.
        got: u64,
        /// The limit.
        limit: u64,
    },
    /// MPI does not let several threads call it at a time, which an exchange in the background needs:
    /// initialise it with `Threading::Multiple`.
    #[error("MPI was initialised without support for several threads at a time")]
    Threads,
    /// Statistics are not exchanged any more, or never were.
    #[error("the exchange of statistics: {0}")]
    Background(String),
    /// Ranks that do not agree on what they analyse.
    #[error("ranks differ in {what}")]
    Differs {
        /// In what.
        what: &'static str,
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
    /// More than numbers count.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
    /// A view that no rank has, or one that two have.
    #[error("view {view} is on {ranks} ranks, not on one")]
    View {
        /// Its number.
        view: usize,
        /// How many ranks have it.
        ranks: usize,
    },
    /// Detection.
    #[error(transparent)]
    Anomaly(#[from] perf_anomaly::Error),
    /// Correlation.
    #[error(transparent)]
    Spectral(#[from] perf_spectral::Error),
    /// Folding.
    #[error(transparent)]
    Fold(#[from] perf_fold::Error),
    /// Clusters.
    #[error(transparent)]
    Track(#[from] perf_track::Error),
    /// Recordings.
    #[error(transparent)]
    Formats(#[from] perf_formats::Error),
    /// Profiles.
    #[error(transparent)]
    Core(#[from] perf_core::Error),
    /// The caller asked to stop.
    #[error(transparent)]
    Cancelled(#[from] perf_core::Cancelled),
}

/// Writes the message and its causes, so that `fn main() -> Result` ends with a sentence.
impl std::fmt::Debug for Error {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        perf_core::write_chain(self, out)
    }
}

impl Error {
    /// That of a message of a rank.
    pub(crate) fn sent_by(self, rank: usize) -> Self {
        match self {
            Error::Decode { at, expected } => Error::Message { rank, at, expected },
            other => other,
        }
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
