//! Variation of a view along each axis of its grid: energies of its spectrum, their distribution,
//! and filters derived from it.

mod energy;
mod power;

pub(crate) use energy::{Energies, Run, roots};
pub use power::AxisPower;
