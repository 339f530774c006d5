//! Errors of this crate: views, parameters and files of spectra from which a correlation cannot be
//! computed.

use crate::Skipped;
use perf_core::Cancelled;

/// Reasons why a correlation cannot be computed.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The shape is invalid: no axes, too many axes, an axis of length 0, or too many points.
    #[error("no grid has axes of lengths {dims:?}")]
    Shape {
        /// Axis lengths.
        dims: Vec<usize>,
    },
    /// Two lengths that must agree differ.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// Name of the quantity that was counted.
        what: &'static str,
        /// Expected length.
        expected: usize,
        /// Actual length.
        got: usize,
    },
    /// A value of a view is infinite or NaN.
    #[error("value {at} of view {view} is {value}")]
    NotFinite {
        /// Number that the view would have.
        view: usize,
        /// Index of the value in the view.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A weight lies outside of 0 to 1.
    #[error("weight {weight} is not between 0 and 1")]
    Weight {
        /// The weight.
        weight: f64,
    },
    /// A row of a profile has a non-finite value, and the caller required finite ones.
    #[error("{0}")]
    Unfit(Box<Skipped>),
    /// A skipped view cannot be the reference.
    #[error("view {view} ({name}) was skipped: not all of its values are finite")]
    Skipped {
        /// Number of the view.
        view: usize,
        /// Name of the view, if it has one. For a row of a profile it states the metric, the call
        /// path, the value and the location.
        name: String,
    },
    /// Another parameter is out of range.
    #[error("{what} cannot be {got}")]
    Parameter {
        /// Name of the parameter.
        what: &'static str,
        /// Value of the parameter.
        got: f64,
    },
    /// A view does not exist.
    #[error("view {view} is not there: there are {count}")]
    UnknownView {
        /// Number of the view.
        view: usize,
        /// Number of views.
        count: usize,
    },
    /// Some cells hold no location, and the caller required that all do.
    #[error("{cells} cells hold no location")]
    Missing {
        /// Number of empty cells.
        cells: usize,
    },
    /// The file of spectra could not be read or written.
    #[error("spectra: {0}")]
    Io(#[from] std::sync::Arc<std::io::Error>),
    /// The file is not one that [`Spectra::open`](crate::Spectra::open) can use.
    #[error("spectra, byte {at}: expected {expected}, found {found}")]
    Store {
        /// Byte offset in the file.
        at: u64,
        /// Expected content.
        expected: String,
        /// Actual content.
        found: String,
    },
    /// The topology does not match the profile.
    #[error(transparent)]
    Topology(#[from] perf_topology::Error),
    /// A row could not be read.
    #[error(transparent)]
    Profile(#[from] perf_core::Error),
    /// The job was cancelled.
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

perf_core::debug_as_chain!(Error);

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(std::sync::Arc::new(error))
    }
}

/// Result type of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
