//! Correlation of severity views in the frequency domain.

mod butterfly;
mod coefficient;
mod energy;
mod error;
mod extremes;
mod filter;
mod halves;
mod last;
mod layout;
mod lines;
mod par;
mod rank;
mod real;
mod reference;
mod spectra;
mod store;
mod transform;

pub use error::{Error, Result};
pub use extremes::Peak;
pub use filter::{AxisFilter, Band, Both, Filter, Frequencies, Harmonics, Wave, Without};
pub use rank::{CheckedRank, Match, RankParams, Ranking, Score};
pub use real::Real;
pub use reference::{Bound, Correlation, Reference};
pub use spectra::{Spectra, SpectraBuilder, View};
pub use transform::{Scratch, Transform};
