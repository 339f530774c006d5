//! Correlation of a reference with one view, with all views, and of pairs.

mod extremes;
mod pairs;
mod params;
mod rank;
mod reference;

pub use extremes::Peak;
pub use pairs::PairMatch;
pub(crate) use params::check_tolerance;
pub use params::{CheckedRank, RankParams, Score};
pub use rank::{Match, Ranking};
pub use reference::{Bound, Correlation, Reference, TOLERANCE};
pub(crate) use reference::{Product, Sums, check_dims};
