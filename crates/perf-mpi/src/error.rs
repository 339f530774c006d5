//! [`Error`] of distributed analyses, such as malformed messages, failures on other ranks, and
//! parameters that differ between ranks.

/// Error of a distributed analysis.
///
/// An error on one rank ends the analysis on all ranks. The other ranks return
/// [`Error::Elsewhere`].
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes of another rank are malformed or truncated.
    #[error("message of another rank, byte {at}: expected {expected}")]
    Decode {
        /// Position of the error in bytes.
        at: usize,
        /// Description of the expected content.
        expected: &'static str,
    },
    /// A message is malformed or truncated.
    #[error("message of rank {rank}, byte {at}: expected {expected}")]
    Message {
        /// Rank that sent the message.
        rank: usize,
        /// Position of the error in bytes.
        at: usize,
        /// Description of the expected content.
        expected: &'static str,
    },
    /// Another rank failed.
    #[error("rank {rank}: {what}")]
    Elsewhere {
        /// Lowest rank that failed.
        rank: usize,
        /// Error message of that rank.
        what: String,
    },
    /// The messages of all ranks together exceed [`Ranks::limit`](crate::Ranks::limit).
    #[error("{what} of {got} bytes: at most {limit} are allowed")]
    TooLong {
        /// Description of their content.
        what: &'static str,
        /// Total size in bytes.
        got: u64,
        /// Maximum size in bytes.
        limit: u64,
    },
    /// MPI does not permit calls from several threads at a time, which an exchange in the
    /// background needs. Initialise it with `Threading::Multiple`.
    #[error(
        "MPI was initialised without `MPI_THREAD_MULTIPLE`; initialise it with `mpi::Threading::Multiple`"
    )]
    Threads,
    /// The exchange of statistics has ended or was never started.
    #[error("the exchange of statistics has ended: {0}")]
    Background(String),
    /// Ranks disagree about the analysis.
    #[error("ranks differ in {what}")]
    Differs {
        /// Description of the difference.
        what: &'static str,
    },
    /// A parameter is out of its range.
    #[error("{name} is {value}, but must be {range}")]
    Parameter {
        /// Name of the parameter.
        name: &'static str,
        /// Value of the parameter.
        value: String,
        /// Description of the valid range.
        range: &'static str,
    },
    /// A count exceeds the range of its numbers.
    #[error("more than {limit} {what}")]
    TooMany {
        /// Description of the counted items.
        what: &'static str,
        /// Maximum count.
        limit: u64,
    },
    /// A view is held by no rank, or by two.
    #[error("view {view} is held by {ranks} ranks instead of one")]
    View {
        /// Number of the view.
        view: usize,
        /// Number of ranks that hold the view.
        ranks: usize,
    },
    /// Anomaly detection failed.
    #[error(transparent)]
    Anomaly(#[from] perf_anomaly::Error),
    /// Correlation failed.
    #[error(transparent)]
    Spectral(#[from] perf_spectral::Error),
    /// Folding failed.
    #[error(transparent)]
    Fold(#[from] perf_fold::Error),
    /// Clustering failed.
    #[error(transparent)]
    Track(#[from] perf_track::Error),
    /// Wait states or efficiencies could not be computed.
    #[error(transparent)]
    Wait(#[from] perf_wait::Error),
    /// A recording could not be read.
    #[error(transparent)]
    Formats(#[from] perf_formats::Error),
    /// A profile could not be processed.
    #[error(transparent)]
    Core(#[from] perf_core::Error),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] perf_core::Cancelled),
}

perf_core::debug_as_chain!(Error);

impl Error {
    /// Adds the sender to an error of decoding.
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

/// Result of a function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
