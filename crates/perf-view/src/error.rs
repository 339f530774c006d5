//! Errors of this crate: pictures and pages that cannot be drawn or written.

use crate::MOST_PIXELS;
use perf_core::Cancelled;

/// Reasons why a picture or page cannot be drawn or written.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The picture would have more than [`MOST_PIXELS`] pixels.
    #[error("a picture of {width} x {height} pixels is too large, {MOST_PIXELS} are allowed")]
    TooLarge {
        /// Width in pixels.
        width: u32,
        /// Height in pixels.
        height: u32,
    },
    /// There is nothing to draw.
    #[error("nothing to draw: {what}")]
    Empty {
        /// Description of the missing part.
        what: &'static str,
    },
    /// Two inputs that must correspond have different numbers of elements.
    #[error("{what}: expected {expected}, got {got}")]
    Mismatch {
        /// Description of the quantity.
        what: &'static str,
        /// Expected number.
        expected: usize,
        /// Actual number.
        got: usize,
    },
    /// A number of a request is outside of its limits.
    #[error("{what} is {got}, expected {least} to {most}")]
    Outside {
        /// Description of the number.
        what: &'static str,
        /// Smallest number.
        least: usize,
        /// Largest number.
        most: usize,
        /// Number of the request.
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
    /// Ranking by correlation failed.
    #[cfg(feature = "spectral")]
    #[error("correlation: {0}")]
    Spectral(#[from] perf_spectral::Error),
    /// The points or trends of clusters could not be computed.
    #[cfg(feature = "track")]
    #[error("clusters: {0}")]
    Track(#[from] perf_track::Error),
    /// The store of recorded anomalies could not be read.
    #[cfg(feature = "anomaly")]
    #[error("anomalies: {0}")]
    Anomaly(#[from] perf_anomaly::Error),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

perf_core::debug_as_chain!(Error);

/// Result type of this crate.
pub type Result<T> = std::result::Result<T, Error>;
