//! What drawing fails with.

use crate::MOST_PIXELS;
use perf_core::Cancelled;

/// What drawing fails with.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A picture would have more than [`MOST_PIXELS`].
    #[error("a picture of {width} x {height} pixels is too large, {MOST_PIXELS} are allowed")]
    TooLarge {
        /// Its width in pixels.
        width: u32,
        /// Its height in pixels.
        height: u32,
    },
    /// There is nothing to draw.
    #[error("nothing to draw: {what}")]
    Empty {
        /// What is not there.
        what: &'static str,
    },
    /// Results that do not belong together.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// What does not fit.
        what: &'static str,
        /// How many there must be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A file could not be written.
    #[error("writing a picture: {0}")]
    Io(#[from] std::io::Error),
    /// Folding failed.
    #[cfg(feature = "fold")]
    #[error("folding: {0}")]
    Fold(#[from] perf_fold::Error),
    /// A topology could not be sliced or aggregated.
    #[cfg(feature = "topology")]
    #[error("topology: {0}")]
    Topology(#[from] perf_topology::Error),
    /// Ranking failed.
    #[cfg(feature = "spectral")]
    #[error("correlation: {0}")]
    Spectral(#[from] perf_spectral::Error),
    /// Points or trends of clusters.
    #[cfg(feature = "track")]
    #[error("clusters: {0}")]
    Track(#[from] perf_track::Error),
    /// What was recorded of anomalies could not be read.
    #[cfg(feature = "anomaly")]
    #[error("anomalies: {0}")]
    Anomaly(#[from] perf_anomaly::Error),
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

/// What drawing returns.
pub type Result<T> = std::result::Result<T, Error>;
