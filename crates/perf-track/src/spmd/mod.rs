//! Sequences of clusters for each thread, their alignment, and the SPMD score.

mod align;
mod alignment;
mod optimal;
mod progressive;
mod score;
mod scorer;
mod sequences;
mod table;

pub use align::{Align, AlignMethod, AlignParams};
pub use alignment::Alignment;
pub use score::{ClusterScore, SpmdScore, time_shares};
pub use scorer::SpmdScorer;
pub use sequences::Sequences;
