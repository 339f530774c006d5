//! Readers and writers of the recordings of parallel programs.

mod error;
#[cfg(feature = "otf2")]
pub mod otf2;

pub use error::{Error, Result};
