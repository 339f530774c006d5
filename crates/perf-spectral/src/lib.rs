//! Correlation of severity views in the frequency domain.

mod butterfly;
mod coefficient;
mod error;
mod halves;
mod layout;
mod lines;
mod real;
mod transform;

pub use error::{Error, Result};
pub use real::Real;
pub use transform::{Scratch, Transform};
