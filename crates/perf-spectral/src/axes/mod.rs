//! Variation of a view along each axis of its grid.

mod energy;
mod power;

pub(crate) use energy::{Energies, Run, roots};
pub use power::AxisPower;
