//! Probability that views correlate by chance: from surrogates, and in closed form.

mod phase_null;
mod surrogate;

pub(crate) use phase_null::PhaseNull;
pub(crate) use surrogate::Random;
pub use surrogate::{CheckedNull, Confidence, NullParams};
