//! Sequences of clusters for each thread, their alignment, and the SPMD score.

mod align;
mod aligned_profile;
mod alignment;
mod consensus;
mod guide_tree;
mod optimal_alignment;
mod progressive;
mod score;
mod scorer;
mod sequences;
mod striped_table;
mod table;

pub use align::{Align, AlignMethod, AlignParams};
pub use alignment::Alignment;
pub use score::{ClusterScore, SpmdScore, time_shares};
pub use scorer::SpmdScorer;
pub use sequences::Sequences;
