//! Readers and writers of the recordings of parallel programs.

mod error;
mod options;
#[cfg(feature = "otf2")]
pub mod otf2;
#[cfg(feature = "otf2")]
mod parallel;

pub use error::{Error, Result};
pub use options::{OpenOptions, Unify};
