//! The errors of this crate.

use crate::Skipped;
use perf_core::Cancelled;

/// What can be wrong with a correlation that is asked for.
#[derive(Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No axes, too many, an axis of length 0, or too many points.
    #[error("no grid has axes of lengths {dims:?}")]
    Shape {
        /// The lengths.
        dims: Vec<usize>,
    },
    /// Two things that belong together differ in length.
    #[error("{what}: expected {expected}, got {got}")]
    Length {
        /// What was counted.
        what: &'static str,
        /// How many there should be.
        expected: usize,
        /// How many there are.
        got: usize,
    },
    /// A value of a view is infinite or not a number.
    #[error("value {at} of view {view} is {value}")]
    NotFinite {
        /// The number that the view would have.
        view: usize,
        /// Its place in the view.
        at: usize,
        /// The value.
        value: f64,
    },
    /// A weight outside of 0 to 1.
    #[error("weight {weight} is not between 0 and 1")]
    Weight {
        /// The weight.
        weight: f64,
    },
    /// A row of a profile is not finite, where the caller asked that all are.
    #[error("{0}")]
    Unfit(Box<Skipped>),
    /// A view that takes no part cannot be the reference.
    #[error("view {view} ({name}) was skipped: not all of its values are finite")]
    Skipped {
        /// Its number.
        view: usize,
        /// What it is called, if it has a name.
        name: String,
    },
    /// Another parameter outside of its range.
    #[error("{what} cannot be {got}")]
    Parameter {
        /// The parameter.
        what: &'static str,
        /// Its value.
        got: f64,
    },
    /// A view that is not there.
    #[error("view {view} is not there: there are {count}")]
    UnknownView {
        /// Its number.
        view: usize,
        /// How many there are.
        count: usize,
    },
    /// Cells without a location, where the caller asked that there are none.
    #[error("{cells} cells hold no location")]
    Missing {
        /// Such cells.
        cells: usize,
    },
    /// The file of spectra.
    #[error("spectra: {0}")]
    Io(#[from] std::sync::Arc<std::io::Error>),
    /// A file that [`Spectra::open`](crate::Spectra::open) cannot use.
    #[error("spectra, byte {at}: expected {expected}, found {found}")]
    Store {
        /// Where in the file.
        at: u64,
        /// What should be there.
        expected: String,
        /// What is.
        found: String,
    },
    /// The topology does not fit the profile.
    #[error(transparent)]
    Topology(#[from] perf_topology::Error),
    /// A row could not be read.
    #[error(transparent)]
    Profile(#[from] perf_core::Error),
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

impl From<std::io::Error> for Error {
    fn from(error: std::io::Error) -> Self {
        Error::Io(std::sync::Arc::new(error))
    }
}

/// Results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;
